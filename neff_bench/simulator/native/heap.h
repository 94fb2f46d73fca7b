/* What comes first, comes out first: a binary heap by `at`, then by `number`. The caller makes `items` large enough. */

#ifndef HEAP_H
#define HEAP_H

#include <stdint.h>

struct item {
    double at;
    int64_t number;
};

struct heap {
    struct item *items;
    int64_t count;
};

void heap_push(struct heap *heap, double at, int64_t number);
struct item heap_pop(struct heap *heap);

#endif
