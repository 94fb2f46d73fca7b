/* Objects whose attributes lie in a row, where C finds them by number and Python by name: views, allocations, and the state of a
   recorder. None takes part in garbage collection: they can form no cycle. */

#include "recorder.h"

#include <stddef.h>
#include <structmember.h>

static PyTypeObject *view_type, *storage_type, *state_type;

#define FIRST_FIELD offsetof(struct view, fields) /* in all of them */

static PyObject **fields_of(PyObject *object)
{
    return ((struct view *)object)->fields;
}

static void release(PyObject *self, int count)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_it = (freefunc)PyType_GetSlot(type, Py_tp_free); /* of a class in Python it is another than ours */

    for (int i = 0; i < count; i++)
        Py_XDECREF(fields_of(self)[i]);
    free_it(self);
    Py_DECREF(type);
}

static void release_view(PyObject *self)
{
    release(self, FIELDS);
}

static void release_storage(PyObject *self)
{
    release(self, OF_ALL);
}

static void release_state(PyObject *self)
{
    release(self, NOW_ALL);
}

/* An object with these fields, whose references it takes over. */
static PyObject *object_of(PyTypeObject *type, PyObject **fields, int count)
{
    int good = 1;
    PyObject *made;

    for (int i = 0; i < count; i++)
        good = good && fields[i];
    made = good ? PyType_GenericAlloc(type, 0) : NULL;
    for (int i = 0; i < count; i++) {
        if (made)
            fields_of(made)[i] = fields[i];
        else
            Py_XDECREF(fields[i]);
    }
    return made;
}

PyObject *new_view(PyTypeObject *type, PyObject **fields)
{
    return object_of(type, fields, FIELDS);
}

PyObject *new_storage(PyObject **fields)
{
    return object_of(storage_type, fields, OF_ALL);
}

/* An object from its fields by their places; the last ones may be missing. */
static PyObject *make(PyTypeObject *type, PyObject *given, PyObject *named, PyObject **fields, int count, int needed)
{
    Py_ssize_t found = PyTuple_Size(given);

    if ((named && PyDict_Size(named)) || found < needed || found > count) {
        PyErr_Format(PyExc_TypeError, "%d to %d fields are given by their places", needed, count);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (i < found)
            fields[i] = PyTuple_GetItem(given, i);
        Py_INCREF(fields[i]);
    }
    return object_of(type, fields, count);
}

/* View(storage, offset, shape, strides, dtype, dynamic=(), access=None) */
static PyObject *make_view(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *fields[FIELDS] = {[DYNAMIC] = names.no_parts, [ACCESS] = Py_None};

    return make(type, given, named, fields, FIELDS, DYNAMIC);
}

/* Storage(index, ..., source, data=b"", partition=0, address=None) */
static PyObject *make_storage(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *fields[OF_ALL] = {[OF_DATA] = names.no_bytes, [OF_PARTITION] = names.zero, [OF_ADDRESS] = Py_None};

    return make(type, given, named, fields, OF_ALL, OF_DATA);
}

static PyObject *make_state(PyTypeObject *type, PyObject *given, PyObject *named)
{
    (void)given;
    (void)named;
    return PyType_GenericAlloc(type, 0);
}

/* A type whose objects have these attributes, and nothing else of ours but what `slots` says. */
static PyObject *make_type(const char *name, PyMemberDef *members, const char *const *attributes, int count, PyType_Slot *slots)
{
    PyType_Spec spec = {name, (int)FIRST_FIELD + count * (int)sizeof(PyObject *), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

    for (int i = 0; i < count; i++)
        members[i] = (PyMemberDef){attributes[i], T_OBJECT_EX, FIRST_FIELD + i * (Py_ssize_t)sizeof(PyObject *), 0, NULL};
    return PyType_FromSpec(&spec);
}

#define TYPE(name) "neff_bench.simulator.native.recorder.core." name

PyObject *make_view_type(void)
{
    static const char *const attributes[] = {"storage", "offset", "shape", "strides", "dtype", "dynamic", "_access"};
    static PyMemberDef members[FIELDS + 1];
    static PyMethodDef methods[] = {
        {"ap", (PyCFunction)(void (*)(void))ap, METH_FASTCALL | METH_KEYWORDS, NULL},
        {NULL, NULL, 0, NULL},
    };
    PyType_Slot slots[] = {
        {Py_tp_new, make_view},    {Py_tp_dealloc, release_view}, {Py_tp_members, members},
        {Py_mp_subscript, getitem}, {Py_tp_methods, methods},      {0, NULL},
    };

    view_type = (PyTypeObject *)make_type(TYPE("View"), members, attributes, FIELDS, slots);
    return (PyObject *)view_type;
}

PyObject *make_storage_type(void)
{
    static const char *const attributes[] = {"index", "name", "memory", "region", "shape",  "dtype",     "itemsize", "size",
                                             "free",  "kind", "core",   "source", "data", "partition", "address"};
    static PyMemberDef members[OF_ALL + 1];
    PyType_Slot slots[] = {{Py_tp_new, make_storage}, {Py_tp_dealloc, release_storage}, {Py_tp_members, members}, {0, NULL}};

    storage_type = (PyTypeObject *)make_type(TYPE("Storage"), members, attributes, OF_ALL, slots);
    return (PyObject *)storage_type;
}

PyObject *make_state_type(void)
{
    static const char *const attributes[] = {"core",   "fixed_source", "forms",        "instructions",
                                             "places", "storages",     "valid_matmuls"};
    static PyMemberDef members[NOW_ALL + 1];
    PyType_Slot slots[] = {{Py_tp_new, make_state}, {Py_tp_dealloc, release_state}, {Py_tp_members, members}, {0, NULL}};

    state_type = (PyTypeObject *)make_type(TYPE("State"), members, attributes, NOW_ALL, slots);
    return (PyObject *)state_type;
}

int is_view(PyObject *object)
{
    return PyObject_TypeCheck(object, view_type);
}

struct storage *as_storage(PyObject *object)
{
    return object && Py_TYPE(object) == storage_type ? (struct storage *)object : NULL;
}

struct storage *storage_of(const struct view *view)
{
    return as_storage(view->fields[STORAGE]);
}

int is_hbm(PyObject *memory)
{
    return memory != names.sbuf && memory != names.psum && PyUnicode_CompareWithASCIIString(memory, "hbm") == 0;
}

int lies_on_chip(const struct storage *storage)
{
    return !is_hbm(storage->fields[OF_MEMORY]);
}

/* The number of this thread, which the latest thread that asked keeps; borrowed. */
static PyObject *this_thread(void)
{
    static unsigned long latest;
    static PyObject *number;
    unsigned long now = PyThread_get_thread_ident();

    if (!number || now != latest) {
        Py_XDECREF(number);
        number = PyLong_FromUnsignedLong(now);
        latest = now;
    }
    return number;
}

struct state *recorder_now(void)
{
    PyObject *thread = this_thread(), *now = thread && plain.active ? PyDict_GetItem(plain.active, thread) : NULL;

    if (!now || !PyObject_TypeCheck(now, state_type))
        return NULL;
    Py_INCREF(now);
    return (struct state *)now;
}
