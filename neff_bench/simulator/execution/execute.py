"""Runs a program on numpy inputs.

The instructions of a core run in program order. The two cores of a logical core take turns, one instruction each, and wait
for each other where they meet (`sendrecv`, `core_barrier`). Ranks run the same program on inputs of their own, one after the other from
one collective to the next. A run is therefore the same every time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neff_bench.neffs.findings import Finding, found
from neff_bench.parsers.formats import packed
from neff_bench.simulator.errors import ExecutionError
from neff_bench.simulator.execution.clashes import Clashes
from neff_bench.simulator.execution.findings import one_a_line, unwritten, without_outputs
from neff_bench.simulator.machine.memory import UNWRITTEN_INT32, Memory
from neff_bench.simulator.machine.operands import Operands, Registers
from neff_bench.simulator.machine.products import products
from neff_bench.simulator.numpy_dtypes import INTEGERS, numpy_dtype, to_float32
from neff_bench.simulator.operations import OPERATIONS
from neff_bench.simulator.program import Instruction, Program

_NAMED_PLACES = 3
_PIECE = 1 << 14


def execute(
    program: Program, inputs: Mapping[str, np.ndarray], findings: list[Finding] | None = None
) -> dict[str, np.ndarray]:
    """Return the outputs by name, each in its buffer's shape and numpy dtype (see `neff_bench.simulator.numpy_dtypes`).

    `inputs`: arrays by input name, of the buffer's size and dtype, or raw uint8 bytes. A missing input is zero, and so is what of an output nothing wrote.
    `findings`: receives what the program shows, which outputs are not whole, and which hold NaN or infinities although no input does.
    Raises ExecutionError, also for an address outside its buffer, and for cores that wait for each other for ever.
    """
    return execute_ranks(program, [inputs], findings)[0]


def execute_ranks(
    program: Program, inputs: Sequence[Mapping[str, np.ndarray]], findings: list[Finding] | None = None
) -> list[dict[str, np.ndarray]]:
    """Return the outputs of each rank, from the inputs of each; everything else is as for `execute`. Raises ExecutionError, too, for a
    collective with ranks that do not run."""
    watched = [index for index in program.outputs if program.buffers[index].kind != "input"]
    with np.errstate(all="ignore"), products() as product:
        memories = [Memory(program, watched, product) for _ in inputs]
        for given, memory in zip(inputs, memories, strict=True):
            _place_inputs(program, given, memory)
        ranks = _run(program, memories)
        if findings is not None:
            told = [*ranks[0].clashes.findings()]
            told += [each for rank, memory in enumerate(memories) for each in _doubts(program, inputs, rank, memory)]
            findings.extend(one_a_line([*without_outputs(program), *told]))
    return [{program.buffers[i].name: _result(program, i, memory) for i in program.outputs} for memory in memories]


def _result(program: Program, index: int, memory: Memory) -> np.ndarray:
    """Return an output; one that is an input too may still be the caller's array, and is copied."""
    array = memory.array(index)
    return array.copy() if program.buffers[index].kind == "input" else array


def _place_inputs(program: Program, inputs: Mapping[str, np.ndarray], memory: Memory) -> None:
    expected = {program.buffers[index].name: index for index in program.inputs}
    for name, array in inputs.items():
        if name not in expected:
            raise ExecutionError(f"no input {name!r}; the program has {', '.join(expected) or 'none'}")
        buffer = program.buffers[expected[name]]
        dtype = numpy_dtype(buffer.dtype)
        size = int(np.prod(buffer.shape, dtype=np.int64)) * dtype.itemsize
        if array.nbytes != size:
            raise ExecutionError(
                f"input {name!r} has {array.nbytes} bytes, expected {size} ({list(buffer.shape)} {buffer.dtype})"
            )
        if array.dtype not in (dtype, np.uint8):
            raise ExecutionError(f"input {name!r} is {array.dtype}, expected {buffer.dtype}")
        memory.fill(expected[name], array)


@dataclass
class _Core:
    """One instruction list and how far it has run."""

    number: int
    instructions: Sequence[Instruction]
    registers: Registers
    at: int = 0

    @property
    def waiting(self) -> Instruction | None:
        return self.instructions[self.at] if self.at < len(self.instructions) else None


_Inspect = Callable[[Instruction], None]


def _run(program: Program, memories: Sequence[Memory], inspect: _Inspect | None = None) -> list[_Rank]:
    """Run every instruction on every rank; `inspect` is shown each one of rank 0 first."""
    ranks = [_Rank(program, rank, memory, None if rank else inspect) for rank, memory in enumerate(memories)]
    standing = [rank.go_on() for rank in ranks]
    while standing[0] is not None:
        meet_ranks(program, [cores for cores in standing if cores is not None], len(memories))
        standing = [rank.go_on() for rank in ranks]
    return ranks


class _Rank:
    """One rank's run of the program."""

    def __init__(self, program: Program, rank: int, memory: Memory, inspect: _Inspect | None) -> None:
        self.program, self.memory, self.inspect = program, memory, inspect
        self.cores = [_Core(number, core, Registers(rank)) for number, core in enumerate(program.cores)]
        self.clashes = Clashes(program, memory)
        self.at_collective = False

    def go_on(self) -> list[Operands] | None:
        """Run to the next collective, whose operands on each core are returned; None at the end."""
        if self.at_collective:
            self._advance()
        while True:
            if any([_step(self, core) for core in self.cores]):
                continue
            waiting = [core.waiting for core in self.cores if core.waiting is not None]
            if not waiting:
                return None
            if self.inspect is not None:
                for instruction in waiting:
                    self.inspect(instruction)
            met = _met(self.program, self.cores, self.memory)
            self.at_collective = OPERATIONS[met[0].instruction.op].across is not None
            if self.at_collective:
                return met
            _meet(self.program, met)
            self._advance()

    def _advance(self) -> None:
        self.clashes.met()
        for core in self.cores:
            self.memory.release(core.number, core.at)
            core.at += 1


def _step(rank: _Rank, core: _Core) -> bool:
    """Run the core's next instruction; False when it has ended or stands at a meeting."""
    program, memory, instruction = rank.program, rank.memory, core.waiting
    if instruction is None:
        return False
    operation = OPERATIONS.get(instruction.op)
    if operation is not None and operation.waits:
        return False
    if rank.inspect is not None:
        rank.inspect(instruction)
    if operation is None or operation.execute is None:
        raise ExecutionError(f"operation {instruction.op!r} is not modelled", source_of(program, instruction))
    before = rank.clashes.before(core.number, instruction)
    try:
        operation.execute(Operands(instruction, memory, core.registers, program.target))
    except ExecutionError as error:
        raise ExecutionError(error.what, source_of(program, instruction)) from None
    except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:
        what = f"{instruction.op}: operands or attributes do not fit ({type(error).__name__}: {error})"
        raise ExecutionError(what, source_of(program, instruction)) from error
    rank.clashes.after(core.number, instruction, before)
    memory.release(core.number, core.at)
    core.at += 1
    return True


def _met(program: Program, cores: list[_Core], memory: Memory) -> list[Operands]:
    """Handle that all cores stand at a meeting or at their end: the operands of each, or the report that they wait for ever."""
    instructions = [core.waiting for core in cores]
    met = [instruction for instruction in instructions if instruction is not None]
    meetings = {(instruction.op, instruction.attributes.get("sync")) for instruction in met}
    if len(met) < len(cores) or len(meetings) > 1:
        described = "; ".join(
            f"core {core.number} {_describe(program, instruction)}"
            for core, instruction in zip(cores, instructions, strict=True)
        )
        raise ExecutionError(f"the cores wait for ever: {described}", source_of(program, met[0]))
    return [Operands(i, memory, core.registers, program.target) for core, i in zip(cores, met, strict=True)]


def _meet(program: Program, met: list[Operands]) -> None:
    together = OPERATIONS[met[0].instruction.op].meet
    if together is not None:
        try:
            together(met)
        except ExecutionError as error:
            described = "; ".join(
                f"core {core} {_describe(program, operands.instruction)}" for core, operands in enumerate(met)
            )
            raise ExecutionError(f"{error.what}: {described}", source_of(program, met[0].instruction)) from None


def _describe(program: Program, instruction: Instruction | None) -> str:
    if instruction is None:
        return "has ended"
    return f"at {instruction.op} ({source_of(program, instruction) or 'unknown line'})"


def _doubts(
    program: Program, inputs: Sequence[Mapping[str, np.ndarray]], rank: int, memory: Memory
) -> Iterator[Finding]:
    """Yield what is odd about the outputs of a rank."""
    for index in program.outputs:
        buffer, marks, array = program.buffers[index], memory.marks(index), memory.array(index)
        told = unwritten(program, index, marks) if marks is not None else None
        if told is not None:
            yield told
        odd = _marked(array) if buffer.dtype in INTEGERS else _odd(array, nan=False)
        if odd and not any(_odd(given, nan=False) for every in inputs for given in every.values()):
            nan = _odd(array, nan=True)
            word = "unwritten memory" if buffer.dtype in INTEGERS else "NaN" if nan else "infinite"
            where = f" on rank {rank}" if len(inputs) > 1 else ""
            text = f"{nan or odd} of {array.size} values of {buffer.name} are {word}{where}"
            yield from _causes(program, inputs, index, text, nan=bool(nan))


def _causes(
    program: Program, inputs: Sequence[Mapping[str, np.ndarray]], output: int, text: str, *, nan: bool
) -> Iterator[Finding]:
    """Yield a finding for each of the first reads of memory that nothing wrote; where there is none, one for the instruction that made
    the first NaN, or without `nan` the first infinity. Ranks run the same instructions, so rank 0 is looked at."""
    watched = [index for index, buffer in enumerate(program.buffers) if buffer.kind in ("internal", "output")]
    memories = [Memory(program, [] if rank else watched, np.matmul) for rank in range(len(inputs))]
    for given, memory in zip(inputs, memories, strict=True):
        _place_inputs(program, given, memory)
    places: dict[Finding, None] = {}
    wrote: dict[int, Instruction] = {}
    makers: list[Instruction] = []

    def inspect(instruction: Instruction) -> None:
        for name, access in instruction.reads.items():
            unwritten_here = memories[0].reads_unwritten(access)
            if unwritten_here and len(places) < _NAMED_PLACES:
                what = f"{instruction.op} reads {name} {program.buffers[access.buffer].name!r} where nothing wrote it"
                places[found("unwritten-read", f"{what}; {text}", source_of(program, instruction))] = None
            maker = wrote.get(access.buffer)
            if maker is not None and not makers and not unwritten_here and _odd(memories[0].read(access), nan=nan):
                makers.append(maker)
        wrote.update(
            (access.buffer, instruction) for access in instruction.writes.values() if not _is_fill(instruction)
        )

    _run(program, memories, inspect)
    if not nan and not makers and any(_is_fill(instruction) for core in program.cores for instruction in core):
        return  # the kernel itself says infinity
    maker = makers[0] if makers else wrote.get(output)
    by = f", though no input is; the first comes from {maker.op}" if maker is not None else ", though no input is"
    line = None if maker is None else source_of(program, maker)
    yield from places or [found("not-finite", text + by, line)]


def _is_fill(instruction: Instruction) -> bool:
    """Return whether an instruction writes infinity because the kernel says so, as a mask does."""
    values = instruction.attributes.values()
    return any(isinstance(value, float) and not math.isfinite(value) for value in values)


def _marked(array: np.ndarray) -> int:
    """Return how many integers look like memory that nothing wrote."""
    return int(np.count_nonzero(array == UNWRITTEN_INT32)) if array.dtype.itemsize == 4 else 0


def _odd(array: np.ndarray, *, nan: bool) -> int:
    """Return how many elements are NaN, or without `nan` NaN or infinite; none of an array of integers, of a packed type each value counts.
    Looks at a piece at a time, to stay small."""
    if array.dtype.kind in "iub":
        return 0
    flat = (packed.unpacked(array) if packed.is_packed(array.dtype) else array).reshape(-1)
    pieces = (to_float32(flat[start : start + _PIECE]) for start in range(0, flat.size, _PIECE))
    return sum(int(np.count_nonzero(np.isnan(piece) if nan else ~np.isfinite(piece))) for piece in pieces)


_MAY_LEAVE_OUT = "collective_permute"
"""Ranks outside of its pairs take no part in it (AWS docs, neuron-runtime/about/collectives.rst)."""


def meet_ranks(program: Program, standing: Sequence[Sequence[Operands]], count: int) -> None:
    """Exchange the data of a collective at which every rank stands. `standing[rank][core]`: its operands. `count`: how many ranks run."""
    first = standing[0][0].instruction
    groups = first.attributes["groups"]
    named = sorted(rank for ranks in groups for rank in ranks)
    if named[-1] >= count or (len(named) < count and first.op != _MAY_LEAVE_OUT):
        wanted = named[-1] + 1
        raise ExecutionError(
            f"{first.op}: the replica group {groups} is for ranks 0 to {wanted - 1}, and {count} run; a shapes file with `ranks: "
            f"{wanted}` runs them, or neuron-sim capture -r {wanted}",
            source_of(program, first),
        )
    for core, operands in enumerate(standing[0]):
        if operands.attributes.get("half"):
            continue  # core 0 has done it for both
        for ranks in groups:
            _exchange(program, [standing[rank][core] for rank in ranks])


def _exchange(program: Program, peers: list[Operands]) -> None:
    instruction = peers[0].instruction
    across = OPERATIONS[instruction.op].across
    try:
        if across is not None:
            across(peers)
    except ExecutionError as error:
        raise ExecutionError(error.what, source_of(program, instruction)) from None


def source_of(program: Program, instruction: Instruction) -> str | None:
    """Return the kernel's line, None where it is not known."""
    return program.sources[instruction.source] or None
