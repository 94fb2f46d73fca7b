/* Which earlier instructions each instruction waits for: where it reads what another wrote, or writes what another read or wrote.

   The same edges as neff_bench.simulator.compiler.dependencies, which says what the columns are. The uses are taken in program
   order; of each part of the memory it is known who wrote it last and who has read it since. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

#define NO_MEMORY (-1)
#define KINDS 3

enum { RAW, WAW, WAR };
enum { WRITE = 1 };

/* settles, by instruction: 1 where what it reads is also written, for all that follows. region, role, name: by use. */
struct uses {
    const int64_t *start, *settles, *region, *role, *name;
};

/* start, by instruction; before, kind and operand by edge. */
struct edges {
    int64_t *start, *before, *kind, *operand;
};

/* One reader of a part since its last write, and the one before it, -1 for none. */
struct reader {
    int64_t instruction, next;
};

/* written, readers, by part: the instruction that wrote it last, and its latest reader; -1 for none. readers are used again from
   `unused` on. found: edges of the instruction at hand as numbers. seen, by earlier instruction and kind: the use that found it. */
struct state {
    const struct uses *uses;
    struct cuts cuts;
    int64_t *written, *read, unused, made, reader_room, *found, found_count, found_room, *seen, names, number;
    struct reader *readers;
};

static int order_of_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Notes that the instruction at hand waits for `before`, for an operand. */
static int wait_for(struct state *s, int64_t instruction, int64_t before, int64_t kind, int64_t operand)
{
    int64_t key = before * KINDS + kind;

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
    s->found[s->found_count++] = key * s->names + operand;
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
    int64_t region = s->uses->region[use], operand = s->uses->name[use];
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
    int64_t first = s->uses->start[instruction], end = s->uses->start[instruction + 1];
    int status = 0;

    for (int64_t use = first; use < end && status == 0; use++)
        status = use_parts(s, instruction, use, s->uses->role[use] == WRITE);
    for (int64_t use = first; use < end && status == 0 && s->uses->settles[instruction]; use++)
        if (s->uses->role[use] != WRITE)
            status = use_parts(s, instruction, use, 1);
    return status;
}

/* The edges that were found for one instruction, sorted and each once, behind `count` others. Gives the new count. */
static int64_t give(struct state *s, int64_t count, int64_t room, struct edges *edges)
{
    qsort(s->found, (size_t)s->found_count, sizeof *s->found, order_of_integers);
    for (int64_t i = 0; i < s->found_count; i++) {
        if (i && s->found[i] == s->found[i - 1])
            continue;
        if (count < room) {
            edges->before[count] = s->found[i] / s->names / KINDS;
            edges->kind[count] = s->found[i] / s->names % KINDS;
            edges->operand[count] = s->found[i] % s->names;
        }
        count++;
    }
    s->found_count = 0;
    return count;
}

static int64_t find_all(struct state *s, int64_t instructions, int64_t room, struct edges *edges)
{
    int64_t count = 0;

    for (int64_t instruction = 0; instruction < instructions; instruction++) {
        edges->start[instruction] = count;
        if (use_all(s, instruction) < 0)
            return NO_MEMORY;
        count = give(s, count, room, edges);
    }
    edges->start[instructions] = count;
    return count;
}

static int begin(struct state *s, int64_t instructions)
{
    size_t parts = (size_t)s->cuts.count + 1, seen = (size_t)(instructions * KINDS + 1);

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

/* `regions`: the different regions, `region_count` of them. `names`: how many names of operands there are. `room`: for edges. Gives
   the number of edges; those above `room` are not given. */
int64_t find_edges(int64_t instructions, int64_t names, const struct uses *uses, int64_t region_count,
                   const struct region *regions, int64_t room, struct edges *edges)
{
    struct state s = {.uses = uses, .names = names};
    int64_t count = NO_MEMORY;

    if (cut(region_count, regions, &s.cuts) == 0 && begin(&s, instructions) == 0)
        count = find_all(&s, instructions, room, edges);
    cuts_end(&s.cuts);
    free(s.written);
    free(s.read);
    free(s.seen);
    free(s.readers);
    free(s.found);
    return count;
}
