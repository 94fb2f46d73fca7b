/* The instructions of one core as columns: see neff_bench.simulator.compiler.columns, which says what each is.

   They lie in one block of integers: ten numbers, then the columns, each with room for more than it holds. */

#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdint.h>

#define NO_MEMORY (-1)

enum role { READ, WRITE, INDEX };

struct columns {
    int64_t instructions, uses, views, steps, kinds, names, dtypes;
    int64_t *kind, *use_start, *first_of_kind;
    int64_t *view, *role, *name;
    int64_t *buffer, *offset, *dtype, *dynamic, *pattern_start;
    int64_t *step, *length;
    int64_t *name_at, *dtype_at; /* where in the bytes each name and dtype begins and ends */
};

/* The first numbers of a block: what the columns hold, and the room of those by instruction, by use or view, and by step. */
enum block {
    INSTRUCTIONS, USES, VIEWS, STEPS, KINDS, NAMES, DTYPES, INSTRUCTION_ROOM, USE_ROOM, STEP_ROOM, COLUMNS
};

struct columns columns_in(int64_t *block);

#endif
