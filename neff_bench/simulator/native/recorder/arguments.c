/* The arguments of functions that kernels call. */

#include "recorder.h"

#include <stdint.h>

int intern_all(PyObject **names, const char *const *texts, int count)
{
    for (int i = 0; i < count; i++) {
        names[i] = PyUnicode_InternFromString(texts[i]);
        if (!names[i])
            return -1;
    }
    return 0;
}

int sort_arguments(PyObject **sorted, PyObject *const *names, int most, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;

    if (count > most)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        sorted[i] = given[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(keywords, i);
        int place = (int)count;
        while (place < most && names[place] != name)
            place++;
        if (place == most)
            return 0;
        sorted[place] = given[count + i];
    }
    return 1;
}

size_t place_of_addresses(const void *const *addresses, int count)
{
    uint64_t hash = 0;

    for (int i = 0; i < count; i++)
        hash = (hash ^ (uintptr_t)addresses[i]) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 40);
}

PyObject *call_plain(PyObject *function, PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0, first = self != NULL;
    PyObject *places = PyTuple_New(first + count), *by_name = PyDict_New(), *made = NULL;
    int good = places && by_name;

    for (Py_ssize_t i = 0; good && i < first + count; i++) {
        PyObject *argument = i < first ? self : given[i - first];
        Py_INCREF(argument);
        good = PyTuple_SetItem(places, i, argument) == 0;
    }
    for (Py_ssize_t i = 0; good && i < named; i++)
        good = PyDict_SetItem(by_name, PyTuple_GetItem(keywords, i), given[count + i]) == 0;
    if (good)
        made = PyObject_Call(function, places, by_name);
    Py_XDECREF(places);
    Py_XDECREF(by_name);
    return made;
}
