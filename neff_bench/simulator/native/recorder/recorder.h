/* What every instruction of a kernel goes through while it is recorded, behind Python's stable ABI.

   Each function does the common case of a plain form in neff_bench/simulator/recording or neff_bench/simulator/operations, and calls
   that form for all others, errors among them. */

#ifndef RECORDER_H
#define RECORDER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* `View`, the base of NkiTensor, and its fields in the order in which it is called with them; the last two have defaults. */
enum field { STORAGE, OFFSET, SHAPE, STRIDES, DTYPE, DYNAMIC, ACCESS, FIELDS };
struct view {
    PyObject_HEAD
    PyObject *fields[FIELDS];
};

/* `Storage`, an allocation: the same; the last three have defaults. */
enum storage_field {
    OF_INDEX, OF_NAME, OF_MEMORY, OF_REGION, OF_SHAPE, OF_DTYPE, OF_ITEM_BYTES, OF_SIZE, OF_FREE, OF_KIND, OF_CORE, OF_SOURCE,
    OF_DATA, OF_PARTITION, OF_ADDRESS, OF_ALL
};
struct storage {
    PyObject_HEAD
    PyObject *fields[OF_ALL];
};

/* `State`, the base of Recorder: it is made with any arguments and without its fields. */
enum state_field { NOW_CORE, NOW_FIXED_SOURCE, NOW_FORMS, NOW_INSTRUCTIONS, NOW_PLACES, NOW_STORAGES, NOW_VALID_MATMULS, NOW_ALL };
struct state {
    PyObject_HEAD
    PyObject *fields[NOW_ALL];
};

/* Names of attributes. */
extern struct names {
    PyObject *flags, *memory, *internal, *empty, *sbuf, *psum, *no_bytes, *no_parts, *zero;
    PyObject *dst, *stationary, *moving, *accumulate, *is_transpose, *nc_matmul, *tensor, *name;
} names;

/* The plain forms and what they work with: see `bind_tensors`, `bind_recording`, `bind_creation`, `bind_matmul`, `bind_buffers` and `bind`. */
extern struct plain {
    PyObject *getitem, *access, *type_access, *pattern, *range, *ap;
    PyObject *emit, *instruction, *active, *issued;
    PyObject *ndarray, *form_of, *tensor, *region, *sbuf, *shared_hbm;
    PyObject *nc_matmul, *no_perf_mode, *buffer;
    PyObject *on_chip, *same_tile, *vector, *operand, *alu;
    PyObject *dtypes, *dtype_names, *encode;
    Py_ssize_t bank_bytes;
} plain;

/* objects.c. A type is NULL where it cannot be made. A view takes over the references to its fields, NULL among them after an error. */
PyObject *make_view_type(void);
PyObject *make_storage_type(void);
PyObject *make_state_type(void);
PyObject *new_view(PyTypeObject *type, PyObject **fields);
PyObject *new_storage(PyObject **fields);
int is_view(PyObject *object);

/* The allocation of a view, borrowed, and an object as one; NULL where it is none of ours. */
struct storage *storage_of(const struct view *view);
struct storage *as_storage(PyObject *object);
int lies_on_chip(const struct storage *storage);
int is_hbm(PyObject *memory);

/* views.c and patterns.c */
PyObject *getitem(PyObject *self, PyObject *key);
PyObject *ap(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *keywords);
PyObject *access_of(PyObject *module, PyObject *tensor);
int lies_inside(const struct view *view);

/* tuples.c: the tuple of these numbers, and the pattern of steps and sizes; new references. */
PyObject *tuple_of(const Py_ssize_t *values, Py_ssize_t count);
PyObject *pattern_of(PyObject *steps, PyObject *shape);

/* creation.c, matmul.c, buffers.c and module.c: functions that kernels call. */
PyObject *ndarray(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords);
PyObject *nc_matmul(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords);
PyObject *buffers_of(PyObject *module, PyObject *storages);

/* checks.c */
PyObject *on_chip(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords);
PyObject *same_tile(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *vector(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *operand(PyObject *module, PyObject *const *given, Py_ssize_t count);
PyObject *alu(PyObject *module, PyObject *const *given, Py_ssize_t count);

/* What operations return, a new reference. */
PyObject *issued(void);

/* arguments.c. 1 when the arguments of a call are known by their places or names; `sorted` keeps the defaults of those that are missing. */
int sort_arguments(PyObject **sorted, PyObject *const *names, int most, PyObject *const *given, Py_ssize_t count, PyObject *keywords);

/* A number that differs, mostly, for objects at other addresses. */
size_t place_of_addresses(const void *const *addresses, int count);

/* A plain form, called in the same way; `self` is the first argument unless it is NULL. */
PyObject *call_plain(PyObject *function, PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *keywords);

/* Names of parameters, interned: 0, or -1 with an exception. */
int intern_all(PyObject **names, const char *const *texts, int count);

/* `Places`: see places.c. NULL where it cannot be made. */
PyObject *make_places_type(void);

/* The source of the frame `up` calls above the running one; -1 with an exception. */
long source_above(PyObject *places, long up);

/* The recorder of the kernel that this thread runs now, a new reference; NULL where none does. */
struct state *recorder_now(void);

/* The source that it gives what is recorded `up` calls above the running frame; -1 with an exception. */
long source_now(struct state *now, long up);

/* getters.c: reads an attribute that all objects of a type have, without looking it up again; a new reference. */
struct getter {
    const char *name;
    PyTypeObject *type;
    PyObject *descriptor;
    descrgetfunc get;
};
PyObject *attribute(struct getter *getter, PyObject *object);

/* What an object holds, which must be an int and nothing derived of it: 1, else 0. */
int is_number(PyObject *object, Py_ssize_t *value);

#endif
