/* The order in which a compiler hands a program to the engines: see order.c. */

#ifndef ORDER_H
#define ORDER_H

#include "columns.h"
#include "edges.h"
#include "operations.h"

/* `order`: the instructions, in the order of issue. 0, or -1 when there is no memory. */
int issue_order(const struct columns *columns, const struct operations *operations, const struct edges *edges, double dma_wait_ns,
                double semaphore_ns, int64_t *order);

#endif
