/* The inner loop of the schedule: starts, one after the other, the instruction that can start first.

   The same steps, in the same order and with the same arithmetic, as neff_bench.simulator.timing.loop. */

#include "loop.h"

#include <math.h>
#include <stdlib.h>

static int is_at_end(const struct state *s, int64_t e)
{
    return s->engine[e].place >= s->work->order_start[e + 1];
}

static int32_t next_of(const struct state *s, int64_t e)
{
    return s->work->order[s->engine[e].place];
}

/* Whether everything that instruction i on engine e waits for is done. */
static int has_all(struct state *s, int64_t e, int32_t i)
{
    struct engine *engine = &s->engine[e];
    const double *done = s->times->done;
    double at = 0.0;
    int32_t cause = -1;

    if (engine->ready >= 0.0)
        return 1;
    if (engine->missing >= 0 && done[engine->missing] < 0.0)
        return 0;
    for (int64_t w = s->work->wait_start[i]; w < s->work->wait_start[i + 1]; w++) {
        int32_t before = s->work->waits[w];
        if (done[before] < 0.0) {
            engine->missing = before;
            return 0;
        }
        if (done[before] > at) {
            at = done[before];
            cause = before;
        }
    }
    engine->ready = at;
    engine->cause = cause;
    engine->may_go = s->work->partner[i] < 0;
    return 1;
}

/* Instructions i on engine e and j on engine r start together: the earlier one waits for the later one. */
static void meet(struct engine *e, struct engine *r, int32_t i, int32_t j)
{
    double mine = larger(e->ready, e->free), theirs = larger(r->ready, r->free);

    if (theirs > mine) {
        e->ready = theirs;
        e->cause = j;
    } else if (mine > theirs) {
        r->ready = mine;
        r->cause = i;
    }
    e->may_go = r->may_go = 1;
}

static int has_partner(struct state *s, int64_t e, int32_t i)
{
    struct engine *engine = &s->engine[e];
    int32_t j, r;

    if (engine->may_go)
        return 1;
    j = s->work->partner[i];
    r = s->work->engine[j];
    if (is_at_end(s, r) || next_of(s, r) != j || s->engine[r].ready < 0.0)
        return 0;
    meet(engine, &s->engine[r], i, j);
    return 1;
}

/* The engine whose next instruction can start first, -1 for none, and when. */
static int64_t first_to_start(struct state *s, int64_t engines, double *start)
{
    int64_t best = -1;

    for (int64_t e = 0; e < engines; e++) {
        int32_t i;
        double at;
        if (is_at_end(s, e))
            continue;
        i = next_of(s, e);
        if (!has_all(s, e, i) || !has_partner(s, e, i))
            continue;
        at = larger(s->engine[e].ready, s->engine[e].free);
        if (s->work->kind[i] == MATMUL)
            at = larger(at, s->core[e / ENGINES_OF_A_CORE].array_free);
        if (best < 0 || at < *start) {
            best = e;
            *start = at;
        }
    }
    return best;
}

static void add_warm(struct warm *warm, int64_t core, double start, double end)
{
    int64_t place = (*warm->count)++;

    warm->core[place] = core;
    warm->start[place] = start;
    warm->end[place] = end;
}

/* Ends every throttle window that is over at `now`; the PE gains or loses full speed at the end of one. */
static void pass_windows(struct state *s, int64_t number, double now)
{
    const struct rates *rates = s->rates;
    struct core *core = &s->core[number];

    while (now >= core->window_start + rates->window) {
        double share = core->window_busy / rates->window, end = core->window_start + rates->window;
        if (core->warm_since != -INFINITY && share < rates->full_at) {
            add_warm(s->warm, number, core->warm_since, end);
            core->warm_since = -INFINITY;
        } else if (core->warm_since == -INFINITY && share >= rates->full_at) {
            core->warm_since = end;
        }
        core->window_busy = 0.0;
        core->window_start += rates->window;
    }
}

/* LDWEIGHTS or MATMUL i, which starts at `start`. */
static void multiply(struct state *s, int64_t e, int32_t i, double start)
{
    const struct rates *rates = s->rates;
    struct core *core = &s->core[e / ENGINES_OF_A_CORE];
    double pe_ns = s->work->pe_ns[i], factor, busy;

    pass_windows(s, e / ENGINES_OF_A_CORE, start);
    factor = core->warm_since == -INFINITY ? rates->slow : 1.0;
    busy = pe_ns * factor;
    if (s->work->kind[i] == LDWEIGHTS) {
        s->engine[e].free = start + busy;
        s->times->duration[i] += busy;
    } else {
        /* Columns behind it slow down how those of a product leave the array; few columns or none do not. */
        double overhead = factor == 1.0 ? rates->pe_overhead : 0.0;
        double fill = start > core->array_free || pe_ns < s->work->interval[i] ? 1.0 : factor;
        s->engine[e].free = start + rates->matmul_issue;
        s->times->duration[i] = busy + overhead + rates->pe_latency + rates->pe_fill * fill;
        core->array_free = start + larger(busy, s->work->interval[i]) + overhead;
        core->window_busy += pe_ns;
    }
    s->times->done[i] = start + s->times->duration[i] + rates->semaphore;
}

/* Instructions that may wait for a later end of a transfer look again; two that have met start together, whatever comes later. */
static void look_again(struct state *s, int64_t engines)
{
    for (int64_t e = 0; e < engines; e++)
        if (!is_at_end(s, e) && !(s->engine[e].may_go && s->work->partner[next_of(s, e)] >= 0))
            s->engine[e].ready = -1.0;
}

static void run(struct state *s, int64_t e, double start, int64_t engines)
{
    struct engine *engine = &s->engine[e];
    struct times *times = s->times;
    int32_t i = next_of(s, e), t = s->work->transfer[i];
    int64_t core = e / ENGINES_OF_A_CORE;

    times->start[i] = start;
    times->wait[i] = start - engine->free;
    times->blocker[i] = engine->ready >= start ? engine->cause : -1;
    times->duration[i] = s->work->latency[i];
    if (t >= 0) {
        engine->free = start + s->work->interval[i];
        times->done[i] = move_bytes(s, t, core, start);
        if (look_after(s, core, start))
            look_again(s, engines);
        s->trigger[t] = i;
        s->moving[core * s->transfers + s->core[core].moving_count++] = t;
    } else if (s->work->kind[i] != OTHER) {
        multiply(s, e, i, start);
    } else {
        engine->free = start + s->work->interval[i];
        times->done[i] = start + s->work->latency[i] + s->rates->semaphore;
    }
    engine->place++;
    engine->ready = -1.0;
    engine->may_go = 0;
    engine->missing = -1;
}

static void begin(struct state *s, int64_t engines)
{
    for (int64_t e = 0; e < engines; e++) {
        struct engine fresh = {s->work->order_start[e], s->work->engine_start[e], -1.0, -1, -1, 0};
        s->engine[e] = fresh;
    }
    for (int64_t core = 0; core < engines / ENGINES_OF_A_CORE; core++) {
        struct core fresh = {{0.0}, 0.0, s->rates->first_window, 0.0, -INFINITY, 0, 0};
        s->core[core] = fresh;
    }
}

static int all(struct state *s, int64_t instructions, int64_t engines)
{
    for (int64_t n = 0; n < instructions; n++) {
        double start = 0.0;
        int64_t e = first_to_start(s, engines, &start);
        if (e < 0)
            return DEADLOCK;
        run(s, e, start, engines);
    }
    for (int64_t core = 0; core < engines / ENGINES_OF_A_CORE; core++)
        if (s->core[core].warm_since != -INFINITY)
            add_warm(s->warm, core, s->core[core].warm_since, s->core[core].window_start + s->rates->window);
    return DONE;
}

/* `warm`: arrays of at least one element for each instruction and core. */
int64_t run_loop(int64_t instructions, int64_t engines, int64_t transfers, int64_t width, const struct work *work, const struct moves *moves,
                 const struct rates *rates, struct times *times, struct warm *warm)
{
    int64_t cores = engines / ENGINES_OF_A_CORE;
    int status = NO_MEMORY;
    struct state s = {work, moves, rates, width, times, warm, NULL, NULL, NULL, transfers, NULL, NULL, NULL};

    s.engine = malloc((size_t)engines * sizeof *s.engine);
    s.core = malloc((size_t)cores * sizeof *s.core);
    s.dma_free = calloc((size_t)(cores * width * QUEUES), sizeof *s.dma_free);
    s.moving = malloc((size_t)(cores * transfers + 1) * sizeof *s.moving);
    s.trigger = malloc((size_t)(transfers + 1) * sizeof *s.trigger);
    s.later = calloc((size_t)(transfers + 1), sizeof *s.later);
    if (s.engine && s.core && s.dma_free && s.moving && s.trigger && s.later) {
        begin(&s, engines);
        status = all(&s, instructions, engines);
    }
    free(s.engine);
    free(s.core);
    free(s.dma_free);
    free(s.moving);
    free(s.trigger);
    free(s.later);
    return status;
}
