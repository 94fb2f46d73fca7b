/* Operations as machine instructions with their waits: see place.c. */

#ifndef PLACE_H
#define PLACE_H

#include "columns.h"
#include "edges.h"
#include "operations.h"

/* A machine instruction. transfer, meeting: how many came before, or -1 for what is none. wait: for another one, or -1. */
struct machine {
    int32_t step, origin, transfer, meeting, wait;
};

/* event, final, each: the steps that wait for one thing more, for the last DMA of a queue, and for one static DMA, by engine. load: the step that loads a table.
   table: by function and loaded table, the table that must be loaded, or -1; there are `tables`, and 0 is none. of_weights,
   is_stationary: 1 for the names of operands that LDWEIGHTS reads, and for the weights of a matmul. keeps_weights: 1 where weights
   that the PE holds are not loaded again. */
struct fixed {
    int64_t from_hlo, keeps_weights, load, tables;
    const int64_t *event, *final, *each, *table, *of_weights, *is_stationary;
};

/* `placed` has `room` for 10 machine instructions for each step of each instruction, and 1 more for each, and 10. Gives how many there
   are; `transfers` gets the number of DMAs. */
int64_t place_all(const struct columns *columns, const struct operations *operations, const struct edges *edges,
                  const struct fixed *fixed, const int64_t *order, int64_t room, struct machine *placed, int64_t *transfers);

#endif
