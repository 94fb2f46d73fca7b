/* The order in which a compiler hands a program to the engines: a list schedule.

   The same steps, with the same arithmetic, as neff_bench.simulator.compiler.code.order, which says what the columns are. */

#include "order.h"

#include <stdlib.h>

#include "heap.h"

/* wanted: the place in the program that an instruction is ordered by. rank: the number of its place; ranked: the other way round.
   missing: for how many it still waits. after_start, after: who waits for it. follower: who must come behind it, -1 for none. */
struct state {
    const int64_t *kind;
    const struct operations *operations;
    const struct edges *edges;
    int64_t count, *wanted, *rank, *ranked, *missing, *after_start, *after, *follower;
    double *ready, free[ENGINES], dma_free, dma_wait_ns, semaphore_ns;
    struct heap waiting[ENGINES], available[ENGINES];
};

static const struct operation *operation_of(const struct state *s, int64_t index)
{
    return &s->operations->kinds[s->kind[index]];
}

static int64_t engine_of(const struct state *s, int64_t index)
{
    return operation_of(s, index)->engine;
}

/* Who waits for each instruction, and for how many each waits. */
static void turn_edges(struct state *s)
{
    const struct edges *edges = s->edges;

    for (int64_t i = 0; i <= s->count; i++)
        s->after_start[i] = 0;
    for (int64_t edge = 0; edge < edges->start[s->count]; edge++)
        s->after_start[edges->before[edge] + 1]++;
    for (int64_t i = 0; i < s->count; i++) {
        s->after_start[i + 1] += s->after_start[i];
        s->missing[i] = 0;
    }
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t edge = edges->start[i]; edge < edges->start[i + 1]; edge++) {
            int64_t before = edges->before[edge];
            s->after[s->after_start[before] + s->missing[before]++] = i;
        }
    for (int64_t i = 0; i < s->count; i++)
        s->missing[i] = edges->start[i + 1] - edges->start[i];
}

/* Loads, and what waits for nothing, are wanted where they are first used. Instructions that are wanted at one place keep their
   order. */
static void rank_all(struct state *s)
{
    int64_t *begin = s->follower; /* free until the chains are made */

    for (int64_t i = 0; i < s->count; i++) {
        int64_t used = s->after_start[i + 1] > s->after_start[i] ? s->after[s->after_start[i]] : i;
        s->wanted[i] = operation_of(s, i)->loads || !s->missing[i] ? used : i;
        begin[i] = 0;
    }
    for (int64_t i = 0; i < s->count; i++)
        if (s->wanted[i] + 1 < s->count)
            begin[s->wanted[i] + 1]++;
    for (int64_t i = 1; i < s->count; i++)
        begin[i] += begin[i - 1];
    for (int64_t i = 0; i < s->count; i++) {
        s->rank[i] = begin[s->wanted[i]]++;
        s->ranked[s->rank[i]] = i;
    }
}

/* `index` comes behind `*last`, if there is one. */
static void follow(struct state *s, int64_t *last, int64_t index)
{
    if (*last >= 0) {
        s->follower[*last] = index;
        s->missing[index]++;
    }
    *last = index;
}

/* What keeps its order among itself: the loads of each queue, by rank, and the meetings of the cores. */
static void chain(struct state *s)
{
    int64_t last[ENGINES], met = -1;

    for (int e = 0; e < ENGINES; e++)
        last[e] = -1;
    for (int64_t i = 0; i < s->count; i++)
        s->follower[i] = -1;
    for (int64_t place = 0; place < s->count; place++)
        if (operation_of(s, s->ranked[place])->loads)
            follow(s, &last[engine_of(s, s->ranked[place])], s->ranked[place]);
    for (int64_t i = 0; i < s->count; i++)
        if (operation_of(s, i)->meets)
            follow(s, &met, i);
}

/* The engine that can start first, and when. */
static int first_engine(const struct state *s, double *start)
{
    int best = -1;

    for (int e = 0; e < ENGINES; e++) {
        double at = s->free[e];
        if (!s->available[e].count) {
            if (!s->waiting[e].count)
                continue;
            if (s->waiting[e].items[0].at > at)
                at = s->waiting[e].items[0].at;
        }
        if (best < 0 || at < *start) {
            best = e;
            *start = at;
        }
    }
    return best;
}

/* One of those that `index` waits for is there. */
static void arrive(struct state *s, int64_t index, double ready)
{
    if (--s->missing[index] == 0)
        heap_push(&s->waiting[engine_of(s, index)], ready, index);
}

static void issue(struct state *s, int64_t index, double start)
{
    const struct operation *operation = operation_of(s, index);
    int64_t follower = s->follower[index];
    double done = start + operation->result;

    s->free[operation->engine] = start + operation->busy;
    if (operation->moving >= 0.0) {
        s->dma_free = (done > s->dma_free ? done : s->dma_free) + operation->moving;
        done = s->dma_free + s->dma_wait_ns;
    } else {
        done += s->semaphore_ns;
    }
    for (int64_t i = s->after_start[index]; i < s->after_start[index + 1]; i++) {
        int64_t other = s->after[i];
        /* The PE adds in PSUM without waiting for itself. */
        double at = operation->engine == TENSOR && engine_of(s, other) == TENSOR ? s->free[TENSOR] : done;
        if (at > s->ready[other])
            s->ready[other] = at;
        arrive(s, other, s->ready[other]);
    }
    if (follower >= 0)
        arrive(s, follower, start > s->ready[follower] ? start : s->ready[follower]);
}

static void issue_all(struct state *s, int64_t *order)
{
    for (int64_t i = 0; i < s->count; i++)
        if (!s->missing[i])
            heap_push(&s->available[engine_of(s, i)], (double)s->rank[i], 0);
    for (int64_t place = 0; place < s->count; place++) {
        double start = 0.0;
        int engine = first_engine(s, &start);
        struct heap *here = &s->available[engine], *soon = &s->waiting[engine];
        while (soon->count && soon->items[0].at <= start)
            heap_push(here, (double)s->rank[heap_pop(soon).number], 0);
        order[place] = s->ranked[(int64_t)heap_pop(here).at];
        issue(s, order[place], start);
    }
}

static int begin(struct state *s)
{
    size_t integers = (size_t)(s->count + 1), edges = (size_t)s->edges->count + 1;
    int64_t **columns[] = {&s->wanted, &s->rank, &s->ranked, &s->missing, &s->after_start, &s->follower};
    int status = 0;

    for (int i = 0; i < 6; i++) {
        *columns[i] = malloc(integers * sizeof(int64_t));
        status |= *columns[i] ? 0 : NO_MEMORY;
    }
    s->after = malloc(edges * sizeof *s->after);
    s->ready = calloc(integers, sizeof *s->ready);
    for (int e = 0; e < ENGINES; e++) {
        s->waiting[e].items = malloc(integers * sizeof(struct item));
        s->available[e].items = malloc(integers * sizeof(struct item));
        status |= s->waiting[e].items && s->available[e].items ? 0 : NO_MEMORY;
    }
    return s->after && s->ready ? status : NO_MEMORY;
}

static void end(struct state *s)
{
    int64_t *columns[] = {s->wanted, s->rank, s->ranked, s->missing, s->after_start, s->follower, s->after};

    for (int i = 0; i < 7; i++)
        free(columns[i]);
    free(s->ready);
    for (int e = 0; e < ENGINES; e++) {
        free(s->waiting[e].items);
        free(s->available[e].items);
    }
}

/* Every edge leads to an earlier instruction, so that there always is one that can be issued. */
int issue_order(const struct columns *columns, const struct operations *operations, const struct edges *edges, double dma_wait_ns,
                double semaphore_ns, int64_t *order)
{
    struct state s = {
        .kind = columns->kind, .operations = operations, .edges = edges, .count = columns->instructions,
        .dma_wait_ns = dma_wait_ns, .semaphore_ns = semaphore_ns,
    };
    int status = begin(&s);

    if (status == 0) {
        turn_edges(&s);
        rank_all(&s);
        chain(&s);
        issue_all(&s, order);
    }
    end(&s);
    return status;
}
