/* What the DMA engines of the cores do: the queues of one take turns.

   The same steps, with the same arithmetic, as neff_bench.simulator.timing.loop. */

#include "loop.h"

/* Adds `work` ns of a queue, from `at` on, to what takes the queues in turn: a queue keeps its order, and while others have work
   too, each gets its turn as often. free: when it is done with what each queue has put on it. When it begins the work, and, in
   free, ends it. */
static double in_turn(double *free, int64_t queue, double at, double work)
{
    double start = larger(at, free[queue]), end = start + work;

    for (int64_t other = 0; other < QUEUES; other++) {
        double left = free[other] - start, turns = left < work ? left : work;
        if (other != queue && left > 0.0) {
            end += turns;
            free[other] += turns;
        }
    }
    free[queue] = end;
    return start;
}

/* Transfers of other queues that are under way on DMA engine d lose the turns that `work` ns of transfer t take from `start` on. */
static void take_turns(struct state *s, int64_t t, int64_t core, int64_t d, double start, double work)
{
    struct times *times = s->times;
    const int64_t *moving = s->moving + core * s->transfers;

    for (int64_t m = 0; m < s->core[core].moving_count; m++) {
        int64_t run = moving[m] * s->width + d;
        double count = (double)times->run_count[run], begin = times->run_start[run];
        double end = begin + count * times->run_spacing[run];
        if (s->moves->queue[moving[m]] == s->moves->queue[t] || count <= 0.0 || end <= start)
            continue;
        if (begin > start)
            begin += begin - start < work ? begin - start : work;
        end += end - start < work ? end - start : work;
        times->run_start[run] = begin;
        times->run_spacing[run] = (end - begin) / count;
        s->later[moving[m]] = 1;
    }
}

int look_after(struct state *s, int64_t core, double now)
{
    struct times *times = s->times;
    int64_t *moving = s->moving + core * s->transfers, kept = 0;
    int later = 0;

    for (int64_t m = 0; m < s->core[core].moving_count; m++) {
        double *done = &times->done[s->trigger[moving[m]]], finish = 0.0;
        for (int64_t run = moving[m] * s->width; s->later[moving[m]] && run < (moving[m] + 1) * s->width; run++)
            if (times->run_count[run] > 0)
                finish = larger(finish, times->run_start[run] + (double)times->run_count[run] * times->run_spacing[run]);
        s->later[moving[m]] = 0;
        if (finish + s->rates->dma_wait > *done) {
            *done = finish + s->rates->dma_wait;
            later = 1;
        }
        if (*done > now)
            moving[kept++] = moving[m];
    }
    s->core[core].moving_count = kept;
    return later;
}

/* Puts the packets of transfer t on the core's DMA engines; when the first one starts, -1 for none, and the last one ends. */
static double spread_packets(struct state *s, int64_t t, int64_t core, double begin, double *finish)
{
    const struct rates *rates = s->rates;
    struct times *times = s->times;
    int64_t width = s->width, used = s->moves->engines[t], queue = s->moves->queue[t];
    int64_t per = s->moves->packets[t] / used, extra = s->moves->packets[t] % used, first = s->core[core].rotation;
    double held_up = s->moves->held_up[t], stagger = held_up > 0 ? rates->read_stagger : rates->stagger, earliest = -1.0;

    *finish = begin;
    for (int64_t k = 0; k < used; k++) {
        int64_t count = per + (k < extra), d = s->moves->first_engine[t] + (first + k) % used, run = t * width + d;
        double *free = &s->dma_free[(core * width + d) * QUEUES];
        double at, spacing = s->moves->spacing[t];
        if (held_up > 0 && count > 0) {
            /* Each DMA engine is held up by another share, from none to all of it, another one each time. */
            double share = held_up * (double)((7 * d + 5 * t) % width) / (double)(width - 1);
            spacing += share * (rates->read_spread * spacing + rates->read_stall / (double)count);
        }
        at = in_turn(free, queue, begin + (double)k * stagger, (double)count * spacing);
        if (free[queue] > at + (double)count * spacing)
            take_turns(s, t, core, d, at, (double)count * spacing);
        times->run_count[run] = count;
        times->run_start[run] = at;
        times->run_spacing[run] = count > 0 ? (free[queue] - at) / (double)count : spacing;
        if (count > 0) {
            *finish = larger(*finish, free[queue]);
            if (earliest < 0.0 || at < earliest)
                earliest = at;
        }
        free[queue] += rates->semaphore_packet;
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
        s->dma_free[(core * s->width + d) * QUEUES + s->moves->queue[t]] = stretched + s->rates->semaphore_packet;
    }
}

double move_bytes(struct state *s, int64_t t, int64_t core, double start)
{
    double begin = start + s->moves->first[t], finish, earliest = spread_packets(s, t, core, begin, &finish);
    double *hbm_free = s->core[core].hbm_free, hbm_end;
    int64_t queue = s->moves->queue[t];

    if (s->moves->hbm[t] > 0.0) {
        /* What waits for a few DMA engines leaves HBM to what comes behind it on others: its turn counts from when it could begin. */
        in_turn(hbm_free, queue, s->moves->engines[t] < s->width ? begin : earliest, s->moves->hbm[t]);
        hbm_end = larger(hbm_free[queue], earliest + s->moves->hbm[t]);
        if (hbm_end > finish) {
            stretch_packets(s, t, core, hbm_end - finish);
            finish = hbm_end;
        }
    }
    return finish + s->rates->dma_wait;
}
