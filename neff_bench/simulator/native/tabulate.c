/* The buffers of a program and the instructions of all cores as columns, read from their MessagePack.

   msgspec writes a buffer as [name, memory, shape, dtype, kind, core, data, address, source, partition], an instruction as
   [op, engine, writes, reads, attributes, source], operands as maps from a name to [buffer, offset, pattern, dtype, dynamic], and
   dynamic as a list of [step, view of the index]. What is equal has equal bytes, so that different views, names and kinds of
   instruction are numbered by their bytes. neff_bench.simulator.compiler.program.columns says what each column is. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "columns.h"
#include "messagepack.h"
#include "numbers.h"

#define UNKNOWN_DTYPE (-2)

/* What the cost of an instruction can depend on of a buffer: the memory, and whether it is of the host's. */
#define PLACES 8

#define PARTITIONS 128

/* The rooms of the columns by instruction, by use or view, and by step, and the block of the columns. */
struct core {
    int64_t rooms[3], *block;
};

/* first: of each core in turn and of each kind of instruction, the first one there or -1; there is room
   for `kind_room` kinds of each core. place: of each buffer. buffers: their columns, each of `count`. dtypes begin with the `known` ones, whose elements have `item_bytes`. form: of each view of a core, what the
   cost of an instruction can depend on: pattern, dtype, whether its address is known at run time only, first partition and place. keys: of the kinds. */
struct table {
    const int64_t *item_bytes;
    struct columns *out;
    struct numbers names, dtypes, views, forms, heads, attributes, kinds;
    int64_t known, core, cores, kind_room, uses, steps, count, *first, *place, *form, *keys;
    const int64_t *buffers;
    int has_unknown_dtype;
};

/* The number of a dtype, -1 when there is no memory. */
static int64_t dtype_of(struct table *t, const uint8_t *at, const uint8_t *end)
{
    int64_t number = number_of(&t->dtypes, at, (size_t)(end - at));

    if (number < t->known)
        return number;
    t->has_unknown_dtype = 1;
    return 0;
}

/* Reads the dtypes that are known and moves on. */
static int know_dtypes(struct table *t, const uint8_t **at)
{
    for (t->known = elements(at); t->dtypes.count < t->known;) {
        const uint8_t *dtype = *at;
        *at = behind(dtype);
        if (number_of(&t->dtypes, dtype, (size_t)(*at - dtype)) < 0)
            return NO_MEMORY;
    }
    return 0;
}

/* Whether the bytes at `at` are this string of fewer than 32 characters. */
static int is_text(const uint8_t *at, const char *text)
{
    size_t length = strlen(text);

    return *at == (0xa0 | length) && memcmp(at + 1, text, length) == 0;
}

/* Rows of a buffer and elements of a row: a partition on chip, the last dimension in HBM. */
static void rows_of(const uint8_t *at, int is_hbm, int64_t *rows, int64_t *row)
{
    int64_t dimensions = elements(&at);

    *rows = *row = 1;
    for (int64_t i = 0; i < dimensions; i++) {
        int of_rows = is_hbm ? i < dimensions - 1 : i == 0;
        *(of_rows ? rows : row) *= integer(&at);
    }
}

/* One element of the six columns of the buffers, which lie `apart`. Behind the buffer, or NULL. */
static const uint8_t *add_buffer(struct table *t, int64_t number, const uint8_t *at, int64_t *column, int64_t apart)
{
    const uint8_t *memory = behind(at + 1), *shape = behind(memory), *dtype = behind(shape), *kind = behind(dtype);
    const uint8_t *address = behind_all(kind, 3), *partition = behind_all(address, 2);
    int64_t of = is_text(memory, "hbm") ? HBM : is_text(memory, "sbuf") ? SBUF : PSUM, item = dtype_of(t, dtype, kind), rows, row;
    int of_host = is_text(kind, "input") || is_text(kind, "output");

    if (item < 0)
        return NULL;
    rows_of(shape, of == HBM, &rows, &row);
    row *= t->item_bytes[item];
    column[0] = of;
    column[apart] = of_host;
    column[2 * apart] = row > 1 ? row : 1;
    column[3 * apart] = rows;
    column[4 * apart] = *address == NIL ? -1 : integer(&address);
    column[5 * apart] = integer(&partition);
    t->place[number] = 2 * of + of_host;
    return partition;
}

/* Reads the buffers and moves on. */
static int add_buffers(struct table *t, const uint8_t **at, int64_t *columns)
{
    int64_t count = t->count = elements(at);

    t->place = malloc((size_t)(count + 1) * sizeof *t->place);
    if (!t->place)
        return NO_MEMORY;
    for (int64_t number = 0; number < count && *at; number++)
        *at = add_buffer(t, number, *at, columns + number, count);
    return *at ? 0 : NO_MEMORY;
}

/* Of a view of SBUF the partition in which it begins, 0 of any other. neff_bench.simulator.program has the same. */
static int64_t first_partition(const struct table *t, int64_t number)
{
    int64_t buffer = t->out->buffer[number], row;

    if (t->buffers[buffer] != SBUF)
        return 0;
    row = t->buffers[2 * t->count + buffer] / t->item_bytes[t->out->dtype[number]];
    return (t->buffers[5 * t->count + buffer] + t->out->offset[number] / (row > 1 ? row : 1)) % PARTITIONS;
}

/* The columns of a new view: `at` is behind the head of its array. */
static int fill_view(struct table *t, int64_t number, const uint8_t *at)
{
    struct columns *out = t->out;
    const uint8_t *pattern, *dtype;
    int64_t form, key;

    out->buffer[number] = integer(&at);
    out->offset[number] = integer(&at);
    pattern = at;
    out->pattern_start[number] = t->steps;
    for (int64_t left = elements(&at); left; left--) {
        at++;
        out->step[t->steps] = integer(&at);
        out->length[t->steps++] = integer(&at);
    }
    out->pattern_start[number + 1] = t->steps;
    dtype = at;
    at = behind(at);
    out->dtype[number] = dtype_of(t, dtype, at);
    form = number_of(&t->forms, pattern, (size_t)(at - pattern));
    out->dynamic[number] = elements(&at) > 0;
    if (form < 0 || out->dtype[number] < 0)
        return NO_MEMORY;
    key = (2 * form + out->dynamic[number]) * PARTITIONS + first_partition(t, number);
    t->form[number] = key * PLACES + t->place[out->buffer[number]];
    return 0;
}

static int64_t add_use(struct table *t, const uint8_t *at, const uint8_t *end, int64_t role, int64_t name)
{
    int64_t known = t->views.count, view = number_of(&t->views, at, (size_t)(end - at));

    if (view < 0 || (view == known && fill_view(t, view, at + 1) < 0))
        return NO_MEMORY;
    t->out->view[t->uses] = view;
    t->out->role[t->uses] = role;
    t->out->name[t->uses++] = name;
    return view;
}

/* The views that the indices of an operand are read through; `at` is the operand's own view. */
static int add_indices(struct table *t, const uint8_t *at, int64_t name)
{
    at = behind_all(at + 1, 4);
    for (int64_t left = elements(&at); left; left--) {
        const uint8_t *index = behind(at + 1);
        at = behind(index);
        if (add_use(t, index, at, INDEX, name) < 0)
            return NO_MEMORY;
    }
    return 0;
}

/* Reads a map of operands and moves on; `key` gets the name and the form of each. Behind the key, or NULL. */
static int64_t *add_operands(struct table *t, const uint8_t **at, int64_t role, int64_t *key)
{
    for (int64_t left = elements(at); left; left--) {
        const uint8_t *name_at = *at, *view_at = behind(name_at);
        int64_t name = number_of(&t->names, name_at, (size_t)(view_at - name_at)), view;
        *at = behind(view_at);
        view = add_use(t, view_at, *at, role, name);
        if (name < 0 || view < 0 || (t->out->dynamic[view] && add_indices(t, view_at, name) < 0))
            return NULL;
        *key++ = name;
        *key++ = t->form[view];
    }
    return key;
}

/* No core has an instruction of a new kind yet. */
static void begin_kind(struct table *t, int64_t kind)
{
    for (int64_t core = 0; core < t->cores; core++)
        t->first[core * t->kind_room + kind] = -1;
}

/* One instruction; behind it, or NULL. Reads come before writes. */
static const uint8_t *add_instruction(struct table *t, int64_t number, const uint8_t *at)
{
    const uint8_t *head = at + 1, *writes = behind_all(head, 2), *attributes = behind(writes), *source;
    int64_t *key, *end, kinds = t->kinds.count, kind, place;

    t->out->use_start[number] = t->uses;
    key = add_operands(t, &attributes, READ, t->keys + 3); /* the reads lie before them */
    if (!key)
        return NULL;
    source = behind(attributes);
    t->keys[0] = number_of(&t->heads, head, (size_t)(writes - head));
    t->keys[1] = number_of(&t->attributes, attributes, (size_t)(source - attributes));
    t->keys[2] = key - t->keys;
    end = add_operands(t, &writes, WRITE, key);
    if (!end || t->keys[0] < 0 || t->keys[1] < 0)
        return NULL;
    kind = number_of(&t->kinds, t->keys, (size_t)(end - t->keys) * sizeof *end);
    if (kind < 0)
        return NULL;
    if (kind == kinds) {
        begin_kind(t, kind);
        t->keys = end; /* it stays there, as the key of this kind */
    }
    place = t->core * t->kind_room + kind;
    if (t->first[place] < 0)
        t->first[place] = number;
    t->out->kind[number] = kind;
    return behind(source);
}

/* Reads the instructions of one core and moves on. Views are numbered anew in each. */
static int add_core(struct table *t, const struct core *core, const uint8_t **at)
{
    struct columns out;
    int64_t *block = core->block;

    block[INSTRUCTIONS] = elements(at);
    memcpy(block + INSTRUCTION_ROOM, core->rooms, sizeof core->rooms);
    t->out = &out;
    out = columns_in(block);
    t->uses = t->steps = 0;
    t->form = malloc((size_t)block[USE_ROOM] * sizeof *t->form);
    out.pattern_start[0] = 0;
    if (numbers_begin(&t->views) < 0 || !t->form)
        return NO_MEMORY;
    for (int64_t number = 0; number < out.instructions && *at; number++)
        *at = add_instruction(t, number, *at);
    out.use_start[out.instructions] = t->uses;
    block[USES] = t->uses;
    block[VIEWS] = t->views.count;
    block[STEPS] = t->steps;
    return *at ? 0 : NO_MEMORY;
}

static int add_cores(struct table *t, const struct core *cores, const uint8_t *at)
{
    int status = 0;

    for (t->core = 0; t->core < t->cores && status == 0; t->core++) {
        t->views = (struct numbers){0};
        t->form = NULL;
        status = add_core(t, &cores[t->core], &at);
        numbers_end(&t->views);
        free(t->form);
    }
    for (int64_t core = 0; core < t->cores; core++)
        cores[core].block[NAMES] = t->names.count;
    return status;
}

static int begin(struct numbers **all, int count)
{
    int status = 0;

    for (int i = 0; i < count; i++)
        status |= numbers_begin(all[i]);
    return status;
}

/* `bytes`: the dtypes that are known, whose elements have `item_bytes`, the buffers, and the instructions of each core. `buffers`: six
   columns of as many elements. Each core has room for no fewer than its instructions and 1, its uses and 2, and its steps of patterns
   and 2. `places`: `first` of `table`; there is room for as many kinds as
   instructions. Gives the number of kinds. */
int64_t tabulate(const uint8_t *bytes, const int64_t *item_bytes, int64_t *buffers, int64_t count, const struct core *cores,
                 int64_t kind_room, int64_t *places)
{
    struct table t = {
        .item_bytes = item_bytes, .cores = count, .kind_room = kind_room, .first = places, .buffers = buffers,
    };
    struct numbers *all[] = {&t.names, &t.dtypes, &t.forms, &t.heads, &t.attributes, &t.kinds};
    int64_t *keys, room = 8, status = NO_MEMORY;

    for (int64_t core = 0; core < count; core++)
        room += 3 * cores[core].rooms[0] + 2 * cores[core].rooms[1];
    t.keys = keys = malloc((size_t)room * sizeof *keys);
    if (begin(all, 6) == 0 && keys && know_dtypes(&t, &bytes) == 0 && add_buffers(&t, &bytes, buffers) == 0)
        status = add_cores(&t, cores, bytes);
    if (status == 0)
        status = t.has_unknown_dtype ? UNKNOWN_DTYPE : t.kinds.count;
    for (int i = 0; i < 6; i++)
        numbers_end(all[i]);
    free(t.place);
    free(keys);
    return status;
}
