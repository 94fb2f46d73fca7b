/* Indexing of tensors by numbers and slices, and the operands that instructions record for tensors. */

#include "recorder.h"

#define MOST_DIMENSIONS 16

/* A view in the making: sizes and steps of the dimensions that stay. */
struct view {
    Py_ssize_t dimensions, offset, size[MOST_DIMENSIONS + 1], stride[MOST_DIMENSIONS + 1];
};

int is_number(PyObject *object, Py_ssize_t *value)
{
    if (!object || !PyLong_CheckExact(object))
        return 0;
    *value = PyLong_AsSsize_t(object);
    if (*value != -1 || !PyErr_Occurred())
        return 1;
    PyErr_Clear();
    return 0;
}

/* The same for a bound of a slice or a range; None leaves `value` alone. */
static int is_bound(PyObject *slice, PyObject *name, Py_ssize_t *value)
{
    PyObject *bound = PyObject_GetAttr(slice, name);
    int good = bound == Py_None || is_number(bound, value);

    Py_XDECREF(bound);
    return good;
}

static void keep(struct view *view, Py_ssize_t size, Py_ssize_t stride)
{
    view->size[view->dimensions] = size;
    view->stride[view->dimensions++] = stride;
}

/* 1 when a slice of single steps lies inside of a dimension. */
static int add_slice(struct view *view, PyObject *slice, Py_ssize_t size, Py_ssize_t stride)
{
    Py_ssize_t start = 0, stop = size, step = 1;

    if (!is_bound(slice, names.start, &start) || !is_bound(slice, names.stop, &stop) || !is_bound(slice, names.step, &step))
        return 0;
    if (start < 0 || start >= stop || stop > size || step != 1)
        return 0;
    view->offset += start * stride;
    keep(view, stop - start, stride);
    return 1;
}

/* 1 when an index lies inside of a dimension. `stays`: the dimension does, with size 1. */
static int add_index(struct view *view, PyObject *index, Py_ssize_t size, Py_ssize_t stride, int stays)
{
    Py_ssize_t at;

    if (!is_number(index, &at) || at < 0 || at >= size)
        return 0;
    view->offset += at * stride;
    if (stays)
        keep(view, 1, stride);
    return 1;
}

/* 1 when nl.ds(start, size) lies inside of a dimension. */
static int add_range(struct view *view, PyObject *range, Py_ssize_t size, Py_ssize_t stride)
{
    Py_ssize_t start = -1, count = -1;

    if (!is_bound(range, names.start, &start) || !is_bound(range, names.size, &count))
        return 0;
    if (start < 0 || count < 1 || start + count > size)
        return 0;
    view->offset += start * stride;
    keep(view, count, stride);
    return 1;
}

/* 1 when one part of a key lies inside of its dimension. `stays`: the dimension does where the part is an index. */
static int add_part(struct view *view, PyObject *part, Py_ssize_t size, Py_ssize_t stride, int stays)
{
    if (PySlice_Check(part))
        return add_slice(view, part, size, stride);
    if ((PyObject *)Py_TYPE(part) == plain.range)
        return add_range(view, part, size, stride);
    return add_index(view, part, size, stride, stays);
}

/* 1 when a key has a part inside of the tensor for every dimension. */
static int add_all(struct view *view, PyObject *key, PyObject *shape, PyObject *strides, int on_chip)
{
    Py_ssize_t count = PyTuple_Size(shape), size, stride;

    if (!PyTuple_CheckExact(key) || PyTuple_Size(key) != count || count > MOST_DIMENSIONS)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_number(PyTuple_GetItem(shape, i), &size) || !is_number(PyTuple_GetItem(strides, i), &stride))
            return 0;
        if (!add_part(view, PyTuple_GetItem(key, i), size, stride, on_chip && !i))
            return 0;
    }
    if (view->dimensions < 2 && (!view->dimensions || (on_chip && count > 1)))
        keep(view, 1, 1);
    return 1;
}

static PyObject *tuple_of(const Py_ssize_t *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);

    for (Py_ssize_t i = 0; tuple && i < count; i++) {
        PyObject *value = PyLong_FromSsize_t(values[i]);
        if (!value || PyTuple_SetItem(tuple, i, value) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* The fields of a tensor, new references; -1 with an exception where it is none. */
static int read_fields(PyObject *tensor, PyObject **fields)
{
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = PyObject_GetAttr(tensor, names.fields[i]);
        if (!fields[i])
            return -1;
    }
    return 0;
}

static void drop(PyObject **fields, int count)
{
    for (int i = 0; i < count; i++)
        Py_XDECREF(fields[i]);
}

static int lies_on_chip(PyObject *storage)
{
    PyObject *memory = PyObject_GetAttr(storage, names.memory);
    int on_chip = memory && PyUnicode_CompareWithASCIIString(memory, "hbm") != 0;

    Py_XDECREF(memory);
    return on_chip;
}

/* The tensor with another place in its storage. */
static PyObject *moved(PyObject *tensor, PyObject **fields, const struct view *view)
{
    PyObject *offset = PyLong_FromSsize_t(view->offset), *shape = tuple_of(view->size, view->dimensions);
    PyObject *strides = tuple_of(view->stride, view->dimensions), *made = NULL;

    if (offset && shape && strides)
        made = PyObject_CallFunctionObjArgs((PyObject *)Py_TYPE(tensor), fields[STORAGE], offset, shape, strides,
                                            fields[DTYPE], fields[DYNAMIC], fields[ACCESS] == Py_True ? Py_True : Py_None, NULL);
    Py_XDECREF(offset);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return made;
}

PyObject *getitem(PyObject *tensor, PyObject *key)
{
    PyObject *fields[FIELDS] = {NULL}, *made = NULL;
    struct view view = {.dimensions = 0};
    int common = read_fields(tensor, fields) == 0 && is_number(fields[OFFSET], &view.offset) &&
                 add_all(&view, key, fields[SHAPE], fields[STRIDES], lies_on_chip(fields[STORAGE]));

    if (common)
        made = moved(tensor, fields, &view);
    drop(fields, FIELDS);
    if (common)
        return made;
    PyErr_Clear();
    return PyObject_CallFunctionObjArgs(plain.getitem, tensor, key, NULL);
}

static PyObject *new_access(PyObject *tensor)
{
    PyObject *fields[FIELDS] = {NULL}, *index = NULL, *pattern = NULL, *made = NULL;

    if (read_fields(tensor, fields) == 0)
        index = PyObject_GetAttr(fields[STORAGE], names.index);
    if (index)
        pattern = PyObject_CallFunctionObjArgs(plain.pattern, fields[STRIDES], fields[SHAPE], NULL);
    if (pattern)
        made = PyObject_CallFunctionObjArgs(plain.type_access, index, fields[OFFSET], pattern, fields[DTYPE], fields[DYNAMIC], NULL);
    if (made && PyObject_SetAttr(tensor, names.fields[ACCESS], made) < 0)
        Py_CLEAR(made);
    Py_XDECREF(pattern);
    Py_XDECREF(index);
    drop(fields, FIELDS);
    return made;
}

PyObject *access_of(PyObject *module, PyObject *tensor)
{
    PyObject *known = PyObject_GetAttr(tensor, names.fields[ACCESS]), *made;

    (void)module;
    if (known && (PyObject *)Py_TYPE(known) == plain.type_access)
        return known;
    if (known == Py_None) {
        made = new_access(tensor);
    } else {
        PyErr_Clear(); /* no tensor, or one whose bounds are to be checked */
        made = PyObject_CallFunctionObjArgs(plain.access, tensor, NULL);
    }
    Py_XDECREF(known);
    return made;
}
