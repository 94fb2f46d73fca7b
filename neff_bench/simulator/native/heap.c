/* The binary heap: an item comes before its children 2i + 1 and 2i + 2. */

#include "heap.h"

static int before(struct item a, struct item b)
{
    return a.at < b.at || (a.at == b.at && a.number < b.number);
}

void heap_push(struct heap *heap, double at, int64_t number)
{
    struct item item = {at, number};
    int64_t place = heap->count++;

    while (place && before(item, heap->items[(place - 1) / 2])) {
        heap->items[place] = heap->items[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap->items[place] = item;
}

struct item heap_pop(struct heap *heap)
{
    struct item first = heap->items[0], last = heap->items[--heap->count];
    int64_t place = 0, child;

    while ((child = 2 * place + 1) < heap->count) {
        if (child + 1 < heap->count && before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!before(heap->items[child], last))
            break;
        heap->items[place] = heap->items[child];
        place = child;
    }
    heap->items[place] = last;
    return first;
}
