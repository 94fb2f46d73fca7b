/* How long buffers live: see lives.c. */

#ifndef LIVES_H
#define LIVES_H

#include "columns.h"

/* One element for each buffer that is used, in the order in which they are found. */
struct lives {
    int64_t *buffer, *first, *last;
};

/* `moves`, by kind of instruction: 1 where it does not lengthen the lives of its operands; NULL for none. Gives the number of lives. */
int64_t find_lives(const struct columns *columns, int64_t buffers, const int64_t *moves, struct lives *lives);

#endif
