/* Tuples of numbers that kernels make again and again: shapes, steps and patterns. Equal ones are one object, as long as no other
   takes their slot. */

#include "recorder.h"

#include <stdint.h>
#include <string.h>

#define SLOTS 1024
#define MOST 8

struct slot {
    Py_ssize_t count, values[MOST];
    PyObject *tuple;
};

static struct slot tuples[SLOTS], patterns[SLOTS];

/* The slot of these numbers, of which there are at most MOST; it may hold others. */
static struct slot *slot_of(struct slot *slots, const Py_ssize_t *values, Py_ssize_t count)
{
    uint64_t hash = (uint64_t)count;

    for (Py_ssize_t i = 0; i < count; i++) {
        hash = (hash ^ (uint64_t)values[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return &slots[hash % SLOTS];
}

/* Its tuple, a new reference; NULL without an exception where it holds others. */
static PyObject *found_in(const struct slot *slot, const Py_ssize_t *values, Py_ssize_t count)
{
    if (!slot->tuple || slot->count != count || memcmp(slot->values, values, (size_t)count * sizeof *values) != 0)
        return NULL;
    Py_INCREF(slot->tuple);
    return slot->tuple;
}

static void keep(struct slot *slot, const Py_ssize_t *values, Py_ssize_t count, PyObject *tuple)
{
    PyObject *before = slot->tuple;

    memcpy(slot->values, values, (size_t)count * sizeof *values);
    slot->count = count;
    Py_INCREF(tuple);
    slot->tuple = tuple;
    Py_XDECREF(before);
}

static PyObject *new_tuple(const Py_ssize_t *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);

    for (Py_ssize_t i = 0; tuple && i < count; i++) {
        PyObject *value = PyLong_FromSsize_t(values[i]);
        if (!value || PyTuple_SetItem(tuple, i, value) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *tuple_of(const Py_ssize_t *values, Py_ssize_t count)
{
    struct slot *slot = count <= MOST ? slot_of(tuples, values, count) : NULL;
    PyObject *tuple = slot ? found_in(slot, values, count) : NULL;

    if (tuple)
        return tuple;
    tuple = new_tuple(values, count);
    if (tuple && slot)
        keep(slot, values, count, tuple);
    return tuple;
}

/* Steps and sizes one behind the other; how many, 0 where they are not plainly numbers or too many. */
static Py_ssize_t both(PyObject *steps, PyObject *shape, Py_ssize_t *values)
{
    Py_ssize_t count = PyTuple_CheckExact(shape) ? PyTuple_Size(shape) : 0;

    if (2 * count > MOST || !PyTuple_CheckExact(steps) || PyTuple_Size(steps) != count)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_number(PyTuple_GetItem(steps, i), &values[i]) || !is_number(PyTuple_GetItem(shape, i), &values[count + i]))
            return 0;
    }
    return 2 * count;
}

PyObject *pattern_of(PyObject *steps, PyObject *shape)
{
    Py_ssize_t values[MOST], count = both(steps, shape, values);
    struct slot *slot = count ? slot_of(patterns, values, count) : NULL;
    PyObject *pattern = slot ? found_in(slot, values, count) : NULL;

    if (pattern)
        return pattern;
    pattern = PyObject_CallFunctionObjArgs(plain.pattern, steps, shape, NULL);
    if (pattern && slot)
        keep(slot, values, count, pattern);
    return pattern;
}
