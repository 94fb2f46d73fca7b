/* Where tensors lie that the kernel left to the compiler: a ring through one memory.

   The same as neff_bench.simulator.compiler.code.allocation. Times are indices of instructions, bytes are those of a partition. */

#include "ring.h"

#include <stdlib.h>
#include <string.h>

#include "heap.h"

/* start, stop: the spans that are taken, in order. No tensor of at most `bank` bytes crosses a multiple of it. */
struct ring {
    int64_t size, bank, next, count, *start, *stop;
};

struct span {
    int64_t start, stop;
};

static int order_of_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The first span that begins behind `place`. */
static int64_t behind(const struct ring *ring, int64_t place)
{
    int64_t low = 0, high = ring->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (ring->start[middle] > place)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void insert(struct ring *ring, int64_t place, int64_t start, int64_t stop)
{
    size_t bytes = (size_t)(ring->count - place) * sizeof *ring->start;

    memmove(&ring->start[place + 1], &ring->start[place], bytes);
    memmove(&ring->stop[place + 1], &ring->stop[place], bytes);
    ring->start[place] = start;
    ring->stop[place] = stop;
    ring->count++;
}

/* Gives back the first span that begins at `start` or behind it. */
static void release(struct ring *ring, int64_t start)
{
    int64_t place = behind(ring, start - 1);
    size_t bytes = (size_t)(--ring->count - place) * sizeof *ring->start;

    memmove(&ring->start[place], &ring->start[place + 1], bytes);
    memmove(&ring->stop[place], &ring->stop[place + 1], bytes);
}

/* The start of the next free bytes, -1 when there is no such place in the whole ring. */
static int64_t take(struct ring *ring, int64_t bytes)
{
    int64_t start = ring->next;
    int again = 0;

    for (;;) {
        int64_t after;
        if (bytes > ring->bank || start % ring->bank + bytes > ring->bank)
            start = (start + ring->bank - 1) / ring->bank * ring->bank;
        if (start + bytes > ring->size) {
            if (again)
                return -1;
            start = 0;
            again = 1;
            continue;
        }
        after = behind(ring, start);
        if (after && ring->stop[after - 1] > start) {
            start = ring->stop[after - 1];
        } else if (after < ring->count && ring->start[after] < start + bytes) {
            start = ring->stop[after];
        } else {
            insert(ring, after, start, start + bytes);
            ring->next = start + bytes;
            return start;
        }
        if (again && start >= ring->next)
            return -1;
    }
}

/* Takes what the kernel placed in a memory, for ever; spans that touch are one. */
static int take_placed(struct ring *ring, const struct buffers *buffers, int64_t memory, int64_t count, const struct lives *lives)
{
    struct span *spans = malloc((size_t)(count + 1) * sizeof *spans);
    int64_t placed = 0;

    if (!spans)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t b = lives->buffer[i];
        struct span span = {buffers->address[b], buffers->address[b] + buffers->row_bytes[b]};
        if (buffers->memory[b] == memory && span.start >= 0)
            spans[placed++] = span;
    }
    qsort(spans, (size_t)placed, sizeof *spans, order_of_spans);
    for (int64_t i = 0; i < placed; i++) {
        int64_t *last = ring->count ? &ring->stop[ring->count - 1] : NULL;
        if (last && spans[i].start <= *last)
            *last = spans[i].stop > *last ? spans[i].stop : *last;
        else
            insert(ring, ring->count, spans[i].start, spans[i].stop);
    }
    free(spans);
    return 0;
}

static void place_tensors(struct ring *ring, const struct buffers *buffers, int64_t memory, int64_t count,
                          const struct lives *lives, struct heap *ends, int64_t *address)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t b = lives->buffer[i], start;
        if (buffers->memory[b] != memory || buffers->address[b] >= 0)
            continue;
        while (ends->count && ends->items[0].at < (double)lives->first[i])
            release(ring, heap_pop(ends).number);
        /* Where there is no room, it takes the place of the tensors that are done with first. */
        while ((start = take(ring, buffers->row_bytes[b])) < 0 && buffers->row_bytes[b] <= ring->size && ends->count)
            release(ring, heap_pop(ends).number);
        if (start < 0)
            continue;
        address[b] = start;
        heap_push(ends, (double)lives->last[i], start);
    }
}

static int allocate_in(const struct buffers *buffers, int64_t memory, int64_t size, int64_t bank, int64_t count,
                       const struct lives *lives, int64_t *address)
{
    size_t bytes = (size_t)(count + 1) * sizeof(int64_t);
    struct ring ring = {size, bank, 0, 0, malloc(bytes), malloc(bytes)};
    struct heap ends = {malloc((size_t)(count + 1) * sizeof *ends.items), 0};
    int status = -1;

    if (ring.start && ring.stop && ends.items && take_placed(&ring, buffers, memory, count, lives) == 0) {
        place_tensors(&ring, buffers, memory, count, lives, &ends, address);
        status = 0;
    }
    free(ring.start);
    free(ring.stop);
    free(ends.items);
    return status;
}

int allocate(const struct buffers *buffers, int64_t count, const struct lives *lives, const struct sizes *sizes, int64_t *address)
{
    if (allocate_in(buffers, SBUF, sizes->sbuf, sizes->sbuf, count, lives, address) < 0)
        return -1;
    return allocate_in(buffers, PSUM, sizes->psum, sizes->bank, count, lives, address);
}
