"""What an NTFF holds beside its records, by the numbers of its fields."""

import pytest

from neff_bench.parsers.container import CORE_MAX, EXECUTION_PS_MAX, read_container
from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.formats.ntff import dma_kind, family_of, trace_name, trace_path
from neff_bench.parsers.trace import MemoryUse
from tests.parsers.small_files import UUID, message

CODE = b"\x02" + bytes(63)
WINDOW = (15, message((1, UUID), (2, 100), (3, 500)))


def core(number=0, *more):
    return (4, message((4, message((1, message((1, "sg00"), (3, number), *more))))))


def file_of(*fields, version=6, data=b"", length=None):
    metadata = message(*fields)
    head = bytes([version]) + (len(metadata) if length is None else length).to_bytes(7, "little") + bytes(120)
    return head + metadata + data


@pytest.fixture
def read(write):
    return lambda *fields, **more: read_container(write("a.ntff", file_of(*fields, **more)))


def refusal(read, *fields, **more):
    with pytest.raises(ParseError) as caught:
        read(*fields, **more)
    return caught.value.offset, caught.value.what


def test_metadata_is_read_by_its_field_numbers(read):
    stream = (4, message((1, 3), (2, 0x8000), (7, 0), (8, 64)))
    queue, memory = (7, message((1, 17), (2, 5), (4, "qSP"))), (11, message((2, 4096), (3, "io")))
    inside = (6, message((1, 0), (3, 0), (5, 64), (6, 16)))
    found = read(
        (1, "/i-0123456789abcdef0/file.neff"), (2, b"short"), core(2, stream, queue, memory, inside, (14, 77)), core(3, (14, 99)),
        (8, message((1, 2), (2, 30), (3, 51))), (9, "trn2.3xlarge"), (11, message((1, 2), (2, 1), (3, 0))), (12, message((1, 7))),
        (13, message((1, 0), (2, 0), (3, 16))), (13, message((1, 1), (2, 4), (3, 64))), WINDOW,
        (16, message((1, 4), (3, 1), (5, 80), (6, 32), (7, 3))), (16, message((1, 1), (5, 1 << 40), (6, 0), (7, 3))),
        data=CODE + bytes(48),
    )  # fmt: skip
    assert found.version == 6 and found.uuid == UUID and found.family == "trn2"
    assert found.texts == {
        "neff_name": "/i-.../file.neff", "instance_type": "trn2.3xlarge", "runtime_version": "2.30.51",
        "driver_version": "2.1.0", "collectives_version": "7.0.0",
    }  # fmt: skip
    [only] = found.streams
    assert (only.core, only.engine, only.address, only.size_bytes, bytes(only.read())) == (2, 3, 0x8000, 64, CODE)
    assert found.queues == {(17, 5): "qSP"} and found.memory == (MemoryUse(2, "io", 4096),)
    assert [(one.core, one.kind, one.unit, one.records.size_bytes) for one in found.sections] == [
        (2, 0, 0, 16),
        (3, 4, 1, 32),
    ]
    assert (found.window, found.total_time_ps, found.undecoded) == ((100, 500), 400, {})
    assert found.full_buffers == ("instruction",)


def test_versions_without_a_window_have_the_time_of_their_slowest_core_and_embed_their_streams(read):
    found = read(
        (2, b"\1" * 20), core(0, (4, message((1, 0), (3, CODE)))), core(1, (14, 99)), core(2, (14, 7)), version=5
    )
    assert (found.window, found.total_time_ps, found.uuid) == (None, 99, b"\1" * 16)
    assert bytes(found.streams[0].read()) == CODE and found.streams[0].size_bytes == 64
    assert read(core(0), version=4).total_time_ps is None
    assert read(core(0), version=4).texts == dict.fromkeys(found.texts)


def test_executions_before_the_last_are_counted(read):
    found = read(core(0), (15, message((1, b"no"), (2, 1), (3, 9))), WINDOW)
    assert found.undecoded == {"executions before the last one": 1} and found.window == (100, 500)
    assert found.uuid == UUID


def test_the_whole_of_a_buffer_is_taken_where_records_fill_it(read):
    for size, full in ((15, ("DMA",)), (16, ("DMA",)), (17, ()), (0, ())):
        buffer = (13, message((1, 1), (2, 4), (3, size)))
        assert (
            read(core(0), WINDOW, buffer, (16, message((1, 4), (3, 1), (6, 16))), data=bytes(16)).full_buffers == full
        )


@pytest.mark.parametrize(
    ("fields", "more", "offset", "said"),
    [
        ((core(0),), {}, 128, "version 6 without an execution window (metadata field 15)"),
        ((WINDOW,), {}, 128, "the metadata names no core: damaged, or nothing was executed"),
        ((core(CORE_MAX + 1), WINDOW), {}, 128, "a core number 256: the metadata is damaged"),
        ((core(0), WINDOW, (16, message((6, 0), (7, 256)))), {}, 128, "a core number 256: the metadata is damaged"),
        ((core(0), (15, message((2, 0), (3, 9)))), {}, 128, "the execution lasts from 0 to 9 ps: the metadata is damaged"),
        ((core(0), (15, message((2, 9), (3, 8)))), {}, 128, "the execution lasts from 9 to 8 ps: the metadata is damaged"),
        ((core(0), (15, message((2, 1), (3, EXECUTION_PS_MAX + 1)))), {}, 128, f"the execution lasts from 1 to {EXECUTION_PS_MAX + 1} ps: the metadata is damaged"),
        ((core(0), WINDOW), {"length": 10**6}, 1, None),
        ((core(0, (4, message((1, 5), (8, 64)))), WINDOW), {"data": CODE}, 128, "an instruction stream of engine 5, core 0, 64 bytes: not one this reader knows"),
        ((core(0, (4, message((1, 4), (8, 48)))), WINDOW), {"data": CODE}, 128, "an instruction stream of engine 4, core 0, 48 bytes: not one this reader knows"),
        ((core(0), WINDOW, (16, message((6, 16))), (16, message((6, 16)))), {"data": bytes(16)}, 128, "sections or streams overlap: the metadata is damaged"),
    ],
)  # fmt: skip
def test_metadata_that_cannot_be_is_refused(read, fields, more, offset, said):
    found = refusal(read, *fields, **more)
    assert found[0] == offset and (said is None or found[1] == said)


def test_a_section_lies_inside_the_file_and_has_whole_records(read):
    for offset, length in ((0, 15), (1, 16), (16, 16)):
        fields = (core(0), WINDOW, (16, message((5, offset), (6, length))))
        place, said = refusal(read, *fields, data=bytes(16))
        start = len(file_of(*fields))
        assert (place, said) == (
            min(start + offset, start + 16),
            f"a section of {length} bytes at {start + offset} in a file of {start + 16}: truncated or damaged",
        )


@pytest.mark.parametrize(("data", "offset"), [(b"\6" * 100, 100), (b"\6" + bytes(127), 1)])
def test_a_short_file_is_no_trace(write, data, offset):
    with pytest.raises(ParseError) as caught:
        read_container(write("a.ntff", data))
    assert caught.value.offset == offset


def test_a_core_may_have_the_largest_number_and_a_pass_the_longest_time(read):
    assert read(core(CORE_MAX), (15, message((2, 1), (3, EXECUTION_PS_MAX)))).total_time_ps == EXECUTION_PS_MAX - 1
    assert read(core(0), (15, message((2, 5), (3, 5)))).total_time_ps == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [("qSPDynamicHW", "hardware_dynamic"), ("qPoolDynamic", "software_dynamic"), ("qSPHW", "static"), ("", "static")],
)
def test_the_name_of_a_queue_tells_what_it_carries(name, kind):
    assert dma_kind(name) == kind


@pytest.mark.parametrize(
    ("instance", "family"),
    [("trn2.3xlarge", "trn2"), ("trn2n.48xlarge", "trn2"), ("inf2.xlarge", "inf2"), ("p5", None), (None, None)],
)
def test_the_family_of_an_instance(instance, family):
    assert family_of(instance) == family


@pytest.mark.parametrize(
    ("rank", "execution", "name"),
    [(None, 1, "p.ntff"), (None, 2, "p_exec_2.ntff"), (0, 1, "p_rank_0.ntff"), (3, 12, "p_rank_3_exec_12.ntff")],
)
def test_traces_are_named_by_rank_and_execution(rank, execution, name):
    assert trace_path("p.ntff", execution, rank) == name
    assert trace_name(name.removesuffix(".ntff")) == ("p", rank, execution if execution > 1 else None)
    assert trace_path("p", 2) == "p_exec_2.ntff" and trace_name("") == ("", None, None)
