/* From the columns of one core's instructions to its machine code: one pass after the other.

   The same as `_plain` of neff_bench.simulator.compiler.assembler, which says what is given. */

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

struct chip {
    double dma_wait_ns, semaphore_ns;
};

/* rows: six columns of `count` buffers. size: bytes of an element, by dtype. */
struct given {
    int64_t count;
    const int64_t *rows;
    const struct sizes *sizes;
    const struct chip *chip;
    const int64_t *size;
};

/* Addresses of all buffers: the kernel's, and those that are chosen. NULL when there is no memory. */
static int64_t *addresses(const struct columns *columns, const struct buffers *buffers, const struct sizes *sizes)
{
    size_t bytes = (size_t)(buffers->count + 1) * sizeof(int64_t);
    struct lives lives = {malloc(bytes), malloc(bytes), malloc(bytes)};
    int64_t *address = malloc(bytes), count = NO_MEMORY;

    if (lives.buffer && lives.first && lives.last && address) {
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

/* `room` of the columns of `code`: see place.h. Gives the number of machine instructions. */
int64_t assemble_core(int64_t *block, const struct given *given, const struct operations *operations, const struct fixed *fixed,
                      int64_t room, struct code *code)
{
    struct columns columns = columns_in(block);
    struct buffers buffers = buffers_in(given->count, given->rows);
    struct edges edges = {0};
    int64_t count = NO_MEMORY, *address = addresses(&columns, &buffers, given->sizes);
    int64_t *order = malloc((size_t)(columns.instructions + 1) * sizeof *order);

    if (address && order && find_edges(&columns, &buffers, address, given->size, operations->settles, &edges) == 0
        && issue_order(&columns, operations, &edges, given->chip->dma_wait_ns, given->chip->semaphore_ns, order) == 0)
        count = place_all(&columns, operations, &edges, fixed, order, room, code);
    edges_end(&edges);
    free(address);
    free(order);
    return count;
}
