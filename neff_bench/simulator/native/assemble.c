/* From the columns of the instructions of all cores to their machine instructions: one pass after the other.

   The same as `_plain` of neff_bench.simulator.compiler.code.assembler, which says what is given. */

#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "columns.h"
#include "edges.h"
#include "lives.h"
#include "operations.h"
#include "order.h"
#include "place.h"
#include "ring.h"

/* What all cores share. item_bytes: of an element, by dtype. settles: see edges.h. numbers: of the fixed instructions. */
struct given {
    struct buffers buffers;
    const int64_t *item_bytes, *settles;
    struct sizes sizes;
    const int64_t *numbers;
};

/* A core, and `room` for its machine instructions. */
struct core {
    int64_t *block;
    struct operations operations;
    int64_t room;
    struct machine *placed;
};

/* How many machine instructions a core has, how many of them wait, and how many are DMAs. */
struct counts {
    int64_t placed, waits, transfers;
};

/* The numbers one behind the other, for `names` operands. */
static struct fixed fixed_in(const int64_t *numbers, int64_t names)
{
    const int64_t *event = numbers + 4, *final = event + ENGINES, *each = final + ENGINES, *of_weights = each + ENGINES;
    struct fixed fixed = {
        .from_hlo = numbers[0], .keeps_weights = numbers[1], .load = numbers[2], .tables = numbers[3], .event = event,
        .final = final, .each = each, .of_weights = of_weights, .is_stationary = of_weights + names, .table = of_weights + 2 * names,
    };

    return fixed;
}

/* Addresses of all buffers: the kernel's, and those that are chosen. NULL when there is no memory. */
static int64_t *addresses(const struct columns *columns, const struct buffers *buffers, const struct sizes *sizes)
{
    size_t bytes = (size_t)(buffers->count + 1) * sizeof(int64_t);
    struct lives lives = {malloc(bytes), malloc(bytes), malloc(bytes)};
    int64_t *address = malloc(bytes), count = NO_MEMORY;

    if (lives.buffer && lives.first && lives.last && address) {
        if (buffers->count) /* an empty array has no address */
            memcpy(address, buffers->address, (size_t)buffers->count * sizeof *address);
        count = find_lives(columns, buffers->count, NULL, &lives);
        if (count >= 0 && allocate(buffers, count, &lives, sizes, address) < 0)
            count = NO_MEMORY;
    }
    free(lives.buffer);
    free(lives.first);
    free(lives.last);
    if (count >= 0)
        return address;
    free(address);
    return NULL;
}

static int64_t waiting(const struct machine *placed, int64_t count)
{
    int64_t waits = 0;

    for (int64_t i = 0; i < count; i++)
        waits += placed[i].wait >= 0;
    return waits;
}

static int assemble_core(const struct given *given, const struct core *core, double dma_wait_ns, double semaphore_ns,
                         struct counts *counts)
{
    struct columns columns = columns_in(core->block);
    struct fixed fixed = fixed_in(given->numbers, columns.names);
    struct edges edges = {0};
    int64_t *address = addresses(&columns, &given->buffers, &given->sizes);
    int64_t *order = malloc((size_t)(columns.instructions + 1) * sizeof *order);

    counts->placed = NO_MEMORY;
    if (address && order && find_edges(&columns, &given->buffers, address, given->item_bytes, given->settles, &edges) == 0
        && issue_order(&columns, &core->operations, &edges, dma_wait_ns, semaphore_ns, order) == 0)
        counts->placed = place_all(&columns, &core->operations, &edges, &fixed, order, core->room, core->placed, &counts->transfers);
    counts->waits = waiting(core->placed, counts->placed);
    edges_end(&edges);
    free(address);
    free(order);
    return counts->placed < 0 ? NO_MEMORY : 0;
}

int64_t assemble(const struct given *given, int64_t count, const struct core *cores, double dma_wait_ns, double semaphore_ns,
                 struct counts *counts)
{
    int status = 0;

    for (int64_t core = 0; core < count && status == 0; core++)
        status = assemble_core(given, &cores[core], dma_wait_ns, semaphore_ns, &counts[core]);
    return status;
}
