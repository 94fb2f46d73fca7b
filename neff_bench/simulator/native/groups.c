/* Groups of rectangles that no other group can overlap: those of a storage, split by rows and by columns in turn, until neither splits
   any more. */

#include "groups.h"

#include <stdlib.h>

#define MANY 512 /* ranges from which the library sorts faster */

static int order_of_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

void sort_ranges(int64_t count, struct range *ranges)
{
    static const int gaps[] = {301, 132, 57, 23, 10, 4, 1}; /* M. Ciura, Best increments for the average case of shellsort, 2001 */

    if (count > MANY) {
        qsort(ranges, (size_t)count, sizeof *ranges, order_of_ranges);
        return;
    }
    for (int g = 0; g < 7; g++)
        for (int64_t gap = gaps[g], i = gap; i < count; i++) {
            struct range range = ranges[i];
            int64_t place = i;
            for (; place >= gap && ranges[place - gap].low > range.low; place -= gap)
                ranges[place] = ranges[place - gap];
            ranges[place] = range;
        }
}

/* Numbers a group anew, from `made` on, split where no range reaches on. Gives the number of groups that are made. */
static int64_t split_group(int64_t count, struct range *ranges, int64_t made, int64_t *group)
{
    int64_t reach = 0;

    sort_ranges(count, ranges);
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || ranges[i].low >= reach) {
            made++;
            reach = ranges[i].high;
        }
        if (ranges[i].high > reach)
            reach = ranges[i].high;
        group[ranges[i].rectangle] = made - 1;
    }
    return made;
}

/* Splits all groups, which lie one behind the other in `ranges`, by rows or by columns. Gives the number of groups. */
static int64_t split(int64_t count, const struct region *regions, int by_columns, struct range *ranges, int64_t *group)
{
    int64_t made = 0;

    for (int64_t begin = 0, end; begin < count; begin = end) {
        int64_t old = group[ranges[begin].rectangle];
        for (end = begin; end < count && group[ranges[end].rectangle] == old; end++) {
            const struct region *region = &regions[ranges[end].rectangle];
            ranges[end].low = by_columns ? region->c0 : region->r0;
            ranges[end].high = by_columns ? region->c1 : region->r1;
        }
        made = split_group(end - begin, ranges + begin, made, group);
    }
    return made;
}

int64_t group_all(int64_t count, const struct region *regions, int64_t *group)
{
    struct range *ranges = malloc((size_t)(count + 1) * sizeof *ranges);
    int64_t groups = 0;

    if (!ranges)
        return -1;
    for (int64_t i = 0; i < count; i++) {
        struct range range = {regions[i].storage, 0, i};
        ranges[i] = range;
        group[i] = regions[i].storage;
    }
    sort_ranges(count, ranges);
    for (int turn = 0, unsplit = 0; unsplit < 2; turn++) {
        int64_t before = groups;
        groups = split(count, regions, turn % 2, ranges, group);
        unsplit = groups == before ? unsplit + 1 : 0;
    }
    free(ranges);
    return groups;
}
