/* The buffers of a program: see neff_bench.simulator.compiler.program.columns. */

#ifndef BUFFERS_H
#define BUFFERS_H

#include <stdint.h>

enum memory { HBM, SBUF, PSUM };

/* One element for each buffer. of_host: 1 for inputs and outputs. address: -1 where it is not known. */
struct buffers {
    int64_t count;
    const int64_t *memory, *of_host, *row_bytes, *rows, *address, *partition;
};

#endif
