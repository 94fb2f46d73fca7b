/* The buffers of a program: see neff_bench.simulator.compiler.columns. */

#ifndef BUFFERS_H
#define BUFFERS_H

#include <stdint.h>

enum memory { HBM, SBUF, PSUM };

/* One element for each buffer. address: -1 where it is not known. */
struct buffers {
    int64_t count;
    const int64_t *memory, *row_bytes, *rows, *address, *partition;
};

/* Of six rows of `count` elements. */
static inline struct buffers buffers_in(int64_t count, const int64_t *rows)
{
    struct buffers buffers = {count, rows, rows + 2 * count, rows + 3 * count, rows + 4 * count, rows + 5 * count};
    return buffers;
}

#endif
