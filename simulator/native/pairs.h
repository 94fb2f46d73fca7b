/* Pairs of a rectangle and a place in it, by rectangle; no pair twice. */

#ifndef PAIRS_H
#define PAIRS_H

#include <stdint.h>

struct pairs {
    int64_t count, *rectangle, *place;
};

/* 0, or -1 when there is no memory. */
int pairs_begin(struct pairs *pairs, int64_t room);
void pairs_end(struct pairs *pairs);
void add_pair(struct pairs *pairs, int64_t rectangle, int64_t place);

/* Makes one place of those that the same rectangles hold. Gives a number that all places are below, -1 when there is no memory. */
int64_t merge(struct pairs *pairs);

#endif
