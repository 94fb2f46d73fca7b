/* The instructions of one core as columns: see neff_bench.simulator.compiler.program.columns, which says what each is.

   They lie in one block of integers: eight numbers, then the columns, each with room for more than it holds. */

#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdint.h>

#define NO_MEMORY (-1)

enum role { READ, WRITE, INDEX };

/* names: how many operands' names the program has. */
struct columns {
    int64_t instructions, uses, views, steps, names;
    int64_t *kind, *use_start;
    int64_t *view, *role, *name;
    int64_t *buffer, *offset, *dtype, *dynamic, *pattern_start;
    int64_t *step, *length;
};

/* The first numbers of a block: what the columns hold, and the room of those by instruction, by use or view, and by step. */
enum block { INSTRUCTIONS, USES, VIEWS, STEPS, NAMES, INSTRUCTION_ROOM, USE_ROOM, STEP_ROOM, COLUMNS };

struct columns columns_in(int64_t *block);

#endif
