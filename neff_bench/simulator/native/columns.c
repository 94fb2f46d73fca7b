/* Where the columns are in their block. */

#include "columns.h"

static int64_t *taken(int64_t **rest, int64_t room)
{
    int64_t *column = *rest;

    *rest += room;
    return column;
}

struct columns columns_in(int64_t *block)
{
    int64_t *rest = block + COLUMNS, instructions = block[INSTRUCTION_ROOM], uses = block[USE_ROOM], steps = block[STEP_ROOM];
    struct columns columns = {
        .instructions = block[INSTRUCTIONS], .uses = block[USES], .views = block[VIEWS], .steps = block[STEPS],
        .names = block[NAMES],
    };
    int64_t **by_use[] = {&columns.view, &columns.role, &columns.name, &columns.buffer, &columns.offset, &columns.dtype,
                          &columns.dynamic, &columns.pattern_start};

    columns.kind = taken(&rest, instructions);
    columns.use_start = taken(&rest, instructions);
    for (int i = 0; i < 8; i++)
        *by_use[i] = taken(&rest, uses);
    columns.step = taken(&rest, steps);
    columns.length = taken(&rest, steps);
    return columns;
}
