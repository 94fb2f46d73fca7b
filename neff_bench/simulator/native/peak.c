/* Two sweeps over the tensors of one memory, in the order in which they come to life.

   The same as `_peak` of neff_bench.simulator.compiler.program.capacity and `_any_rivals` of placement. */

#include <stdint.h>
#include <stdlib.h>

#include "heap.h"

#define NO_MEMORY (-1)

/* One element for each tensor. first, last: instructions. start, stop: bytes that the kernel gave it, or -1. packed: what it counts
   where the kernel gave it none. */
struct tensors {
    const int64_t *first, *last, *start, *stop, *packed;
};

/* Bytes between neighbouring ends of spans: ends[i] to ends[i + 1] is covered by covers[i] tensors. */
struct cover {
    int64_t count, bytes, *ends, *covers;
};

static int order_of_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int cover_begin(struct cover *cover, int64_t count, const struct tensors *tensors)
{
    int64_t ends = 0;

    cover->count = cover->bytes = 0;
    cover->ends = malloc((size_t)(2 * count + 1) * sizeof *cover->ends);
    cover->covers = calloc((size_t)(2 * count + 1), sizeof *cover->covers);
    if (!cover->ends || !cover->covers)
        return NO_MEMORY;
    for (int64_t i = 0; i < count; i++)
        if (tensors->start[i] >= 0) {
            cover->ends[ends++] = tensors->start[i];
            cover->ends[ends++] = tensors->stop[i];
        }
    qsort(cover->ends, (size_t)ends, sizeof *cover->ends, order_of_integers);
    for (int64_t i = 0; i < ends; i++)
        if (i == 0 || cover->ends[i] != cover->ends[cover->count - 1])
            cover->ends[cover->count++] = cover->ends[i];
    return 0;
}

/* The place of an end of a span. */
static int64_t place_of(const struct cover *cover, int64_t end)
{
    int64_t low = 0, high = cover->count - 1;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (cover->ends[middle] < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Covers a span once more (`by` 1) or once less (-1). */
static void change(struct cover *cover, int64_t start, int64_t stop, int64_t by)
{
    for (int64_t i = place_of(cover, start); cover->ends[i] < stop; i++) {
        int64_t before = cover->covers[i] > 0;
        cover->covers[i] += by;
        cover->bytes += ((cover->covers[i] > 0) - before) * (cover->ends[i + 1] - cover->ends[i]);
    }
}

/* A tensor comes to life (`by` 1), or is gone (-1). */
static void use(const struct tensors *tensors, int64_t i, int64_t by, struct cover *cover, int64_t *packed)
{
    if (tensors->start[i] < 0)
        *packed += by * tensors->packed[i];
    else
        change(cover, tensors->start[i], tensors->stop[i], by);
}

/* `found`: the largest use in bytes, and the tensor with which it was reached, -1 for none. Stops above `capacity`. */
int64_t peak_of(int64_t count, const struct tensors *tensors, int64_t capacity, int64_t *found)
{
    struct cover cover;
    struct heap ends = {malloc((size_t)(count + 1) * sizeof *ends.items), 0};
    int64_t packed = 0, status = cover_begin(&cover, count, tensors);

    found[0] = 0;
    found[1] = -1;
    status = ends.items ? status : NO_MEMORY;
    for (int64_t i = 0; i < count && status == 0 && found[0] <= capacity; i++) {
        while (ends.count && ends.items[0].at < (double)tensors->first[i])
            use(tensors, heap_pop(&ends).number, -1, &cover, &packed);
        heap_push(&ends, (double)tensors->last[i], i);
        use(tensors, i, 1, &cover, &packed);
        if (packed + cover.bytes > found[0]) {
            found[0] = packed + cover.bytes;
            found[1] = i;
        }
    }
    free(ends.items);
    free(cover.ends);
    free(cover.covers);
    return status;
}

/* Half-open: partitions [r0, r1), bytes [c0, c1). */
struct boxes {
    const int64_t *first, *last, *r0, *r1, *c0, *c1;
};

static int overlap(const struct boxes *boxes, int64_t a, int64_t b)
{
    return boxes->r0[a] < boxes->r1[b] && boxes->r0[b] < boxes->r1[a] && boxes->c0[a] < boxes->c1[b] && boxes->c0[b] < boxes->c1[a];
}

/* Whether two tensors share bytes and are in use at one time. */
int64_t any_rivals(int64_t count, const struct boxes *boxes)
{
    int64_t *alive = malloc((size_t)(count + 1) * sizeof *alive), living = 0, found = 0;

    if (!alive)
        return NO_MEMORY;
    for (int64_t i = 0; i < count && !found; i++) {
        int64_t kept = 0;
        for (int64_t n = 0; n < living; n++)
            if (boxes->last[alive[n]] > boxes->first[i]) {
                alive[kept++] = alive[n];
                found |= overlap(boxes, alive[n], i);
            }
        living = kept;
        alive[living++] = i;
    }
    free(alive);
    return found;
}
