import ml_dtypes
import numpy as np
import pytest

from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.machine.memory import Memory
from neff_bench.simulator.program import Access, decode, encode

RNG = np.random.default_rng(7)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def copy_program(builder, shape=(4, 8), dtype="float32"):
    b = builder()
    b.copy(b.output("y", shape, dtype), b.input("x", shape, dtype))
    return b


def test_a_copy_returns_its_input(builder):
    x = normal(4, 8)
    np.testing.assert_array_equal(copy_program(builder).run(x=x)["y"], x)


def test_a_program_runs_the_same_after_encoding(builder):
    from neff_bench.simulator.execution.execute import execute

    x = normal(4, 8)
    program = decode(encode(copy_program(builder).program()))
    np.testing.assert_array_equal(execute(program, {"x": x})["y"], x)


def test_a_missing_input_is_zero(builder):
    np.testing.assert_array_equal(copy_program(builder).run()["y"], np.zeros((4, 8), np.float32))


def test_inputs_are_not_changed(builder):
    b = builder()
    x = b.input("x", (2, 2), "float32")
    b.copy(b.output("y", (2, 2), "float32"), x)
    b.do("memset", {"dst": x}, value=5)
    given = np.ones((2, 2), np.float32)
    b.run(x=given)
    assert (given == 1).all()


def test_an_input_that_is_returned_is_updated_in_the_result_only(builder):
    b = builder()
    x = b.input("x", (2, 2), "float32")
    b.outputs.append(x.buffer)
    b.do("memset", {"dst": Access(x.buffer, 0, ((1, 2),), "float32")}, value=5)
    given = np.ones((2, 2), np.float32)
    result = b.run(x=given)["x"]
    np.testing.assert_array_equal(result, [[5, 5], [1, 1]])
    assert (given == 1).all()


def test_a_result_is_never_the_callers_array(builder):
    b = builder()
    b.outputs.append(b.input("x", (2, 2), "float32").buffer)
    given = np.ones((2, 2), np.float32)
    assert not np.shares_memory(b.run(x=given)["x"], given)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"z": np.zeros((4, 8), np.float32)}, "no input 'z'; the program has x"),
        ({"x": np.zeros((4, 7), np.float32)}, r"input 'x' has 112 bytes, expected 128 \(\[4, 8\] float32\)"),
        ({"x": np.zeros((4, 8), np.int32)}, "input 'x' is int32, expected float32"),
    ],
)
def test_an_input_that_does_not_fit_is_named(builder, inputs, message):
    with pytest.raises(ExecutionError, match=message):
        copy_program(builder).run(**inputs)


def test_raw_bytes_serve_as_input(builder):
    x = normal(4, 8)
    y = copy_program(builder).run(x=x.view(np.uint8))["y"]
    np.testing.assert_array_equal(y, x)


def test_an_operation_that_is_not_modelled_names_itself_and_its_line(builder):
    b = copy_program(builder)
    b.do("teleport", {}, line="kernel.py:12")
    with pytest.raises(ExecutionError, match="kernel.py:12: operation 'teleport' is not modelled"):
        b.run()


def test_operands_that_do_not_fit_name_the_line(builder):
    b = builder()
    x = b.input("x", (4, 8), "float32")
    b.copy(b.output("y", (4, 9), "float32"), x, line="kernel.py:3")
    with pytest.raises(ExecutionError, match=r"kernel.py:3: dma_copy: dst holds \(4, 9\) elements"):
        b.run()


def test_an_output_that_nothing_writes_is_zero_and_noted(builder):
    b = builder()
    b.output("y", (4,), "float32")
    np.testing.assert_array_equal(b.run()["y"], np.zeros(4))
    assert [finding.text for finding in b.findings] == ["output y was never written"]


def test_an_output_written_in_part_is_noted(builder):
    b = builder()
    y = b.output("y", (4, 8), "float32")
    b.copy(Access(y.buffer, 0, ((8, 2), (1, 8)), "float32"), b.input("x", (2, 8), "float32"), line="k.py:2")
    written = b.run(x=np.ones((2, 8), np.float32))["y"]
    np.testing.assert_array_equal(written[:, 0], [1, 1, 0, 0])
    assert [str(finding) for finding in b.findings] == ["2 of 4 rows of y were never written (k.py:2)"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2", "int32"])
def test_reading_memory_before_it_is_written_is_noted(builder, dtype):
    b = builder()
    tile = b.sbuf((4, 8), dtype)
    half = Access(tile.buffer, 0, ((8, 4), (1, 4)), dtype)
    b.do("memset", {"dst": half}, value=1)
    b.copy(b.output("y", (4, 8), dtype), tile, line="k.py:4")
    b.run()
    [finding] = b.findings
    assert (finding.kind, finding.file, finding.line) == ("unwritten-read", "k.py", 4)
    assert finding.text.startswith("dma_copy reads src 'b0' where nothing wrote it; 16 of 32 values of y are")


def test_nan_from_arithmetic_is_told_apart(builder):
    b = builder()
    tile = b.sbuf((4, 8), "float32")
    b.do("memset", {"dst": tile}, value=float("inf"))
    b.do("tensor_tensor", {"dst": tile}, {"data1": tile, "data2": tile}, op="subtract", line="k.py:7")
    b.copy(b.output("y", (4, 8), "float32"), tile)
    b.run()
    [finding] = b.findings
    assert (finding.kind, finding.line) == ("not-finite", 7)
    assert finding.text == "32 of 32 values of y are NaN, though no input is; the first comes from tensor_tensor"


def test_a_clean_run_has_no_notes(builder):
    b = copy_program(builder)
    b.run()
    assert b.findings == []


def test_an_access_outside_its_buffer_is_an_error(builder):
    b = builder()
    x = b.input("x", (4, 8), "float32")
    b.copy(b.output("y", (4, 8), "float32"), Access(x.buffer, 8, ((8, 4), (1, 8)), "float32"), line="k.py:2")
    with pytest.raises(ExecutionError, match="k.py:2: x: access reaches element 39 of 32 float32"):
        b.run()


def test_an_access_that_runs_into_the_next_partition_is_an_error(builder):
    b = builder()
    tile = b.sbuf((4, 8), "float32")
    b.do("memset", {"dst": Access(tile.buffer, 4, ((8, 4), (1, 8)), "float32")}, value=0, line="k.py:5")
    b.copy(b.output("y", (4, 8), "float32"), tile)
    with pytest.raises(ExecutionError, match="access reaches element 11 of a partition that holds 8"):
        b.run()


def test_an_access_beyond_the_last_partition_is_an_error(builder):
    b = builder()
    tile = b.sbuf((4, 8), "float32")
    b.do("memset", {"dst": Access(tile.buffer, 8, ((8, 4), (1, 8)), "float32")}, value=0)
    with pytest.raises(ExecutionError, match="access reaches partition 4 of 4"):
        b.run()


def test_a_view_reinterprets_bytes(builder):
    x = normal(4, 8)
    b = builder()
    tile = b.load("x", x)
    b.copy(b.output("y", (4, 16), "bfloat16"), Access(tile.buffer, 0, ((16, 4), (1, 16)), "bfloat16"))
    np.testing.assert_array_equal(b.run(x=x)["y"].view(np.uint16), x.view(np.uint16))


def test_a_constant_buffer_holds_its_data(builder):
    b = builder()
    data = np.arange(8, dtype=np.float32).tobytes()
    b.copy(b.output("y", (8,), "float32"), b.buffer("hbm", (8,), "float32", "constant", data=data))
    np.testing.assert_array_equal(b.run()["y"], np.arange(8, dtype=np.float32))


def test_an_offset_is_read_at_run_time(builder, dynamic):
    x = normal(16, 8)
    b = builder()
    source = b.input("x", (16, 8), "float32")
    index = b.load("i", np.array([[5]], np.int32))
    rows = dynamic(source, 8, index, pattern=((8, 4), (1, 8)))
    b.copy(b.output("y", (4, 8), "float32"), rows)
    np.testing.assert_array_equal(b.run(x=x, i=np.array([[5]], np.int32))["y"], x[5:9])


def exchange(builder, sync=(0, 0), second=True):
    b = builder(lnc=2)
    for core in (0, 1):
        sent, received = b.sbuf((2, 4), "float32", core), b.sbuf((2, 4), "float32", core)
        b.copy(sent, b.input(f"x{core}", (2, 4), "float32"), core)
        if core == 0 or second:
            b.do(
                "sendrecv",
                {"dst": received},
                {"src": sent},
                "gpsimd",
                core,
                f"k.py:{core + 10}",
                send_to_rank=1 - core,
                recv_from_rank=1 - core,
                sync=sync[core],
            )
        else:
            b.do("memset", {"dst": received}, core=core, value=0)
        b.copy(b.output(f"y{core}", (2, 4), "float32"), received, core)
    return b


def test_two_cores_exchange_tiles(builder):
    x0, x1 = normal(2, 4), normal(2, 4)
    out = exchange(builder).run(x0=x0, x1=x1)
    np.testing.assert_array_equal(out["y0"], x1)
    np.testing.assert_array_equal(out["y1"], x0)


def test_cores_at_different_meetings_wait_for_ever(builder):
    with pytest.raises(ExecutionError, match=r"wait for ever: core 0 at sendrecv \(k.py:10\).*core 1 at .*\(k.py:11\)"):
        exchange(builder, sync=(0, 1)).run()


def test_a_core_waiting_for_one_that_ended_is_an_error(builder):
    with pytest.raises(ExecutionError, match=r"core 0 at sendrecv \(k.py:10\); core 1 has ended"):
        exchange(builder, second=False).run()


def test_cores_without_a_meeting_advance_together(builder):
    b = builder(lnc=2)
    y = b.output("y", (2, 4), "float32")
    for core in (0, 1):
        zeros, ones = b.sbuf((2, 4), "float32", core), b.sbuf((1, 4), "float32", core)
        b.do("memset", {"dst": zeros}, core=core, value=0)
        b.do("memset", {"dst": ones}, core=core, value=core + 1)
        b.copy(y, zeros, core)
        b.copy(Access(y.buffer, 4 * core, ((4, 1), (1, 4)), "float32"), ones, core)
    np.testing.assert_array_equal(b.run()["y"], [[1] * 4, [2] * 4])


def test_a_barrier_makes_the_other_cores_writes_visible(builder):
    b = builder(lnc=2)
    shared = b.buffer("hbm", (2, 4), "float32")
    for core in (0, 1):
        half = Access(shared.buffer, 4 * core, ((4, 1), (1, 4)), "float32")
        b.copy(half, b.input(f"x{core}", (1, 4), "float32"), core)
        b.do("core_barrier", {}, {"data": shared}, "gpsimd", core, sync=0)
        b.copy(b.output(f"y{core}", (2, 4), "float32"), shared, core)
    x0, x1 = normal(1, 4), normal(1, 4)
    out = b.run(x0=x0, x1=x1)
    for name in ("y0", "y1"):
        np.testing.assert_array_equal(out[name], np.concatenate([x0, x1]))


def halves(builder, barrier, columns=False, read_own=False):
    """Each core writes half of a shared tensor, and reads all of it or its own half."""
    b = builder(lnc=2)
    shared = b.buffer("hbm", (4, 8), "float32", name="shared")
    for core in (0, 1):
        half = ((8, 4), (1, 4)) if columns else ((8, 2), (1, 8))
        own = Access(shared.buffer, core * (4 if columns else 16), half, "float32")
        b.copy(own, b.input(f"x{core}", own.shape, "float32"), core, line=f"k.py:{core + 1}")
        if barrier:
            b.do("core_barrier", {"data": shared}, {"data": shared}, "gpsimd", core, sync=0)
        read = own if read_own else shared
        b.copy(b.output(f"y{core}", read.shape, "float32"), read, core, line=f"k.py:{core + 11}")
    b.run(x0=np.ones(own.shape, np.float32), x1=np.ones(own.shape, np.float32))
    return [str(finding) for finding in b.findings if finding.kind == "race"]


def test_a_missing_barrier_is_noted_with_both_lines(builder):
    notes = halves(builder, barrier=False)
    assert len(notes) == 2
    assert notes[0].startswith("one core writes shared while the other reads it (k.py:12): no core_barrier")
    assert notes[0].endswith("(k.py:1)") and "(k.py:11)" in notes[1] and notes[1].endswith("(k.py:2)")


@pytest.mark.parametrize("columns", [False, True])
def test_a_barrier_or_disjoint_parts_give_no_note(builder, columns):
    assert halves(builder, barrier=True, columns=columns) == []
    assert halves(builder, barrier=False, columns=columns, read_own=True) == []


def test_a_tiled_product_agrees_with_numpy(builder):
    x, w = normal(256, 128, dtype=ml_dtypes.bfloat16), normal(256, 512, dtype=ml_dtypes.bfloat16)
    b = builder()
    xs, ws = b.input("x", x.shape, "bfloat16"), b.input("w", w.shape, "bfloat16")
    product = b.psum((128, 512))
    for k in range(2):
        stationary, moving = b.sbuf((128, 128), "bfloat16"), b.sbuf((128, 512), "bfloat16")
        b.copy(stationary, Access(xs.buffer, k * 128 * 128, ((128, 128), (1, 128)), "bfloat16"))
        b.copy(moving, Access(ws.buffer, k * 128 * 512, ((512, 128), (1, 512)), "bfloat16"))
        b.do("nc_matmul", {"dst": product}, {"stationary": stationary, "moving": moving}, "tensor")
    result = b.sbuf((128, 512), "bfloat16")
    b.do("tensor_copy", {"dst": result}, {"src": product})
    b.copy(b.output("y", (128, 512), "bfloat16"), result)
    expected = x.astype(np.float64).T @ w.astype(np.float64)
    np.testing.assert_allclose(b.run(x=x, w=w)["y"].astype(np.float64), expected, rtol=2**-7, atol=1e-2)


def test_memory_is_freed_after_its_last_use(builder):
    b = builder()
    x = b.input("x", (4, 8), "float32")
    for _ in range(3):
        tile = b.sbuf((4, 8), "float32")
        b.copy(tile, x)
        b.do("tensor_copy", {"dst": tile}, {"src": tile})
    program = b.program()
    memory = Memory(program, ())
    for position, instruction in enumerate(program.cores[0]):
        memory.write(instruction.writes["dst"], memory.read(instruction.reads["src"]))
        memory.release(0, position)
        assert memory.live_bytes <= 2 * 128
    assert memory.live_bytes == 128  # the input


def test_memory_that_both_cores_use_is_freed_when_both_are_done(builder):
    b = builder(lnc=2)
    shared = b.buffer("hbm", (4, 8), "float32")
    b.do("memset", {"dst": shared}, core=0, value=1)
    for core in (0, 1):
        b.copy(b.sbuf((4, 8), "float32", core), shared, core)
    program = b.program()
    memory = Memory(program, ())
    memory.storage(shared.buffer)
    memory.release(1, 0)
    memory.release(0, 0)
    assert memory.live_bytes == 128
    memory.release(0, 1)
    assert memory.live_bytes == 0
