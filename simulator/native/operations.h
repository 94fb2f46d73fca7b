/* The different operations of a core: see neff_bench.simulator.compiler.lowering. */

#ifndef OPERATIONS_H
#define OPERATIONS_H

#include <stdint.h>

#define ENGINES 5

/* What a step waits for: all that the operation waits for, or that of the weights, or that of the other operands, or nothing. */
enum waits { ALL, WEIGHTS, REST, NOTHING };

/* One element for each kind of instruction; times in ns. loads: a DMA that brings data on chip. moves: any DMA. meets: both cores
   enter it together. settles: what it reads is also written, for all that follows. function: what Scalar looks up, -1 for nothing.
   moving: below 0 for what is no DMA. step, waits: of its steps, from step_start on. */
struct operations {
    const int64_t *engine, *loads, *moves, *meets, *settles, *function;
    const double *busy, *result, *moving;
    const int64_t *step_start, *step, *waits;
};

#endif
