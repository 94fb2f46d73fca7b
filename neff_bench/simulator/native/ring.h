/* Where tensors lie that the kernel left to the compiler: see ring.c. */

#ifndef RING_H
#define RING_H

#include "buffers.h"
#include "lives.h"

/* Bytes of a partition of SBUF, of PSUM and of a bank of PSUM. */
struct sizes {
    int64_t sbuf, psum, bank;
};

/* `address`, by buffer: that of the kernel; those that the compiler chooses are put there. 0, or -1 when there is no memory. */
int allocate(const struct buffers *buffers, int64_t count, const struct lives *lives, const struct sizes *sizes, int64_t *address);

#endif
