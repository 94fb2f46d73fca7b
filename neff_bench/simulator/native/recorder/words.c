/* The words that the instructions of a program share: names, attributes, patterns, and what instructions do without their operands.

   What is equal has one number, by its value: attributes by their MessagePack, so that 1, 1.0 and True differ. */

#include <stdlib.h>
#include <string.h>

#include "steps.h"

#define KEYS 4096

int resize(struct column *column, int64_t bytes)
{
    if (!column->bytes)
        column->bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    else if (PyByteArray_Resize(column->bytes, (Py_ssize_t)bytes) < 0)
        return -1;
    if (!column->bytes)
        return -1;
    column->data = PyByteArray_AsString(column->bytes);
    return 0;
}

int64_t kept_number(struct numbers *numbers, struct keys **keys, const int64_t *key, size_t length)
{
    struct keys *now = *keys;
    int64_t known = numbers->count, number;

    if (!now || now->used + length > now->room) {
        size_t room = length > KEYS ? length : KEYS;
        now = malloc(sizeof *now + room * sizeof *now->words);
        if (!now) {
            PyErr_NoMemory();
            return -1;
        }
        now->before = *keys;
        now->used = 0;
        now->room = room;
        *keys = now;
    }
    memcpy(now->words + now->used, key, length * sizeof *key);
    number = number_of(numbers, now->words + now->used, length * sizeof *key);
    if (number == known)
        now->used += length;
    else if (number < 0)
        PyErr_NoMemory();
    return number;
}

void release_keys(struct keys *keys)
{
    while (keys) {
        struct keys *before = keys->before;
        free(keys);
        keys = before;
    }
}

/* The number of an object in a dict; a new one has that of its place in the list, where `value` is put. `is_new` may be NULL. */
static int64_t numbered(PyObject *numbers, PyObject *list, PyObject *key, PyObject *value, int *is_new)
{
    PyObject *found = PyDict_GetItemWithError(numbers, key);
    int64_t number = found ? PyLong_AsLongLong(found) : PyList_Size(list);

    if (is_new)
        *is_new = !found;
    if (found || PyErr_Occurred())
        return found ? number : -1;
    found = PyLong_FromLongLong(number);
    if (!found || PyList_Append(list, value) < 0 || PyDict_SetItem(numbers, key, found) < 0)
        number = -1;
    Py_XDECREF(found);
    return number;
}

int64_t text_number(struct words *words, PyObject *text)
{
    return numbered(words->texts, words->text_list, text, text, NULL);
}

/* Without attributes it is 0. */
int64_t attributes_number(struct words *words, PyObject *attributes)
{
    PyObject *bytes;
    int64_t number;

    if (PyDict_Size(attributes) == 0)
        return 0;
    bytes = PyObject_CallFunctionObjArgs(plain.encode, attributes, NULL);
    number = bytes ? numbered(words->attributes, words->attribute_list, bytes, attributes, NULL) : -1;
    Py_XDECREF(bytes);
    return number;
}

/* Without a part that is known at run time only it is 0. */
int64_t dynamic_number(struct words *words, PyObject *dynamic)
{
    return PyTuple_Size(dynamic) ? numbered(words->dynamics, words->dynamic_list, dynamic, dynamic, NULL) : 0;
}

int64_t dtype_number(PyObject *dtype)
{
    PyObject *found = PyDict_GetItemWithError(plain.dtypes, dtype);

    if (found)
        return PyLong_AsLongLong(found);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_KeyError, "a dtype that is not known: %S", dtype);
    return -1;
}

/* Room for the pairs of one more pattern. */
static int has_room(struct words *words, int64_t pairs)
{
    if (words->pattern_count + 2 > words->pattern_room) {
        words->pattern_room = 2 * words->pattern_room + 64;
        if (resize(&words->starts, words->pattern_room * 8) < 0)
            return 0;
    }
    if (words->pair_count + pairs > words->pair_room) {
        words->pair_room = 2 * (words->pair_room + pairs) + 64;
        if (resize(&words->steps, words->pair_room * 8) < 0 || resize(&words->sizes, words->pair_room * 8) < 0)
            return 0;
    }
    return 1;
}

static int add_pairs(struct words *words, PyObject *pattern)
{
    Py_ssize_t pairs = PyTuple_Size(pattern), step, size;
    int64_t *starts;

    if (pairs < 0 || !has_room(words, pairs))
        return -1;
    for (Py_ssize_t i = 0; i < pairs; i++) {
        PyObject *pair = PyTuple_GetItem(pattern, i);
        if (PyTuple_Size(pair) != 2)
            return -1;
        step = PyLong_AsSsize_t(PyTuple_GetItem(pair, 0));
        size = PyLong_AsSsize_t(PyTuple_GetItem(pair, 1));
        ((int64_t *)words->steps.data)[words->pair_count] = step;
        ((int64_t *)words->sizes.data)[words->pair_count++] = size;
    }
    starts = words->starts.data;
    starts[0] = 0;
    starts[++words->pattern_count] = words->pair_count;
    return PyErr_Occurred() ? -1 : 0;
}

int64_t pattern_number(struct words *words, PyObject *pattern)
{
    int is_new;
    int64_t number = numbered(words->patterns, words->pattern_list, pattern, pattern, &is_new);

    return number >= 0 && is_new && add_pairs(words, pattern) < 0 ? -1 : number;
}

/* The slot is found by the addresses of the objects, which stay theirs while it keeps them. */
const struct known_form *form_of_view(struct words *words, PyObject *strides, PyObject *shape, PyObject *dtype)
{
    const void *const asked[] = {strides, shape, dtype};
    struct known_form *slot = &words->forms[place_of_addresses(asked, 3) % KNOWN_FORMS], before = *slot;
    PyObject *pattern;
    int64_t number, type;

    if (slot->strides == strides && slot->shape == shape && slot->dtype == dtype)
        return slot;
    pattern = pattern_of(strides, shape);
    number = pattern ? pattern_number(words, pattern) : -1;
    type = dtype_number(dtype);
    Py_XDECREF(pattern);
    if (number < 0 || type < 0)
        return NULL;
    Py_INCREF(strides);
    Py_INCREF(shape);
    Py_INCREF(dtype);
    *slot = (struct known_form){strides, shape, dtype, number, type};
    Py_XDECREF(before.strides);
    Py_XDECREF(before.shape);
    Py_XDECREF(before.dtype);
    return slot;
}

static PyObject *names_of(struct words *words, const int64_t *names, int64_t count)
{
    PyObject *all = PyTuple_New((Py_ssize_t)count);

    for (int64_t i = 0; all && i < count; i++) {
        PyObject *name = PyList_GetItem(words->text_list, (Py_ssize_t)names[i]);
        Py_XINCREF(name);
        if (!name || PyTuple_SetItem(all, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(all);
    }
    return all;
}

static int add_head(struct words *words, const int64_t *key, size_t length)
{
    int64_t reads = key[KEY_READS], number = words->head_numbers.count - 1;
    PyObject *read = names_of(words, key + KEY_NAMES, reads), *made = NULL;
    PyObject *written = names_of(words, key + KEY_NAMES + reads, (int64_t)length - KEY_NAMES - reads);
    int status = -1;

    if (number >= words->head_room) {
        struct head *grown = realloc(words->heads, (size_t)(2 * number + 64) * sizeof *grown);
        if (grown) {
            words->heads = grown;
            words->head_room = 2 * number + 64;
        }
    }
    if (read && written)
        made = PyTuple_Pack(5, PyList_GetItem(words->text_list, (Py_ssize_t)key[KEY_OP]),
                            PyList_GetItem(words->text_list, (Py_ssize_t)key[KEY_ENGINE]),
                            PyList_GetItem(words->attribute_list, (Py_ssize_t)key[KEY_ATTRIBUTES]), read, written);
    if (made && number < words->head_room && PyList_Append(words->head_objects, made) == 0) {
        words->heads[number] = (struct head){words->keys->words + words->keys->used - length, length};
        status = 0;
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    Py_XDECREF(made);
    Py_XDECREF(read);
    Py_XDECREF(written);
    return status;
}

int64_t head_of(struct words *words, const int64_t *key, size_t length)
{
    int64_t known = words->head_numbers.count, number = kept_number(&words->head_numbers, &words->keys, key, length);

    return number == known && add_head(words, key, length) < 0 ? -1 : number;
}

/* A dict with the flags of a product that are set. */
static PyObject *flags_of(PyObject *accumulate, int is_transpose)
{
    PyObject *attributes = PyDict_New();

    if (attributes && accumulate != Py_None && PyDict_SetItem(attributes, names.accumulate, accumulate) < 0)
        Py_CLEAR(attributes);
    if (attributes && is_transpose && PyDict_SetItem(attributes, names.is_transpose, Py_True) < 0)
        Py_CLEAR(attributes);
    return attributes;
}

int64_t matmul_head(struct words *words, PyObject *accumulate, int is_transpose)
{
    int64_t *known = &words->matmul[accumulate == Py_None ? 0 : accumulate == Py_False ? 1 : 2][is_transpose];
    PyObject *attributes;
    int64_t key[KEY_NAMES + 3];

    if (*known > 0)
        return *known - 1;
    attributes = flags_of(accumulate, is_transpose);
    if (!attributes)
        return -1;
    key[KEY_OP] = text_number(words, names.nc_matmul);
    key[KEY_ENGINE] = text_number(words, names.tensor);
    key[KEY_ATTRIBUTES] = attributes_number(words, attributes);
    key[KEY_READS] = 2;
    key[KEY_NAMES] = text_number(words, names.stationary);
    key[KEY_NAMES + 1] = text_number(words, names.moving);
    key[KEY_NAMES + 2] = text_number(words, names.dst);
    Py_DECREF(attributes);
    *known = PyErr_Occurred() ? 0 : head_of(words, key, KEY_NAMES + 3) + 1;
    return *known - 1;
}

static PyObject *make(PyTypeObject *type, PyObject *given, PyObject *named)
{
    struct words *words = (struct words *)PyType_GenericAlloc(type, 0);
    PyObject **dicts[] = {&words->texts, &words->attributes, &words->patterns, &words->dynamics};
    PyObject **lists[] = {&words->text_list, &words->attribute_list, &words->pattern_list, &words->dynamic_list, &words->head_objects};
    PyObject *none = PyDict_New();
    int good = words && none;

    (void)given;
    (void)named;
    for (int i = 0; good && i < 4; i++)
        good = (*dicts[i] = PyDict_New()) != NULL;
    for (int i = 0; good && i < 5; i++)
        good = (*lists[i] = PyList_New(0)) != NULL;
    /* Number 0 of both. */
    good = good && PyList_Append(words->attribute_list, none) == 0 && PyList_Append(words->dynamic_list, names.no_parts) == 0;
    good = good && has_room(words, 0) && numbers_begin(&words->head_numbers) == 0;
    if (good)
        *(int64_t *)words->starts.data = 0;
    Py_XDECREF(none);
    if (!good)
        Py_CLEAR(words);
    return (PyObject *)words;
}

static void release(PyObject *self)
{
    struct words *words = (struct words *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *held[] = {words->texts,        words->text_list, words->attributes,   words->attribute_list, words->patterns,
                        words->pattern_list, words->dynamics,  words->dynamic_list, words->head_objects,   words->starts.bytes,
                        words->steps.bytes,  words->sizes.bytes};

    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        Py_XDECREF(held[i]);
    for (int i = 0; i < KNOWN_FORMS; i++) {
        Py_XDECREF(words->forms[i].strides);
        Py_XDECREF(words->forms[i].shape);
        Py_XDECREF(words->forms[i].dtype);
    }
    numbers_end(&words->head_numbers);
    release_keys(words->keys);
    free(words->heads);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *make_words_type(void)
{
    PyType_Slot slots[] = {{Py_tp_new, make}, {Py_tp_dealloc, release}, {0, NULL}};
    PyType_Spec spec = {"neff_bench.simulator.native.recorder.core.Words", sizeof(struct words), 0, Py_TPFLAGS_DEFAULT, slots};

    return PyType_FromSpec(&spec);
}
