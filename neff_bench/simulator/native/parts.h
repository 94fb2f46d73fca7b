/* Rectangles as parts: see parts.c. */

#ifndef PARTS_H
#define PARTS_H

#include <stdint.h>

/* Half-open: rows [r0, r1), columns [c0, c1). Storages are numbered from 0. */
struct region {
    int64_t storage, r0, r1, c0, c1;
};

/* Rectangle i consists of the parts part[begin[i]] to part[end[i] - 1]; parts are numbered below `count`. */
struct cuts {
    int64_t count, *begin, *end, *part, used, room;
};

/* 0, or -1 when there is no memory; cuts_end frees what it made in both cases. */
int cut(int64_t count, const struct region *regions, struct cuts *cuts);
void cuts_end(struct cuts *cuts);

#endif
