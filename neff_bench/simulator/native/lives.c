/* How long buffers live: from the first to the last instruction of a core that uses them.

   The same as neff_bench.simulator.compiler.program.lives, which says what the columns are. */

#include "lives.h"

#include <stdlib.h>
#include <string.h>

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

static int64_t buffer_of(const struct columns *columns, int64_t use)
{
    return columns->buffer[columns->view[use]];
}

/* Whether a use is an operand of an instruction that only moves. */
static int only_moves(const struct columns *columns, const int64_t *moves, int64_t instruction, int64_t use)
{
    return moves && moves[columns->kind[instruction]] && columns->role[use] != INDEX;
}

static void use_all(struct state *s, const struct columns *columns, const int64_t *moves)
{
    for (int64_t i = 0; i < columns->instructions; i++)
        for (int64_t use = columns->use_start[i]; use < columns->use_start[i + 1]; use++) {
            if (only_moves(columns, moves, i, use))
                s->moved[buffer_of(columns, use)] = i;
            else
                live(s, buffer_of(columns, use), i);
        }
}

/* Buffers that only moves use live at the last of them; they come behind all others, in the order of their first move. */
static void add_moved(struct state *s, const struct columns *columns, const int64_t *moves)
{
    for (int64_t i = 0; i < columns->instructions && moves; i++)
        for (int64_t use = columns->use_start[i]; use < columns->use_start[i + 1]; use++) {
            int64_t buffer = buffer_of(columns, use);
            if (!only_moves(columns, moves, i, use) || s->first[buffer] >= 0)
                continue;
            s->lives->buffer[s->count++] = buffer;
            s->first[buffer] = s->last[buffer] = s->moved[buffer];
        }
}

int64_t find_lives(const struct columns *columns, int64_t buffers, const int64_t *moves, struct lives *lives)
{
    size_t bytes = (size_t)(buffers + 1) * sizeof(int64_t);
    struct state s = {lives, 0, malloc(bytes), malloc(bytes), malloc(bytes)};
    int64_t count = NO_MEMORY;

    if (s.first && s.last && s.moved) {
        memset(s.first, -1, bytes);
        use_all(&s, columns, moves);
        add_moved(&s, columns, moves);
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

/* `find_lives` for Python. */
int64_t lives_of(int64_t *block, int64_t buffers, const int64_t *moves, struct lives *lives)
{
    struct columns columns = columns_in(block);

    return find_lives(&columns, buffers, moves, lives);
}
