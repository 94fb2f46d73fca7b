/* What every instruction of a kernel goes through while it is recorded, behind Python's stable ABI.

   Each function does the common case of a plain form in neff_bench/simulator/recording and calls that form for all others, errors
   among them. */

#ifndef RECORDER_H
#define RECORDER_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

/* `View`, the base of NkiTensor, and its fields in the order in which it is called with them; the last two have defaults. */
enum field { STORAGE, OFFSET, SHAPE, STRIDES, DTYPE, DYNAMIC, ACCESS, FIELDS };
struct view {
    PyObject_HEAD
    PyObject *fields[FIELDS];
};

/* Names of attributes. */
extern struct names {
    PyObject *memory, *index, *start, *stop, *step, *back, *at, *flags, *fixed_source, *places, *instructions, *size,
        *forms, *storages, *core, *internal, *empty, *no_bytes, *no_parts, *arguments[5];
} names;

/* The plain forms and what they work with: see `bind_tensors`, `bind_recording` and `bind_creation`. */
extern struct plain {
    PyObject *getitem, *access, *type_access, *pattern, *range;
    PyObject *emit, *instruction, *active, *issued;
    PyObject *ndarray, *form_of, *storage, *tensor, *region, *sbuf, *shared_hbm;
} plain;

/* `View`: see views.c. NULL where it cannot be made. A view takes over the references to its fields, NULL among them after an error. */
PyObject *make_view_type(void);
PyObject *new_view(PyTypeObject *type, PyObject **fields);

PyObject *access_of(PyObject *module, PyObject *tensor);
PyObject *ndarray(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords);

/* `Places`: see places.c. NULL where it cannot be made. */
PyObject *make_places_type(void);

/* The source of the frame `up` calls above the running one, a new reference. */
PyObject *source_above(PyObject *places, long up);

/* The recorder of the kernel that runs now, a new reference; NULL where none does. */
PyObject *recorder_now(void);

/* The source that it gives what is recorded `up` calls above the running frame, a new reference. */
PyObject *source_now(PyObject *recorder, long up);

/* What an object holds, which must be an int and nothing derived of it: 1, else 0. */
int is_number(PyObject *object, Py_ssize_t *value);

/* A field that holds an int: its value, -1 with an exception where there is none. */
long int_field(PyObject *object, PyObject *name);

#endif
