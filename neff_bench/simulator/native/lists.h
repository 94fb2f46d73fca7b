/* For each rectangle of a group a list of places that it holds, none twice. */

#ifndef LISTS_H
#define LISTS_H

#include <stdint.h>

/* The places of rectangle i are place[first[i]] to place[first[i + 1] - 1]. */
struct lists {
    int64_t count, used, room, *first;
    int32_t *place;
};

/* Each gives 0, or -1 when there is no memory. */
int lists_begin(struct lists *lists, int64_t rectangles);
int add_place(struct lists *lists, int64_t place);
void lists_end(struct lists *lists);

/* The places that follow are those of the next rectangle. */
void next_list(struct lists *lists);

/* No rectangle has a place yet. */
void lists_clear(struct lists *lists);

/* Makes one place of those that the same rectangles hold. `places` is a number that all places are below; gives the new one, -1 when
   there is no memory. */
int64_t merge(struct lists *lists, int64_t places);

#endif
