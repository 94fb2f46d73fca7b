/* Cuts the rectangles that instructions touch into parts that are touched whole or not at all.

   The same parts as neff_bench.simulator.compiler.parts, which says why there are cells, under other numbers. Rectangles that
   cannot overlap are in different groups. Of a group, all ends of ranges make a grid of places; places that the same rectangles
   hold are one part. */

#include "parts.h"
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#define CELLS 8 /* along a side of the largest rectangle, at most */

/* A half-open range of a rectangle, in a group. */
struct range {
    int64_t group, low, high, rectangle;
};

/* For each rectangle, its range along rows or along columns. */
struct side {
    int64_t low, high;
};

static int order_of_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->low > y->low) - (x->low < y->low);
}

static void *array(int64_t count, size_t size)
{
    return malloc((size_t)(count + 1) * size);
}

/* Splits the groups where no range of one reaches on. Gives the number of groups. */
static int64_t split(int64_t count, struct range *ranges, int64_t *group)
{
    int64_t made = -1, reach = 0;

    qsort(ranges, (size_t)count, sizeof *ranges, order_of_ranges);
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || ranges[i].group != ranges[i - 1].group || ranges[i].low >= reach) {
            made++;
            reach = ranges[i].high;
        }
        if (ranges[i].high > reach)
            reach = ranges[i].high;
        group[ranges[i].rectangle] = made;
    }
    return made + 1;
}

/* Groups of rectangles that no other group can overlap: split by rows and columns in turn, until neither splits any more. */
static int group_all(int64_t count, const struct region *regions, int64_t *group)
{
    struct range *ranges = array(count, sizeof *ranges);
    int64_t groups = 0;

    if (!ranges)
        return -1;
    for (int64_t i = 0; i < count; i++)
        group[i] = regions[i].storage;
    for (int turn = 0, unsplit = 0; unsplit < 2; turn++) {
        int64_t before = groups;
        for (int64_t i = 0; i < count; i++) {
            const struct region *r = &regions[i];
            struct range range = {group[i], turn % 2 ? r->c0 : r->r0, turn % 2 ? r->c1 : r->r1, i};
            ranges[i] = range;
        }
        groups = split(count, ranges, group);
        unsplit = groups == before ? unsplit + 1 : 0;
    }
    free(ranges);
    return 0;
}

/* The ranges as places among the ends of the ranges of their group. */
static int rank(int64_t count, const int64_t *group, struct side *sides)
{
    struct range *ends = array(2 * count, sizeof *ends);
    int64_t place = -1;

    if (!ends)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        struct range low = {group[i], sides[i].low, 0, i}, high = {group[i], sides[i].high, 1, i};
        ends[2 * i] = low;
        ends[2 * i + 1] = high;
    }
    qsort(ends, (size_t)(2 * count), sizeof *ends, order_of_ranges);
    for (int64_t i = 0; i < 2 * count; i++) {
        if (i == 0 || ends[i].group != ends[i - 1].group || ends[i].low != ends[i - 1].low)
            place++;
        if (ends[i].high)
            sides[ends[i].rectangle].high = place;
        else
            sides[ends[i].rectangle].low = place;
    }
    free(ends);
    return 0;
}

/* Every place of the grid in each rectangle. */
static int inside(int64_t count, const struct side *rows, const struct side *columns, struct pairs *pairs)
{
    int64_t room = 0, width = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t high = rows[i].high - rows[i].low, wide = columns[i].high - columns[i].low;
        room += high > 0 && wide > 0 ? high * wide : 0;
        width = columns[i].high > width ? columns[i].high : width;
    }
    if (pairs_begin(pairs, room) < 0)
        return -1;
    for (int64_t i = 0; i < count; i++)
        for (int64_t row = rows[i].low; row < rows[i].high; row++)
            for (int64_t column = columns[i].low; column < columns[i].high; column++)
                add_pair(pairs, i, row * width + column);
    return 0;
}

/* The parts of the bytes of the rectangles. */
static int cut_bytes(int64_t count, const struct region *regions, const int64_t *group, struct pairs *pairs)
{
    struct side *rows = array(count, sizeof *rows), *columns = array(count, sizeof *columns);
    int status = -1;

    if (rows && columns) {
        for (int64_t i = 0; i < count; i++) {
            struct side row = {regions[i].r0, regions[i].r1}, column = {regions[i].c0, regions[i].c1};
            rows[i] = row;
            columns[i] = column;
        }
        if (rank(count, group, rows) == 0 && rank(count, group, columns) == 0)
            status = inside(count, rows, columns, pairs);
    }
    free(rows);
    free(columns);
    return status < 0 || merge(pairs) < 0 ? -1 : 0;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Ranges as those of the cells that they touch. `side`, by storage, is the size of a cell: of the smallest range, and no less than
   an eighth of the largest. */
static int touch(int64_t count, const struct region *regions, struct side *sides)
{
    int64_t storages = 0, largest = 0, *least, *most;

    for (int64_t i = 0; i < count; i++) {
        storages = larger(storages, regions[i].storage + 1);
        largest = larger(largest, sides[i].high - sides[i].low);
    }
    least = array(storages, sizeof *least);
    most = calloc((size_t)storages + 1, sizeof *most);
    for (int64_t s = 0; s < storages && least; s++)
        least[s] = largest;
    for (int64_t i = 0; i < count && least && most; i++) {
        int64_t size = sides[i].high - sides[i].low, s = regions[i].storage;
        least[s] = size < least[s] ? size : least[s];
        most[s] = larger(most[s], size);
    }
    for (int64_t i = 0; i < count && least && most; i++) {
        int64_t s = regions[i].storage, cell = larger(larger(least[s], (most[s] + CELLS - 1) / CELLS), 1);
        sides[i].low /= cell;
        sides[i].high = (sides[i].high - 1) / cell + 1;
    }
    free(least);
    free(most);
    return least && most ? 0 : -1;
}

/* Puts the cells of different groups apart. */
static void shift(int64_t count, const int64_t *group, struct side *sides)
{
    int64_t width = 0;

    for (int64_t i = 0; i < count; i++)
        width = larger(width, sides[i].high);
    for (int64_t i = 0; i < count; i++) {
        sides[i].low += group[i] * (width + 1);
        sides[i].high += group[i] * (width + 1);
    }
}

/* The parts of the cells that the rectangles touch. */
static int64_t cut_cells(int64_t count, const struct region *regions, const int64_t *group, struct pairs *pairs)
{
    struct side *rows = array(count, sizeof *rows), *columns = array(count, sizeof *columns);
    int status = -1;

    if (rows && columns) {
        for (int64_t i = 0; i < count; i++) {
            struct side row = {regions[i].r0, regions[i].r1}, column = {regions[i].c0, regions[i].c1};
            rows[i] = row;
            columns[i] = column;
        }
        if (touch(count, regions, rows) == 0 && touch(count, regions, columns) == 0) {
            shift(count, group, rows);
            shift(count, group, columns);
            status = inside(count, rows, columns, pairs);
        }
    }
    free(rows);
    free(columns);
    return status < 0 ? -1 : merge(pairs);
}

/* The end of the pairs of the same rectangle as pair `i`. */
static int64_t run_end(const struct pairs *pairs, int64_t i)
{
    int64_t end = i;

    while (end < pairs->count && pairs->rectangle[end] == pairs->rectangle[i])
        end++;
    return end;
}

/* Every part of the bytes of a rectangle in every part of the cells that it touches. Both have the same rectangles. */
static int in_cells(const struct pairs *bytes, const struct pairs *cells, int64_t cell_count, struct pairs *both)
{
    int64_t room = 0, b, c, b_end, c_end;

    for (b = c = 0; b < bytes->count; b = b_end, c = c_end) {
        b_end = run_end(bytes, b);
        c_end = run_end(cells, c);
        room += (b_end - b) * (c_end - c);
    }
    if (pairs_begin(both, room) < 0)
        return -1;
    for (b = c = 0; b < bytes->count; b = b_end, c = c_end) {
        b_end = run_end(bytes, b);
        c_end = run_end(cells, c);
        for (int64_t i = b; i < b_end; i++)
            for (int64_t j = c; j < c_end; j++)
                add_pair(both, bytes->rectangle[i], bytes->place[i] * cell_count + cells->place[j]);
    }
    return 0;
}

/* The parts of each rectangle, from pairs that are sorted by rectangle. Takes over the pairs' places. */
static int listed(int64_t count, struct pairs *pairs, int64_t parts_count, struct parts *parts)
{
    int64_t i = 0;

    parts->first = array(count + 1, sizeof *parts->first);
    if (!parts->first)
        return -1;
    for (int64_t rectangle = 0; rectangle <= count; rectangle++) {
        while (i < pairs->count && pairs->rectangle[i] < rectangle)
            i++;
        parts->first[rectangle] = i;
    }
    parts->part = pairs->place;
    parts->count = parts_count;
    pairs->place = NULL;
    return 0;
}

int cut(int64_t count, const struct region *regions, struct parts *parts)
{
    struct pairs bytes = {0, NULL, NULL}, cells = {0, NULL, NULL}, both = {0, NULL, NULL};
    int64_t *group = array(count, sizeof *group), cell_count, part_count;
    int status = -1;

    memset(parts, 0, sizeof *parts);
    if (group && group_all(count, regions, group) == 0 && cut_bytes(count, regions, group, &bytes) == 0) {
        cell_count = cut_cells(count, regions, group, &cells);
        if (cell_count >= 0 && in_cells(&bytes, &cells, cell_count, &both) == 0) {
            part_count = merge(&both);
            if (part_count >= 0)
                status = listed(count, &both, part_count, parts);
        }
    }
    pairs_end(&bytes);
    pairs_end(&cells);
    pairs_end(&both);
    free(group);
    return status;
}

void parts_end(struct parts *parts)
{
    free(parts->first);
    free(parts->part);
}
