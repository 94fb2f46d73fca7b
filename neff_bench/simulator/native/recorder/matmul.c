/* `nc_matmul` of neff_bench.simulator.operations.matmul: products of tensors whose shapes, dtypes and memories were checked before. */

#include <string.h>

#include "steps.h"

enum argument {
    DST, STATIONARY, MOVING, STATIONARY_ONEZERO, MOVING_ONEZERO, IS_TRANSPOSE, ACCUMULATE, TILE_POSITION, TILE_SIZE, PERF_MODE,
    NAME, ARGUMENTS
};

static const char *const texts[] = {
    "dst", "stationary", "moving", "is_stationary_onezero", "is_moving_onezero", "is_transpose",
    "accumulate", "tile_position", "tile_size", "perf_mode", "name",
};
static PyObject *parameters[ARGUMENTS];

static int is_flag(PyObject *value)
{
    return value == Py_True || value == Py_False;
}

static int is_empty(PyObject *value)
{
    return PyTuple_CheckExact(value) && PyTuple_Size(value) == 0;
}

/* 1 when nothing is asked for but a transpose or what becomes of the sum. */
static int is_common(PyObject *const *sorted)
{
    for (int i = DST; i <= MOVING; i++) {
        if (!sorted[i] || (PyObject *)Py_TYPE(sorted[i]) != plain.tensor || !storage_of((struct view *)sorted[i]))
            return 0;
    }
    return sorted[STATIONARY_ONEZERO] == Py_False && sorted[MOVING_ONEZERO] == Py_False && is_flag(sorted[IS_TRANSPOSE]) &&
           (sorted[ACCUMULATE] == Py_None || is_flag(sorted[ACCUMULATE])) && is_empty(sorted[TILE_POSITION]) &&
           is_empty(sorted[TILE_SIZE]) && sorted[PERF_MODE] == plain.no_perf_mode;
}

/* What a recorder is asked for in the same objects: its set of matmuls that were checked, and what this one was checked for. */
enum { VALID, OF_TENSORS, TRANSPOSES = OF_TENSORS + 9, ASKED };
struct known {
    PyObject *asked[ASKED];
};

#define KNOWN 64

static struct known all_known[KNOWN];

/* 1 when a matmul of such tensors is in the set, 0 when not, -1 with an exception. */
static int is_valid(PyObject *const *asked)
{
    PyObject *const *of = asked + OF_TENSORS;
    PyObject *form = PyTuple_Pack(11, of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7], of[8], asked[TRANSPOSES], names.zero);
    int valid = form ? PySet_Contains(asked[VALID], form) : -1;

    Py_XDECREF(form);
    return valid;
}

/* 1 when a matmul of such tensors was checked before, 0 when not, -1 with an exception. */
static int is_known(const struct state *now, PyObject *const *sorted)
{
    static const int order[] = {STATIONARY, MOVING, DST};
    PyObject *asked[ASKED] = {[VALID] = now->fields[NOW_VALID_MATMULS], [TRANSPOSES] = sorted[IS_TRANSPOSE]};
    struct known *slot, before;
    int valid;

    for (int i = 0; i < 3; i++) {
        const struct view *view = (struct view *)sorted[order[i]];
        PyObject **of = asked + OF_TENSORS + 3 * i;
        of[0] = view->fields[SHAPE];
        of[1] = view->fields[DTYPE];
        of[2] = storage_of(view)->fields[OF_MEMORY];
    }
    slot = &all_known[place_of_addresses((const void *const *)asked, ASKED) % KNOWN];
    if (memcmp(slot->asked, asked, sizeof asked) == 0)
        return 1;
    valid = is_valid(asked);
    if (valid == 1) {
        before = *slot;
        for (int i = 0; i < ASKED; i++) {
            Py_INCREF(asked[i]); /* its address stays its own */
            slot->asked[i] = asked[i];
        }
        for (int i = 0; i < ASKED; i++)
            Py_XDECREF(before.asked[i]);
    }
    return valid;
}

/* 1 when all of the tensor that is written lies in one PSUM bank, and the view inside of the tensor. */
static int lies_in_a_bank(const struct view *dst)
{
    const struct storage *storage = storage_of(dst);
    Py_ssize_t start = 0, free, item_bytes;

    if (storage->fields[OF_ADDRESS] != Py_None && !is_number(storage->fields[OF_ADDRESS], &start))
        return 0;
    if (start < 0 || !is_number(storage->fields[OF_FREE], &free) || !is_number(storage->fields[OF_ITEM_BYTES], &item_bytes))
        return 0;
    return start % plain.bank_bytes + free * item_bytes <= plain.bank_bytes && (!start || dst->fields[ACCESS] != Py_True);
}

/* NULL without an exception where instructions are not recorded as columns. */
static PyObject *issue(struct state *now, PyObject *const *sorted)
{
    struct steps *steps = as_steps(now->fields[NOW_INSTRUCTIONS]);
    int64_t uses = steps ? steps->uses : 0, head;
    long source;

    if (!steps)
        return NULL;
    source = source_now(now, 0);
    head = source < 0 ? -1 : matmul_head(steps->words, sorted[ACCUMULATE], sorted[IS_TRANSPOSE] == Py_True);
    if (head >= 0 && add_operand(steps, sorted[STATIONARY]) == 0 && add_operand(steps, sorted[MOVING]) == 0 &&
        add_operand(steps, sorted[DST]) == 0 && end_step(steps, head, source) == 0)
        return issued();
    steps->uses = uses;
    return NULL;
}

PyObject *nc_matmul(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    PyObject *sorted[ARGUMENTS] = {
        [STATIONARY_ONEZERO] = Py_False,    [MOVING_ONEZERO] = Py_False,   [IS_TRANSPOSE] = Py_False,
        [ACCUMULATE] = Py_None,             [TILE_POSITION] = names.no_parts, [TILE_SIZE] = names.no_parts,
        [PERF_MODE] = plain.no_perf_mode,
    };
    struct state *now = recorder_now();
    PyObject *made = NULL;

    (void)module;
    if (!parameters[ARGUMENTS - 1] && intern_all(parameters, texts, ARGUMENTS) < 0) {
        Py_XDECREF((PyObject *)now);
        return NULL;
    }
    if (now && sort_arguments(sorted, parameters, ARGUMENTS, given, count, keywords) && is_common(sorted) &&
        is_known(now, sorted) == 1 && lies_in_a_bank((struct view *)sorted[DST]))
        made = issue(now, sorted);
    Py_XDECREF((PyObject *)now);
    return made || PyErr_Occurred() ? made : call_plain(plain.nc_matmul, NULL, given, count, keywords);
}
