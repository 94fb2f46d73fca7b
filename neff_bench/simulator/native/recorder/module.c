/* The extension, and what appends an instruction to a recording. */

#include "steps.h"

#include <string.h>

struct names names;
struct plain plain;

static PyTypeObject *places_type;

long source_now(struct state *now, long up)
{
    PyObject *places = now->fields[NOW_PLACES];
    long fixed = PyLong_AsLong(now->fields[NOW_FIXED_SOURCE]);

    if (fixed >= 0)
        return fixed;
    if (Py_TYPE(places) == places_type)
        return source_above(places, up);
    PyErr_SetString(PyExc_TypeError, "the recorder's places are not compiled");
    return -1;
}

PyObject *issued(void)
{
    Py_INCREF(plain.issued);
    return plain.issued;
}

/* emit(op, engine, writes, reads, attributes); the plain form has all but what is recorded as columns. */
static PyObject *emit(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    struct state *now;
    struct steps *steps;
    long source;
    int status = -1;

    (void)module;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "emit takes op, engine, writes, reads and attributes");
        return NULL;
    }
    now = recorder_now();
    steps = now ? as_steps(now->fields[NOW_INSTRUCTIONS]) : NULL;
    if (!steps) {
        Py_XDECREF((PyObject *)now);
        return call_plain(plain.emit, NULL, given, count, NULL);
    }
    source = source_now(now, 1);
    if (source >= 0)
        status = add_step(steps, given, source);
    Py_DECREF((PyObject *)now);
    return status < 0 ? NULL : issued();
}

/* bind_tensors(getitem, access, pattern, DynamicSlice, ap): the plain forms, what they make, and what they take. */
static PyObject *bind_tensors(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOOOO", &plain.getitem, &plain.access, &plain.pattern, &plain.range, &plain.ap))
        return NULL;
    Py_INCREF(given); /* for as long as the process lives */
    Py_RETURN_NONE;
}

/* bind_recording(emit, active, issued): the plain form, the recorders by thread and the answer. */
static PyObject *bind_recording(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOO", &plain.emit, &plain.active, &plain.issued))
        return NULL;
    Py_INCREF(given);
    Py_RETURN_NONE;
}

/* bind_creation(ndarray, form_of, NkiTensor, MemoryRegion, sbuf, shared_hbm): the plain form and what it works with. */
static PyObject *bind_creation(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOOOOO", &plain.ndarray, &plain.form_of, &plain.tensor, &plain.region, &plain.sbuf,
                          &plain.shared_hbm))
        return NULL;
    Py_INCREF(given);
    Py_RETURN_NONE;
}

/* bind(name, function): the plain form of a function that works with nothing else. */
static PyObject *bind(PyObject *module, PyObject *given)
{
    const struct {
        const char *name;
        PyObject **plain;
    } all[] = {
        {"alu", &plain.alu},         {"nc_matmul", &plain.nc_matmul}, {"on_chip", &plain.on_chip},
        {"operand", &plain.operand}, {"same_tile", &plain.same_tile}, {"vector", &plain.vector},
    };
    const char *name;
    PyObject *function;

    (void)module;
    if (!PyArg_ParseTuple(given, "sO", &name, &function))
        return NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(name, all[i].name) == 0) {
            Py_INCREF(function);
            *all[i].plain = function;
            Py_RETURN_NONE;
        }
    }
    return PyErr_Format(PyExc_KeyError, "%s is not compiled", name);
}

/* bind_matmul(matmul_perf_mode.none, PSUM_BANK_BYTES): what `nc_matmul` works with. */
static PyObject *bind_matmul(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "On", &plain.no_perf_mode, &plain.bank_bytes))
        return NULL;
    Py_INCREF(given);
    Py_RETURN_NONE;
}

/* bind_steps(Instruction, Access, dtypes, encode): what steps are made of, the names of dtypes in the order of their numbers, and what gives the
   MessagePack of attributes. */
static PyObject *bind_steps(PyObject *module, PyObject *given)
{
    (void)module;
    if (!PyArg_ParseTuple(given, "OOOO", &plain.instruction, &plain.type_access, &plain.dtype_names, &plain.encode))
        return NULL;
    Py_INCREF(given);
    plain.dtypes = PyDict_New();
    for (Py_ssize_t i = 0; plain.dtypes && i < PyTuple_Size(plain.dtype_names); i++) {
        PyObject *number = PyLong_FromSsize_t(i);
        if (!number || PyDict_SetItem(plain.dtypes, PyTuple_GetItem(plain.dtype_names, i), number) < 0)
            Py_CLEAR(plain.dtypes);
        Py_XDECREF(number);
    }
    if (!plain.dtypes)
        return NULL;
    Py_RETURN_NONE;
}

/* bind_buffers(Buffer): what `buffers_of` makes. */
static PyObject *bind_buffers(PyObject *module, PyObject *buffer)
{
    (void)module;
    Py_INCREF(buffer);
    plain.buffer = buffer;
    Py_RETURN_NONE;
}

static int name_all(void)
{
    const struct {
        PyObject **name;
        const char *text;
    } all[] = {
        {&names.flags, "co_flags"}, {&names.internal, "internal"},     {&names.empty, ""},
        {&names.sbuf, "sbuf"},      {&names.psum, "psum"},             {&names.memory, "memory"},
        {&names.dst, "dst"},        {&names.stationary, "stationary"}, {&names.moving, "moving"},
        {&names.tensor, "tensor"},  {&names.accumulate, "accumulate"}, {&names.is_transpose, "is_transpose"},
        {&names.nc_matmul, "nc_matmul"}, {&names.name, "__name__"},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (intern_all(all[i].name, &all[i].text, 1) < 0)
            return -1;
    }
    names.no_bytes = PyBytes_FromStringAndSize("", 0);
    names.no_parts = PyTuple_New(0);
    names.zero = PyLong_FromLong(0);
    return names.no_bytes && names.no_parts && names.zero ? 0 : -1;
}

static int add(PyObject *module, const char *name, PyObject *object)
{
    int status = object ? PyModule_AddObjectRef(module, name, object) : -1;

    Py_XDECREF(object);
    return status;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function)

PyMODINIT_FUNC PyInit_core(void)
{
    static PyMethodDef methods[] = {
        {"access", access_of, METH_O, NULL},
        {"alu", FAST(alu), METH_FASTCALL, NULL},
        {"bind", bind, METH_VARARGS, NULL},
        {"emit", FAST(emit), METH_FASTCALL, NULL},
        {"on_chip", FAST(on_chip), METH_FASTCALL | METH_KEYWORDS, NULL},
        {"operand", FAST(operand), METH_FASTCALL, NULL},
        {"same_tile", FAST(same_tile), METH_FASTCALL, NULL},
        {"vector", FAST(vector), METH_FASTCALL, NULL},
        {"bind_tensors", bind_tensors, METH_VARARGS, NULL},
        {"bind_recording", bind_recording, METH_VARARGS, NULL},
        {"bind_creation", bind_creation, METH_VARARGS, NULL},
        {"bind_buffers", bind_buffers, METH_O, NULL},
        {"bind_steps", bind_steps, METH_VARARGS, NULL},
        {"buffer_columns", buffer_columns, METH_VARARGS, NULL},
        {"kinds", kinds_of, METH_VARARGS, NULL},
        {"buffers_of", buffers_of, METH_O, NULL},
        {"bind_matmul", bind_matmul, METH_VARARGS, NULL},
        {"nc_matmul", FAST(nc_matmul), METH_FASTCALL | METH_KEYWORDS,
         "`dst` [M, N] in PSUM = `stationary` [K, M].T @ `moving` [K, N], both in SBUF; K, M <= 128, N <= 512."},
        {"ndarray", FAST(ndarray), METH_FASTCALL | METH_KEYWORDS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "core", .m_size = -1, .m_methods = methods};
    PyObject *module = name_all() < 0 ? NULL : PyModule_Create(&definition);

    if (!module)
        return NULL;
    places_type = (PyTypeObject *)make_places_type();
    Py_XINCREF(places_type);
    if (add(module, "Places", (PyObject *)places_type) < 0 || add(module, "BUILT_FROM", PyUnicode_FromString(BUILT_FROM)) < 0 ||
        add(module, "View", make_view_type()) < 0 || add(module, "Storage", make_storage_type()) < 0 ||
        add(module, "State", make_state_type()) < 0 || add(module, "Steps", make_steps_type()) < 0)
        Py_CLEAR(module);
    return module;
}
