/* The extension, and what appends an instruction to a recording. */

#include "recorder.h"

struct names names;
struct plain plain;

static PyTypeObject *places_type;

long int_field(PyObject *object, PyObject *name)
{
    PyObject *field = PyObject_GetAttr(object, name);
    long value = field ? PyLong_AsLong(field) : -1;

    Py_XDECREF(field);
    return value;
}

/* The source of what is recorded now, a new reference. */
static PyObject *source_now(PyObject *recorder)
{
    PyObject *fixed = PyObject_GetAttr(recorder, names.fixed_source), *places, *source = NULL;

    if (!fixed || PyLong_AsLong(fixed) >= 0)
        return fixed;
    Py_DECREF(fixed);
    places = PyObject_GetAttr(recorder, names.places);
    if (places && Py_TYPE(places) == places_type)
        source = source_above(places, 1);
    else if (places)
        PyErr_SetString(PyExc_TypeError, "the recorder's places are not compiled");
    Py_XDECREF(places);
    return source;
}

/* 0 when the instruction was appended, -1 with an exception. */
static int append(PyObject *recorder, PyObject *const *given, PyObject *source)
{
    PyObject *instructions = PyObject_GetAttr(recorder, names.instructions), *made = NULL;
    int status = -1;

    if (instructions)
        made = PyObject_CallFunctionObjArgs(plain.instruction, given[0], given[1], given[2], given[3], given[4], source, NULL);
    if (made)
        status = PyList_Append(instructions, made);
    Py_XDECREF(made);
    Py_XDECREF(instructions);
    return status;
}

/* emit(op, engine, writes, reads, attributes) */
static PyObject *emit(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    Py_ssize_t depth = PyList_Size(plain.active);
    PyObject *recorder, *source;
    int status;

    (void)module;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "emit takes op, engine, writes, reads and attributes");
        return NULL;
    }
    if (depth == 0)
        return PyObject_CallFunctionObjArgs(plain.emit, given[0], given[1], given[2], given[3], given[4], NULL);
    recorder = PyList_GetItem(plain.active, depth - 1);
    Py_INCREF(recorder);
    source = source_now(recorder);
    status = source ? append(recorder, given, source) : -1;
    Py_XDECREF(source);
    Py_DECREF(recorder);
    if (status < 0)
        return NULL;
    Py_INCREF(plain.issued);
    return plain.issued;
}

/* bind_tensors(getitem, access, Access, pattern): the plain forms, and what they make. */
static PyObject *bind_tensors(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOOO", &plain.getitem, &plain.access, &plain.type_access, &plain.pattern))
        return NULL;
    Py_INCREF(given); /* for as long as the process lives */
    Py_RETURN_NONE;
}

/* bind_recording(emit, Instruction, active, issued): the plain form, what it makes, the list of recorders and the answer. */
static PyObject *bind_recording(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOOO", &plain.emit, &plain.instruction, &plain.active, &plain.issued))
        return NULL;
    Py_INCREF(given);
    Py_RETURN_NONE;
}

static int name_all(void)
{
    const struct {
        PyObject **name;
        const char *text;
    } all[] = {
        {&names.fields[STORAGE], "storage"}, {&names.fields[OFFSET], "offset"},     {&names.fields[SHAPE], "shape"},
        {&names.fields[STRIDES], "strides"}, {&names.fields[DTYPE], "dtype"},       {&names.fields[DYNAMIC], "dynamic"},
        {&names.fields[ACCESS], "_access"},  {&names.memory, "memory"},             {&names.index, "index"},
        {&names.start, "start"},             {&names.stop, "stop"},                 {&names.step, "step"},
        {&names.back, "f_back"},             {&names.at, "f_lasti"},                {&names.flags, "co_flags"},
        {&names.places, "places"},           {&names.fixed_source, "fixed_source"}, {&names.instructions, "instructions"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].name = PyUnicode_InternFromString(all[i].text);
        if (!*all[i].name)
            return -1;
    }
    return 0;
}

static int add(PyObject *module, const char *name, PyObject *object)
{
    int status = object ? PyModule_AddObjectRef(module, name, object) : -1;

    Py_XDECREF(object);
    return status;
}

PyMODINIT_FUNC PyInit_core(void)
{
    static PyMethodDef indexing = {"getitem", getitem, METH_O, NULL};
    static PyMethodDef methods[] = {
        {"access", access_of, METH_O, NULL},
        {"emit", (PyCFunction)(void (*)(void))emit, METH_FASTCALL, NULL},
        {"bind_tensors", bind_tensors, METH_VARARGS, NULL},
        {"bind_recording", bind_recording, METH_VARARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "core", .m_size = -1, .m_methods = methods};
    PyObject *module = name_all() < 0 ? NULL : PyModule_Create(&definition);

    if (!module)
        return NULL;
    places_type = (PyTypeObject *)make_places_type();
    Py_XINCREF(places_type);
    if (add(module, "Places", (PyObject *)places_type) < 0 || add(module, "BUILT_FROM", PyUnicode_FromString(BUILT_FROM)) < 0 ||
        add(module, "getitem", PyDescr_NewMethod(&PyBaseObject_Type, &indexing)) < 0)
        Py_CLEAR(module);
    return module;
}
