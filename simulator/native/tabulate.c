/* The instructions of all cores as columns, read from their MessagePack.

   msgspec writes an instruction as [op, engine, writes, reads, attributes, source], operands as maps from a name to
   [buffer, offset, pattern, dtype, dynamic], and dynamic as a list of [step, view of the index]. What is equal has equal bytes,
   so that different views, names and kinds of instruction are numbered by their bytes. The bytes come from our own encoder and
   are not checked. neff_bench.simulator.compiler.columns says what each column is. */

#include <stdint.h>
#include <stdlib.h>

#include "columns.h"
#include "numbers.h"

#define PLACES 8

/* What the cores share. first_core, first: of each kind of instruction, the core that has it first, and where. name_at, dtype_at: where in
   the bytes each name and dtype begins and ends. */
struct shared {
    int64_t *counts, *first_core, *first, *name_at, *dtype_at;
};

enum count { KINDS, SHARED_NAMES, DTYPES };

/* Where a core's instructions begin in the bytes, and the block of its columns. */
struct core {
    int64_t at, *block;
};

/* form: of each view of a core, what the cost of an instruction can depend on: pattern, dtype and kind of memory. keys: of the kinds. */
struct table {
    const uint8_t *bytes;
    const int64_t *place_of_buffer;
    const struct shared *shared;
    struct columns *out;
    struct numbers names, dtypes, views, forms, heads, attributes, kinds;
    int64_t core, uses, steps, *form, *keys;
};

/* An integer of n bytes, the highest first. */
static uint64_t big_endian(const uint8_t *at, int n)
{
    uint64_t value = 0;

    for (int i = 0; i < n; i++)
        value = value << 8 | at[i];
    return value;
}

/* Reads an integer and moves on. */
static int64_t integer(const uint8_t **at)
{
    uint8_t tag = *(*at)++;
    int bytes;
    uint64_t value;

    if (tag < 0x80 || tag >= 0xe0)
        return (int8_t)tag;
    bytes = 1 << (tag & 3);
    value = big_endian(*at, bytes);
    *at += bytes;
    if (tag < 0xd0 || bytes == 8)
        return (int64_t)value;
    return bytes == 4 ? (int32_t)value : bytes == 2 ? (int16_t)value : (int8_t)value;
}

/* Reads the head of an array or a map and moves on; how many elements follow. */
static int64_t elements(const uint8_t **at)
{
    uint8_t tag = *(*at)++;
    int bytes = tag & 1 ? 4 : 2;
    uint64_t count;

    if (tag < 0xa0)
        return tag & 0x0f;
    count = big_endian(*at, bytes);
    *at += bytes;
    return (int64_t)count;
}

/* Behind a value that holds no others. */
static const uint8_t *behind_scalar(const uint8_t *at)
{
    uint8_t tag = *at;
    int bytes;

    if (tag >= 0xa0 && tag < 0xc0) /* a short string */
        return at + 1 + (tag & 0x1f);
    if (tag < 0xc4) /* nil, false, true */
        return at + 1;
    if (tag >= 0xca && tag <= 0xcb) /* a float or a double */
        return at + (tag == 0xca ? 5 : 9);
    if (tag >= 0xcc && tag <= 0xd3) /* an integer */
        return at + 1 + (1 << (tag & 3));
    bytes = tag >= 0xd9 ? 1 << (tag - 0xd9) : 1 << (tag - 0xc4); /* a string, or bytes */
    return at + 1 + bytes + big_endian(at + 1, bytes);
}

/* Behind `left` values of any type. */
static const uint8_t *behind_all(const uint8_t *at, int64_t left)
{
    for (; left; left--) {
        uint8_t tag = *at;
        if (tag < 0x80 || tag >= 0xe0)
            at++; /* a small integer */
        else if (tag < 0x90 || tag >= 0xde)
            left += 2 * elements(&at); /* of a map */
        else if (tag < 0xa0 || tag >= 0xdc)
            left += elements(&at);
        else
            at = behind_scalar(at);
    }
    return at;
}

static const uint8_t *behind(const uint8_t *at)
{
    return behind_all(at, 1);
}

/* The number of the bytes from `at` to `end`; `where` gets their place when they are new. */
static int64_t named(struct table *t, struct numbers *numbers, const uint8_t *at, const uint8_t *end, int64_t *where)
{
    int64_t before = numbers->count, number = number_of(numbers, at, (size_t)(end - at));

    if (number == before) {
        where[2 * number] = at - t->bytes;
        where[2 * number + 1] = end - t->bytes;
    }
    return number;
}

/* The columns of a new view: `at` is behind the head of its array. Gives what is dynamic in it. */
static int fill_view(struct table *t, int64_t number, const uint8_t *at)
{
    struct columns *out = t->out;
    const uint8_t *pattern, *dtype;
    int64_t form;

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
    out->dtype[number] = named(t, &t->dtypes, dtype, at, t->shared->dtype_at);
    form = number_of(&t->forms, pattern, (size_t)(at - pattern));
    t->form[number] = form * PLACES + t->place_of_buffer[out->buffer[number]];
    out->dynamic[number] = elements(&at) > 0;
    return form < 0 || out->dtype[number] < 0 ? NO_MEMORY : 0;
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

/* A map of operands; `key` gets the name and the form of each. Behind the key, or NULL. */
static int64_t *add_operands(struct table *t, const uint8_t *at, int64_t role, int64_t *key)
{
    for (int64_t left = elements(&at); left; left--) {
        const uint8_t *name_at = at, *view_at = behind(at);
        int64_t name = named(t, &t->names, name_at, view_at, t->shared->name_at), view;
        at = behind(view_at);
        view = add_use(t, view_at, at, role, name);
        if (name < 0 || view < 0 || (t->out->dynamic[view] && add_indices(t, view_at, name) < 0))
            return NULL;
        *key++ = name;
        *key++ = t->form[view];
    }
    return key;
}

/* One instruction; behind it, or NULL. Reads come before writes. */
static const uint8_t *add_instruction(struct table *t, int64_t number, const uint8_t *at)
{
    const uint8_t *head = at + 1, *writes = behind_all(head, 2), *reads = behind(writes), *attributes = behind(reads);
    const uint8_t *source = behind(attributes);
    int64_t *key = t->keys, *end, kinds = t->kinds.count, kind;

    *key++ = number_of(&t->heads, head, (size_t)(writes - head));
    *key++ = number_of(&t->attributes, attributes, (size_t)(source - attributes));
    t->out->use_start[number] = t->uses;
    key = add_operands(t, reads, READ, key + 1);
    if (!key)
        return NULL;
    t->keys[2] = key - t->keys;
    end = add_operands(t, writes, WRITE, key);
    if (!end || t->keys[0] < 0 || t->keys[1] < 0)
        return NULL;
    kind = number_of(&t->kinds, t->keys, (size_t)(end - t->keys) * sizeof *end);
    if (kind < 0)
        return NULL;
    if (kind == kinds) {
        t->shared->first_core[kind] = t->core;
        t->shared->first[kind] = number;
        t->keys = end; /* it stays there, as the key of this kind */
    }
    t->out->kind[number] = kind;
    return behind(source);
}

/* The instructions of one core. Views are numbered anew in each. */
static int add_core(struct table *t, const struct core *core)
{
    struct columns out = columns_in(core->block);
    const uint8_t *at = t->bytes + core->at;

    t->out = &out;
    t->uses = t->steps = 0;
    t->form = malloc((size_t)core->block[USE_ROOM] * sizeof *t->form);
    out.pattern_start[0] = 0;
    if (numbers_begin(&t->views) < 0 || !t->form)
        return NO_MEMORY;
    elements(&at);
    for (int64_t number = 0; number < out.instructions; number++) {
        at = add_instruction(t, number, at);
        if (!at)
            return NO_MEMORY;
    }
    out.use_start[out.instructions] = t->uses;
    core->block[USES] = t->uses;
    core->block[VIEWS] = t->views.count;
    core->block[STEPS] = t->steps;
    return 0;
}

static int add_cores(struct table *t, int64_t count, const struct core *cores)
{
    int status = 0;

    for (t->core = 0; t->core < count && status == 0; t->core++) {
        t->views = (struct numbers){0};
        t->form = NULL;
        status = add_core(t, &cores[t->core]);
        numbers_end(&t->views);
        free(t->form);
    }
    for (int64_t core = 0; core < count; core++)
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

/* `place_of_buffer`: below 8. Each block has the number of its instructions, and its rooms: no fewer than the instructions and 1, the
   uses and 2, and the steps of patterns and 2; and no fewer steps than instructions and twice the uses. What is shared has room for all
   instructions, and for two numbers of each use of all cores. */
int64_t tabulate(const uint8_t *bytes, const int64_t *place_of_buffer, int64_t count, const struct core *cores, const struct shared *shared)
{
    struct table t = {.bytes = bytes, .place_of_buffer = place_of_buffer, .shared = shared};
    struct numbers *all[] = {&t.names, &t.dtypes, &t.forms, &t.heads, &t.attributes, &t.kinds};
    int64_t *keys, room = 8, status = NO_MEMORY;

    for (int64_t core = 0; core < count; core++)
        room += 3 * cores[core].block[STEP_ROOM];
    t.keys = keys = malloc((size_t)room * sizeof *keys);
    if (begin(all, 6) == 0 && keys)
        status = add_cores(&t, count, cores);
    shared->counts[KINDS] = t.kinds.count;
    shared->counts[SHARED_NAMES] = t.names.count;
    shared->counts[DTYPES] = t.dtypes.count;
    for (int i = 0; i < 6; i++)
        numbers_end(all[i]);
    free(keys);
    return status;
}
