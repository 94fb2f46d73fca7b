/* The instructions of one core as columns, and the words that the cores of a program share: see steps.c. */

#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>

#include "numbers.h"
#include "recorder.h"

#define MOST_OPERANDS 1024

/* A column of numbers in a bytearray, which numpy reads where it lies. */
struct column {
    PyObject *bytes;
    void *data;
};

/* Keys of `numbers`, which stay where they are. */
struct keys {
    struct keys *before;
    size_t used, room;
    int64_t words[];
};

/* What an instruction does without its operands: numbers of its operation, its engine and its attributes, how many operands it reads, and
   the names of those that it reads and writes. */
struct head {
    const int64_t *key;
    size_t length;
};

enum { KEY_OP, KEY_ENGINE, KEY_ATTRIBUTES, KEY_READS, KEY_NAMES };

/* A pattern and a dtype that were asked for in the same objects. */
struct known_form {
    PyObject *strides, *shape, *dtype;
    int64_t pattern, type;
};

#define KNOWN_FORMS 1024

/* texts, attributes, patterns, dynamics: dicts of numbers; the lists have what these numbers stand for. head_objects: a tuple of operation,
   engine, attributes, names of reads and names of writes for each head. starts, steps, sizes: the pairs of the patterns. matmul: heads of products. */
struct words {
    PyObject_HEAD
    PyObject *texts, *text_list, *attributes, *attribute_list, *patterns, *pattern_list, *dynamics, *dynamic_list, *head_objects;
    struct column starts, steps, sizes;
    int64_t pattern_count, pair_count, pattern_room, pair_room, head_room, matmul[3][2];
    struct numbers head_numbers;
    struct keys *keys;
    struct head *heads;
    struct known_form forms[KNOWN_FORMS];
};

enum { HEAD, SOURCE, USE_START, VIEW, BUFFER, AT, TYPE, DYNAMICS, PATTERN, STEP_COLUMNS };

/* slots: a hash table of views, each with its number and 1. */
struct steps {
    PyObject_HEAD
    struct words *words;
    struct column columns[STEP_COLUMNS];
    int64_t count, uses, views, room, use_room, view_room;
    uint32_t *slots;
    size_t slot_count;
};

struct view_key {
    int64_t buffer, offset, type, dynamic, pattern;
};

PyObject *make_words_type(void);
PyObject *make_steps_type(void);
struct steps *as_steps(PyObject *object);
struct steps *new_steps(struct words *words);

/* words.c. Numbers, -1 with an exception; `head_of` takes a key of numbers. */
int64_t text_number(struct words *words, PyObject *text);
int64_t attributes_number(struct words *words, PyObject *attributes);
int64_t pattern_number(struct words *words, PyObject *pattern);
int64_t dynamic_number(struct words *words, PyObject *dynamic);
int64_t dtype_number(PyObject *dtype);
int64_t head_of(struct words *words, const int64_t *key, size_t length);
const struct known_form *form_of_view(struct words *words, PyObject *strides, PyObject *shape, PyObject *dtype);

/* A column of so many bytes; -1 with an exception. */
int resize(struct column *column, int64_t bytes);

/* A number for a key, which is kept; -1 with an exception. */
int64_t kept_number(struct numbers *numbers, struct keys **keys, const int64_t *key, size_t length);
void release_keys(struct keys *keys);

/* steps.c. Adds an operand, a tensor or an Access, with the indices of its address; -1 with an exception. */
int add_operand(struct steps *steps, PyObject *operand);
int64_t view_of(struct steps *steps, const struct view_key *key);
int add_use(struct steps *steps, int64_t view);

/* Ends an instruction whose operands were added; -1 with an exception. */
int end_step(struct steps *steps, int64_t head, int64_t source);

/* Appends an instruction with operands in dicts; -1 with an exception. */
int add_step(struct steps *steps, PyObject *const *given, int64_t source);

/* The number of `dst`'s product, read from two tensors; -1 with an exception. */
int64_t matmul_head(struct words *words, PyObject *accumulate, int is_transpose);

/* kinds.c: functions of the module. */
PyObject *kinds_of(PyObject *module, PyObject *given);
PyObject *buffer_columns(PyObject *module, PyObject *given);

#endif
