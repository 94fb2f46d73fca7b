"""The line of an instruction, and the lines that called it."""

from neff_bench.doors.estimation import record_kernel

KERNEL = '''
import nki
import nki.isa as nisa
import nki.language as nl


def fill(tile):
    nisa.memset(dst=tile, value=0.0)


def both(tile):
    fill(tile)
    fill(tile)


def zeros(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    both(tile)
    fill(tile)
    nisa.dma_copy(dst=out, src=tile)
    return out
'''


RESUMED = '''
import nki
import nki.isa as nisa
import nki.language as nl


def fill(tile):
    nisa.memset(dst=tile, value=0.0)


def steps(tile):
    while True:
        fill(tile)
        yield


def once(steps):
    next(steps)


def zeros(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    each = steps(tile)
    once(each)
    next(each)
    next(each)
    nisa.dma_copy(dst=out, src=tile)
    return out
'''


def lines(tmp_path, kernel):
    """Of each instruction: the lines that called it, then its own."""
    (tmp_path / "own.py").write_text(kernel)
    program = record_kernel(f"{tmp_path}/own.py:zeros", {"x": ((128, 4), "float32")}, "trn2", 1, {})
    return [
        [line.rpartition(":")[2] for line in (*program.call_stack(step.source), program.sources[step.source])]
        for step in program.cores[0]
    ]


def test_each_call_of_a_helper_has_its_own_callers(tmp_path):
    assert lines(tmp_path, KERNEL) == [["19", "12", "8"], ["19", "13", "8"], ["20", "8"], ["21"]]


def test_a_generator_is_called_by_whoever_resumes_it(tmp_path):
    assert lines(tmp_path, RESUMED) == [["25", "18", "13", "8"], ["26", "13", "8"], ["27", "13", "8"], ["28"]]
