/* The inner loop of the schedule: starts, one after the other, the instruction that can start first.

   The same steps, in the same order and with the same arithmetic, as neff_bench.simulator.timing.loop. The structs have the
   fields of the records in neff_bench.simulator.timing.records, in their order; the records say what each field is. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define ENGINES_OF_A_CORE 5

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
    const int64_t *first_engine, *engines;
};

struct rates {
    double dma_wait, semaphore, pe_latency, pe_fill, window, slow, warm_at, cold_at, matmul_issue, semaphore_packet;
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

/* warm_since: when the PE came to full speed, -inf while it is throttled. */
struct core {
    double hbm_free, array_free, window_start, window_busy, warm_since;
    int64_t rotation;
};

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
};

static double larger(double a, double b)
{
    return b > a ? b : a;
}

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

/* Puts the packets of transfer t on the core's DMA engines; when the first one starts, -1 for none, and the last one ends. */
static double spread_packets(struct state *s, int64_t t, int64_t core, double begin, double *finish)
{
    const struct rates *rates = s->rates;
    struct times *times = s->times;
    int64_t width = s->width, used = s->moves->engines[t];
    int64_t per = s->moves->packets[t] / used, extra = s->moves->packets[t] % used, first = s->core[core].rotation;
    double held_up = s->moves->held_up[t], stagger = held_up > 0 ? rates->read_stagger : rates->stagger, earliest = -1.0;

    *finish = begin;
    for (int64_t k = 0; k < used; k++) {
        int64_t count = per + (k < extra), d = s->moves->first_engine[t] + (first + k) % used, run = t * width + d;
        double *free = &s->dma_free[core * width + d];
        double at = larger(begin + (double)k * stagger, *free), spacing = s->moves->spacing[t], end;
        if (held_up > 0 && count > 0) {
            /* Each DMA engine is held up by another share, from none to all of it, another one each time. */
            double share = held_up * (double)((7 * d + 5 * t) % width) / (double)(width - 1);
            spacing += share * (rates->read_spread * spacing + rates->read_stall / (double)count);
        }
        times->run_count[run] = count;
        times->run_start[run] = at;
        times->run_spacing[run] = spacing;
        end = at + (double)count * spacing;
        *free = end + rates->semaphore_packet;
        if (count > 0) {
            *finish = larger(*finish, end);
            if (earliest < 0.0 || at < earliest)
                earliest = at;
        }
    }
    s->core[core].rotation = (first + extra) % width;
    return earliest;
}

/* Where HBM sets the pace, the packets of transfer t come further apart, so that it ends `late` ns later. */
static void stretch_packets(struct state *s, int64_t t, int64_t core, double late)
{
    struct times *times = s->times;

    times->by_hbm[t] = 1;
    for (int64_t d = 0; d < s->width; d++) {
        int64_t run = t * s->width + d;
        double count = (double)times->run_count[run], stretched;
        if (times->run_count[run] <= 0)
            continue;
        stretched = times->run_start[run] + count * times->run_spacing[run] + late;
        times->run_spacing[run] = (stretched - times->run_start[run]) / count;
        s->dma_free[core * s->width + d] = stretched + s->rates->semaphore_packet;
    }
}

/* Moves the bytes of transfer t, triggered at `start`; when it is done. */
static double move(struct state *s, int64_t t, int64_t core, double start)
{
    double finish, earliest = spread_packets(s, t, core, start + s->moves->first[t], &finish);
    double hbm_end = larger(s->core[core].hbm_free, earliest) + s->moves->hbm[t];

    s->core[core].hbm_free = hbm_end;
    if (hbm_end > finish) {
        stretch_packets(s, t, core, hbm_end - finish);
        finish = hbm_end;
    }
    return finish + s->rates->dma_wait;
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
        if (core->warm_since != -INFINITY && share < rates->cold_at) {
            add_warm(s->warm, number, core->warm_since, end);
            core->warm_since = -INFINITY;
        } else if (core->warm_since == -INFINITY && share >= rates->warm_at) {
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
    double factor, busy;

    pass_windows(s, e / ENGINES_OF_A_CORE, start);
    factor = core->warm_since == -INFINITY ? rates->slow : 1.0;
    busy = s->work->pe_ns[i] * factor;
    if (s->work->kind[i] == LDWEIGHTS) {
        s->engine[e].free = start + busy;
    } else {
        s->engine[e].free = start + rates->matmul_issue;
        core->array_free = start + busy;
        core->window_busy += busy;
        s->times->duration[i] = busy + rates->pe_latency + rates->pe_fill * factor;
    }
    s->times->done[i] = start + s->times->duration[i] + rates->semaphore;
}

static void run(struct state *s, int64_t e, double start)
{
    struct engine *engine = &s->engine[e];
    struct times *times = s->times;
    int32_t i = next_of(s, e), t = s->work->transfer[i];

    times->start[i] = start;
    times->wait[i] = start - engine->free;
    times->blocker[i] = engine->ready >= start ? engine->cause : -1;
    times->duration[i] = s->work->latency[i];
    if (t >= 0) {
        engine->free = start + s->work->interval[i];
        times->done[i] = move(s, t, e / ENGINES_OF_A_CORE, start);
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
        struct core fresh = {0.0, 0.0, s->rates->first_window, 0.0, -INFINITY, 0};
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
        run(s, e, start);
    }
    for (int64_t core = 0; core < engines / ENGINES_OF_A_CORE; core++)
        if (s->core[core].warm_since != -INFINITY)
            add_warm(s->warm, core, s->core[core].warm_since, s->core[core].window_start + s->rates->window);
    return DONE;
}

/* `warm`: arrays of at least one element for each instruction and core. */
int64_t run_loop(int64_t instructions, int64_t engines, int64_t width, const struct work *work, const struct moves *moves,
                 const struct rates *rates, struct times *times, struct warm *warm)
{
    int64_t cores = engines / ENGINES_OF_A_CORE;
    int status = NO_MEMORY;
    struct state s = {work, moves, rates, width, times, warm, NULL, NULL, NULL};

    s.engine = malloc((size_t)engines * sizeof *s.engine);
    s.core = malloc((size_t)cores * sizeof *s.core);
    s.dma_free = calloc((size_t)(cores * width), sizeof *s.dma_free);
    if (s.engine && s.core && s.dma_free) {
        begin(&s, engines);
        status = all(&s, instructions, engines);
    }
    free(s.engine);
    free(s.core);
    free(s.dma_free);
    return status;
}
