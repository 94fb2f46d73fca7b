/* Numbers for different keys, from 0, in the order in which they first come. Keys are bytes that the caller keeps. */

#ifndef NUMBERS_H
#define NUMBERS_H

#include <stddef.h>
#include <stdint.h>

struct numbers {
    struct key *keys;
    int64_t count, *slots;
    size_t slot_count;
};

/* 0, or -1 when there is no memory. */
int numbers_begin(struct numbers *numbers);

/* The number of a key, -1 when there is no memory. A new key has the number that `count` was before. */
int64_t number_of(struct numbers *numbers, const void *bytes, size_t length);

void numbers_end(struct numbers *numbers);

#endif
