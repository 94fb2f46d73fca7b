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

PyObject *recorder_now(void)
{
    Py_ssize_t depth = plain.active ? PyList_Size(plain.active) : 0;
    PyObject *recorder = depth ? PyList_GetItem(plain.active, depth - 1) : NULL;

    Py_XINCREF(recorder);
    return recorder;
}

PyObject *source_now(PyObject *recorder, long up)
{
    PyObject *fixed = PyObject_GetAttr(recorder, names.fixed_source), *places, *source = NULL;

    if (!fixed || PyLong_AsLong(fixed) >= 0)
        return fixed;
    Py_DECREF(fixed);
    places = PyObject_GetAttr(recorder, names.places);
    if (places && Py_TYPE(places) == places_type)
        source = source_above(places, up);
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
    PyObject *recorder, *source;
    int status;

    (void)module;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "emit takes op, engine, writes, reads and attributes");
        return NULL;
    }
    recorder = recorder_now();
    if (!recorder)
        return PyObject_CallFunctionObjArgs(plain.emit, given[0], given[1], given[2], given[3], given[4], NULL);
    source = source_now(recorder, 1);
    status = source ? append(recorder, given, source) : -1;
    Py_XDECREF(source);
    Py_DECREF(recorder);
    if (status < 0)
        return NULL;
    Py_INCREF(plain.issued);
    return plain.issued;
}

/* bind_tensors(getitem, access, Access, pattern, DynamicSlice): the plain forms, what they make, and what they take. */
static PyObject *bind_tensors(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOOOO", &plain.getitem, &plain.access, &plain.type_access, &plain.pattern, &plain.range))
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

/* bind_creation(ndarray, form_of, Storage, NkiTensor, MemoryRegion, sbuf, shared_hbm): the plain form and what it works with. */
static PyObject *bind_creation(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOOOOOO", &plain.ndarray, &plain.form_of, &plain.storage, &plain.tensor, &plain.region,
                          &plain.sbuf, &plain.shared_hbm))
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
        {&names.memory, "memory"},           {&names.index, "index"},
        {&names.start, "start"},             {&names.stop, "stop"},                 {&names.step, "step"},
        {&names.back, "f_back"},             {&names.at, "f_lasti"},                {&names.flags, "co_flags"},
        {&names.places, "places"},           {&names.fixed_source, "fixed_source"}, {&names.instructions, "instructions"},
        {&names.size, "size"},               {&names.forms, "forms"},               {&names.storages, "storages"},
        {&names.core, "core"},               {&names.internal, "internal"},         {&names.empty, ""},
        {&names.arguments[0], "shape"},      {&names.arguments[1], "dtype"},        {&names.arguments[2], "buffer"},
        {&names.arguments[3], "name"},       {&names.arguments[4], "address"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *all[i].name = PyUnicode_InternFromString(all[i].text);
        if (!*all[i].name)
            return -1;
    }
    names.no_bytes = PyBytes_FromStringAndSize("", 0);
    names.no_parts = PyTuple_New(0);
    return names.no_bytes && names.no_parts ? 0 : -1;
}

static int add(PyObject *module, const char *name, PyObject *object)
{
    int status = object ? PyModule_AddObjectRef(module, name, object) : -1;

    Py_XDECREF(object);
    return status;
}

PyMODINIT_FUNC PyInit_core(void)
{
    static PyMethodDef methods[] = {
        {"access", access_of, METH_O, NULL},
        {"emit", (PyCFunction)(void (*)(void))emit, METH_FASTCALL, NULL},
        {"bind_tensors", bind_tensors, METH_VARARGS, NULL},
        {"bind_recording", bind_recording, METH_VARARGS, NULL},
        {"bind_creation", bind_creation, METH_VARARGS, NULL},
        {"ndarray", (PyCFunction)(void (*)(void))ndarray, METH_FASTCALL | METH_KEYWORDS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "core", .m_size = -1, .m_methods = methods};
    PyObject *module = name_all() < 0 ? NULL : PyModule_Create(&definition);

    if (!module)
        return NULL;
    places_type = (PyTypeObject *)make_places_type();
    Py_XINCREF(places_type);
    if (add(module, "Places", (PyObject *)places_type) < 0 || add(module, "BUILT_FROM", PyUnicode_FromString(BUILT_FROM)) < 0 ||
        add(module, "View", make_view_type()) < 0)
        Py_CLEAR(module);
    return module;
}
