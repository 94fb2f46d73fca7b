"""Programs drawn at random: tiles that the kernel placed or left to the compiler, views, run-time addresses, meetings."""

from hypothesis import strategies as st

from neff_bench.simulator.program import Access, Buffer, Dynamic, Instruction, Program

ROWS, COLUMNS = 64, 48


def _buffers(lnc):
    shape, made = (ROWS, COLUMNS), []
    for number, kind in enumerate(("input", "input", "internal", "output")):
        made.append(Buffer(f"h{number}", "hbm", shape, "bfloat16", kind))
    for core in range(lnc):
        for number, address in enumerate((None, None, None, 0, 64, 128)):
            made.append(Buffer(f"s{number}", "sbuf", shape, "bfloat16", "internal", core, b"", address))
        for address in (None, 0):
            made.append(Buffer("p", "psum", shape, "float32", "internal", core, b"", address))
        made.append(Buffer("i", "sbuf", (1, 1), "int32", "internal", core))
    return tuple(made)


HBM, ON_CHIP = range(4), range(8)
INDEX = 8
"""Of a core's own buffers, the one that holds an index."""


@st.composite
def _view(draw, buffers, index, dynamic_index=None):
    """A block of a buffer, every column or every other one; sometimes at an address of the run time."""
    row, column = draw(st.integers(0, ROWS // 32 - 1)) * 32, draw(st.integers(0, COLUMNS - 1))
    rows, step = draw(st.sampled_from((1, 17, 32))), draw(st.sampled_from((1, 2)))
    columns = draw(st.integers(1, (COLUMNS - 1 - column) // step + 1))
    dynamic = ()
    if dynamic_index is not None and draw(st.integers(0, 9)) == 0:
        dynamic = (Dynamic(COLUMNS, Access(dynamic_index, 0, ((1, 1), (1, 1)), "int32")),)
    pattern = ((COLUMNS, rows), (step, columns))
    return Access(index, row * COLUMNS + column, pattern, buffers[index].dtype, dynamic)


@st.composite
def _instruction(draw, buffers, own, from_hlo):
    def tile(numbers=ON_CHIP):
        return draw(_view(buffers, own + draw(st.sampled_from(numbers)), own + INDEX))

    source = draw(st.integers(0, 3))
    kinds = ("load", "store", "copy", "memset", "matmul", "activation", "add")
    what = draw(st.sampled_from(kinds if from_hlo else (*kinds, "transpose")))
    match what:
        case "load" | "store":
            hbm = draw(_view(buffers, draw(st.sampled_from(HBM)), own + INDEX))
            to, of = (tile(), hbm) if what == "load" else (hbm, tile())
            attributes = draw(st.sampled_from(({}, {}, {"dge_mode": "none"})))
            engine = draw(st.sampled_from(("sync", "gpsimd", "scalar")))
            return Instruction("dma_copy", engine, {"dst": to}, {"src": of}, attributes, source)
        case "copy":
            engine = draw(st.sampled_from(("vector", "scalar", "gpsimd")))
            return Instruction("tensor_copy", engine, {"dst": tile()}, {"src": tile()}, {}, source)
        case "memset":
            value = draw(st.sampled_from((0.0, 1.0)))
            return Instruction("memset", "gpsimd", {"dst": tile()}, {}, {"value": value}, source)
        case "matmul":
            operands = {"stationary": tile(), "moving": tile()}
            return Instruction("nc_matmul", "tensor", {"dst": tile((6, 7))}, operands, {}, source)
        case "transpose":
            return Instruction("nc_transpose", "tensor", {"dst": tile((6, 7))}, {"data": tile()}, {}, source)
        case "activation":
            function = {"op": draw(st.sampled_from(("exp", "gelu", "copy", "silu", "tanh")))}
            return Instruction("activation", "scalar", {"dst": tile()}, {"data": tile()}, function, source)
    operands = {"data1": tile(), "data2": tile()}
    return Instruction("tensor_tensor", "vector", {"dst": tile()}, operands, {"op": "add"}, source)


@st.composite
def programs(draw, most=40):
    """A program of one or two cores with up to `most` instructions on each."""
    lnc = draw(st.sampled_from((1, 2)))
    flops = draw(st.sampled_from((None, None, 1)))  # with a number, lowered as an HLO graph is
    buffers = _buffers(lnc)
    per_core = (len(buffers) - len(HBM)) // lnc
    barriers = draw(st.integers(0, 2)) if lnc == 2 else 0
    cores = []
    for core in range(lnc):
        own = len(HBM) + core * per_core
        steps = draw(st.lists(_instruction(buffers, own, flops is not None), max_size=most))
        for number in range(barriers):
            reads = {"data": draw(_view(buffers, draw(st.sampled_from(HBM))))}
            met = Instruction("core_barrier", "gpsimd", {}, reads, {"cores": [0, 1], "sync": number})
            steps.insert(draw(st.integers(0, len(steps))), met)
        cores.append(tuple(steps))
    sources = ("", "a.py:1", "a.py:2", "a.py:3")
    kept = draw(st.booleans())
    return Program("random", "trn2", lnc, buffers, (0, 1), (3,), tuple(cores), sources, flops, keeps_weights=kept)
