/* Groups of rectangles that no other group can overlap: see groups.c. */

#ifndef GROUPS_H
#define GROUPS_H

#include "parts.h"

/* A half-open range of a rectangle. */
struct range {
    int64_t low, high, rectangle;
};

/* By where they begin. */
void sort_ranges(int64_t count, struct range *ranges);

/* `group`: the number of each rectangle's group, from 0. Gives how many there are, -1 when there is no memory. */
int64_t group_all(int64_t count, const struct region *regions, int64_t *group);

#endif
