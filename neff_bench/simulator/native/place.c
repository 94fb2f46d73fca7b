/* Puts operations, in the order of issue, into machine instructions with their waits.

   The same steps as `_Placer` of neff_bench.simulator.compiler.code.placing, which says what the columns are. An instruction waits for
   one other; each further wait is an EVENT_SEMAPHORE of its own before it. */

#include "place.h"

#include <stdlib.h>
#include <string.h>

#define STREAMS 13 /* the engines, and behind QUEUES their DMA queues */
#define QUEUES 8

/* count: machine instructions so far. stream: what completes in order with each. last: the last machine instruction of each
   instruction. seen: the last of each stream that an engine has waited for. held, held_since: weights in the PE. */
struct state {
    const struct columns *columns;
    const struct operations *operations;
    const struct edges *edges;
    const struct fixed *fixed;
    struct machine *placed;
    int32_t count, transfers, meetings, *last, seen[ENGINES][STREAMS];
    int8_t *stream;
    int64_t table, first_function, held, held_since;
};

static void append(struct state *s, int64_t engine, int64_t step, int64_t origin, int32_t wait, int32_t transfer, int32_t meeting)
{
    struct machine machine = {(int32_t)step, (int32_t)origin, transfer, meeting, wait};

    s->placed[s->count] = machine;
    s->stream[s->count++] = (int8_t)(transfer < 0 ? engine : QUEUES + engine);
}

/* Whether a table that is loaded already may lack the function. */
static int needs_its_table(const struct state *s, int64_t function)
{
    for (int64_t loaded = 1; function >= 0 && loaded < s->fixed->tables; loaded++)
        if (s->fixed->table[function * s->fixed->tables + loaded] >= 0)
            return 1;
    return 0;
}

/* The first function in the order of issue that not every table has, or -1. */
static int64_t first_function(const struct state *s, const int64_t *order)
{
    for (int64_t i = 0; i < s->columns->instructions; i++) {
        int64_t function = s->operations->kinds[s->columns->kind[order[i]]].function;
        if (needs_its_table(s, function))
            return function;
    }
    return -1;
}

static void load_table(struct state *s, int64_t index, int64_t function)
{
    int64_t wanted = s->table == 0 && s->first_function >= 0 ? s->first_function : function;
    int64_t table = s->fixed->table[wanted * s->fixed->tables + s->table];

    if (table < 0)
        return;
    append(s, SCALAR, s->fixed->load, index, -1, -1, -1);
    s->table = table;
}

/* Sorts the machine instructions to wait for; there are few. */
static void sort(int32_t *waits, int count)
{
    for (int i = 1; i < count; i++) {
        int32_t wait = waits[i];
        int place = i;
        for (; place && waits[place - 1] > wait; place--)
            waits[place] = waits[place - 1];
        waits[place] = wait;
    }
}

/* Streams complete in order, and so does an engine. An engine therefore waits neither for its own earlier reads and writes nor for
   what it has waited for before, and a DMA not for what its own queue wrote before. PE accumulates in PSUM without waiting for itself. */
static int is_settled(const struct state *s, int64_t engine, int moves, int64_t edge, int32_t machine)
{
    int stream = s->stream[machine];

    if (stream == engine && !moves && (s->edges->kind[edge] != RAW || engine == TENSOR))
        return 1;
    if (stream == QUEUES + engine && moves && s->edges->kind[edge] == WAW)
        return 1;
    return machine <= s->seen[engine][stream];
}

/* The last instruction to wait for in each stream, in order; how many there are. */
static int waits_of(struct state *s, int64_t index, int64_t mode, int64_t engine, int moves, int32_t *waits)
{
    const struct edges *edges = s->edges;
    int32_t latest[STREAMS];
    int count = 0;

    memset(latest, -1, sizeof latest);
    for (int64_t edge = edges->start[index]; edge < edges->start[index + 1] && mode != NOTHING; edge++) {
        int32_t machine = s->last[edges->before[edge]];
        if (mode == READS ? edges->kind[edge] != RAW
                          : mode != ALL && s->fixed->of_weights[edges->operand[edge]] != (mode == WEIGHTS))
            continue;
        if (!is_settled(s, engine, moves, edge, machine) && machine > latest[s->stream[machine]])
            latest[s->stream[machine]] = machine;
    }
    for (int stream = 0; stream < STREAMS; stream++)
        if (latest[stream] >= 0)
            waits[count++] = s->seen[engine][stream] = latest[stream];
    sort(waits, count);
    return count;
}

/* The view of the weights of a matmul. */
static int64_t weights_of(const struct state *s, int64_t index)
{
    const struct columns *columns = s->columns;

    for (int64_t use = columns->use_start[index]; use < columns->use_start[index + 1]; use++)
        if (s->fixed->is_stationary[columns->name[use]])
            return columns->view[use];
    return -1;
}

/* Whether the PE holds the weights of a matmul already; if not, it does from now on. */
static int is_held(struct state *s, int64_t index, int64_t steps)
{
    const struct edges *edges = s->edges;
    int64_t weights = weights_of(s, index);
    int unchanged = 1;

    for (int64_t edge = edges->start[index]; edge < edges->start[index + 1]; edge++)
        if (s->fixed->is_stationary[edges->operand[edge]] && edges->before[edge] >= s->held_since)
            unchanged = 0;
    if (weights >= 0 && s->held == weights && unchanged && steps == 2)
        return 1;
    s->held = weights;
    s->held_since = index;
    return 0;
}

static void place(struct state *s, int64_t index)
{
    const struct operation *operation = &s->operations->kinds[s->columns->kind[index]];
    int64_t engine = operation->engine, first = operation->first_step, end = operation->end_step;
    int moves = operation->moves != 0, held = 0;
    int32_t transfer = moves ? s->transfers++ : -1, meeting = operation->meets ? s->meetings++ : -1, waits[STREAMS];

    if (operation->function >= 0)
        load_table(s, index, operation->function);
    if (s->fixed->keeps_weights && engine == TENSOR)
        held = is_held(s, index, end - first);
    if (held)
        first = end - 1;
    for (int64_t step = first; step < end; step++) {
        const struct need *need = &s->operations->steps[step];
        int64_t mode = need->waits;
        if (held || (s->fixed->from_hlo && engine == TENSOR))
            mode = step == first ? ALL : NOTHING;
        int count = waits_of(s, index, mode, engine, moves, waits);
        for (int i = 0; i < count - 1; i++)
            append(s, engine, s->fixed->event[engine], index, waits[i], -1, -1);
        int last = step == end - 1;
        append(s, engine, need->step, index, count ? waits[count - 1] : -1, last ? transfer : -1, last ? meeting : -1);
    }
    s->last[index] = s->count - 1;
}

static int is_static(const struct state *s, int32_t machine)
{
    return s->operations->kinds[s->columns->kind[s->placed[machine].origin]].static_dma != 0;
}

/* A kernel ends when its last DMA on each queue has landed: the issuing engine waits for it, and for each static DMA of its own that has
   not been waited for. */
static void wait_for_the_last(struct state *s)
{
    int32_t last[STREAMS], waited[STREAMS], count = s->count;

    memset(last, -1, sizeof last);
    memset(waited, -1, sizeof waited);
    for (int32_t i = 0; i < count; i++) {
        int32_t wait = s->placed[i].wait;
        if (s->placed[i].transfer >= 0)
            last[s->stream[i]] = i;
        if (wait >= 0 && wait > waited[s->stream[wait]])
            waited[s->stream[wait]] = wait;
    }
    for (int32_t i = 0; i < count; i++) {
        int stream = s->stream[i], is_own = s->placed[i].transfer >= 0 && is_static(s, i);
        if (s->placed[i].transfer < 0 || i <= waited[stream] || !(is_own || i == last[stream]))
            continue;
        append(s, stream - QUEUES, (is_own ? s->fixed->each : s->fixed->final)[stream - QUEUES], s->placed[i].origin, i, -1, -1);
    }
}

int64_t place_all(const struct columns *columns, const struct operations *operations, const struct edges *edges,
                  const struct fixed *fixed, const int64_t *order, int64_t room, struct machine *placed, int64_t *transfers)
{
    struct state s = {.columns = columns, .operations = operations, .edges = edges, .fixed = fixed, .placed = placed,
                      .held = -1, .held_since = -1};
    int64_t count = NO_MEMORY;

    memset(s.seen, -1, sizeof s.seen);
    s.last = malloc((size_t)(columns->instructions + 1) * sizeof *s.last);
    s.stream = malloc((size_t)(room + 1) * sizeof *s.stream);
    if (s.last && s.stream) {
        s.first_function = first_function(&s, order);
        for (int64_t i = 0; i < columns->instructions; i++)
            place(&s, order[i]);
        wait_for_the_last(&s);
        count = s.count;
        *transfers = s.transfers;
    }
    free(s.last);
    free(s.stream);
    return count;
}
