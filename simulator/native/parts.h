/* Rectangles as parts: see parts.c. */

#ifndef PARTS_H
#define PARTS_H

#include <stdint.h>

/* Half-open: rows [r0, r1), columns [c0, c1). */
struct region {
    int64_t storage, r0, r1, c0, c1;
};

/* Rectangle i consists of the parts part[first[i]] to part[first[i + 1] - 1]; parts are numbered below `count`. */
struct parts {
    int64_t count, *first, *part;
};

/* 0, or -1 when there is no memory; parts_end frees what it made in both cases. */
int cut(int64_t count, const struct region *regions, struct parts *parts);
void parts_end(struct parts *parts);

#endif
