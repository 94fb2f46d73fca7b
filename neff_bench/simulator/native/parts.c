/* Cuts the rectangles that instructions touch into parts that are touched whole or not at all.

   The same parts as neff_bench.simulator.compiler.program.parts, which says why there are cells, under other numbers. Rectangles that
   cannot overlap are in different groups, and each group is cut alone. Of a group, all ends of ranges make a grid of places;
   places that the same rectangles hold are one part. */

#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "lists.h"

#define CELLS 8 /* along a side of the largest rectangle, at most */

/* Half-open ranges along rows or along columns, one for each rectangle. */
struct side {
    int64_t low, high;
};

/* What is known of each rectangle: its bytes, the cells that it touches, and the rectangles group by group. A group is
   member[group_start[g]] to member[group_start[g + 1] - 1]. */
struct layout {
    int64_t count, groups, *group, *group_start, *member;
    struct side *rows, *columns, *cell_rows, *cell_columns;
};

static void *array(int64_t count, size_t size)
{
    return malloc((size_t)(count + 1) * size);
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

/* The rectangles group by group. */
static void sort_members(struct layout *layout)
{
    for (int64_t i = 0; i < layout->count; i++)
        layout->group_start[layout->group[i] + 1]++;
    for (int64_t g = 0; g < layout->groups; g++)
        layout->group_start[g + 1] += layout->group_start[g];
    for (int64_t i = layout->count - 1; i >= 0; i--)
        layout->member[--layout->group_start[layout->group[i] + 1]] = i;
    memmove(layout->group_start, layout->group_start + 1, (size_t)layout->groups * sizeof *layout->group_start);
    layout->group_start[layout->groups] = layout->count;
}

static int lay_out(int64_t count, const struct region *regions, struct layout *layout)
{
    layout->count = count;
    layout->group = array(count, sizeof *layout->group);
    layout->member = array(count, sizeof *layout->member);
    layout->group_start = calloc((size_t)count + 2, sizeof *layout->group_start);
    layout->rows = array(count, sizeof *layout->rows);
    layout->columns = array(count, sizeof *layout->columns);
    layout->cell_rows = array(count, sizeof *layout->cell_rows);
    layout->cell_columns = array(count, sizeof *layout->cell_columns);
    if (!layout->group || !layout->member || !layout->group_start || !layout->rows || !layout->columns
        || !layout->cell_rows || !layout->cell_columns)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        struct side row = {regions[i].r0, regions[i].r1}, column = {regions[i].c0, regions[i].c1};
        layout->rows[i] = layout->cell_rows[i] = row;
        layout->columns[i] = layout->cell_columns[i] = column;
    }
    layout->groups = group_all(count, regions, layout->group);
    if (layout->groups < 0 || touch(count, regions, layout->cell_rows) < 0 || touch(count, regions, layout->cell_columns) < 0)
        return -1;
    sort_members(layout);
    return 0;
}

static void layout_end(struct layout *layout)
{
    free(layout->group);
    free(layout->member);
    free(layout->group_start);
    free(layout->rows);
    free(layout->columns);
    free(layout->cell_rows);
    free(layout->cell_columns);
}

/* The ranges of the members of a group as places among all their ends. Gives a number that all places are below. */
static int64_t rank(int64_t count, const int64_t *member, struct side *sides)
{
    struct range *ends = array(2 * count, sizeof *ends);
    int64_t place = -1;

    if (!ends)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        struct range low = {sides[member[i]].low, 0, member[i]}, high = {sides[member[i]].high, 1, member[i]};
        ends[2 * i] = low;
        ends[2 * i + 1] = high;
    }
    sort_ranges(2 * count, ends);
    for (int64_t i = 0; i < 2 * count; i++) {
        if (i == 0 || ends[i].low != ends[i - 1].low)
            place++;
        if (ends[i].high)
            sides[ends[i].rectangle].high = place;
        else
            sides[ends[i].rectangle].low = place;
    }
    free(ends);
    return place + 1;
}

/* The ranges of the members from 0 on. Gives a number that all are below. */
static int64_t from_zero(int64_t count, const int64_t *member, struct side *sides)
{
    int64_t least = INT64_MAX, most = 0;

    for (int64_t i = 0; i < count; i++)
        least = sides[member[i]].low < least ? sides[member[i]].low : least;
    for (int64_t i = 0; i < count; i++) {
        sides[member[i]].low -= least;
        sides[member[i]].high -= least;
        most = larger(most, sides[member[i]].high);
    }
    return most;
}

/* Every place of a grid in each rectangle; `width` is that of the grid. */
static int list_places(int64_t count, const int64_t *member, const struct side *rows, const struct side *columns, int64_t width,
                       struct lists *lists)
{
    lists_clear(lists);
    for (int64_t i = 0; i < count; i++) {
        const struct side *r = &rows[member[i]], *c = &columns[member[i]];
        for (int64_t row = r->low; row < r->high; row++)
            for (int64_t column = c->low; column < c->high; column++)
                if (add_place(lists, row * width + column) < 0)
                    return -1;
        next_list(lists);
    }
    return 0;
}

/* The parts of a grid that the members of a group hold. Gives their number. */
static int64_t cut_grid(int64_t count, const int64_t *member, const struct side *rows, const struct side *columns,
                        int64_t height, int64_t width, struct lists *lists)
{
    if (height < 0 || width < 0 || height * width > INT32_MAX)
        return -1;
    if (list_places(count, member, rows, columns, width, lists) < 0)
        return -1;
    return merge(lists, height * width);
}

/* Every part of the bytes of a rectangle in every part of the cells that it touches. */
static int64_t cross(const struct lists *bytes, const struct lists *cells, int64_t byte_parts, int64_t cell_parts,
                     struct lists *both)
{
    if (byte_parts * cell_parts > INT32_MAX)
        return -1;
    lists_clear(both);
    for (int64_t i = 0; i < bytes->count; i++) {
        for (int64_t b = bytes->first[i]; b < bytes->first[i + 1]; b++)
            for (int64_t c = cells->first[i]; c < cells->first[i + 1]; c++)
                if (add_place(both, bytes->place[b] * cell_parts + cells->place[c]) < 0)
                    return -1;
        next_list(both);
    }
    return merge(both, byte_parts * cell_parts);
}

static int add_cut(struct cuts *cuts, int64_t part)
{
    if (cuts->used == cuts->room) {
        int64_t *more = realloc(cuts->part, (size_t)(2 * cuts->room) * sizeof *more);
        if (!more)
            return -1;
        cuts->part = more;
        cuts->room *= 2;
    }
    cuts->part[cuts->used++] = part;
    return 0;
}

/* Adds the parts of the members of a group, `parts` of them. */
static int add_cuts(struct cuts *cuts, const int64_t *member, const struct lists *lists, int64_t parts)
{
    for (int64_t i = 0; i < lists->count; i++) {
        cuts->begin[member[i]] = cuts->used;
        for (int64_t p = lists->first[i]; p < lists->first[i + 1]; p++)
            if (add_cut(cuts, cuts->count + lists->place[p]) < 0)
                return -1;
        cuts->end[member[i]] = cuts->used;
    }
    cuts->count += parts;
    return 0;
}

/* A rectangle that nothing overlaps is one part. */
static int add_alone(struct cuts *cuts, int64_t rectangle)
{
    cuts->begin[rectangle] = cuts->used;
    cuts->end[rectangle] = cuts->used + 1;
    return add_cut(cuts, cuts->count++);
}

static int cut_group(struct layout *layout, int64_t group, struct lists *lists, struct cuts *cuts)
{
    const int64_t *member = layout->member + layout->group_start[group];
    int64_t count = layout->group_start[group + 1] - layout->group_start[group], bytes, cells, both;

    if (count == 1)
        return add_alone(cuts, *member);
    bytes = cut_grid(count, member, layout->rows, layout->columns, rank(count, member, layout->rows),
                     rank(count, member, layout->columns), &lists[0]);
    if (bytes < 0)
        return -1;
    cells = cut_grid(count, member, layout->cell_rows, layout->cell_columns, from_zero(count, member, layout->cell_rows),
                     from_zero(count, member, layout->cell_columns), &lists[1]);
    if (cells < 0)
        return -1;
    both = cross(&lists[0], &lists[1], bytes, cells, &lists[2]);
    return both < 0 ? -1 : add_cuts(cuts, member, &lists[2], both);
}

static int cut_groups(struct layout *layout, struct cuts *cuts)
{
    struct lists lists[3];
    int status = 0;

    memset(lists, 0, sizeof lists);
    for (int i = 0; i < 3; i++)
        status |= lists_begin(&lists[i], layout->count);
    for (int64_t group = 0; group < layout->groups && status == 0; group++)
        status = cut_group(layout, group, lists, cuts);
    for (int i = 0; i < 3; i++)
        lists_end(&lists[i]);
    return status;
}

int cut(int64_t count, const struct region *regions, struct cuts *cuts)
{
    struct layout layout;
    int status = -1;

    memset(&layout, 0, sizeof layout);
    memset(cuts, 0, sizeof *cuts);
    cuts->room = 2 * count + 16;
    cuts->begin = array(count, sizeof *cuts->begin);
    cuts->end = array(count, sizeof *cuts->end);
    cuts->part = malloc((size_t)cuts->room * sizeof *cuts->part);
    if (cuts->begin && cuts->end && cuts->part && lay_out(count, regions, &layout) == 0)
        status = cut_groups(&layout, cuts);
    layout_end(&layout);
    return status;
}

void cuts_end(struct cuts *cuts)
{
    free(cuts->begin);
    free(cuts->end);
    free(cuts->part);
}
