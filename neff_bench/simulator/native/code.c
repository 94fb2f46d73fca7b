/* Machine instructions as the columns of neff_bench.simulator.compiler.code.assembler.Code, which says what they are. */

#include "columns.h"
#include "place.h"

/* A step, and the engine that it runs on; times in ns. */
struct step {
    int64_t engine, opcode, waits;
    double times[3];
    int64_t flops, transpose, moved[5];
};

enum narrow { ENGINE, OPCODE, ORIGIN, TRANSFER, MEETING };

/* `count` machine instructions, of the program in `block`, and their columns: integers (see `narrow`), three times, flops and moved
   bytes, each kind of column one behind the other; the waits one behind the other, where those of each machine instruction begin,
   and the end; and the kind of each DMA. */
struct core {
    int64_t count, *block;
    const struct machine *placed;
    int32_t *narrow;
    double *times;
    int64_t *whole;
    uint8_t *transpose;
    int64_t *wait_start;
    int32_t *waits, *moved;
};

static void fill(const struct core *core, int64_t i, const struct step *step)
{
    const struct machine *placed = &core->placed[i];
    int64_t count = core->count;

    core->narrow[ENGINE * count + i] = (int32_t)step->engine;
    core->narrow[OPCODE * count + i] = (int32_t)step->opcode;
    core->narrow[ORIGIN * count + i] = placed->origin;
    core->narrow[TRANSFER * count + i] = placed->transfer;
    core->narrow[MEETING * count + i] = placed->meeting;
    for (int n = 0; n < 3; n++)
        core->times[n * count + i] = step->times[n];
    core->whole[i] = step->flops;
    for (int n = 0; n < 5; n++)
        core->whole[(n + 1) * count + i] = step->moved[n];
    core->transpose[i] = step->transpose != 0;
}

static void fill_all(const struct core *core, const struct step *steps)
{
    const int64_t *kind = columns_in(core->block).kind;
    int64_t waits = 0;

    for (int64_t i = 0; i < core->count; i++) {
        const struct machine *placed = &core->placed[i];
        fill(core, i, &steps[placed->step]);
        core->wait_start[i] = waits;
        if (placed->wait >= 0)
            core->waits[waits++] = placed->wait;
        if (placed->transfer >= 0) /* a DMA is one step */
            core->moved[placed->transfer] = (int32_t)kind[placed->origin];
    }
    core->wait_start[core->count] = waits;
}

/* `steps`: by number. */
int64_t code_of(const struct step *steps, int64_t count, const struct core *cores)
{
    for (int64_t core = 0; core < count; core++)
        fill_all(&cores[core], steps);
    return 0;
}
