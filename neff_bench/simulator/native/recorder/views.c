/* `PlainView` of neff_bench.simulator.recording.tensor in C: the indexing of views by numbers, slices and ranges, and the operands that
   instructions record for them. */

#include "recorder.h"

#define MOST_DIMENSIONS 16

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

/* Of slices and of ranges. */
static struct getter stop_of = {"stop"}, first_of = {"start"}, size_of = {"size"};

/* The same for a bound of a slice or a range; None leaves `value` alone. */
static int is_bound(PyObject *slice, struct getter *getter, Py_ssize_t *value)
{
    PyObject *bound = attribute(getter, slice);
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
    Py_ssize_t start, stop, step;

    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        return 0;
    if (stop == PY_SSIZE_T_MAX) { /* none is given, or it is larger */
        stop = size;
        if (!is_bound(slice, &stop_of, &stop))
            return 0;
    }
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

    if (!is_bound(range, &first_of, &start) || !is_bound(range, &size_of, &count))
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

/* What a key says of each dimension: its items, but for `whole` dimensions from `first` on. dots: 1 where an ellipsis stands for these. */
struct key {
    PyObject *given;
    Py_ssize_t first, whole, dots;
};

/* The item at a place of a key; a key that is no tuple is one item. */
static PyObject *item_at(PyObject *given, Py_ssize_t place)
{
    return PyTuple_CheckExact(given) ? PyTuple_GetItem(given, place) : given;
}

/* 1 when a key is good for so many dimensions. */
static int read_key(struct key *key, PyObject *given, Py_ssize_t dimensions)
{
    Py_ssize_t count = PyTuple_CheckExact(given) ? PyTuple_Size(given) : 1;

    *key = (struct key){given, count, 0, 0};
    for (Py_ssize_t i = 0; i < count; i++) {
        if (item_at(given, i) == Py_Ellipsis) {
            key->first = i;
            key->dots++;
        }
    }
    key->whole = dimensions - count + key->dots;
    return key->dots < 2 && key->whole >= 0;
}

/* The item for a dimension, NULL for all of it. */
static PyObject *item_of(const struct key *key, Py_ssize_t dimension)
{
    if (dimension < key->first)
        return item_at(key->given, dimension);
    return dimension < key->first + key->whole ? NULL : item_at(key->given, dimension - key->whole + key->dots);
}

/* 1 when the items of a key lie inside of the tensor. */
static int add_all(struct part *part, PyObject *given, PyObject *shape, PyObject *strides, int on_chip)
{
    Py_ssize_t count = PyTuple_Size(shape), size, stride;
    struct key key;

    if (count > MOST_DIMENSIONS || !read_key(&key, given, count))
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = item_of(&key, i);
        if (!is_number(PyTuple_GetItem(shape, i), &size) || !is_number(PyTuple_GetItem(strides, i), &stride))
            return 0;
        if (!item)
            keep(part, size, stride);
        else if (!add_item(part, item, size, stride, on_chip && !i))
            return 0;
    }
    if (part->dimensions < 2 && (!part->dimensions || (on_chip && count > 1)))
        keep(part, 1, 1);
    return 1;
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

PyObject *getitem(PyObject *self, PyObject *key)
{
    struct view *view = (struct view *)self;
    struct storage *storage = storage_of(view);
    struct part part; /* to clear all of it takes as long as to index */

    part.dimensions = 0;
    if (storage && is_number(view->fields[OFFSET], &part.offset) &&
        add_all(&part, key, view->fields[SHAPE], view->fields[STRIDES], lies_on_chip(storage)))
        return moved(view, &part);
    PyErr_Clear();
    return PyObject_CallFunctionObjArgs(plain.getitem, self, key, NULL);
}

static PyObject *new_access(struct view *self, const struct storage *storage)
{
    PyObject **fields = self->fields, *pattern = pattern_of(fields[STRIDES], fields[SHAPE]), *made = NULL, *before;

    if (pattern)
        made = PyObject_CallFunctionObjArgs(plain.type_access, storage->fields[OF_INDEX], fields[OFFSET], pattern, fields[DTYPE],
                                            fields[DYNAMIC], NULL);
    Py_XDECREF(pattern);
    if (made) {
        before = fields[ACCESS];
        Py_INCREF(made);
        fields[ACCESS] = made;
        Py_XDECREF(before);
    }
    return made;
}

PyObject *access_of(PyObject *module, PyObject *tensor)
{
    struct view *self = (struct view *)tensor;
    struct storage *storage = is_view(tensor) ? storage_of(self) : NULL;
    PyObject *made = storage ? self->fields[ACCESS] : NULL;

    (void)module;
    if (storage && (made == Py_None || (made == Py_True && lies_inside(self))))
        return new_access(self, storage);
    if (!storage || made == Py_True)
        return PyObject_CallFunctionObjArgs(plain.access, tensor, NULL);
    Py_INCREF(made);
    return made;
}
