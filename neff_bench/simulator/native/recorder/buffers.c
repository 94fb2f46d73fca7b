/* `buffers_of` of neff_bench.simulator.recording.buffers. */

#include "recorder.h"

#include <stdint.h>
#include <string.h>

#define MOST_BYTES 64

/* A memory and a number behind it. */
static PyObject *numbered(PyObject *memory, PyObject *index)
{
    char text[MOST_BYTES], digits[24];
    Py_ssize_t bytes, number, count = 0;
    const char *word = PyUnicode_AsUTF8AndSize(memory, &bytes);

    if (!word || !is_number(index, &number) || number < 0 || bytes > MOST_BYTES - 24)
        return word ? PyUnicode_FromFormat("%U%S", memory, index) : NULL;
    do {
        digits[sizeof digits - ++count] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    memcpy(text, word, (size_t)bytes);
    memcpy(text + bytes, digits + sizeof digits - count, (size_t)count);
    return PyUnicode_FromStringAndSize(text, bytes + count);
}

static PyObject *buffer_of(const struct storage *storage)
{
    PyObject *const *of = storage->fields, *name = of[OF_NAME], *made = NULL;
    int named = PyUnicode_CompareWithASCIIString(name, "") != 0;

    if (!named)
        name = numbered(of[OF_MEMORY], of[OF_INDEX]);
    if (name)
        made = PyObject_CallFunctionObjArgs(plain.buffer, name, of[OF_MEMORY], of[OF_SHAPE], of[OF_DTYPE], of[OF_KIND], of[OF_CORE],
                                            of[OF_DATA], of[OF_ADDRESS], of[OF_SOURCE], of[OF_PARTITION], NULL);
    if (!named)
        Py_XDECREF(name);
    return made;
}

PyObject *buffers_of(PyObject *module, PyObject *storages)
{
    Py_ssize_t count = PyList_Size(storages);
    PyObject *all = count < 0 ? NULL : PyTuple_New(count);

    (void)module;
    for (Py_ssize_t i = 0; all && i < count; i++) {
        const struct storage *storage = as_storage(PyList_GetItem(storages, i));
        PyObject *made = storage ? buffer_of(storage) : NULL;
        if (!made || PyTuple_SetItem(all, i, made) < 0)
            Py_CLEAR(all);
    }
    if (!all && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "buffers are made of allocations");
    return all;
}
