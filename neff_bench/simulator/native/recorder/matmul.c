/* `nc_matmul` of neff_bench.simulator.operations.matmul: products of tensors whose shapes, dtypes and memories were checked before. */

#include "recorder.h"

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

/* 1 when a matmul of such tensors was checked before, 0 when not, -1 with an exception. */
static int is_known(const struct state *now, PyObject *const *sorted)
{
    PyObject *of[9], *form;
    static const int order[] = {STATIONARY, MOVING, DST};
    int known = -1;

    for (int i = 0; i < 3; i++) {
        const struct view *view = (struct view *)sorted[order[i]];
        of[3 * i] = view->fields[SHAPE];
        of[3 * i + 1] = view->fields[DTYPE];
        of[3 * i + 2] = storage_of(view)->fields[OF_MEMORY];
    }
    form = PyTuple_Pack(11, of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7], of[8], sorted[IS_TRANSPOSE], names.zero);
    if (form)
        known = PySet_Contains(now->fields[NOW_VALID_MATMULS], form);
    Py_XDECREF(form);
    return known;
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

/* 0 when the operand was put in, -1 with an exception. */
static int put(PyObject *operands, PyObject *name, PyObject *tensor)
{
    PyObject *access = operands ? access_of(NULL, tensor) : NULL;
    int status = access ? PyDict_SetItem(operands, name, access) : -1;

    Py_XDECREF(access);
    return status;
}

static PyObject *attributes_of(PyObject *const *sorted)
{
    PyObject *attributes = PyDict_New();

    if (attributes && sorted[ACCUMULATE] != Py_None && PyDict_SetItem(attributes, names.accumulate, sorted[ACCUMULATE]) < 0)
        Py_CLEAR(attributes);
    if (attributes && sorted[IS_TRANSPOSE] == Py_True && PyDict_SetItem(attributes, names.is_transpose, Py_True) < 0)
        Py_CLEAR(attributes);
    return attributes;
}

static PyObject *issued(struct state *now, PyObject *const *sorted)
{
    PyObject *writes = PyDict_New(), *reads = PyDict_New(), *attributes = NULL, *made = NULL;

    if (put(writes, names.dst, sorted[DST]) == 0 && put(reads, names.stationary, sorted[STATIONARY]) == 0 &&
        put(reads, names.moving, sorted[MOVING]) == 0)
        attributes = attributes_of(sorted);
    if (attributes) {
        PyObject *given[] = {names.nc_matmul, names.tensor, writes, reads, attributes};
        made = issue(now, given, 0);
    }
    Py_XDECREF(writes);
    Py_XDECREF(reads);
    Py_XDECREF(attributes);
    return made;
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
        made = issued(now, sorted);
    Py_XDECREF((PyObject *)now);
    return made || PyErr_Occurred() ? made : call_plain(plain.nc_matmul, NULL, given, count, keywords);
}
