/* `PlainPlaces` of neff_bench.simulator.recording.places, which says what it is for, in C. */

#include <stdlib.h>

#include "numbers.h"
#include "recorder.h"

#define CHUNK 1024
#define RESUMED (0x20 | 0x80 | 0x200) /* inspect.CO_GENERATOR, CO_COROUTINE and CO_ASYNC_GENERATOR */

/* An instruction of a code object, and the number of its stack of callers; 0 is the empty one. */
struct place {
    int64_t at, stack;
    PyObject *code;
};

/* Places stay where they are: `numbers` has their addresses. */
struct chunk {
    struct chunk *before;
    int used;
    struct place places[CHUNK];
};

/* A caller that was seen: its frame, its instruction, the number of the stack that ends there, and whether it may go on for another. */
struct standing {
    PyObject *frame;
    int64_t at, stack;
    int resumed;
};

/* `latest`: a frame that stood at the last places, which goes on for one caller only, and `latest_stack` that of its callers; it is NULL as long
   as the place before was another's. `before`: the frame of that place, which may be gone.
   `sources`: by number of the place, -1 where nobody asked. A stack has the number of its innermost place and 1. */
struct places {
    PyObject_HEAD
    PyObject *locate;
    int64_t *sources;
    void *root;
    struct numbers numbers;
    struct chunk *chunk;
    struct standing *standing;
    int64_t depth, room, source_room, latest_stack;
    PyObject *latest, *before;
};

static void cut(struct places *p, int64_t depth)
{
    while (p->depth > depth)
        Py_DECREF(p->standing[--p->depth].frame);
}

static void forget(struct places *p)
{
    cut(p, 0);
    Py_CLEAR(p->latest);
}

/* Room for one more element; -1 with an exception. */
static int has_room(void **array, int64_t *room, int64_t used, size_t size)
{
    int64_t more = 2 * *room + 64;
    void *grown;

    if (used < *room)
        return 0;
    grown = realloc(*array, (size_t)more * size);
    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    *array = grown;
    *room = more;
    return 0;
}

/* The number of a place, -1 with an exception. */
static int64_t numbered(struct places *p, PyObject *code, int64_t at, int64_t stack)
{
    int64_t known = p->numbers.count, number;
    struct place *place;

    if (!p->chunk || p->chunk->used == CHUNK) {
        struct chunk *chunk = calloc(1, sizeof *chunk);
        if (!chunk) {
            PyErr_NoMemory();
            return -1;
        }
        chunk->before = p->chunk;
        p->chunk = chunk;
    }
    if (has_room((void **)&p->sources, &p->source_room, known, sizeof *p->sources) < 0)
        return -1;
    place = &p->chunk->places[p->chunk->used];
    *place = (struct place){at, stack, code};
    number = number_of(&p->numbers, place, sizeof *place);
    if (number == known) {
        Py_INCREF(code); /* its address stays its own */
        p->sources[number] = -1;
        p->chunk->used++;
    } else if (number < 0) {
        PyErr_NoMemory();
    }
    return number;
}

static struct getter back_of = {"f_back"}, at_of = {"f_lasti"};

/* The instruction where a frame stands. */
static int64_t at(PyObject *frame)
{
    PyObject *found = attribute(&at_of, frame);
    long long value = found ? PyLong_AsLongLong(found) : -1;

    Py_XDECREF(found);
    return value;
}

/* The number of the place where a frame stands. */
static int64_t place_of(struct places *p, PyObject *frame, int64_t instruction, int64_t stack)
{
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    int64_t number = numbered(p, code, instruction, stack);

    Py_DECREF(code);
    return number;
}

static int is_resumed(PyObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *found = PyObject_GetAttr(code, names.flags);
    long flags = found ? PyLong_AsLong(found) : 0;

    Py_XDECREF(found);
    Py_DECREF(code);
    return (flags & RESUMED) != 0;
}

static int64_t stack_above(struct places *p, PyObject *frame);

/* The number of the stack of callers that ends where a frame stands now, -1 with an exception. */
static int64_t stack_of(struct places *p, PyObject *frame)
{
    int64_t depth = p->depth, now, stack;
    struct standing *seen;

    if (frame == Py_None || frame == p->root) {
        cut(p, 0);
        return 0;
    }
    now = at(frame);
    while (depth && p->standing[depth - 1].frame != frame)
        depth--;
    seen = depth ? p->standing + depth - 1 : NULL;
    if (seen && !seen->resumed) {
        cut(p, depth);
        if (seen->at != now) {
            seen->stack = place_of(p, frame, now, depth > 1 ? seen[-1].stack : 0) + 1;
            seen->at = now;
        }
        return seen->stack - (seen->stack == 0);
    }
    stack = stack_above(p, frame);
    if (stack < 0 || has_room((void **)&p->standing, &p->room, p->depth, sizeof *p->standing) < 0)
        return -1;
    stack = place_of(p, frame, now, stack) + 1;
    if (stack == 0)
        return -1;
    Py_INCREF(frame);
    p->standing[p->depth++] = (struct standing){frame, now, stack, is_resumed(frame)};
    return stack;
}

/* The number of the stack of those that called a frame. */
static int64_t stack_above(struct places *p, PyObject *frame)
{
    PyObject *caller = attribute(&back_of, frame);
    int64_t stack = caller ? stack_of(p, caller) : -1;

    Py_XDECREF(caller);
    return stack;
}

/* A frame that stands at two places in a row may stand at more: its callers stay where they are. */
static void remember(struct places *p, PyObject *frame, int64_t stack)
{
    Py_CLEAR(p->latest);
    if (frame == p->before && !is_resumed(frame)) {
        Py_INCREF(frame);
        p->latest = frame;
        p->latest_stack = stack;
    }
    p->before = frame;
}

/* The source of a frame, -1 with an exception. */
static long source_of(struct places *p, PyObject *frame)
{
    int64_t stack, number;
    PyObject *source;

    if (frame == Py_None || frame == p->root)
        return 0;
    stack = frame == p->latest ? p->latest_stack : stack_above(p, frame);
    number = stack < 0 ? -1 : place_of(p, frame, at(frame), stack);
    if (number < 0)
        return -1;
    if (frame != p->latest)
        remember(p, frame, stack);
    if (p->sources[number] < 0) {
        source = PyObject_CallFunctionObjArgs(p->locate, frame, NULL);
        if (!source)
            return -1;
        p->sources[number] = PyLong_AsLong(source);
        Py_DECREF(source);
    }
    return (long)p->sources[number];
}

long source_above(PyObject *places, long up)
{
    PyObject *frame = (PyObject *)PyEval_GetFrame();
    long source;

    if (!frame)
        frame = Py_None;
    Py_INCREF(frame);
    for (; up && frame != Py_None; up--) {
        PyObject *caller = attribute(&back_of, frame);
        Py_DECREF(frame);
        if (!caller)
            return -1;
        frame = caller;
    }
    source = source_of((struct places *)places, frame);
    Py_DECREF(frame);
    return source;
}

static PyObject *source(PyObject *self, PyObject *up)
{
    long calls = PyLong_AsLong(up), found = calls == -1 && PyErr_Occurred() ? -1 : source_above(self, calls);

    return found < 0 ? NULL : PyLong_FromLong(found);
}

static PyObject *start(PyObject *self, PyObject *root)
{
    struct places *p = (struct places *)self;

    p->root = PyLong_AsVoidPtr(root);
    if (PyErr_Occurred())
        return NULL;
    forget(p);
    Py_RETURN_NONE;
}

static PyObject *make(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *locate;
    struct places *p;

    if (named || !PyArg_ParseTuple(given, "O", &locate))
        return NULL;
    p = (struct places *)PyType_GenericAlloc(type, 0);
    if (!p)
        return NULL;
    Py_INCREF(locate);
    p->locate = locate;
    if (numbers_begin(&p->numbers) < 0) {
        Py_DECREF(p);
        return PyErr_NoMemory();
    }
    return (PyObject *)p;
}

static void release(PyObject *self)
{
    struct places *p = (struct places *)self;
    PyTypeObject *type = Py_TYPE(self);

    forget(p);
    while (p->chunk) {
        struct chunk *chunk = p->chunk;
        while (chunk->used)
            Py_DECREF(chunk->places[--chunk->used].code);
        p->chunk = chunk->before;
        free(chunk);
    }
    numbers_end(&p->numbers);
    free(p->sources);
    free(p->standing);
    Py_DECREF(p->locate);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *make_places_type(void)
{
    static PyMethodDef methods[] = {
        {"source", source, METH_O, NULL},
        {"start", start, METH_O, NULL},
        {NULL, NULL, 0, NULL},
    };
    PyType_Slot slots[] = {{Py_tp_new, make}, {Py_tp_dealloc, release}, {Py_tp_methods, methods}, {0, NULL}};
    PyType_Spec spec = {"neff_bench.simulator.native.recorder.core.Places", sizeof(struct places), 0, Py_TPFLAGS_DEFAULT, slots};

    return PyType_FromSpec(&spec);
}
