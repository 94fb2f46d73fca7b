/* How long buffers live: from the first to the last instruction of a core that uses them.

   The same as neff_bench.simulator.compiler.lives, which says what the columns are. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NO_MEMORY (-1)

enum { INDEX = 2 };

/* moves, by instruction: 1 where it does not lengthen the lives of its operands. buffer, role: by use. */
struct uses {
    const int64_t *start, *moves, *buffer, *role;
};

/* One element for each buffer that is used, in the order in which they are found. */
struct lives {
    int64_t *buffer, *first, *last;
};

/* first, last, moved: by buffer, -1 for never. */
struct state {
    struct lives *lives;
    int64_t count, *first, *last, *moved;
};

static void live(struct state *s, int64_t buffer, int64_t instruction)
{
    if (s->first[buffer] < 0) {
        s->first[buffer] = instruction;
        s->lives->buffer[s->count++] = buffer;
    }
    s->last[buffer] = instruction;
}

static void use_all(struct state *s, int64_t instructions, const struct uses *uses)
{
    for (int64_t i = 0; i < instructions; i++)
        for (int64_t use = uses->start[i]; use < uses->start[i + 1]; use++) {
            if (uses->moves[i] && uses->role[use] != INDEX)
                s->moved[uses->buffer[use]] = i;
            else
                live(s, uses->buffer[use], i);
        }
}

/* Buffers that only moves use live at the last of them; they come behind all others, in the order of their first move. */
static void add_moved(struct state *s, int64_t instructions, const struct uses *uses)
{
    for (int64_t i = 0; i < instructions; i++)
        for (int64_t use = uses->start[i]; use < uses->start[i + 1] && uses->moves[i]; use++)
            if (uses->role[use] != INDEX && s->first[uses->buffer[use]] < 0) {
                int64_t buffer = uses->buffer[use];
                s->lives->buffer[s->count++] = buffer;
                s->first[buffer] = s->last[buffer] = s->moved[buffer];
            }
}

/* Gives the number of lives. */
int64_t find_lives(int64_t instructions, int64_t buffers, const struct uses *uses, struct lives *lives)
{
    size_t bytes = (size_t)(buffers + 1) * sizeof(int64_t);
    struct state s = {lives, 0, malloc(bytes), malloc(bytes), malloc(bytes)};
    int64_t count = NO_MEMORY;

    if (s.first && s.last && s.moved) {
        memset(s.first, -1, bytes);
        use_all(&s, instructions, uses);
        add_moved(&s, instructions, uses);
        for (int64_t i = 0; i < s.count; i++) {
            lives->first[i] = s.first[lives->buffer[i]];
            lives->last[i] = s.last[lives->buffer[i]];
        }
        count = s.count;
    }
    free(s.first);
    free(s.last);
    free(s.moved);
    return count;
}
