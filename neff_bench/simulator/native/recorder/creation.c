/* `ndarray` of neff_bench.simulator.recording.creation: allocations whose shape, dtype and place are plainly right. */

#include "recorder.h"

#include <stdint.h>

enum argument { SHAPE_GIVEN, DTYPE_GIVEN, BUFFER, NAME, PLACE, ARGUMENTS };

/* Of `form_of`. */
enum form { KIND, ITEM_BYTES, SIZE, FREE, STEPS, ROOM };

/* What the tensors of one recorder have in common that are asked for in the same words, with what was made of these: its memory, its
   form, its partitions and the room beside it. */
struct known {
    PyObject *forms, *shape, *dtype, *region, *memory, *form;
    Py_ssize_t partitions, room;
};

#define KNOWN 64

static struct known all_known[KNOWN];

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
static PyObject *form_now(PyObject *forms, PyObject *shape, PyObject *dtype, PyObject *memory)
{
    PyObject *key = PyTuple_Pack(3, shape, dtype, memory), *form = key ? PyDict_GetItemWithError(forms, key) : NULL;

    Py_XINCREF(form);
    if (key && !form && !PyErr_Occurred()) {
        form = PyObject_CallFunctionObjArgs(plain.form_of, shape, dtype, memory, NULL);
        if (form && PyDict_SetItem(forms, key, form) < 0)
            Py_CLEAR(form);
    }
    Py_XDECREF(key);
    return form;
}

/* Keeps what was found, with references to all of it: the addresses of the words stay their own. */
static const struct known *keep(struct known *slot, struct known *found)
{
    struct known before = *slot;

    Py_INCREF(found->forms);
    Py_INCREF(found->shape);
    Py_INCREF(found->dtype);
    Py_INCREF(found->region);
    *slot = *found;
    Py_XDECREF(before.forms);
    Py_XDECREF(before.shape);
    Py_XDECREF(before.dtype);
    Py_XDECREF(before.region);
    Py_XDECREF(before.memory);
    Py_XDECREF(before.form);
    return slot;
}

/* What is known of the words in `words`, found now; NULL where the plain form has to say what is wrong. */
static const struct known *find(struct known *slot, struct known *words)
{
    if (!is_shape(words->shape) || !PyUnicode_CheckExact(words->dtype) || (PyObject *)Py_TYPE(words->region) != plain.region ||
        words->region == plain.shared_hbm)
        return NULL;
    words->memory = PyObject_GetAttr(words->region, names.memory);
    if (words->memory)
        words->form = form_now(words->forms, words->shape, words->dtype, words->memory);
    if (words->form && is_number(PyTuple_GetItem(words->form, ROOM), &words->room) && words->room >= 0 &&
        is_number(PyTuple_GetItem(words->shape, 0), &words->partitions))
        return keep(slot, words);
    Py_XDECREF(words->memory);
    Py_XDECREF(words->form);
    PyErr_Clear(); /* the plain form has the same exception */
    return NULL;
}

static const struct known *known_of(const struct state *now, PyObject *const *sorted)
{
    struct known words = {now->fields[NOW_FORMS], sorted[SHAPE_GIVEN], sorted[DTYPE_GIVEN], sorted[BUFFER], NULL, NULL, 0, 0};
    struct known *slot = &all_known[((uintptr_t)words.shape >> 4 ^ (uintptr_t)words.region >> 5) % KNOWN];

    if (slot->shape == words.shape && slot->dtype == words.dtype && slot->region == words.region && slot->forms == words.forms)
        return slot;
    return find(slot, &words);
}

/* 1 when an address, None or (partition, byte), is good for such a tensor; `at` gets its two elements. */
static int fits(PyObject *address, const struct known *known, PyObject **at)
{
    Py_ssize_t partition, byte;

    if (address == Py_None || is_hbm(known->memory))
        return 1;
    if (!PyTuple_CheckExact(address) || PyTuple_Size(address) != 2)
        return 0;
    at[0] = PyTuple_GetItem(address, 0);
    at[1] = PyTuple_GetItem(address, 1);
    if (!is_number(at[0], &partition) || !is_number(at[1], &byte))
        return 0;
    return partition + known->partitions <= 128 && byte <= known->room;
}

/* The allocation, entered into the recorder's table. `at`: its place. */
static PyObject *enter(struct state *now, PyObject *const *sorted, const struct known *known, PyObject *const *at)
{
    PyObject *storages = now->fields[NOW_STORAGES], *form = known->form, *storage;
    long source;
    PyObject *fields[OF_ALL] = {
        [OF_NAME] = sorted[NAME],
        [OF_MEMORY] = known->memory,
        [OF_REGION] = known->region,
        [OF_SHAPE] = known->shape,
        [OF_DTYPE] = PyTuple_GetItem(form, KIND),
        [OF_ITEM_BYTES] = PyTuple_GetItem(form, ITEM_BYTES),
        [OF_SIZE] = PyTuple_GetItem(form, SIZE),
        [OF_FREE] = PyTuple_GetItem(form, FREE),
        [OF_KIND] = names.internal,
        [OF_CORE] = now->fields[NOW_CORE],
        [OF_DATA] = names.no_bytes,
        [OF_PARTITION] = at[0],
        [OF_ADDRESS] = at[1],
    };

    for (int i = 0; i < OF_ALL; i++)
        Py_XINCREF(fields[i]);
    fields[OF_INDEX] = PyLong_FromSsize_t(PyList_Size(storages));
    source = source_now(now, 0);
    fields[OF_SOURCE] = source < 0 ? NULL : PyLong_FromLong(source);
    storage = new_storage(fields);
    if (storage && PyList_Append(storages, storage) < 0)
        Py_CLEAR(storage);
    return storage;
}

/* The view of all of an allocation. */
static PyObject *whole(PyObject *storage, PyObject *form)
{
    PyObject *fields[FIELDS] = {storage, names.zero, ((struct storage *)storage)->fields[OF_SHAPE], PyTuple_GetItem(form, STEPS),
                                PyTuple_GetItem(form, KIND), names.no_parts, Py_None};

    for (int i = 0; i < FIELDS; i++)
        Py_INCREF(fields[i]);
    return new_view((PyTypeObject *)plain.tensor, fields);
}

/* A new allocation as a whole; NULL without an exception where the plain form has to say what it is. */
static PyObject *allocated(struct state *now, PyObject **sorted)
{
    const struct known *known = known_of(now, sorted);
    PyObject *at[2] = {names.zero, Py_None}, *form, *storage, *tensor;

    if (!known || !fits(sorted[PLACE], known, at))
        return NULL;
    form = known->form;
    Py_INCREF(form);
    storage = enter(now, sorted, known, at);
    tensor = storage ? whole(storage, form) : NULL;
    Py_XDECREF(storage);
    Py_DECREF(form);
    return tensor;
}

PyObject *ndarray(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
    static const char *const texts[] = {"shape", "dtype", "buffer", "name", "address"};
    static PyObject *parameters[ARGUMENTS];
    PyObject *sorted[ARGUMENTS] = {[BUFFER] = plain.sbuf, [NAME] = names.empty, [PLACE] = Py_None}, *tensor = NULL;
    struct state *now = recorder_now();

    (void)module;
    if (!parameters[ARGUMENTS - 1] && intern_all(parameters, texts, ARGUMENTS) < 0) {
        Py_XDECREF((PyObject *)now);
        return NULL;
    }
    if (now && sort_arguments(sorted, parameters, ARGUMENTS, given, count, keywords) && sorted[SHAPE_GIVEN] && sorted[DTYPE_GIVEN]) {
        if (sorted[NAME] == Py_None)
            sorted[NAME] = names.empty;
        if (PyUnicode_CheckExact(sorted[NAME]))
            tensor = allocated(now, sorted);
    }
    Py_XDECREF((PyObject *)now);
    return tensor || PyErr_Occurred() ? tensor : call_plain(plain.ndarray, NULL, given, count, keywords);
}
