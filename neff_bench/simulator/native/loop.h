/* What the inner loop of the schedule takes, gives and keeps. The structs have the fields of the records in
   neff_bench.simulator.timing.records, in their order; the records say what each field is. */

#ifndef LOOP_H
#define LOOP_H

#include <stdint.h>

#define ENGINES_OF_A_CORE 5
#define QUEUES 12 /* of a core, as in neff_bench.simulator.costs.transfers */

enum { DONE, DEADLOCK, NO_MEMORY = -1 };
enum { OTHER, LDWEIGHTS, MATMUL };

struct work {
    const int32_t *engine, *order, *order_start;
    const int8_t *kind;
    const double *interval, *latency, *pe_ns;
    const int32_t *transfer, *partner;
    const int64_t *wait_start;
    const int32_t *waits;
    const double *engine_start;
};

struct moves {
    const int64_t *packets;
    const double *spacing, *hbm, *first;
    const double *held_up;
    const int64_t *first_engine, *engines, *queue;
};

struct rates {
    double dma_wait, semaphore, pe_latency, pe_fill, window, slow, full_at, pe_overhead, matmul_issue, semaphore_packet;
    double read_stall, read_spread, stagger, read_stagger, first_window;
};

struct times {
    double *start, *duration, *done, *wait;
    int32_t *blocker;
    int64_t *run_count;
    double *run_start, *run_spacing;
    int8_t *by_hbm;
};

/* Periods at full PE speed; `count` is one number. */
struct warm {
    int64_t *count, *core;
    double *start, *end;
};

/* ready: when the next instruction has all it waits for, -1 not known yet. may_go: its partner is there too. cause: what it
   waited for last. missing: what it still waits for. */
struct engine {
    int64_t place;
    double free, ready;
    int32_t cause, missing;
    int may_go;
};

/* hbm_free: when the core's share of HBM has moved what each queue put on it. warm_since: when the PE came to full speed, -inf while
   it is throttled. moving_count: how many of its transfers are under way. */
struct core {
    double hbm_free[QUEUES], array_free, window_start, window_busy, warm_since;
    int64_t rotation, moving_count;
};

/* dma_free: when each DMA engine is done with what each queue put on it. moving: the transfers of each core that are under way.
   trigger: the instruction that started each transfer. later: whether it lost turns that `done` does not know of. */
struct state {
    const struct work *work;
    const struct moves *moves;
    const struct rates *rates;
    int64_t width;
    struct times *times;
    struct warm *warm;
    struct engine *engine;
    struct core *core;
    double *dma_free;
    int64_t transfers, *moving;
    int32_t *trigger;
    int8_t *later;
};

static inline double larger(double a, double b)
{
    return b > a ? b : a;
}

/* Moves the bytes of transfer t, triggered at `start`; when it is done. */
double move_bytes(struct state *s, int64_t t, int64_t core, double start);

/* Forgets the transfers of the core that are done at `now`, and says of the others when they will be; whether one will be later than
   before. */
int look_after(struct state *s, int64_t core, double now);

#endif
