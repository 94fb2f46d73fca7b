/* The rectangle of memory around each view, and a number for each different one.

   The same rules as neff_bench.simulator.compiler.program.rectangles, which says what the columns are. */

#include "rectangles.h"

#include "numbers.h"

#define SHARED 2 /* storages that are no buffer's own */

/* row, rows: bytes of a row and rows of a buffer. down, right: where it begins in its storage. */
struct place {
    int64_t storage, row, rows, down, right;
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

static struct place place_of(const struct buffers *buffers, const int64_t *address, int64_t b)
{
    struct place place = {b + SHARED, buffers->row_bytes[b], buffers->rows[b], 0, 0};

    if (address[b] >= 0 && buffers->memory[b] != HBM) {
        place.storage = buffers->memory[b] - 1;
        place.down = buffers->partition[b];
        place.right = address[b];
    }
    return place;
}

/* The rectangle around a view of elements of `size` bytes, from its first element: rows [r0, r1], bytes [c0, c1). */
static struct region extent(const struct columns *columns, int64_t v, int64_t size, int64_t row)
{
    struct region found = {0, 0, 0, 0, size};

    for (int64_t i = columns->pattern_start[v]; i < columns->pattern_start[v + 1]; i++) {
        int64_t step = columns->step[i] * size, span = step * (columns->length[i] - 1);
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

static struct region region_of(const struct columns *columns, int64_t v, int64_t size, struct place place)
{
    int64_t row = place.row, first = columns->offset[v] * size, left, end;
    struct region found;

    if (columns->dynamic[v]) {
        struct region whole = {place.storage, place.down, place.rows + place.down, place.right, row + place.right};
        return whole;
    }
    found = extent(columns, v, size, row);
    left = first % row + found.c0;
    end = first % row + found.c1;
    found.storage = place.storage;
    found.r0 += first / row + place.down;
    found.r1 += first / row + 1 + place.down;
    found.c0 = left + place.right;
    found.c1 = end + place.right;
    if (left < 0 || end > row) { /* it runs over the ends of rows */
        found.r0 += floor_of(left, row);
        found.r1 += floor_of(end - 1, row);
        found.c0 = place.right;
        found.c1 = row + place.right;
    }
    return found;
}

int64_t find_regions(const struct columns *columns, const struct buffers *buffers, const int64_t *address, const int64_t *size,
                     int64_t *of_view, struct region *different)
{
    struct numbers numbers;
    int64_t status = numbers_begin(&numbers);

    for (int64_t v = 0; v < columns->views && status >= 0; v++) {
        struct place place = place_of(buffers, address, columns->buffer[v]);
        different[numbers.count] = region_of(columns, v, size[columns->dtype[v]], place);
        status = of_view[v] = number_of(&numbers, &different[numbers.count], sizeof *different);
    }
    if (status >= 0)
        status = numbers.count;
    numbers_end(&numbers);
    return status < 0 ? NO_MEMORY : status;
}
