/* Attributes that are read for each instruction. */

#include "recorder.h"

/* 0 when the getter of this type was found, -1 with an exception. */
static int find(struct getter *getter, PyTypeObject *type)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, getter->name);

    if (!descriptor)
        return -1;
    Py_XDECREF(getter->descriptor);
    getter->descriptor = descriptor;
    getter->get = (descrgetfunc)PyType_GetSlot(Py_TYPE(descriptor), Py_tp_descr_get);
    if (!getter->get) {
        PyErr_Format(PyExc_TypeError, "%s is no attribute of objects", getter->name);
        return -1;
    }
    Py_INCREF(type); /* its address stays its own */
    Py_XDECREF(getter->type);
    getter->type = type;
    return 0;
}

PyObject *attribute(struct getter *getter, PyObject *object)
{
    if (Py_TYPE(object) != getter->type && find(getter, Py_TYPE(object)) < 0)
        return NULL;
    return getter->get(getter->descriptor, object, (PyObject *)getter->type);
}
