/* The instructions of one core as columns, read from their MessagePack.

   msgspec writes an instruction as [op, engine, writes, reads, attributes, source], operands as maps from a name to
   [buffer, offset, pattern, dtype, dynamic], and dynamic as a list of [step, view of the index]. What is equal has equal bytes,
   so that different views, names and kinds of instruction are numbered by their bytes. The bytes come from our own encoder and
   are not checked. neff_bench.simulator.compiler.columns says what each column is. */

#include <stdint.h>
#include <stdlib.h>

#include "columns.h"
#include "numbers.h"

#define PLACES 8

/* form: of each view, what the cost of an instruction can depend on: pattern, dtype and kind of memory. keys: of the kinds. */
struct table {
    const uint8_t *bytes;
    const int64_t *place_of_buffer;
    struct columns *out;
    struct numbers names, dtypes, views, forms, heads, attributes, kinds;
    int64_t uses, steps, *form, *keys;
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
    out->dtype[number] = named(t, &t->dtypes, dtype, at, out->dtype_at);
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
        int64_t name = named(t, &t->names, name_at, view_at, t->out->name_at), view;
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
        t->out->first_of_kind[kind] = number;
        t->keys = end; /* it stays there, as the key of this kind */
    }
    t->out->kind[number] = kind;
    return behind(source);
}

static int add_instructions(struct table *t, int64_t instructions)
{
    const uint8_t *at = t->bytes;

    elements(&at);
    for (int64_t number = 0; number < instructions; number++) {
        at = add_instruction(t, number, at);
        if (!at)
            return NO_MEMORY;
    }
    t->out->use_start[instructions] = t->uses;
    return 0;
}

static int begin(struct numbers **all, int count)
{
    int status = 0;

    for (int i = 0; i < count; i++)
        status |= numbers_begin(all[i]);
    return status;
}

/* `place_of_buffer`: below 8. The block has the number of instructions, and its rooms: no fewer than the instructions and 1, the uses
   and 2, and the steps of patterns and 2; and no fewer steps than instructions and twice the uses. */
int64_t tabulate(const uint8_t *bytes, const int64_t *place_of_buffer, int64_t *block)
{
    struct columns out = columns_in(block);
    struct table t = {.bytes = bytes, .place_of_buffer = place_of_buffer, .out = &out};
    struct numbers *all[] = {&t.names, &t.dtypes, &t.views, &t.forms, &t.heads, &t.attributes, &t.kinds};
    int64_t *keys = malloc((size_t)(3 * block[STEP_ROOM] + 8) * sizeof *keys), status = NO_MEMORY;

    t.keys = keys;
    t.form = malloc((size_t)block[USE_ROOM] * sizeof *t.form);
    out.pattern_start[0] = 0;
    if (begin(all, 7) == 0 && keys && t.form)
        status = add_instructions(&t, block[INSTRUCTIONS]);
    block[USES] = t.uses;
    block[VIEWS] = t.views.count;
    block[STEPS] = t.steps;
    block[KINDS] = t.kinds.count;
    block[NAMES] = t.names.count;
    block[DTYPES] = t.dtypes.count;
    for (int i = 0; i < 7; i++)
        numbers_end(all[i]);
    free(keys);
    free(t.form);
    return status;
}
