/* The different operations of a core: see neff_bench.simulator.compiler.code.lowering. */

#ifndef OPERATIONS_H
#define OPERATIONS_H

#include <stdint.h>

/* Numbers of engines. */
enum { TENSOR, SCALAR };

#define ENGINES 5

/* What a step waits for: all that the operation waits for, or that of the weights, or that of the other operands, or nothing, or what
   writes the values that the operation reads. */
enum waits { ALL, WEIGHTS, REST, NOTHING, READS };

/* What a kind of instruction becomes; times in ns. loads: a DMA that brings data on chip. moves: any DMA. static_dma: one whose
   descriptors were made at compile time. meets: both cores enter it together. function: what Scalar looks up, -1 for nothing.
   first_step, end_step: of its steps. moving: below 0 for what is no DMA. */
struct operation {
    int64_t engine, loads, moves, static_dma, meets, function, first_step, end_step;
    double busy, result, moving;
};

/* A step by its number, and what it waits for. */
struct need {
    int64_t step, waits;
};

/* kinds: by kind of instruction. steps: of all kinds. */
struct operations {
    const struct operation *kinds;
    const struct need *steps;
};

#endif
