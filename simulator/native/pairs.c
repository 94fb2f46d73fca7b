/* Pairs of a rectangle and a place in it, and their merging: see pairs.h. */

#include "pairs.h"

#include <stdlib.h>
#include <string.h>

static void *array(int64_t count, size_t size)
{
    return malloc((size_t)(count + 1) * size);
}

int pairs_begin(struct pairs *pairs, int64_t room)
{
    pairs->count = 0;
    pairs->rectangle = array(room, sizeof *pairs->rectangle);
    pairs->place = array(room, sizeof *pairs->place);
    return pairs->rectangle && pairs->place ? 0 : -1;
}

void pairs_end(struct pairs *pairs)
{
    free(pairs->rectangle);
    free(pairs->place);
}

void add_pair(struct pairs *pairs, int64_t rectangle, int64_t place)
{
    pairs->rectangle[pairs->count] = rectangle;
    pairs->place[pairs->count++] = place;
}

/* Numbers the places from 0: a hash table with open addressing, half empty. */
static int64_t number_places(struct pairs *pairs)
{
    size_t slots = 64, slot;
    int64_t *taken, *places = array(pairs->count, sizeof *places), different = 0;

    while (slots < 2 * (size_t)pairs->count)
        slots *= 2;
    taken = calloc(slots, sizeof *taken);
    for (int64_t i = 0; i < pairs->count && taken && places; i++) {
        uint64_t hash = (uint64_t)pairs->place[i] * UINT64_C(0x9E3779B97F4A7C15);
        for (slot = (hash >> 20) & (slots - 1); taken[slot] && places[taken[slot] - 1] != pairs->place[i];)
            slot = (slot + 1) & (slots - 1);
        if (!taken[slot]) {
            places[different] = pairs->place[i];
            taken[slot] = ++different;
        }
        pairs->place[i] = taken[slot] - 1;
    }
    different = taken && places ? different : -1;
    free(taken);
    free(places);
    return different;
}

/* Splits the parts of places: one rectangle after the other moves those that it holds out of their part, into a new one.
   `part`, by place, is 0 before. Gives the number of parts. */
static int64_t refine(const struct pairs *pairs, int64_t *part)
{
    int64_t *to = array(pairs->count + 1, sizeof *to), *by = array(pairs->count + 1, sizeof *by), parts = 1;

    if (!to || !by)
        parts = -1;
    else
        by[0] = -1;
    for (int64_t i = 0; i < pairs->count && parts > 0; i++) {
        int64_t old = part[pairs->place[i]];
        if (by[old] != pairs->rectangle[i]) {
            by[old] = pairs->rectangle[i];
            by[parts] = -1;
            to[old] = parts++;
        }
        part[pairs->place[i]] = to[old];
    }
    free(to);
    free(by);
    return parts;
}

/* Leaves one of the pairs of a rectangle and the same part. */
static int drop_repeated(struct pairs *pairs, int64_t parts)
{
    int64_t *last = array(parts, sizeof *last), kept = 0;

    if (!last)
        return -1;
    memset(last, -1, (size_t)parts * sizeof *last);
    for (int64_t i = 0; i < pairs->count; i++) {
        int64_t rectangle = pairs->rectangle[i], part = pairs->place[i];
        if (last[part] == rectangle)
            continue;
        last[part] = rectangle;
        pairs->rectangle[kept] = rectangle;
        pairs->place[kept++] = part;
    }
    pairs->count = kept;
    free(last);
    return 0;
}

int64_t merge(struct pairs *pairs)
{
    int64_t different = number_places(pairs), parts = -1, *part;

    if (different < 0)
        return -1;
    part = calloc((size_t)different + 1, sizeof *part);
    if (part)
        parts = refine(pairs, part);
    for (int64_t i = 0; i < pairs->count && parts > 0; i++)
        pairs->place[i] = part[pairs->place[i]];
    free(part);
    return parts > 0 && drop_repeated(pairs, parts) == 0 ? parts : -1;
}
