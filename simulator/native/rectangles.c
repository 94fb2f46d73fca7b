/* The rectangle of memory around each view, and a number for each different one.

   The same rules as neff_bench.simulator.compiler.rectangles, which says what the columns are. */

#include <stdint.h>
#include <stdlib.h>

#include "numbers.h"
#include "parts.h"

#define NO_MEMORY (-1)

/* row, rows: bytes of a row and rows of a buffer. down, right: where it begins in its storage. */
struct places {
    const int64_t *storage, *row, *rows, *down, *right;
};

/* size: bytes of an element. */
struct views {
    const int64_t *buffer, *offset, *size, *dynamic, *pattern_start, *step, *length;
};

static int64_t floor_of(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The rectangle around a view, from its first element: rows [up, down], bytes [left, right). */
static struct region extent(const struct views *views, int64_t v, int64_t row)
{
    int64_t size = views->size[v];
    struct region found = {0, 0, 0, 0, size};

    for (int64_t i = views->pattern_start[v]; i < views->pattern_start[v + 1]; i++) {
        int64_t step = views->step[i] * size, span = step * (views->length[i] - 1);
        if (step % row == 0) {
            found.r0 += least(floor_of(span, row), 0);
            found.r1 += most(floor_of(span, row), 0);
        } else {
            found.c0 += least(span, 0);
            found.c1 += most(span, 0);
        }
    }
    return found;
}

static struct region region_of(const struct places *places, const struct views *views, int64_t v)
{
    int64_t buffer = views->buffer[v], row = places->row[buffer], down = places->down[buffer], right = places->right[buffer];
    int64_t first = views->offset[v] * views->size[v], left, end;
    struct region found;

    if (views->dynamic[v]) {
        struct region whole = {places->storage[buffer], down, places->rows[buffer] + down, right, row + right};
        return whole;
    }
    found = extent(views, v, row);
    left = first % row + found.c0;
    end = first % row + found.c1;
    found.storage = places->storage[buffer];
    found.r0 += first / row + down;
    found.r1 += first / row + 1 + down;
    found.c0 = left + right;
    found.c1 = end + right;
    if (left < 0 || end > row) { /* it runs over the ends of rows */
        found.r0 += floor_of(left, row);
        found.r1 += floor_of(end - 1, row);
        found.c0 = right;
        found.c1 = row + right;
    }
    return found;
}

/* `region`: the number of each view's region. `different`: five numbers for each different region. Gives how many there are. */
int64_t regions_of(int64_t count, const struct places *places, const struct views *views, int64_t *region,
                   struct region *different)
{
    struct numbers numbers;
    int64_t status = numbers_begin(&numbers);

    for (int64_t v = 0; v < count && status >= 0; v++) {
        different[numbers.count] = region_of(places, views, v);
        status = region[v] = number_of(&numbers, &different[numbers.count], sizeof *different);
    }
    if (status >= 0)
        status = numbers.count;
    numbers_end(&numbers);
    return status < 0 ? NO_MEMORY : status;
}
