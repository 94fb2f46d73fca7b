/* `PlainView` of neff_bench.simulator.recording.tensor in C: views of allocations, their indexing by numbers, slices and ranges, and the
   operands that instructions record for them. */

#include "recorder.h"

#include <stddef.h>
#include <structmember.h>

#define MOST_DIMENSIONS 16

static PyTypeObject *view_type;

/* The part of a view that a key names: sizes and steps of the dimensions that stay. */
struct part {
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

static void keep(struct part *part, Py_ssize_t size, Py_ssize_t stride)
{
    part->size[part->dimensions] = size;
    part->stride[part->dimensions++] = stride;
}

/* 1 when a slice of single steps lies inside of a dimension. */
static int add_slice(struct part *part, PyObject *slice, Py_ssize_t size, Py_ssize_t stride)
{
    Py_ssize_t start = 0, stop = size, step = 1;

    if (!is_bound(slice, names.start, &start) || !is_bound(slice, names.stop, &stop) || !is_bound(slice, names.step, &step))
        return 0;
    if (start < 0 || start >= stop || stop > size || step != 1)
        return 0;
    part->offset += start * stride;
    keep(part, stop - start, stride);
    return 1;
}

/* 1 when an index lies inside of a dimension. `stays`: the dimension does, with size 1. */
static int add_index(struct part *part, PyObject *index, Py_ssize_t size, Py_ssize_t stride, int stays)
{
    Py_ssize_t at;

    if (!is_number(index, &at) || at < 0 || at >= size)
        return 0;
    part->offset += at * stride;
    if (stays)
        keep(part, 1, stride);
    return 1;
}

/* 1 when nl.ds(start, size) lies inside of a dimension. */
static int add_range(struct part *part, PyObject *range, Py_ssize_t size, Py_ssize_t stride)
{
    Py_ssize_t start = -1, count = -1;

    if (!is_bound(range, names.start, &start) || !is_bound(range, names.size, &count))
        return 0;
    if (start < 0 || count < 1 || count > size - start)
        return 0;
    part->offset += start * stride;
    keep(part, count, stride);
    return 1;
}

/* 1 when one item of a key lies inside of its dimension. `stays`: the dimension does where the item is an index. */
static int add_item(struct part *part, PyObject *item, Py_ssize_t size, Py_ssize_t stride, int stays)
{
    if (PySlice_Check(item))
        return add_slice(part, item, size, stride);
    if ((PyObject *)Py_TYPE(item) == plain.range)
        return add_range(part, item, size, stride);
    return add_index(part, item, size, stride, stays);
}

/* 1 when a key has an item inside of the tensor for every dimension. */
static int add_all(struct part *part, PyObject *key, PyObject *shape, PyObject *strides, int on_chip)
{
    Py_ssize_t count = PyTuple_Size(shape), size, stride;

    if (!PyTuple_CheckExact(key) || PyTuple_Size(key) != count || count > MOST_DIMENSIONS)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_number(PyTuple_GetItem(shape, i), &size) || !is_number(PyTuple_GetItem(strides, i), &stride))
            return 0;
        if (!add_item(part, PyTuple_GetItem(key, i), size, stride, on_chip && !i))
            return 0;
    }
    if (part->dimensions < 2 && (!part->dimensions || (on_chip && count > 1)))
        keep(part, 1, 1);
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

static int lies_on_chip(PyObject *storage)
{
    PyObject *memory = PyObject_GetAttr(storage, names.memory);
    int on_chip = memory && PyUnicode_CompareWithASCIIString(memory, "hbm") != 0;

    Py_XDECREF(memory);
    return on_chip;
}

/* The view with another place in its storage. */
static PyObject *moved(struct view *self, const struct part *part)
{
    PyObject *fields[FIELDS];

    for (int i = 0; i < FIELDS; i++)
        fields[i] = self->fields[i];
    if (fields[ACCESS] != Py_True)
        fields[ACCESS] = Py_None;
    fields[OFFSET] = PyLong_FromSsize_t(part->offset);
    fields[SHAPE] = tuple_of(part->size, part->dimensions);
    fields[STRIDES] = tuple_of(part->stride, part->dimensions);
    Py_INCREF(fields[STORAGE]);
    Py_INCREF(fields[DTYPE]);
    Py_INCREF(fields[DYNAMIC]);
    Py_INCREF(fields[ACCESS]);
    return new_view(Py_TYPE(self), fields);
}

static PyObject *getitem(PyObject *self, PyObject *key)
{
    struct view *view = (struct view *)self;
    struct part part = {.dimensions = 0};

    if (is_number(view->fields[OFFSET], &part.offset) &&
        add_all(&part, key, view->fields[SHAPE], view->fields[STRIDES], lies_on_chip(view->fields[STORAGE])))
        return moved(view, &part);
    PyErr_Clear();
    return PyObject_CallFunctionObjArgs(plain.getitem, self, key, NULL);
}

static PyObject *new_access(struct view *self)
{
    PyObject **fields = self->fields, *index = PyObject_GetAttr(fields[STORAGE], names.index), *pattern = NULL, *made = NULL;

    if (index)
        pattern = PyObject_CallFunctionObjArgs(plain.pattern, fields[STRIDES], fields[SHAPE], NULL);
    if (pattern)
        made = PyObject_CallFunctionObjArgs(plain.type_access, index, fields[OFFSET], pattern, fields[DTYPE], fields[DYNAMIC], NULL);
    if (made) {
        PyObject *before = fields[ACCESS];
        Py_INCREF(made);
        fields[ACCESS] = made;
        Py_XDECREF(before);
    }
    Py_XDECREF(pattern);
    Py_XDECREF(index);
    return made;
}

PyObject *access_of(PyObject *module, PyObject *tensor)
{
    struct view *self = (struct view *)tensor;

    (void)module;
    if (!PyObject_TypeCheck(tensor, view_type) || self->fields[ACCESS] == Py_True) /* no tensor; bounds are to be checked */
        return PyObject_CallFunctionObjArgs(plain.access, tensor, NULL);
    if (self->fields[ACCESS] == Py_None)
        return new_access(self);
    Py_INCREF(self->fields[ACCESS]);
    return self->fields[ACCESS];
}

PyObject *new_view(PyTypeObject *type, PyObject **fields)
{
    int good = 1;
    struct view *made;

    for (int i = 0; i < FIELDS; i++)
        good = good && fields[i];
    made = good ? (struct view *)PyType_GenericAlloc(type, 0) : NULL;
    for (int i = 0; i < FIELDS; i++) {
        if (made)
            made->fields[i] = fields[i];
        else
            Py_XDECREF(fields[i]);
    }
    return (PyObject *)made;
}

/* View(storage, offset, shape, strides, dtype, dynamic=(), access=None) */
static PyObject *make(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *fields[FIELDS] = {NULL};

    fields[DYNAMIC] = names.no_parts;
    fields[ACCESS] = Py_None;
    if (named && PyDict_Size(named)) {
        PyErr_SetString(PyExc_TypeError, "a view takes its fields by their places");
        return NULL;
    }
    if (!PyArg_ParseTuple(given, "OOOOO|OO", &fields[0], &fields[1], &fields[2], &fields[3], &fields[4], &fields[5], &fields[6]))
        return NULL;
    for (int i = 0; i < FIELDS; i++)
        Py_INCREF(fields[i]);
    return new_view(type, fields);
}

static void release(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_it = (freefunc)PyType_GetSlot(type, Py_tp_free); /* of a class in Python it is another than ours */

    for (int i = 0; i < FIELDS; i++)
        Py_XDECREF(((struct view *)self)->fields[i]);
    free_it(self);
    Py_DECREF(type);
}

PyObject *make_view_type(void)
{
#define MEMBER(name, field) {name, T_OBJECT_EX, offsetof(struct view, fields) + (field) * sizeof(PyObject *), 0, NULL}
    static PyMemberDef members[] = {
        MEMBER("storage", STORAGE), MEMBER("offset", OFFSET),   MEMBER("shape", SHAPE),    MEMBER("strides", STRIDES),
        MEMBER("dtype", DTYPE),     MEMBER("dynamic", DYNAMIC), MEMBER("_access", ACCESS), {NULL, 0, 0, 0, NULL},
    };
    PyType_Slot slots[] = {
        {Py_tp_new, make}, {Py_tp_dealloc, release}, {Py_tp_members, members}, {Py_mp_subscript, getitem}, {0, NULL},
    };
    PyType_Spec spec = {
        "neff_bench.simulator.native.recorder.core.View", sizeof(struct view), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots,
    };

    view_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return (PyObject *)view_type;
}
