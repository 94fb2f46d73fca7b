/* Kinds of instruction: those that cost the same have the same number, on all cores of a program. And the buffers of a program as columns.
   neff_bench.simulator.compiler.program.columns says what each column is. */

#include <stdlib.h>

#include "steps.h"

#define PARTITIONS 128
#define PLACES 8 /* a memory, and whether the buffer is of the host's */
#define DTYPES 64

enum memory { HBM, SBUF, PSUM };
enum buffer_column { MEMORY, OF_HOST, ROW_BYTES, ROWS, ADDRESS, PARTITION, BUFFER_COLUMNS };

/* buffers: their columns, of `count` each. item: bytes of an element, by dtype. found: a list of the core and the place of the first
   instruction of each kind. form: of each view of a core, what a cost can depend on. */
struct table {
    const int64_t *buffers;
    int64_t count, *item, *form;
    struct numbers kinds;
    struct keys *keys;
    PyObject *found;
};

static int64_t of_buffer(const struct table *t, enum buffer_column column, int64_t buffer)
{
    return t->buffers[column * t->count + buffer];
}

/* Of a view of SBUF the partition in which it begins, 0 of any other. neff_bench.simulator.program has the same. */
static int64_t first_partition(const struct table *t, int64_t buffer, int64_t offset, int64_t item)
{
    int64_t row = of_buffer(t, ROW_BYTES, buffer) / item;

    if (of_buffer(t, MEMORY, buffer) != SBUF)
        return 0;
    return (of_buffer(t, PARTITION, buffer) + offset / (row > 1 ? row : 1)) % PARTITIONS;
}

static int fill_forms(struct table *t, const struct steps *steps)
{
    const int64_t *buffer = steps->columns[BUFFER].data, *offset = steps->columns[AT].data;
    const int32_t *dtype = steps->columns[TYPE].data, *dynamic = steps->columns[DYNAMICS].data, *pattern = steps->columns[PATTERN].data;

    for (int64_t v = 0; v < steps->views; v++) {
        if (buffer[v] < 0 || buffer[v] >= t->count) {
            PyErr_SetString(PyExc_IndexError, "an operand is of no buffer of the program");
            return -1;
        }
        t->form[v] = (((int64_t)pattern[v] * DTYPES + dtype[v]) * 2 + (dynamic[v] > 0)) * PARTITIONS +
                     first_partition(t, buffer[v], offset[v], t->item[dtype[v]]);
        t->form[v] = (t->form[v] * PLACES + 2 * of_buffer(t, MEMORY, buffer[v])) + of_buffer(t, OF_HOST, buffer[v]);
    }
    return 0;
}

/* The kind of an instruction whose uses begin at a place. */
static int64_t kind_of(struct table *t, const struct steps *steps, int64_t head, int64_t use)
{
    const int32_t *view = steps->columns[VIEW].data, *dynamic = steps->columns[DYNAMICS].data;
    PyObject *all = steps->words->dynamic_list;
    size_t operands = steps->words->heads[head].length - KEY_NAMES;
    int64_t key[1 + 2 * MOST_OPERANDS];

    key[0] = head;
    for (size_t i = 0; i < operands; i++) {
        int64_t now = view[use++];
        key[1 + i] = t->form[now];
        use += dynamic[now] ? PyTuple_Size(PyList_GetItem(all, (Py_ssize_t)dynamic[now])) : 0;
    }
    return kept_number(&t->kinds, &t->keys, key, 1 + operands);
}

/* The kinds of a core, a bytearray of int64. */
static PyObject *kinds_of_core(struct table *t, const struct steps *steps, Py_ssize_t core)
{
    PyObject *kinds = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)steps->count * 8), *first;
    const int32_t *head = steps->columns[HEAD].data;
    const int64_t *start = steps->columns[USE_START].data;
    int64_t *kind = kinds ? (int64_t *)PyByteArray_AsString(kinds) : NULL, known;
    int good = kinds && fill_forms(t, steps) == 0;

    for (int64_t i = 0; good && i < steps->count; i++) {
        known = t->kinds.count;
        kind[i] = kind_of(t, steps, head[i], start[i]);
        if (kind[i] == known) {
            first = Py_BuildValue("(nL)", core, (long long)i);
            good = first && PyList_Append(t->found, first) == 0;
            Py_XDECREF(first);
        }
        good = good && kind[i] >= 0;
    }
    if (!good)
        Py_CLEAR(kinds);
    return kinds;
}

/* kinds(cores, buffers, count, item) -> (kinds by core, first): `buffers` is what `buffer_columns` gives for `count` of them, `item` the
   bytes of an element by dtype, in int64. */
PyObject *kinds_of(PyObject *module, PyObject *given)
{
    struct table t = {.found = PyList_New(0)};
    PyObject *cores, *buffers, *item, *all = NULL, *answer = NULL;
    int good;

    (void)module;
    good = t.found && PyArg_ParseTuple(given, "OOLO", &cores, &buffers, &t.count, &item) && PyTuple_Check(cores) &&
           PyByteArray_Check(buffers) && PyBytes_Check(item);
    if (good) {
        t.buffers = (const int64_t *)PyByteArray_AsString(buffers);
        t.item = (int64_t *)PyBytes_AsString(item);
        all = PyList_New(0);
        good = all && numbers_begin(&t.kinds) == 0;
    }
    for (Py_ssize_t core = 0; good && core < PyTuple_Size(cores); core++) {
        const struct steps *steps = as_steps(PyTuple_GetItem(cores, core));
        PyObject *kinds = NULL;
        t.form = steps ? malloc((size_t)(steps->views + 1) * sizeof *t.form) : NULL;
        if (t.form)
            kinds = kinds_of_core(&t, steps, core);
        free(t.form);
        good = kinds && PyList_Append(all, kinds) == 0;
        Py_XDECREF(kinds);
    }
    if (good)
        answer = PyTuple_Pack(2, all, t.found);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "kinds takes the cores of a program, its buffers and the bytes of elements");
    numbers_end(&t.kinds);
    release_keys(t.keys);
    Py_XDECREF(t.found);
    Py_XDECREF(all);
    return answer;
}

static struct getter memory_in = {"memory"}, shape_in = {"shape"}, dtype_in = {"dtype"}, kind_in = {"kind"}, address_in = {"address"},
                     partition_in = {"partition"};

/* Whether a buffer has this text, or the other one. */
static int is_text(struct getter *getter, PyObject *buffer, const char *one, const char *other)
{
    PyObject *text = attribute(getter, buffer);
    int is = text && (PyUnicode_CompareWithASCIIString(text, one) == 0 || PyUnicode_CompareWithASCIIString(text, other) == 0);

    Py_XDECREF(text);
    return is;
}

static int64_t number_in(struct getter *getter, PyObject *buffer)
{
    PyObject *found = attribute(getter, buffer);
    int64_t number = found && found != Py_None ? PyLong_AsLongLong(found) : -1;

    Py_XDECREF(found);
    return number;
}

/* Rows of a buffer, and elements of a row: a partition on chip, the last dimension in HBM. */
static void rows_of(PyObject *buffer, int is_in_hbm, int64_t *rows, int64_t *row)
{
    PyObject *shape = attribute(&shape_in, buffer);
    Py_ssize_t dimensions = shape ? PyTuple_Size(shape) : 0;

    *rows = *row = 1;
    for (Py_ssize_t i = 0; i < dimensions; i++) {
        int of_rows = is_in_hbm ? i < dimensions - 1 : i == 0;
        *(of_rows ? rows : row) *= PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    }
    Py_XDECREF(shape);
}

/* buffer_columns(buffers, item): six columns of int64, one behind the other. */
PyObject *buffer_columns(PyObject *module, PyObject *given)
{
    PyObject *buffers, *item, *bytes;
    int64_t count, *column, rows, row;

    (void)module;
    if (!PyArg_ParseTuple(given, "OS", &buffers, &item) || (count = PyTuple_Size(buffers)) < 0)
        return NULL;
    bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)count * BUFFER_COLUMNS * 8);
    column = bytes ? (int64_t *)PyByteArray_AsString(bytes) : NULL;
    for (int64_t i = 0; bytes && i < count; i++) {
        PyObject *buffer = PyTuple_GetItem(buffers, (Py_ssize_t)i), *dtype = attribute(&dtype_in, buffer);
        int is_in_hbm = is_text(&memory_in, buffer, "hbm", "hbm");
        int64_t number = dtype ? dtype_number(dtype) : -1;
        Py_XDECREF(dtype);
        rows_of(buffer, is_in_hbm, &rows, &row);
        row *= number < 0 ? 1 : ((int64_t *)PyBytes_AsString(item))[number];
        column[MEMORY * count + i] = is_in_hbm ? HBM : is_text(&memory_in, buffer, "sbuf", "sbuf") ? SBUF : PSUM;
        column[OF_HOST * count + i] = is_text(&kind_in, buffer, "input", "output");
        column[ROW_BYTES * count + i] = row > 1 ? row : 1;
        column[ROWS * count + i] = rows;
        column[ADDRESS * count + i] = number_in(&address_in, buffer);
        column[PARTITION * count + i] = number_in(&partition_in, buffer);
        if (PyErr_Occurred())
            Py_CLEAR(bytes);
    }
    return bytes;
}
