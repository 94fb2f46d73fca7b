"""Cuts rectangles into parts: each is touched by the same rectangles. See `neff_bench.simulator.compiler.program.parts`."""

from __future__ import annotations

from neff_bench.simulator.native import cython
from neff_bench.simulator.native.edges import sort

CELLS = cython.declare(cython.longlong, 8)
"""Cells along a side of the largest rectangle, at most."""
ROWS = cython.declare(cython.longlong, 1)
COLUMNS = cython.declare(cython.longlong, 3)
"""Where a rectangle's rows and columns begin among its five numbers: storage, rows [r0, r1), columns [c0, c1)."""

# The `count` rectangles, five numbers each. least, most, by storage: the smallest and the largest height, and width, with 0 for no rectangle.
# member: the rectangles group by group; begins: 1 where a group begins, and at the end. numbers: room for two of each rectangle.
# box, by rectangle: rows, columns, rows of cells and columns of cells, half-open, in the grid of its group. sizes: the columns, the
# rows of cells and the columns of cells of that grid. base: a number from which on those of its places are no other group's.
Layout = cython.struct(
    count=cython.longlong, regions=cython.p_const_longlong, least=cython.p_longlong, most=cython.p_longlong,
    member=cython.p_longlong, begins=cython.p_longlong, numbers=cython.p_longlong, box=cython.p_longlong,
    sizes=cython.p_longlong, base=cython.p_longlong,
)  # fmt: skip

# box, sizes, base: as laid out. place, part_of: a table of `room` places, -1 where there is none, and the part of each so far. seen, next, by
# part: the rectangle that divided it last, and the part that this one has of it. first, part: rectangle i has part[first[i] : first[i + 1]].
Cut = cython.struct(
    count=cython.longlong, room=cython.longlong, box=cython.p_const_longlong, sizes=cython.p_const_longlong,
    base=cython.p_const_longlong, place=cython.p_longlong, part_of=cython.p_longlong, seen=cython.p_longlong,
    next=cython.p_longlong, first=cython.p_longlong, part=cython.p_longlong,
)  # fmt: skip


def lay_out(layout: cython.size_t) -> cython.longlong:
    """Put each rectangle into the grid of its group; return how many places all of them have."""
    with cython.nogil:
        places = _lay_out(cython.cast(cython.pointer[Layout], layout))
    return places  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _lay_out(s: cython.pointer[Layout]) -> cython.longlong:
    for i in range(s.count):
        s.member[i] = i
        _measure(s, i, ROWS)
        _measure(s, i, COLUMNS)
    s.begins[s.count] = 1
    _split(s, 0)  # by storage
    unsplit: cython.longlong = 0
    side: cython.longlong = ROWS
    while unsplit < 2:
        unsplit = 0 if _split(s, side) > 0 else unsplit + 1
        side = COLUMNS if side == ROWS else ROWS
    base: cython.longlong = 0
    start: cython.longlong = 0
    for at in range(1, s.count + 1):
        if s.begins[at]:
            base += _put_group(s, start, at, base)
            start = at
    places: cython.longlong = 0
    for i in range(s.count):
        area: cython.longlong = 1
        for edge in range(8 * i, 8 * i + 8, 2):
            area *= s.box[edge + 1] - s.box[edge]
        places += area
    return places


@cython.inner
def _measure(s: cython.pointer[Layout], i: cython.longlong, side: cython.longlong) -> cython.void:
    size = s.regions[5 * i + side + 1] - s.regions[5 * i + side]
    at = 2 * s.regions[5 * i] + side // COLUMNS
    s.least[at] = size if s.least[at] == 0 else min(s.least[at], size)
    s.most[at] = max(s.most[at], size)


@cython.inner
def _split(s: cython.pointer[Layout], side: cython.longlong) -> cython.longlong:
    """Split groups where no rectangle reaches across along a side, so that rectangles of different groups share nothing; return how many splits there were."""
    made: cython.longlong = 0
    start: cython.longlong = 0
    for end in range(1, s.count + 1):
        if not s.begins[end]:
            continue
        for at in range(start, end):
            s.numbers[at - start] = s.regions[5 * s.member[at] + side] * s.count + s.member[at]
        sort(s.numbers, end - start)
        reach: cython.longlong = -1
        for at in range(start, end):
            i = s.numbers[at - start] % s.count
            if at > start and s.regions[5 * i + side] >= reach:
                s.begins[at] = 1
                made += 1
            reach = max(reach, s.regions[5 * i + side + 1] if side > 0 else s.regions[5 * i] + 1)
            s.member[at] = i
        start = end
    return made


@cython.inner
def _put_group(
    s: cython.pointer[Layout], start: cython.longlong, end: cython.longlong, base: cython.longlong
) -> cython.longlong:
    """Lays the grid of a group; how many places it has. A rectangle that nothing overlaps is one place."""
    height: cython.longlong = 1
    width: cython.longlong = 1
    cells_high: cython.longlong = 1
    cells_wide: cython.longlong = 1
    if end - start > 1:
        height = _put_between_ends(s, start, end, ROWS)
        width = _put_between_ends(s, start, end, COLUMNS)
        cells_high = _put_in_cells(s, start, end, ROWS)
        cells_wide = _put_in_cells(s, start, end, COLUMNS)
    else:
        for edge in range(8 * s.member[start], 8 * s.member[start] + 8, 2):
            s.box[edge] = 0
            s.box[edge + 1] = 1
    for at in range(start, end):
        i = s.member[at]
        s.sizes[3 * i] = width
        s.sizes[3 * i + 1] = cells_high
        s.sizes[3 * i + 2] = cells_wide
        s.base[i] = base
    return height * width * cells_high * cells_wide


@cython.inner
def _put_between_ends(
    s: cython.pointer[Layout], start: cython.longlong, end: cython.longlong, side: cython.longlong
) -> cython.longlong:
    """Turn the ranges of a group into places among all their ends; return how many places there are."""
    count: cython.longlong = 2 * (end - start)
    for at in range(start, end):
        s.numbers[2 * (at - start)] = s.regions[5 * s.member[at] + side]
        s.numbers[2 * (at - start) + 1] = s.regions[5 * s.member[at] + side + 1]
    sort(s.numbers, count)
    made: cython.longlong = 0
    for at in range(count):
        if at == 0 or s.numbers[at] != s.numbers[made - 1]:
            s.numbers[made] = s.numbers[at]
            made += 1
    for at in range(start, end):
        i = s.member[at]
        s.box[8 * i + side - 1] = _place_of(s.numbers, made, s.regions[5 * i + side])
        s.box[8 * i + side] = _place_of(s.numbers, made, s.regions[5 * i + side + 1])
    return made


@cython.inner
def _place_of(numbers: cython.p_longlong, count: cython.longlong, number: cython.longlong) -> cython.longlong:
    low: cython.longlong = 0
    while count > 1:
        half = count // 2
        if numbers[low + half] <= number:
            low += half
        count -= half
    return low


@cython.inner
def _put_in_cells(
    s: cython.pointer[Layout], start: cython.longlong, end: cython.longlong, side: cython.longlong
) -> cython.longlong:
    """Turn the ranges of a group into the cells that they touch, cells of about the size of the storage's rectangles; return how many cells there are."""
    of_storage = 2 * s.regions[5 * s.member[start]] + side // COLUMNS
    cell: cython.longlong = max(s.least[of_storage], (s.most[of_storage] + CELLS - 1) // CELLS, 1)
    lowest: cython.longlong = s.regions[5 * s.member[start] + side] // cell
    for at in range(start, end):
        lowest = min(lowest, s.regions[5 * s.member[at] + side] // cell)
    most: cython.longlong = 1
    for at in range(start, end):
        i = s.member[at]
        s.box[8 * i + side + 3] = s.regions[5 * i + side] // cell - lowest
        s.box[8 * i + side + 4] = (s.regions[5 * i + side + 1] - 1) // cell + 1 - lowest
        most = max(most, s.box[8 * i + side + 4])
    return most


def cut_all(cut: cython.size_t) -> cython.longlong:
    """Find the parts of all rectangles; return a number above all of them."""
    with cython.nogil:
        parts = _cut_all(cython.cast(cython.pointer[Cut], cut))
    return parts  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _cut_all(s: cython.pointer[Cut]) -> cython.longlong:
    parts: cython.longlong = 1  # at first all places are part 0, which no rectangle has
    for i in range(s.count):
        parts = _divide(s, i, parts)
    made: cython.longlong = 0
    start: cython.longlong = 0
    for i in range(s.count):
        end = s.first[i + 1]
        for at in range(start, end):
            part = s.part_of[s.part[at]]
            if s.next[part] != -2 - i:
                s.next[part] = -2 - i
                s.part[made] = part
                made += 1
        start = end
        s.first[i + 1] = made
    return parts


@cython.inner
def _divide(s: cython.pointer[Cut], i: cython.longlong, parts: cython.longlong) -> cython.longlong:
    """Make new parts of what a rectangle has of the parts so far; return how many parts there were ever."""
    at = s.first[i]
    for row in range(s.box[8 * i], s.box[8 * i + 1]):
        for column in range(s.box[8 * i + 2], s.box[8 * i + 3]):
            for cell_row in range(s.box[8 * i + 4], s.box[8 * i + 5]):
                for cell_column in range(s.box[8 * i + 6], s.box[8 * i + 7]):
                    cell = (row * s.sizes[3 * i] + column) * s.sizes[3 * i + 1] + cell_row
                    slot = _slot(s, s.base[i] + cell * s.sizes[3 * i + 2] + cell_column)
                    part = s.part_of[slot]
                    if s.seen[part] != i:
                        s.seen[part] = i
                        s.next[part] = parts
                        parts += 1
                    s.part_of[slot] = s.next[part]
                    s.part[at] = slot
                    at += 1
    s.first[i + 1] = at
    return parts


@cython.inner
def _slot(s: cython.pointer[Cut], place: cython.longlong) -> cython.longlong:
    """Return where a place is in the table."""
    slot = place % s.room
    while s.place[slot] >= 0 and s.place[slot] != place:
        slot = (slot + 1) % s.room
    s.place[slot] = place
    return slot
