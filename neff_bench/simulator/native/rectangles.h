/* The rectangle of memory around each view: see rectangles.c. */

#ifndef RECTANGLES_H
#define RECTANGLES_H

#include "buffers.h"
#include "columns.h"
#include "parts.h"

/* `size`: bytes of an element, by dtype. `of_view`: the number of each view's region. `different`: the different regions. Gives how many
   there are. */
int64_t find_regions(const struct columns *columns, const struct buffers *buffers, const int64_t *address, const int64_t *size,
                     int64_t *of_view, struct region *different);

#endif
