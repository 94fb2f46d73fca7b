"""Which earlier instructions each instruction waits for: where it reads what another wrote, or writes what another read or wrote.

The uses are taken in program order; of each part of the memory it is known who wrote it last and who has read it since.
"""

from __future__ import annotations

from neff_bench.simulator.native import cython

FOR_WRITING = cython.declare(cython.longlong, 1)
"""The role of a use, as in `neff_bench.simulator.compiler.program.columns`."""
READ_AFTER_WRITE = cython.declare(cython.longlong, 0)
WRITE_AFTER_WRITE = cython.declare(cython.longlong, 1)
WRITE_AFTER_READ = cython.declare(cython.longlong, 2)
CONFLICTS = cython.declare(cython.longlong, 3)
SPREAD = cython.declare(cython.longlong, 1_000_003)
"""A prime number, so that neighbours come far apart in a table."""

# The views of a core, and of each buffer the storage, the bytes of a row and the rows, and where it begins in the storage (down, right). size:
# bytes of an element, by dtype. of_view: the number of each view's region. regions: the different ones, five numbers each: storage, rows
# [r0, r1), bytes [c0, c1). slots: a table of `room` numbers of regions, -1 where there is none.
Views = cython.struct(
    views=cython.longlong, room=cython.longlong, buffer=cython.p_const_longlong, offset=cython.p_const_longlong,
    dtype=cython.p_const_int, dynamic=cython.p_const_int, pattern=cython.p_const_int,
    pattern_start=cython.p_const_longlong, step=cython.p_const_longlong, length=cython.p_const_longlong, size=cython.p_const_longlong,
    storage=cython.p_const_longlong, row=cython.p_const_longlong, rows=cython.p_const_longlong,
    down=cython.p_const_longlong, right=cython.p_const_longlong, of_view=cython.p_longlong, regions=cython.p_longlong,
    slots=cython.p_longlong,
)  # fmt: skip

# The uses of a core; settles, by kind of instruction: 1 where what it reads is also written, for all that follows. of_view: regions; those of
# number r have the parts part[first[r] : first[r + 1]].
# written, read, by part: the instruction that wrote it last, and its latest reader; -1 for none. reader, next: readers, and the one
# before each. seen, by earlier instruction and conflict: the use that found it. found: edges of the instruction at hand as numbers.
# numbers: of readers, uses and found edges. start, before, conflict, operand: the edges that come out.
Uses = cython.struct(
    instructions=cython.longlong, names=cython.longlong, kind=cython.p_const_longlong, use_start=cython.p_const_longlong,
    view=cython.p_const_int, role=cython.p_const_schar, name=cython.p_const_int,
    settles=cython.p_const_longlong, of_view=cython.p_const_longlong, first=cython.p_const_longlong,
    part=cython.p_const_longlong, written=cython.p_longlong, read=cython.p_longlong, reader=cython.p_longlong,
    next=cython.p_longlong, seen=cython.p_longlong, found=cython.p_longlong, numbers=cython.p_longlong,
    start=cython.p_longlong, before=cython.p_longlong, conflict=cython.p_longlong, operand=cython.p_longlong,
)  # fmt: skip


def find_regions(views: cython.size_t) -> cython.longlong:
    """Find the region of each view; return how many different regions there are."""
    with cython.nogil:
        count = _find_regions(cython.cast(cython.pointer[Views], views))
    return count  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _find_regions(s: cython.pointer[Views]) -> cython.longlong:
    count: cython.longlong = 0
    for v in range(s.views):
        _put_region(s, v, 5 * count)
        slot: cython.longlong = 0
        for field in range(5 * count, 5 * count + 5):
            slot = (slot * SPREAD + s.regions[field]) % s.room
        while s.slots[slot] >= 0 and not _are_equal(s, 5 * s.slots[slot], 5 * count):
            slot = (slot + 1) % s.room
        if s.slots[slot] < 0:
            s.slots[slot] = count
            count += 1
        s.of_view[v] = s.slots[slot]
    return count


@cython.inner
def _are_equal(s: cython.pointer[Views], one: cython.longlong, other: cython.longlong) -> cython.bint:
    for field in range(5):  # noqa: SIM110  (a generator is a Python object)
        if s.regions[one + field] != s.regions[other + field]:
            return False
    return True


@cython.inner
def _put_region(s: cython.pointer[Views], v: cython.longlong, at: cython.longlong) -> cython.void:
    """Return the rectangle around a view. A strided view counts as the rectangle around it, and one with a run-time address as the whole buffer."""
    b = s.buffer[v]
    size = s.size[s.dtype[v]]
    row = s.row[b]
    r0: cython.longlong = 0
    r1 = s.rows[b]
    c0: cython.longlong = 0
    c1 = row
    if not s.dynamic[v]:
        r0 = s.offset[v] * size // row
        r1 = r0 + 1
        c0 = s.offset[v] * size % row
        c1 = c0 + size
        for i in range(s.pattern_start[s.pattern[v]], s.pattern_start[s.pattern[v] + 1]):
            span = s.step[i] * size * (s.length[i] - 1)
            if s.step[i] * size % row == 0:
                r0 += min(span // row, 0)
                r1 += max(span // row, 0)
            else:
                c0 += min(span, 0)
                c1 += max(span, 0)
        if c0 < 0 or c1 > row:  # it runs over the ends of rows
            r0 += c0 // row
            r1 += (c1 - 1) // row
            c0 = 0
            c1 = row
    s.regions[at] = s.storage[b]
    s.regions[at + 1] = r0 + s.down[b]
    s.regions[at + 2] = r1 + s.down[b]
    s.regions[at + 3] = c0 + s.right[b]
    s.regions[at + 4] = c1 + s.right[b]


def find_conflicts(uses: cython.size_t) -> cython.longlong:
    """Find the edges; return how many there are. There is room for two for each part of each use, and again for what settles."""
    with cython.nogil:
        count = _find_conflicts(cython.cast(cython.pointer[Uses], uses))
    return count  # noqa: RET504  (a block without the GIL returns nothing)


@cython.inner
def _find_conflicts(s: cython.pointer[Uses]) -> cython.longlong:
    count: cython.longlong = 0
    for i in range(s.instructions):
        s.start[i] = count
        s.numbers[2] = 0
        for use in range(s.use_start[i], s.use_start[i + 1]):
            _use(s, i, use, s.role[use] == FOR_WRITING)
        if s.settles[s.kind[i]]:
            for use in range(s.use_start[i], s.use_start[i + 1]):
                if s.role[use] != FOR_WRITING:
                    _use(s, i, use, True)
        sort(s.found, s.numbers[2])
        for at in range(s.numbers[2]):
            if at == 0 or s.found[at] != s.found[at - 1]:
                s.before[count] = s.found[at] // s.names // CONFLICTS
                s.conflict[count] = s.found[at] // s.names % CONFLICTS
                s.operand[count] = s.found[at] % s.names
                count += 1
    s.start[s.instructions] = count
    return count


@cython.inner
def _use(s: cython.pointer[Uses], i: cython.longlong, use: cython.longlong, writes: cython.bint) -> cython.void:
    """Read or write the parts of one use."""
    region = s.of_view[s.view[use]]
    s.numbers[1] += 1
    for at in range(s.first[region], s.first[region + 1]):
        part = s.part[at]
        _wait_for(s, i, s.written[part], WRITE_AFTER_WRITE if writes else READ_AFTER_WRITE, s.name[use])
        reader = s.read[part]
        if writes:
            while reader >= 0:
                _wait_for(s, i, s.reader[reader], WRITE_AFTER_READ, s.name[use])
                reader = s.next[reader]
            s.read[part] = -1
            s.written[part] = i
        elif reader < 0 or s.reader[reader] != i:
            s.read[part] = s.numbers[0]
            s.reader[s.numbers[0]] = i
            s.next[s.numbers[0]] = reader
            s.numbers[0] += 1


@cython.inner
def _wait_for(
    s: cython.pointer[Uses], i: cython.longlong, before: cython.longlong, conflict: cython.longlong, operand: cython.longlong
) -> cython.void:  # fmt: skip
    """Note that the current instruction waits for `before`, because of an operand."""
    key = before * CONFLICTS + conflict
    if before >= 0 and before != i and s.seen[key] != s.numbers[1]:
        s.seen[key] = s.numbers[1]
        s.found[s.numbers[2]] = key * s.names + operand
        s.numbers[2] += 1


@cython.inner
def sort(numbers: cython.p_longlong, count: cython.longlong) -> cython.void:
    """Sort the edges of an instruction. They are few, except for what is written after many have read it: a shellsort."""
    gap: cython.longlong = 1 if count < 16 else count * 5 // 11
    while gap > 0:
        for at in range(gap, count):
            number = numbers[at]
            place = at
            while place >= gap and numbers[place - gap] > number:
                numbers[place] = numbers[place - gap]
                place -= gap
            numbers[place] = number
        gap = 1 if gap == 2 else gap * 5 // 11  # the last one is 1
