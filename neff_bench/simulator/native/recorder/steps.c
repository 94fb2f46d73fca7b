/* `Steps`: the instructions of one core as columns. They can be read as a sequence, whose instructions are made when somebody looks at them.

   An instruction has a head (see words.c), a source and its uses: the views that it reads, then those that it writes, and behind each the
   views of the indices of its run-time address. Equal views have one number. */

#include <stdlib.h>
#include <string.h>

#include "steps.h"

static PyTypeObject *steps_type, *words_type;

#define OF(steps, column, type) ((type *)(steps)->columns[column].data)
#define NUMBERS(steps, column) OF(steps, column, int64_t)
#define WORDS(steps, column) OF(steps, column, int32_t)

static const int item_bytes[STEP_COLUMNS] = {[HEAD] = 4, [SOURCE] = 4, [USE_START] = 8, [VIEW] = 4, [BUFFER] = 8,
                                             [AT] = 8,   [TYPE] = 4,   [DYNAMICS] = 4,  [PATTERN] = 4};

struct steps *as_steps(PyObject *object)
{
    return object && Py_TYPE(object) == steps_type ? (struct steps *)object : NULL;
}

/* Columns from `first` to `last` get room for so many elements; -1 with an exception. */
static int make_room(struct steps *steps, int first, int last, int64_t elements)
{
    for (int i = first; i <= last; i++) {
        if (resize(&steps->columns[i], elements * item_bytes[i]) < 0)
            return -1;
    }
    return 0;
}

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static size_t slot_of(const struct steps *steps, const struct view_key *key)
{
    uint64_t hash = mixed(mixed(mixed(0, (uint64_t)key->buffer), (uint64_t)key->offset),
                          (uint64_t)(key->pattern << 8 ^ key->type ^ key->dynamic << 40));

    return (size_t)(hash ^ hash >> 17) & (steps->slot_count - 1);
}

static struct view_key key_at(const struct steps *steps, int64_t view)
{
    return (struct view_key){NUMBERS(steps, BUFFER)[view], NUMBERS(steps, AT)[view], WORDS(steps, TYPE)[view],
                             WORDS(steps, DYNAMICS)[view], WORDS(steps, PATTERN)[view]};
}

/* A table with room for more views: at most three quarters are taken. */
static int grow_slots(struct steps *steps)
{
    size_t count = 256, slot;
    uint32_t *slots;

    while (2 * count <= 3 * (size_t)steps->views)
        count *= 2;
    slots = calloc(count, sizeof *slots);
    if (!slots) {
        PyErr_NoMemory();
        return -1;
    }
    free(steps->slots);
    steps->slots = slots;
    steps->slot_count = count;
    for (int64_t view = 0; view < steps->views; view++) {
        struct view_key key = key_at(steps, view);
        for (slot = slot_of(steps, &key); slots[slot]; slot = (slot + 1) & (count - 1))
            ;
        slots[slot] = (uint32_t)view + 1;
    }
    return 0;
}

static int is_at(const struct steps *steps, int64_t view, const struct view_key *key)
{
    return NUMBERS(steps, AT)[view] == key->offset && NUMBERS(steps, BUFFER)[view] == key->buffer &&
           WORDS(steps, PATTERN)[view] == key->pattern && WORDS(steps, TYPE)[view] == key->type &&
           WORDS(steps, DYNAMICS)[view] == key->dynamic;
}

static int add_view(struct steps *steps, const struct view_key *key)
{
    int64_t view = steps->views;

    if (view == steps->view_room) {
        if (make_room(steps, BUFFER, PATTERN, 2 * view + 64) < 0)
            return -1;
        steps->view_room = 2 * view + 64;
    }
    NUMBERS(steps, BUFFER)[view] = key->buffer;
    NUMBERS(steps, AT)[view] = key->offset;
    WORDS(steps, TYPE)[view] = (int32_t)key->type;
    WORDS(steps, DYNAMICS)[view] = (int32_t)key->dynamic;
    WORDS(steps, PATTERN)[view] = (int32_t)key->pattern;
    steps->views++;
    return 0;
}

int64_t view_of(struct steps *steps, const struct view_key *key)
{
    size_t slot;

    if (4 * (size_t)steps->views >= 3 * steps->slot_count && grow_slots(steps) < 0)
        return -1;
    for (slot = slot_of(steps, key); steps->slots[slot]; slot = (slot + 1) & (steps->slot_count - 1)) {
        if (is_at(steps, steps->slots[slot] - 1, key))
            return steps->slots[slot] - 1;
    }
    if (add_view(steps, key) < 0)
        return -1;
    steps->slots[slot] = (uint32_t)steps->views;
    return steps->views - 1;
}

int add_use(struct steps *steps, int64_t view)
{
    if (view < 0)
        return -1;
    if (steps->uses == steps->use_room) {
        if (make_room(steps, VIEW, VIEW, 2 * steps->uses + 64) < 0)
            return -1;
        steps->use_room = 2 * steps->uses + 64;
    }
    WORDS(steps, VIEW)[steps->uses++] = (int32_t)view;
    return 0;
}

static int64_t number_in(struct getter *getter, PyObject *object)
{
    PyObject *found = attribute(getter, object);
    int64_t number = found ? PyLong_AsLongLong(found) : -1;

    Py_XDECREF(found);
    return number;
}

static struct getter buffer_in = {"buffer"}, offset_in = {"offset"}, pattern_in = {"pattern"}, dtype_in = {"dtype"},
                     dynamic_in = {"dynamic"}, index_in = {"index"};

/* The number of an Access as a view; `dynamic` gets its run-time parts, borrowed. */
static int64_t view_of_access(struct steps *steps, PyObject *access, PyObject **dynamic)
{
    struct view_key key = {0};
    PyObject *pattern, *dtype;

    if ((PyObject *)Py_TYPE(access) != plain.type_access) {
        PyErr_Format(PyExc_TypeError, "an operand is a tensor, not %R", access);
        return -1;
    }
    pattern = attribute(&pattern_in, access);
    dtype = attribute(&dtype_in, access);
    *dynamic = attribute(&dynamic_in, access);
    key.buffer = number_in(&buffer_in, access);
    key.offset = number_in(&offset_in, access);
    key.pattern = pattern ? pattern_number(steps->words, pattern) : -1;
    key.type = dtype ? dtype_number(dtype) : -1;
    key.dynamic = *dynamic ? dynamic_number(steps->words, *dynamic) : -1;
    Py_XDECREF(pattern);
    Py_XDECREF(dtype);
    Py_XDECREF(*dynamic); /* the access has it */
    return PyErr_Occurred() ? -1 : view_of(steps, &key);
}

/* The number of a tensor that lies inside of its allocation as a view. */
static int64_t view_of_tensor(struct steps *steps, const struct view *view, const struct storage *storage)
{
    const struct known_form *form = form_of_view(steps->words, view->fields[STRIDES], view->fields[SHAPE], view->fields[DTYPE]);
    struct view_key key = {0};

    if (!form)
        return -1;
    key.buffer = PyLong_AsLongLong(storage->fields[OF_INDEX]);
    key.offset = PyLong_AsLongLong(view->fields[OFFSET]);
    key.type = form->type;
    key.pattern = form->pattern;
    return view_of(steps, &key);
}

/* The uses of the indices of a run-time address. */
static int add_indices(struct steps *steps, PyObject *dynamic)
{
    Py_ssize_t parts = PyTuple_Size(dynamic);
    PyObject *index, *deeper;
    int status = 0;

    for (Py_ssize_t i = 0; status == 0 && i < parts; i++) {
        index = attribute(&index_in, PyTuple_GetItem(dynamic, i));
        status = index ? add_use(steps, view_of_access(steps, index, &deeper)) : -1;
        Py_XDECREF(index);
    }
    return status;
}

/* 1 when a tensor is plainly an operand: it lies inside of its allocation, at an address that is known. */
static int is_plain(const struct view *view, const struct storage *storage)
{
    return storage && PyTuple_Size(view->fields[DYNAMIC]) == 0 && (view->fields[ACCESS] != Py_True || lies_inside(view));
}

int add_operand(struct steps *steps, PyObject *operand)
{
    PyObject *access = operand, *dynamic = NULL;
    int64_t number;

    if ((PyObject *)Py_TYPE(operand) != plain.type_access) {
        const struct view *view = (struct view *)operand;
        if (is_view(operand) && is_plain(view, storage_of(view)))
            return add_use(steps, view_of_tensor(steps, view, storage_of(view)));
        access = access_of(NULL, operand);
        if (!access)
            return -1;
    } else {
        Py_INCREF(access);
    }
    number = view_of_access(steps, access, &dynamic);
    if (add_use(steps, number) == 0 && add_indices(steps, dynamic) < 0)
        number = -1;
    Py_DECREF(access);
    return number < 0 ? -1 : 0;
}

int end_step(struct steps *steps, int64_t head, int64_t source)
{
    int64_t number = steps->count;

    if (number + 1 >= steps->room) {
        if (make_room(steps, HEAD, USE_START, 2 * number + 64) < 0)
            return -1;
        steps->room = 2 * number + 64;
    }
    WORDS(steps, HEAD)[number] = (int32_t)head;
    WORDS(steps, SOURCE)[number] = (int32_t)source;
    NUMBERS(steps, USE_START)[number + 1] = steps->uses;
    steps->count++;
    return 0;
}

/* The operands in a dict, whose names go behind a key. */
static int64_t add_operands(struct steps *steps, PyObject *operands, int64_t *key)
{
    PyObject *name, *operand;
    Py_ssize_t place = 0;
    int64_t count = 0;

    while (PyDict_Next(operands, &place, &name, &operand)) {
        key[count] = text_number(steps->words, name);
        if (key[count++] < 0 || add_operand(steps, operand) < 0)
            return -1;
    }
    return count;
}

/* given: operation, engine, writes, reads, attributes. */
int add_step(struct steps *steps, PyObject *const *given, int64_t source)
{
    int64_t key[KEY_NAMES + 2 * MOST_OPERANDS], reads, writes = -1, head = -1, uses = steps->uses;

    if (PyDict_Size(given[2]) > MOST_OPERANDS || PyDict_Size(given[3]) > MOST_OPERANDS || !PyDict_Check(given[4])) {
        PyErr_SetString(PyExc_TypeError, "operands and attributes are dicts, the former of 1024 at most");
        return -1;
    }
    reads = add_operands(steps, given[3], key + KEY_NAMES);
    if (reads >= 0)
        writes = add_operands(steps, given[2], key + KEY_NAMES + reads);
    if (writes >= 0) {
        key[KEY_OP] = text_number(steps->words, given[0]);
        key[KEY_ENGINE] = text_number(steps->words, given[1]);
        key[KEY_ATTRIBUTES] = attributes_number(steps->words, given[4]);
        key[KEY_READS] = reads;
        if (!PyErr_Occurred())
            head = head_of(steps->words, key, (size_t)(KEY_NAMES + reads + writes));
    }
    if (head >= 0 && end_step(steps, head, source) == 0)
        return 0;
    steps->uses = uses;
    return -1;
}

struct steps *new_steps(struct words *words)
{
    struct steps *steps = (struct steps *)PyType_GenericAlloc(steps_type, 0);

    if (!steps)
        return NULL;
    if (words)
        Py_INCREF((PyObject *)words);
    else
        words = (struct words *)PyObject_CallNoArgs((PyObject *)words_type);
    steps->words = words;
    steps->room = 2;
    if (!words || make_room(steps, HEAD, USE_START, 2) < 0 || make_room(steps, VIEW, PATTERN, 0) < 0)
        Py_CLEAR(steps);
    else
        NUMBERS(steps, USE_START)[0] = 0;
    return steps;
}

static struct getter op_in = {"op"}, engine_in = {"engine"}, writes_in = {"writes"}, reads_in = {"reads"},
                     attributes_in = {"attributes"}, source_in = {"source"};

static int add_instruction(struct steps *steps, PyObject *instruction)
{
    struct getter *getters[] = {&op_in, &engine_in, &writes_in, &reads_in, &attributes_in};
    PyObject *given[5];
    int status = (PyObject *)Py_TYPE(instruction) == plain.instruction ? 0 : -1;

    if (status < 0) {
        PyErr_Format(PyExc_TypeError, "not an instruction: %R", instruction);
        return -1;
    }
    for (int i = 0; i < 5; i++) {
        given[i] = attribute(getters[i], instruction);
        status = given[i] ? status : -1;
    }
    if (status == 0)
        status = add_step(steps, given, number_in(&source_in, instruction));
    for (int i = 0; i < 5; i++)
        Py_XDECREF(given[i]);
    return status;
}

/* Steps(instructions=(), like=None): `like` is another core of the program. */
static PyObject *make(PyTypeObject *type, PyObject *given, PyObject *named)
{
    PyObject *instructions = NULL, *like = NULL, *iterator, *one;
    struct steps *steps;

    (void)type;
    if (named || !PyArg_ParseTuple(given, "|OO", &instructions, &like))
        return NULL;
    steps = new_steps(as_steps(like) ? ((struct steps *)like)->words : NULL);
    iterator = steps && instructions ? PyObject_GetIter(instructions) : NULL;
    while (iterator && (one = PyIter_Next(iterator))) {
        int status = add_instruction(steps, one);
        Py_DECREF(one);
        if (status < 0)
            break;
    }
    Py_XDECREF(iterator);
    if (PyErr_Occurred())
        Py_CLEAR(steps);
    return (PyObject *)steps;
}

static void release(PyObject *self)
{
    struct steps *steps = (struct steps *)self;
    PyTypeObject *type = Py_TYPE(self);

    for (int i = 0; i < STEP_COLUMNS; i++)
        Py_XDECREF(steps->columns[i].bytes);
    free(steps->slots);
    Py_XDECREF((PyObject *)steps->words);
    PyObject_Free(self);
    Py_DECREF(type);
}

static Py_ssize_t length(PyObject *self)
{
    return (Py_ssize_t)((struct steps *)self)->count;
}

static PyObject *access_at(const struct steps *steps, int64_t view)
{
    const struct words *words = steps->words;
    PyObject *buffer = PyLong_FromLongLong(NUMBERS(steps, BUFFER)[view]), *offset = PyLong_FromLongLong(NUMBERS(steps, AT)[view]);
    PyObject *pattern = PyList_GetItem(words->pattern_list, (Py_ssize_t)WORDS(steps, PATTERN)[view]), *made = NULL;
    PyObject *dtype = PyTuple_GetItem(plain.dtype_names, (Py_ssize_t)WORDS(steps, TYPE)[view]);
    PyObject *dynamic = PyList_GetItem(words->dynamic_list, (Py_ssize_t)WORDS(steps, DYNAMICS)[view]);

    if (buffer && offset && pattern && dtype && dynamic)
        made = PyObject_CallFunctionObjArgs(plain.type_access, buffer, offset, pattern, dtype, dynamic, NULL);
    Py_XDECREF(buffer);
    Py_XDECREF(offset);
    return made;
}

/* The operands with these names, from a use on, which is moved on. */
static PyObject *operands_at(const struct steps *steps, PyObject *operand_names, int64_t *use)
{
    PyObject *operands = PyDict_New(), *access;
    Py_ssize_t count = PyTuple_Size(operand_names);

    for (Py_ssize_t i = 0; operands && i < count; i++) {
        int64_t view = WORDS(steps, VIEW)[*use];
        access = access_at(steps, view);
        if (!access || PyDict_SetItem(operands, PyTuple_GetItem(operand_names, i), access) < 0)
            Py_CLEAR(operands);
        Py_XDECREF(access);
        *use += 1 + PyTuple_Size(PyList_GetItem(steps->words->dynamic_list, (Py_ssize_t)WORDS(steps, DYNAMICS)[view]));
    }
    return operands;
}

static PyObject *instruction_at(const struct steps *steps, int64_t number)
{
    PyObject *head = PyList_GetItem(steps->words->head_objects, WORDS(steps, HEAD)[number]), *made = NULL;
    int64_t use = NUMBERS(steps, USE_START)[number];
    PyObject *reads = operands_at(steps, PyTuple_GetItem(head, 3), &use);
    PyObject *writes = reads ? operands_at(steps, PyTuple_GetItem(head, 4), &use) : NULL;
    PyObject *source = PyLong_FromLong(WORDS(steps, SOURCE)[number]);

    if (writes && source)
        made = PyObject_CallFunctionObjArgs(plain.instruction, PyTuple_GetItem(head, 0), PyTuple_GetItem(head, 1), writes, reads,
                                            PyTuple_GetItem(head, 2), source, NULL);
    Py_XDECREF(reads);
    Py_XDECREF(writes);
    Py_XDECREF(source);
    return made;
}

static PyObject *item(PyObject *self, Py_ssize_t place)
{
    const struct steps *steps = (struct steps *)self;

    if (place < 0 || place >= steps->count) {
        PyErr_SetString(PyExc_IndexError, "there is no such instruction");
        return NULL;
    }
    return instruction_at(steps, place);
}

/* An instruction, or a list of those in a slice. */
static PyObject *subscript(PyObject *self, PyObject *key)
{
    Py_ssize_t count = length(self), start, stop, step, size;
    PyObject *found;

    if (!PySlice_Check(key)) {
        start = PyNumber_AsSsize_t(key, PyExc_IndexError);
        return start == -1 && PyErr_Occurred() ? NULL : item(self, start < 0 ? start + count : start);
    }
    if (PySlice_Unpack(key, &start, &stop, &step) < 0)
        return NULL;
    size = PySlice_AdjustIndices(count, &start, &stop, step);
    found = PyList_New(size);
    for (Py_ssize_t i = 0; found && i < size; i++) {
        PyObject *one = item(self, start + i * step);
        if (!one || PyList_SetItem(found, i, one) < 0)
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *compare(PyObject *self, PyObject *other, int operation)
{
    PyObject *mine, *theirs, *answer = NULL;

    if ((operation != Py_EQ && operation != Py_NE) || !(as_steps(other) || PyTuple_Check(other) || PyList_Check(other)))
        Py_RETURN_NOTIMPLEMENTED;
    mine = PySequence_List(self);
    theirs = PySequence_List(other);
    if (mine && theirs)
        answer = PyObject_RichCompare(mine, theirs, operation);
    Py_XDECREF(mine);
    Py_XDECREF(theirs);
    return answer;
}

/* A column as long as it is used, a new reference. */
static PyObject *used(struct column *column, int64_t elements, int bytes)
{
    if (resize(column, elements * bytes) < 0)
        return NULL;
    Py_INCREF(column->bytes);
    return column->bytes;
}

/* columns() -> (sources, use_start, view, buffer, offset, dtype, dynamic, pattern, pattern_start, step, length). No instruction is added while
   somebody reads them. */
static PyObject *columns(PyObject *self, PyObject *none)
{
    struct steps *steps = (struct steps *)self;
    struct words *words = steps->words;
    PyObject *all = PyTuple_New(11);
    int good = all != NULL;

    (void)none;
    free(steps->slots); /* made again when another instruction comes */
    steps->slots = NULL;
    steps->slot_count = 0;
    for (int i = SOURCE; good && i < STEP_COLUMNS; i++) {
        int64_t elements = i == SOURCE ? steps->count : i == USE_START ? steps->count + 1 : i == VIEW ? steps->uses : steps->views;
        PyObject *made = used(&steps->columns[i], elements, item_bytes[i]);
        good = made && PyTuple_SetItem(all, i - 1, made) == 0;
    }
    steps->room = steps->count + 1;
    steps->use_room = steps->uses;
    steps->view_room = steps->views;
    if (good) {
        PyObject *pairs[] = {used(&words->starts, words->pattern_count + 1, 8), used(&words->steps, words->pair_count, 8),
                             used(&words->sizes, words->pair_count, 8)};
        words->pattern_room = words->pattern_count + 1;
        words->pair_room = words->pair_count;
        for (int i = 0; i < 3; i++)
            good = pairs[i] && PyTuple_SetItem(all, 8 + i, pairs[i]) == 0 && good;
    }
    if (!good)
        Py_CLEAR(all);
    return all;
}

/* uses(names) -> (roles, names): of each use whether it is read, written or an index, and the number of its operand's name among `names`. */
static PyObject *uses_of(PyObject *self, PyObject *operand_names)
{
    enum role { READ, WRITE, INDEX };
    const struct steps *steps = (struct steps *)self;
    const struct words *words = steps->words;
    PyObject *roles = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)steps->uses);
    PyObject *named = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)steps->uses * 4);
    Py_ssize_t texts = PyList_Size(words->text_list), count = PyTuple_Size(operand_names);
    int32_t *name, *number = malloc((size_t)(texts + 1) * sizeof *number);
    int64_t use = 0;
    char *role;
    PyObject *answer = NULL;

    if (!roles || !named || !number || count < 0)
        goto end;
    role = PyByteArray_AsString(roles);
    name = (int32_t *)PyByteArray_AsString(named);
    for (Py_ssize_t text = 0; text < texts; text++) {
        number[text] = -1;
        for (Py_ssize_t i = 0; i < count; i++) {
            if (PyObject_RichCompareBool(PyList_GetItem(words->text_list, text), PyTuple_GetItem(operand_names, i), Py_EQ) == 1)
                number[text] = (int32_t)i;
        }
    }
    for (int64_t step = 0; step < steps->count; step++) {
        const struct head *head = &words->heads[WORDS(steps, HEAD)[step]];
        for (size_t i = KEY_NAMES; i < head->length; i++) {
            int64_t dynamic = WORDS(steps, DYNAMICS)[WORDS(steps, VIEW)[use]];
            int64_t behind = use + 1 + (dynamic ? PyTuple_Size(PyList_GetItem(words->dynamic_list, (Py_ssize_t)dynamic)) : 0);
            role[use] = (int64_t)i - KEY_NAMES < head->key[KEY_READS] ? READ : WRITE;
            for (name[use] = number[head->key[i]]; ++use < behind;) {
                role[use] = INDEX;
                name[use] = number[head->key[i]];
            }
        }
    }
    answer = PyTuple_Pack(2, roles, named);
end:
    free(number);
    Py_XDECREF(roles);
    Py_XDECREF(named);
    return answer;
}

/* without(keep, buffer): the instructions for which a byte of `keep` is set, with views of other buffers: `buffer` has the number by view, in
   int64. */
static PyObject *without(PyObject *self, PyObject *given)
{
    const struct steps *steps = (struct steps *)self;
    struct steps *made = new_steps(steps->words);
    PyObject *keep, *buffer;
    const char *kept;
    const int64_t *buffers, *start = NUMBERS(steps, USE_START);
    int64_t *view = malloc((size_t)(steps->views + 1) * sizeof *view);
    int good = made && view && PyArg_ParseTuple(given, "SS", &keep, &buffer) && PyBytes_Size(keep) == steps->count &&
               PyBytes_Size(buffer) == steps->views * 8;

    if (good) {
        kept = PyBytes_AsString(keep);
        buffers = (const int64_t *)PyBytes_AsString(buffer);
        memset(view, 0xff, (size_t)steps->views * sizeof *view);
        for (int64_t step = 0; good && step < steps->count; step++) {
            for (int64_t use = start[step]; good && kept[step] && use < start[step + 1]; use++) {
                int64_t old = WORDS(steps, VIEW)[use];
                if (view[old] < 0) {
                    struct view_key key = key_at(steps, old);
                    key.buffer = buffers[old];
                    view[old] = view_of(made, &key);
                }
                good = add_use(made, view[old]) == 0;
            }
            good = good && (!kept[step] || end_step(made, WORDS(steps, HEAD)[step], WORDS(steps, SOURCE)[step]) == 0);
        }
    }
    free(view);
    if (!good) {
        Py_CLEAR(made);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a byte for each instruction and a buffer for each view are given");
    }
    return (PyObject *)made;
}

static PyObject *has_words_of(PyObject *self, PyObject *other)
{
    return PyBool_FromLong(as_steps(other) && ((struct steps *)other)->words == ((struct steps *)self)->words);
}

PyObject *make_steps_type(void)
{
    static PyMethodDef methods[] = {
        {"columns", columns, METH_NOARGS, NULL},
        {"has_words_of", has_words_of, METH_O, NULL},
        {"uses", uses_of, METH_O, NULL},
        {"without", without, METH_VARARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    PyType_Slot slots[] = {
        {Py_tp_new, make},           {Py_tp_dealloc, release},       {Py_tp_methods, methods},
        {Py_sq_length, length},      {Py_sq_item, item},             {Py_mp_length, length},
        {Py_mp_subscript, subscript}, {Py_tp_richcompare, compare}, {0, NULL},
    };
    PyType_Spec spec = {"neff_bench.simulator.native.recorder.core.Steps", sizeof(struct steps), 0, Py_TPFLAGS_DEFAULT, slots};

    words_type = (PyTypeObject *)make_words_type();
    steps_type = (PyTypeObject *)PyType_FromSpec(&spec);
    return (PyObject *)steps_type;
}
