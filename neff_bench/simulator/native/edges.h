/* Which earlier instructions each instruction waits for: see edges.c. */

#ifndef EDGES_H
#define EDGES_H

#include "buffers.h"
#include "columns.h"

enum conflict { RAW, WAW, WAR };

/* start, by instruction: where its edges begin, and the end. before: the earlier instruction; kind: RAW, WAW or WAR; operand: its name. */
struct edges {
    int64_t count, room, *start, *before, *kind, *operand;
};

/* Columns of edges that the caller allocates. */
struct edges_given {
    int64_t *start, *before, *kind, *operand;
};

/* `size`: bytes of an element, by dtype. `settles`, by kind of instruction: 1 where what it reads is also written. 0, or -1 when there
   is no memory; edges_end frees what it made in both cases. */
int find_edges(const struct columns *columns, const struct buffers *buffers, const int64_t *address, const int64_t *size,
               const int64_t *settles, struct edges *edges);
void edges_end(struct edges *edges);

#endif
