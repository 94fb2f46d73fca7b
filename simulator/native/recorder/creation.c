/* `ndarray` of neff_bench.simulator.recording.creation: allocations whose shape, dtype and place are plainly right. */

#include "recorder.h"

enum argument { SHAPE_GIVEN, DTYPE_GIVEN, BUFFER, NAME, ADDRESS, ARGUMENTS };

/* Of `form_of`. */
enum form { KIND, ITEM_BYTES, SIZE, FREE, STEPS, ROOM };

/* 1 when the arguments of a call are known by their places or names; those that are missing have their defaults. */
static int sort_arguments(PyObject **sorted, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;

    sorted[BUFFER] = plain.sbuf;
    sorted[NAME] = names.empty;
    sorted[ADDRESS] = Py_None;
    if (count > ARGUMENTS)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        sorted[i] = given[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        int place = 0;
        while (place < ARGUMENTS && names.arguments[place] != PyTuple_GetItem(keywords, i))
            place++;
        if (place < count || place == ARGUMENTS)
            return 0;
        sorted[place] = given[count + i];
    }
    if (sorted[NAME] == Py_None)
        sorted[NAME] = names.empty;
    return sorted[SHAPE_GIVEN] && sorted[DTYPE_GIVEN];
}

/* 1 when all elements of a tuple are whole numbers. */
static int is_shape(PyObject *shape)
{
    Py_ssize_t count = PyTuple_CheckExact(shape) ? PyTuple_Size(shape) : 0, size;

    for (Py_ssize_t i = 0; i < count; i++) {
        if (!is_number(PyTuple_GetItem(shape, i), &size))
            return 0;
    }
    return count > 0;
}

/* The form of a tensor, a new reference; NULL where there is none. */
static PyObject *form_now(PyObject *recorder, PyObject *shape, PyObject *dtype, PyObject *memory)
{
    PyObject *forms = PyObject_GetAttr(recorder, names.forms), *key = PyTuple_Pack(3, shape, dtype, memory), *form = NULL;

    if (forms && key) {
        form = PyDict_GetItemWithError(forms, key);
        Py_XINCREF(form);
        if (!form && !PyErr_Occurred()) {
            form = PyObject_CallFunctionObjArgs(plain.form_of, shape, dtype, memory, NULL);
            if (form && PyDict_SetItem(forms, key, form) < 0)
                Py_CLEAR(form);
        }
    }
    Py_XDECREF(key);
    Py_XDECREF(forms);
    return form;
}

/* 1 when an address, None or (partition, byte), is good for a tensor of this form; `at` gets its two elements. */
static int fits(PyObject *address, PyObject *shape, PyObject *form, PyObject *memory, PyObject **at)
{
    Py_ssize_t room, partition, byte, partitions;

    if (!is_number(PyTuple_GetItem(form, ROOM), &room) || room < 0)
        return 0;
    if (address == Py_None || PyUnicode_CompareWithASCIIString(memory, "hbm") == 0)
        return 1;
    if (!PyTuple_CheckExact(address) || PyTuple_Size(address) != 2)
        return 0;
    at[0] = PyTuple_GetItem(address, 0);
    at[1] = PyTuple_GetItem(address, 1);
    if (!is_number(at[0], &partition) || !is_number(at[1], &byte) || !is_number(PyTuple_GetItem(shape, 0), &partitions))
        return 0;
    return partition + partitions <= 128 && byte <= room;
}

/* The allocation, entered into the recorder's table. `at`: its place, or NULLs. */
static PyObject *enter(PyObject *recorder, PyObject **sorted, PyObject *form, PyObject *memory, PyObject **at)
{
    PyObject *storages = PyObject_GetAttr(recorder, names.storages), *core = PyObject_GetAttr(recorder, names.core);
    PyObject *index = storages ? PyLong_FromSsize_t(PyList_Size(storages)) : NULL, *source = NULL, *storage = NULL;

    if (index && core)
        source = source_now(recorder, 0);
    if (source)
        storage = PyObject_CallFunctionObjArgs(
            plain.storage, index, sorted[NAME], memory, sorted[BUFFER], sorted[SHAPE_GIVEN], PyTuple_GetItem(form, KIND),
            PyTuple_GetItem(form, ITEM_BYTES), PyTuple_GetItem(form, SIZE), PyTuple_GetItem(form, FREE), names.internal, core,
            source, at[0] ? names.no_bytes : NULL, at[0], at[1], NULL);
    if (storage && PyList_Append(storages, storage) < 0)
        Py_CLEAR(storage);
    Py_XDECREF(source);
    Py_XDECREF(index);
    Py_XDECREF(core);
    Py_XDECREF(storages);
    return storage;
}

/* The view of all of an allocation. */
static PyObject *whole(PyObject *storage, PyObject *shape, PyObject *form)
{
    PyObject *fields[FIELDS] = {storage, PyLong_FromLong(0), shape, PyTuple_GetItem(form, STEPS), PyTuple_GetItem(form, KIND),
                                names.no_parts, Py_None};

    for (int i = 0; i < FIELDS; i++) {
        if (i != OFFSET)
            Py_XINCREF(fields[i]);
    }
    return new_view((PyTypeObject *)plain.tensor, fields);
}

/* A new allocation as a whole; NULL without an exception where the plain form has to say what it is. */
static PyObject *allocated(PyObject *recorder, PyObject **sorted)
{
    PyObject *memory = PyObject_GetAttr(sorted[BUFFER], names.memory), *form = NULL, *storage = NULL, *tensor = NULL;
    PyObject *at[2] = {NULL, NULL};

    if (memory)
        form = form_now(recorder, sorted[SHAPE_GIVEN], sorted[DTYPE_GIVEN], memory);
    if (!form)
        PyErr_Clear(); /* the plain form has the same exception */
    else if (fits(sorted[ADDRESS], sorted[SHAPE_GIVEN], form, memory, at))
        storage = enter(recorder, sorted, form, memory, at);
    if (storage)
        tensor = whole(storage, sorted[SHAPE_GIVEN], form);
    Py_XDECREF(storage);
    Py_XDECREF(form);
    Py_XDECREF(memory);
    return tensor;
}

static int is_common(PyObject **sorted)
{
    return is_shape(sorted[SHAPE_GIVEN]) && PyUnicode_CheckExact(sorted[DTYPE_GIVEN]) && PyUnicode_CheckExact(sorted[NAME]) &&
           (PyObject *)Py_TYPE(sorted[BUFFER]) == plain.region && sorted[BUFFER] != plain.shared_hbm;
}

/* The plain form, called in the same way. */
static PyObject *call_plain(PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    PyObject *places = PyTuple_New(count), *by_name = PyDict_New(), *tensor = NULL;
    int good = places && by_name;

    for (Py_ssize_t i = 0; good && i < count; i++) {
        Py_INCREF(given[i]);
        good = PyTuple_SetItem(places, i, given[i]) == 0;
    }
    for (Py_ssize_t i = 0; good && i < named; i++)
        good = PyDict_SetItem(by_name, PyTuple_GetItem(keywords, i), given[count + i]) == 0;
    if (good)
        tensor = PyObject_Call(plain.ndarray, places, by_name);
    Py_XDECREF(places);
    Py_XDECREF(by_name);
    return tensor;
}

PyObject *ndarray(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    PyObject *sorted[ARGUMENTS] = {NULL}, *recorder = recorder_now(), *tensor = NULL;

    (void)module;
    if (recorder && sort_arguments(sorted, given, count, keywords) && is_common(sorted))
        tensor = allocated(recorder, sorted);
    Py_XDECREF(recorder);
    return tensor || PyErr_Occurred() ? tensor : call_plain(given, count, keywords);
}
