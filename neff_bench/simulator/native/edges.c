/* Which earlier instructions each instruction waits for: where it reads what another wrote, or writes what another read or wrote.

   The same edges as neff_bench.simulator.compiler.program.dependencies, which says what the columns are. The uses are taken in program
   order; of each part of the memory it is known who wrote it last and who has read it since. */

#include "edges.h"

#include <stdlib.h>
#include <string.h>

#include "rectangles.h"

#define KINDS_OF_CONFLICT 3
#define FEW 16

/* One reader of a part since its last write, and the one before it, -1 for none. */
struct reader {
    int64_t instruction, next;
};

/* of_view: regions. settles, by kind of instruction: 1 where what it reads is also written, for all that follows.
   written, read, by part: the instruction that wrote it last, and its latest reader; -1 for none. readers are used again from
   `unused` on. found: edges of the instruction at hand as numbers. seen, by earlier instruction and kind: the use that found it. */
struct state {
    const struct columns *columns;
    const int64_t *of_view, *settles;
    struct edges *edges;
    struct cuts cuts;
    int64_t *written, *read, unused, made, reader_room, *found, found_count, found_room, *seen, number;
    struct reader *readers;
};

static int order_of_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* They are few, but for what is written over after many have read it. */
static void sort(int64_t *numbers, int64_t count)
{
    if (count > FEW) {
        qsort(numbers, (size_t)count, sizeof *numbers, order_of_integers);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        int64_t number = numbers[i], place = i;
        for (; place && numbers[place - 1] > number; place--)
            numbers[place] = numbers[place - 1];
        numbers[place] = number;
    }
}

/* Notes that the instruction at hand waits for `before`, for an operand. */
static int wait_for(struct state *s, int64_t instruction, int64_t before, int64_t kind, int64_t operand)
{
    int64_t key = before * KINDS_OF_CONFLICT + kind;

    if (before < 0 || before == instruction || s->seen[key] == s->number)
        return 0;
    s->seen[key] = s->number;
    if (s->found_count == s->found_room) {
        int64_t *more = realloc(s->found, (size_t)(2 * s->found_room) * sizeof *more);
        if (!more)
            return NO_MEMORY;
        s->found = more;
        s->found_room *= 2;
    }
    s->found[s->found_count++] = key * s->columns->names + operand;
    return 0;
}

static int add_reader(struct state *s, int64_t part, int64_t instruction)
{
    int64_t reader = s->unused;

    if (reader >= 0) {
        s->unused = s->readers[reader].next;
    } else {
        if (s->made == s->reader_room) {
            struct reader *more = realloc(s->readers, (size_t)(2 * s->reader_room) * sizeof *more);
            if (!more)
                return NO_MEMORY;
            s->readers = more;
            s->reader_room *= 2;
        }
        reader = s->made++;
    }
    s->readers[reader].instruction = instruction;
    s->readers[reader].next = s->read[part];
    s->read[part] = reader;
    return 0;
}

static int read_part(struct state *s, int64_t part, int64_t instruction, int64_t operand)
{
    if (wait_for(s, instruction, s->written[part], RAW, operand) < 0)
        return NO_MEMORY;
    if (s->read[part] >= 0 && s->readers[s->read[part]].instruction == instruction)
        return 0; /* it is known as a reader */
    return add_reader(s, part, instruction);
}

static int write_part(struct state *s, int64_t part, int64_t instruction, int64_t operand)
{
    int status = wait_for(s, instruction, s->written[part], WAW, operand);

    while (s->read[part] >= 0 && status == 0) {
        int64_t reader = s->read[part];
        status = wait_for(s, instruction, s->readers[reader].instruction, WAR, operand);
        s->read[part] = s->readers[reader].next;
        s->readers[reader].next = s->unused;
        s->unused = reader;
    }
    s->written[part] = instruction;
    return status;
}

/* One use, with its parts read or written. */
static int use_parts(struct state *s, int64_t instruction, int64_t use, int writes)
{
    int64_t region = s->of_view[s->columns->view[use]], operand = s->columns->name[use];
    int status = 0;

    s->number++;
    for (int64_t i = s->cuts.begin[region]; i < s->cuts.end[region] && status == 0; i++) {
        int64_t part = s->cuts.part[i];
        status = writes ? write_part(s, part, instruction, operand) : read_part(s, part, instruction, operand);
    }
    return status;
}

static int use_all(struct state *s, int64_t instruction)
{
    int64_t first = s->columns->use_start[instruction], end = s->columns->use_start[instruction + 1];
    int status = 0;

    for (int64_t use = first; use < end && status == 0; use++)
        status = use_parts(s, instruction, use, s->columns->role[use] == WRITE);
    for (int64_t use = first; use < end && status == 0 && s->settles[s->columns->kind[instruction]]; use++)
        if (s->columns->role[use] != WRITE)
            status = use_parts(s, instruction, use, 1);
    return status;
}

static int more_edges(struct edges *edges)
{
    int64_t **columns[] = {&edges->before, &edges->kind, &edges->operand};

    for (int i = 0; i < 3; i++) {
        int64_t *more = realloc(*columns[i], (size_t)(2 * edges->room) * sizeof *more);
        if (!more)
            return NO_MEMORY;
        *columns[i] = more;
    }
    edges->room *= 2;
    return 0;
}

/* Adds the edges that were found for one instruction, sorted and each once. */
static int add_found(struct state *s)
{
    struct edges *edges = s->edges;

    sort(s->found, s->found_count);
    for (int64_t i = 0; i < s->found_count; i++) {
        if (i && s->found[i] == s->found[i - 1])
            continue;
        if (edges->count == edges->room && more_edges(edges) < 0)
            return NO_MEMORY;
        edges->before[edges->count] = s->found[i] / s->columns->names / KINDS_OF_CONFLICT;
        edges->kind[edges->count] = s->found[i] / s->columns->names % KINDS_OF_CONFLICT;
        edges->operand[edges->count++] = s->found[i] % s->columns->names;
    }
    s->found_count = 0;
    return 0;
}

static int find_all(struct state *s)
{
    for (int64_t instruction = 0; instruction < s->columns->instructions; instruction++) {
        s->edges->start[instruction] = s->edges->count;
        if (use_all(s, instruction) < 0 || add_found(s) < 0)
            return NO_MEMORY;
    }
    s->edges->start[s->columns->instructions] = s->edges->count;
    return 0;
}

static int edges_begin(struct edges *edges, int64_t instructions)
{
    edges->count = 0;
    edges->room = 4 * instructions + 16;
    edges->start = malloc((size_t)(instructions + 1) * sizeof *edges->start);
    edges->before = malloc((size_t)edges->room * sizeof *edges->before);
    edges->kind = malloc((size_t)edges->room * sizeof *edges->kind);
    edges->operand = malloc((size_t)edges->room * sizeof *edges->operand);
    return edges->start && edges->before && edges->kind && edges->operand ? 0 : NO_MEMORY;
}

void edges_end(struct edges *edges)
{
    free(edges->start);
    free(edges->before);
    free(edges->kind);
    free(edges->operand);
}

static int begin(struct state *s)
{
    size_t parts = (size_t)s->cuts.count + 1, seen = (size_t)(s->columns->instructions * KINDS_OF_CONFLICT + 1);

    s->unused = -1;
    s->reader_room = s->found_room = 256;
    s->written = malloc(parts * sizeof *s->written);
    s->read = malloc(parts * sizeof *s->read);
    s->seen = calloc(seen, sizeof *s->seen);
    s->readers = malloc((size_t)s->reader_room * sizeof *s->readers);
    s->found = malloc((size_t)s->found_room * sizeof *s->found);
    if (!s->written || !s->read || !s->seen || !s->readers || !s->found)
        return NO_MEMORY;
    memset(s->written, -1, parts * sizeof *s->written);
    memset(s->read, -1, parts * sizeof *s->read);
    return 0;
}

/* The edges between instructions whose regions are known. */
static int find_between(const struct columns *columns, const int64_t *of_view, int64_t count, const struct region *different,
                        const int64_t *settles, struct edges *edges)
{
    struct state s = {.columns = columns, .of_view = of_view, .settles = settles, .edges = edges};
    int status = NO_MEMORY;

    if (cut(count, different, &s.cuts) == 0 && begin(&s) == 0)
        status = find_all(&s);
    cuts_end(&s.cuts);
    free(s.written);
    free(s.read);
    free(s.seen);
    free(s.readers);
    free(s.found);
    return status;
}

int find_edges(const struct columns *columns, const struct buffers *buffers, const int64_t *address, const int64_t *size,
               const int64_t *settles, struct edges *edges)
{
    int64_t *of_view = malloc((size_t)(columns->views + 1) * sizeof *of_view), count;
    struct region *different = malloc((size_t)(columns->views + 1) * sizeof *different);
    int status = edges_begin(edges, columns->instructions);

    if (!of_view || !different)
        status = NO_MEMORY;
    if (status == 0) {
        count = find_regions(columns, buffers, address, size, of_view, different);
        status = count < 0 ? NO_MEMORY : find_between(columns, of_view, count, different, settles, edges);
    }
    free(of_view);
    free(different);
    return status;
}

/* `find_edges` for Python. `given`: where each instruction's edges begin, then before, kind and operand of each, with `room` for them.
   Gives the number of edges; those above `room` are not given. */
int64_t edges_of(int64_t *block, const struct buffers *buffers, const int64_t *address, const int64_t *size, const int64_t *settles,
                 int64_t room, struct edges_given *given)
{
    struct columns columns = columns_in(block);
    struct edges edges;
    int64_t count = NO_MEMORY;

    if (find_edges(&columns, buffers, address, size, settles, &edges) == 0) {
        size_t bytes = (size_t)(edges.count < room ? edges.count : room) * sizeof(int64_t);
        memcpy(given->start, edges.start, (size_t)(columns.instructions + 1) * sizeof(int64_t));
        if (bytes) { /* an empty array has no address */
            memcpy(given->before, edges.before, bytes);
            memcpy(given->kind, edges.kind, bytes);
            memcpy(given->operand, edges.operand, bytes);
        }
        count = edges.count;
    }
    edges_end(&edges);
    return count;
}
