/* Lists of places, and their merging: see lists.h. */

#include "lists.h"

#include <stdlib.h>

/* Parts of places under refinement. part: of each place. by, to: the last rectangle that split a part, and where its places went. */
struct parts {
    int32_t *part, *by, *to;
    int64_t count, room;
};

int lists_begin(struct lists *lists, int64_t rectangles)
{
    lists->room = 4 * rectangles + 64;
    lists->first = malloc((size_t)(rectangles + 2) * sizeof *lists->first);
    lists->place = malloc((size_t)lists->room * sizeof *lists->place);
    if (!lists->first || !lists->place)
        return -1;
    lists_clear(lists);
    return 0;
}

void lists_end(struct lists *lists)
{
    free(lists->first);
    free(lists->place);
}

void lists_clear(struct lists *lists)
{
    lists->count = lists->used = lists->first[0] = 0;
}

void next_list(struct lists *lists)
{
    lists->first[++lists->count] = lists->used;
}

int add_place(struct lists *lists, int64_t place)
{
    if (lists->used == lists->room) {
        int32_t *more = realloc(lists->place, (size_t)(2 * lists->room) * sizeof *more);
        if (!more)
            return -1;
        lists->place = more;
        lists->room *= 2;
    }
    lists->place[lists->used++] = (int32_t)place;
    return 0;
}

static int more_parts(struct parts *parts)
{
    int32_t *by = realloc(parts->by, (size_t)(2 * parts->room) * sizeof *by), *to;

    if (!by)
        return -1;
    parts->by = by;
    to = realloc(parts->to, (size_t)(2 * parts->room) * sizeof *to);
    if (!to)
        return -1;
    parts->to = to;
    parts->room *= 2;
    return 0;
}

/* Moves the places of one rectangle out of their parts, those of each part into a new one. */
static int split(struct parts *parts, int32_t rectangle, const int32_t *place, const int32_t *end)
{
    for (; place < end; place++) {
        int32_t old = parts->part[*place];
        if (parts->by[old] != rectangle) {
            if (parts->count == parts->room && more_parts(parts) < 0)
                return -1;
            parts->by[old] = rectangle;
            parts->by[parts->count] = -1;
            parts->to[old] = (int32_t)parts->count++;
        }
        parts->part[*place] = parts->to[old];
    }
    return 0;
}

/* Puts the parts of each rectangle, each once, where its places were, and numbers them from 0. */
static int64_t replace(struct lists *lists, struct parts *parts)
{
    int32_t *number = parts->to, *last = parts->by;
    int64_t used = 0, i = 0, numbered = 0;

    for (int64_t part = 0; part < parts->count; part++)
        number[part] = last[part] = -1;
    for (int64_t rectangle = 0; rectangle < lists->count; rectangle++) {
        for (; i < lists->first[rectangle + 1]; i++) {
            int32_t part = parts->part[lists->place[i]];
            if (last[part] == rectangle)
                continue;
            last[part] = (int32_t)rectangle;
            if (number[part] < 0)
                number[part] = (int32_t)numbered++;
            lists->place[used++] = number[part];
        }
        lists->first[rectangle + 1] = used;
    }
    lists->used = used;
    return numbered;
}

int64_t merge(struct lists *lists, int64_t places)
{
    struct parts parts = {NULL, NULL, NULL, 1, 256};
    int64_t numbered = -1, status = 0;

    parts.part = calloc((size_t)places + 1, sizeof *parts.part);
    parts.by = malloc((size_t)parts.room * sizeof *parts.by);
    parts.to = malloc((size_t)parts.room * sizeof *parts.to);
    if (parts.part && parts.by && parts.to) {
        parts.by[0] = -1;
        for (int64_t i = 0; i < lists->count && status == 0; i++)
            status = split(&parts, (int32_t)i, lists->place + lists->first[i], lists->place + lists->first[i + 1]);
        if (status == 0)
            numbered = replace(lists, &parts);
    }
    free(parts.part);
    free(parts.by);
    free(parts.to);
    return numbered;
}
