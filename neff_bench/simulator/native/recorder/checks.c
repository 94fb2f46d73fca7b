/* The rules of neff_bench.simulator.recording.check and operator_names that nearly all operands follow. */

#include "recorder.h"

/* The allocation of a tensor of the dialect; NULL for anything else. */
static struct storage *of_tensor(PyObject *value)
{
    return (PyObject *)Py_TYPE(value) == plain.tensor ? storage_of((struct view *)value) : NULL;
}

/* on_chip(op, **operands) */
PyObject *on_chip(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;

    (void)module;
    for (Py_ssize_t i = 0; i < named; i++) {
        const struct storage *storage = of_tensor(given[count + i]);
        if (!storage || !lies_on_chip(storage))
            return call_plain(plain.on_chip, NULL, given, count, keywords);
    }
    if (count != 1)
        return call_plain(plain.on_chip, NULL, given, count, keywords);
    Py_RETURN_NONE;
}

/* same_tile(op, key, value, like) */
PyObject *same_tile(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count == 4 && of_tensor(given[2]) && of_tensor(given[3])) {
        PyObject *shape = ((struct view *)given[2])->fields[SHAPE], *like = ((struct view *)given[3])->fields[SHAPE];
        if (PyTuple_CheckExact(shape) && PyTuple_CheckExact(like) && PyObject_RichCompareBool(shape, like, Py_EQ) == 1)
            Py_RETURN_NONE;
        PyErr_Clear();
    }
    return call_plain(plain.same_tile, NULL, given, count, NULL);
}

/* 1 when a tensor holds one element in each of so many partitions on chip. */
static int is_vector(PyObject *value, PyObject *partitions)
{
    const struct storage *storage = of_tensor(value);
    PyObject *shape = storage ? ((struct view *)value)->fields[SHAPE] : NULL;
    Py_ssize_t rows, columns, needed;

    if (!storage || !lies_on_chip(storage) || !PyTuple_CheckExact(shape) || PyTuple_Size(shape) != 2)
        return 0;
    return is_number(PyTuple_GetItem(shape, 0), &rows) && is_number(PyTuple_GetItem(shape, 1), &columns) &&
           is_number(partitions, &needed) && rows == needed && columns == 1;
}

/* vector(op, key, value, partitions) */
PyObject *vector(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (count == 4 && is_vector(given[2], given[3])) {
        Py_INCREF(given[2]);
        return given[2];
    }
    return call_plain(plain.vector, NULL, given, count, NULL);
}

/* operand(op, key, value, partitions, reads, attributes) */
PyObject *operand(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    PyObject *key = count == 6 ? given[1] : NULL, *value = count == 6 ? given[2] : NULL;
    int status = -1;

    (void)module;
    if (value == Py_None)
        Py_RETURN_NONE;
    if (value && PyDict_CheckExact(given[4]) && PyDict_CheckExact(given[5])) {
        if (PyFloat_CheckExact(value) || PyLong_CheckExact(value)) {
            status = PyDict_SetItem(given[5], key, value);
        } else if (is_vector(value, given[3])) {
            status = PyDict_SetItem(given[4], key, value);
        }
    }
    if (status == 0)
        Py_RETURN_NONE;
    return PyErr_Occurred() ? NULL : call_plain(plain.operand, NULL, given, count, NULL);
}

/* alu(op, key, given, allowed): no name that an operator may have here is an alias of another one. */
PyObject *alu(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    PyObject *name = NULL;

    (void)module;
    if (count == 4 && PyUnicode_CheckExact(given[2])) {
        name = given[2];
        Py_INCREF(name);
    } else if (count == 4) {
        name = PyObject_GetAttr(given[2], names.name);
    }
    if (name && PyUnicode_CheckExact(name) && PyFrozenSet_CheckExact(given[3]) && PySet_Contains(given[3], name) == 1)
        return name;
    Py_XDECREF(name);
    PyErr_Clear();
    return call_plain(plain.alu, NULL, given, count, NULL);
}
