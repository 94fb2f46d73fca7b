/* `ap` of neff_bench.simulator.recording.tensor: explicit patterns over an allocation, and whether a view lies inside of one. */

#include "recorder.h"

#define MOST_DIMENSIONS 16
#define MOST_STEP ((Py_ssize_t)1 << 28) /* no product and no sum of such numbers overflows */

enum argument { PATTERN, BY, SCALAR_OFFSET, VECTOR_OFFSET, INDIRECT_DIM, AS_DTYPE, ARGUMENTS };

struct pattern {
    Py_ssize_t dimensions, step[MOST_DIMENSIONS], size[MOST_DIMENSIONS];
};

/* 1 when an object is [step, size]; `dimension` gets them. */
static int is_pair(PyObject *pair, Py_ssize_t *step, Py_ssize_t *size)
{
    if (PyList_CheckExact(pair) && PyList_Size(pair) == 2)
        return is_number(PyList_GetItem(pair, 0), step) && is_number(PyList_GetItem(pair, 1), size);
    if (PyTuple_CheckExact(pair) && PyTuple_Size(pair) == 2)
        return is_number(PyTuple_GetItem(pair, 0), step) && is_number(PyTuple_GetItem(pair, 1), size);
    return 0;
}

/* 1 when an object is a list of [step, size]. */
static int is_pattern(PyObject *given, struct pattern *pattern)
{
    Py_ssize_t count = PyList_CheckExact(given) ? PyList_Size(given) : 0;

    if (count < 1 || count > MOST_DIMENSIONS)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_pair(PyList_GetItem(given, i), &pattern->step[i], &pattern->size[i]))
            return 0;
    }
    pattern->dimensions = count;
    return 1;
}

/* 1 when the elements of a partition are counted as the allocation does. */
static int is_own_dtype(const struct view *view, const struct storage *storage)
{
    return view->fields[DTYPE] == storage->fields[OF_DTYPE];
}

/* 1 when the pattern goes from partition to partition by whole ones. */
static int goes_by_rows(const struct pattern *pattern, const struct storage *storage)
{
    Py_ssize_t free;

    if (!lies_on_chip(storage) || pattern->size[0] <= 1)
        return 1;
    return is_number(storage->fields[OF_FREE], &free) && free > 0 && pattern->step[0] % free == 0;
}

static PyObject *with_pattern(struct view *view, const struct pattern *pattern, Py_ssize_t offset)
{
    PyObject *fields[FIELDS];

    for (int i = 0; i < FIELDS; i++)
        fields[i] = view->fields[i];
    fields[OFFSET] = PyLong_FromSsize_t(offset);
    fields[SHAPE] = tuple_of(pattern->size, pattern->dimensions);
    fields[STRIDES] = tuple_of(pattern->step, pattern->dimensions);
    fields[ACCESS] = Py_True;
    Py_INCREF(fields[STORAGE]);
    Py_INCREF(fields[DTYPE]);
    Py_INCREF(fields[DYNAMIC]);
    Py_INCREF(fields[ACCESS]);
    return new_view((PyTypeObject *)plain.tensor, fields);
}

static PyObject *common_ap(struct view *view, PyObject *const *sorted)
{
    const struct storage *storage = storage_of(view);
    struct pattern pattern;
    Py_ssize_t start, by = 0;

    if (!storage || !sorted[PATTERN] || sorted[SCALAR_OFFSET] || sorted[VECTOR_OFFSET] || sorted[INDIRECT_DIM] || sorted[AS_DTYPE])
        return NULL;
    if (sorted[BY] && sorted[BY] != Py_None && !is_number(sorted[BY], &by))
        return NULL;
    if (!is_number(view->fields[OFFSET], &start) || start >= MOST_STEP << 16 || by >= MOST_STEP << 16 || by < 0)
        return NULL;
    if (!is_own_dtype(view, storage) || !is_pattern(sorted[PATTERN], &pattern) || !goes_by_rows(&pattern, storage))
        return NULL;
    return with_pattern(view, &pattern, start + by);
}

PyObject *ap(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    static const char *const texts[] = {"pattern", "offset", "scalar_offset", "vector_offset", "indirect_dim", "dtype"};
    static PyObject *parameters[ARGUMENTS];
    PyObject *sorted[ARGUMENTS] = {NULL}, *made = NULL;

    if (!parameters[ARGUMENTS - 1] && intern_all(parameters, texts, ARGUMENTS) < 0)
        return NULL;
    if (sort_arguments(sorted, parameters, ARGUMENTS, given, count, keywords))
        made = common_ap((struct view *)self, sorted);
    return made || PyErr_Occurred() ? made : call_plain(plain.ap, self, given, count, keywords);
}

/* The offset of the last element of the dimensions from `first` on; -1 where one is not plainly forward. */
static Py_ssize_t last_of(const struct view *view, Py_ssize_t first, Py_ssize_t offset)
{
    PyObject *shape = view->fields[SHAPE], *strides = view->fields[STRIDES];
    Py_ssize_t count = PyTuple_Size(shape), size, step;

    for (Py_ssize_t i = first; i < count; i++) {
        if (!is_number(PyTuple_GetItem(shape, i), &size) || !is_number(PyTuple_GetItem(strides, i), &step))
            return -1;
        if (size < 1 || size > MOST_STEP || step < 0 || step > MOST_STEP)
            return -1;
        offset += (size - 1) * step;
    }
    return offset;
}

/* 1 when the first dimension goes by whole partitions, and ends inside of the allocation. */
static int rows_lie_inside(const struct view *view, const struct storage *storage, Py_ssize_t partition, Py_ssize_t free)
{
    Py_ssize_t size, step, partitions;

    if (!is_number(PyTuple_GetItem(view->fields[SHAPE], 0), &size) || !is_number(PyTuple_GetItem(view->fields[STRIDES], 0), &step) ||
        !is_number(PyTuple_GetItem(storage->fields[OF_SHAPE], 0), &partitions))
        return 0;
    if (size < 1 || size > MOST_STEP || step < 0 || step > MOST_STEP || (size > 1 && step % free))
        return 0;
    return partition + (size > 1 ? step / free : 1) * (size - 1) < partitions;
}

int lies_inside(const struct view *view)
{
    const struct storage *storage = storage_of(view);
    PyObject *shape = view->fields[SHAPE], *strides = view->fields[STRIDES];
    Py_ssize_t start, free, last;

    if (!storage || !is_own_dtype(view, storage) || !is_number(view->fields[OFFSET], &start) || start < 0 || start > MOST_STEP << 16)
        return 0;
    if (!is_number(storage->fields[OF_FREE], &free) || free < 1)
        return 0;
    if (!PyTuple_CheckExact(shape) || !PyTuple_CheckExact(strides) || !PyTuple_Size(shape) || PyTuple_Size(shape) > MOST_DIMENSIONS ||
        PyTuple_Size(strides) != PyTuple_Size(shape))
        return 0;
    if (!lies_on_chip(storage))
        last = last_of(view, 0, start);
    else if (rows_lie_inside(view, storage, start / free, free))
        last = last_of(view, 1, start % free);
    else
        return 0;
    return last >= 0 && last < free;
}
