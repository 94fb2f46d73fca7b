"""Does the device step: runs a NEFF under the profiler and keeps the traces, the outputs and a record of all of it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from neff_bench.neffs import findings
from neff_bench.neffs.bundle import Bundle, Manifest
from neff_bench.parsers.formats.neff import MUST_ALIAS, plain_name
from neff_bench.parsers.neuron_host import driver_version, runtime_version
from neff_bench.sdk.words import FlagAbsent
from neff_bench.stage2_profile.capture import arguments, nrtpy, runs
from neff_bench.stage2_profile.capture.conditions import Conditions, Neighbour, unexplained
from neff_bench.stage2_profile.capture.cores import CorePool, Slot
from neff_bench.stage2_profile.capture.environment import capture_environment, tool_environment
from neff_bench.stage2_profile.capture.failures import Failure, diagnose, last_words, refused_flag
from neff_bench.stage2_profile.capture.process import Finished, Limits, describe_exit, run
from neff_bench.stage2_profile.capture.tools import Tool
from neff_bench.stage2_profile.errors import CaptureFailed, UnsafePath
from neff_bench.stage2_profile.options import Options
from neff_bench.system.files import remove

if TYPE_CHECKING:
    from neff_bench.stage2_profile.capture.neff_check import Traced

MAX_TRIES = 8
BAD_TRIES = 2
"""How often a capture that ended badly or saved too little is taken before its case is given up."""
LOG = "capture.log"
DIFFER = re.compile(r"(?i)(?<!output-)determinis|crc\S* [^\n]*mismatch")
"""What the tool says of executions whose outputs differ; no page has it. The name of its flag says nothing."""


def plan_of(manifest: Manifest, options: Options) -> arguments.CapturePlan:
    """Return the capture of a bundle, with paths as seen from the run's directory, two levels below the bundle. The names of tensors
    are safe on a command line: `read_bundle` lets no other through. Raises `UnsafePath` for an output that is a path."""
    for tensor in manifest.outputs:
        if "/" in tensor.name or tensor.name.startswith("."):
            raise UnsafePath(
                f"output {tensor.name!r} would be saved outside of the run's directory; rename it in the kernel"
            )
    return arguments.CapturePlan(
        neff=f"../../{manifest.neff}",
        inputs=tuple((tensor.name, f"../../{tensor.file}") for tensor in manifest.inputs),
        ranks=manifest.case.ranks,
        multi_input=f"../../{manifest.rank_inputs}" if manifest.rank_inputs else None,
        num_exec=options.executions.number,
        profile_nth_exec=options.executions.nth,
        alias=options.executions.number > 1,  # a NEFF may write into inputs without saying so
        compare_executions=options.executions.number > 1,
        dge_notifications=options.enable_dge_notifs,
    )


def capture(
    bundle: Bundle, tool: Tool, options: Options, pool: CorePool, hold: Sequence[int], series: str | None = None
) -> tuple[Path, runs.Run]:
    """Capture once, with the known answer to each known failure, and publish the run, good or failed.

    `hold`: the lock of the bundle's profiles, passed on so that it outlives a killed caller until its tool is gone.
    `series`: the one that the capture goes on with; without it, it begins one where several are asked for.
    Raises `UnsafePath` before anything is run; `CaptureFailed` for a NEFF that is not what its case says, when no core is left, and when it
    was interrupted: that says nothing of the case, so nothing is kept.
    """
    from neff_bench.stage2_profile.capture.neff_check import compare_neff

    remarks, program = compare_neff(bundle)
    plan = plan_of(bundle.manifest, options)
    work = runs.new_work(bundle.path)
    if options.most_captures > 1:
        series = series or work.name.removeprefix(runs.WORK)
    if tool.kind == "sim":
        plan = replace(plan, compare_executions=False)
    attempts = Attempts(bundle, tool, options, work, plan, series, [*remarks], program)
    again = True
    while again:
        try:
            with pool.slot(bundle.manifest.case.lnc, bundle.manifest.case.ranks) as slot:
                done = attempts.once(slot, (*hold, *slot.held))
                failure = None if done.exit_code == 0 and attempts.has_result() else diagnose(done.log)
                attempts.judge_core(pool, slot, failure, done)
                attempts.look_around(pool, slot)
                if options.system_trace and failure is None and attempts.shortcoming(done, None) is None:
                    attempts.trace_system(slot, (*hold, *slot.held))
        except CaptureFailed:
            if not attempts.commands:
                shutil.rmtree(work, ignore_errors=True)
                raise
            break  # the core of the first try was the last one
        again = attempts.answer(failure, done)
    run = attempts.outcome(done, failure, slot)
    if run.status == "failed" and options.stop.is_set():
        shutil.rmtree(work, ignore_errors=True)
        raise CaptureFailed("interrupted")
    return runs.publish(work, run)


@dataclass(eq=False)
class Attempts:
    """The tries of one capture: what each asked for, what came of it, what is asked for next."""

    bundle: Bundle
    tool: Tool
    options: Options
    work: Path
    plan: arguments.CapturePlan
    series: str | None
    warnings: list[str]
    program: Mapping[str, int]
    commands: list[runs.Command] = field(default_factory=list)
    dge_variable: bool | None = None
    waits: int = 0
    core_changes: int = 0
    suspect: Slot | None = None
    bad: int = 0
    neighbours: tuple[Neighbour, ...] | None = None
    shared_hbm: bool = False
    instance_type: str | None = None
    deterministic: bool | None = None

    @property
    def compares(self) -> bool:
        """Whether the tool was asked to compare the outputs of the executions."""
        return not self.is_nrtpy and arguments.compares(self.plan, self.tool.command("capture"))

    def once(self, slot: Slot, hold: Sequence[int]) -> Finished:
        """Run the capture command once in an empty work directory, on the cores of `slot`."""
        for left in self.work.iterdir():
            if left.is_dir() or not left.name.endswith(".log"):
                remove(left)
        argv = self._argv(nrtpy.shown() if self.is_nrtpy else (self.tool.name,))
        return self._run(self._argv(self.tool.argv), argv, slot, hold, "capture")

    def _run(
        self, argv: Sequence[str], shown: Sequence[str], slot: Slot, hold: Sequence[int], step: runs.Step
    ) -> Finished:
        env = self._environment(slot)
        folder, log = self.work / runs.SYSTEM, "system.log"
        if step == "capture":
            folder, log = self.work, f"capture-{len(self.commands) + 1}.log" if self.commands else LOG
        done = run(argv, folder, env, Limits(self.options.timeout_s, self.options.stop), hold, self.options.warm)
        (self.work / log).write_bytes(done.stdout + done.stderr)
        self.commands.append(runs.called(step, shown, env, done, log))
        return done

    def _environment(self, slot: Slot) -> dict[str, str]:
        env = tool_environment(self.options.environ, self.work)
        env = capture_environment(env, self.tool.release, self.bundle.manifest.case, slot.logical, self.dge_variable)
        return nrtpy.environment(env) if self.is_nrtpy else env

    def trace_system(self, slot: Slot, hold: Sequence[int]) -> None:
        """Trace the runtime over further executions. Without such a trace the profile is good too, so what goes wrong is a warning."""
        if self.tool.kind == "sim":
            self.warnings.append(f"{self.tool.name} makes no system traces")
            return
        folder = self.work / runs.SYSTEM
        inputs = tuple((name, f"../{file}") for name, file in self.plan.inputs)
        plan = replace(self.plan, neff=f"../{self.plan.neff}", inputs=inputs)
        try:
            shown = arguments.system_trace((self.tool.name,), plan, self.tool.command("capture"))
        except FlagAbsent as error:
            self.warnings.append(f"no system trace: {error}")
            return
        folder.mkdir()
        done = self._run([*self.tool.argv, *shown[1:]], shown, slot, hold, "systrace")
        if done.exit_code != 0 or not any(folder.iterdir()):
            how = describe_exit(done, self.options.timeout_s)
            self.warnings.append(f"no system trace: {self.tool.name} capture: {how}: {last_words(done.log)}")
            shutil.rmtree(folder)

    @property
    def is_nrtpy(self) -> bool:
        """Whether the tool leaves times and no trace."""
        return self.tool.name == nrtpy.NAME

    def _argv(self, tool: Sequence[str]) -> list[str]:
        if self.is_nrtpy:
            return nrtpy.arguments(tool, self.bundle.manifest, self.plan.num_exec, self.options.executions.warmup)
        return arguments.capture(tool, self.plan, self.tool.command("capture"))

    def has_result(self) -> bool:
        """Return whether the tool wrote what numbers come from."""
        if self.is_nrtpy:
            return all((self.work / file).is_file() for file in nrtpy.result_files(self.plan.ranks))
        return bool(self.traces())

    def traces(self) -> list[arguments.Trace]:
        """Return the traces that the tool has written, by execution."""
        names = [
            entry.name
            for entry in os.scandir(self.work)
            if entry.is_file(follow_symlinks=False) and entry.stat().st_size
        ]
        return arguments.traces(names)

    def look_around(self, pool: CorePool, slot: Slot) -> None:
        """Note who used the same devices before and after the last try."""
        if self.tool.kind == "sim":
            return
        known = [found for found in (slot.neighbours, pool.neighbours(slot)) if found is not None]
        self.neighbours = tuple(dict.fromkeys(each for found in known for each in found)) if known else None
        self.shared_hbm = pool.shares_hbm(slot)
        self.instance_type = pool.host.topology.instance_type if pool.host is not None else None

    def judge_core(self, pool: CorePool, slot: Slot, failure: Failure | None, done: Finished) -> None:
        """Take out of use what the failure says is broken; see `failures.Failure`."""
        if failure is None:
            return
        first = self.core_changes == 0
        match failure.answer:
            case "host_out":
                pool.close(failure.explain(done.log))
            case "device_out":
                pool.take_device_out(slot, failure.name)
            case "core_out":
                pool.take_out(slot, failure.name)
            case "new_process" if not first:
                pool.take_out(slot, failure.name)
            case "another_core" if first:
                pool.take_out(slot, failure.name)
                self.suspect = slot
            case "another_core" if self.suspect is not None:
                pool.put_back(self.suspect)

    def answer(self, failure: Failure | None, done: Finished) -> bool:
        """Return whether to try again; changes the plan as the failure asks."""
        if done.timed_out or done.stopped or len(self.commands) >= MAX_TRIES:
            return False
        if self.compares and done.exit_code != 0 and DIFFER.search(done.log):
            self.plan, self.deterministic = replace(self.plan, compare_executions=False), False
            self.warnings.append("the outputs differ from one execution to the next")
            return True
        asked = arguments.optional(self.plan) if done.exit_code != 0 and not self.has_result() else ()
        if (flag := refused_flag(done.log, failure, asked)) is not None:
            self.plan = arguments.without(self.plan, flag, self.bundle.manifest.writes_inputs)
            return True
        if failure is None:
            if self.shortcoming(done, failure) is None:
                return False
            self.bad += 1
            return self.bad < BAD_TRIES
        match failure.answer:
            case "single_io" if self.waits == 0 and not self.plan.single_io:  # a neighbour may hold the memory
                self.waits += 1
                return not self.options.stop.wait(self.options.backoff_s)
            case "wait":
                pause = self.options.backoff_s * 2**self.waits
                self.waits += 1
                return not self.options.stop.wait(pause)
            case "without_dge" if self.plan.dge_notifications or self.dge_variable is None:
                self.plan, self.dge_variable = replace(self.plan, dge_notifications=False), False
                self.warnings.append(f"{failure.advice}; captured without them")
                return True
            case "single_io" if not self.plan.single_io and not self.is_nrtpy:
                self.plan = replace(self.plan, single_io=True)
                self.warnings.append(f"{failure.advice}; captured with --single-io, so its outputs are invalid")
                return True
            case "core_out" | "another_core" | "new_process" if self.core_changes == 0:
                self.core_changes += 1
                return True
        return False

    def outcome(self, done: Finished, failure: Failure | None, slot: Slot) -> runs.Run:
        """Return the record: judged by the trace first, then by the exit code, then by the log."""
        has_result = self.has_result()
        broken = failure is not None and failure.kind in ("core", "device", "host")
        reason = None
        # Without a trace, after a fault of the device, or cut short: nothing of the run counts.
        if not has_result or broken or done.timed_out or done.stopped:
            reason = self._reason(done, failure, has_result)
        elif (shortcoming := self.shortcoming(done, failure)) is not None:
            reason = f"{self.tool.name} capture: {shortcoming} ({len(self.commands)} tries)"
        # A good trace outweighs a bad exit code, which becomes a warning.
        elif done.exit_code != 0:
            self.warnings.append(
                f"{failure.explain(done.log)}, with a trace"
                if failure
                else f"the tool wrote a trace, then: {describe_exit(done, self.options.timeout_s)}"
            )
        if self.is_nrtpy and not reason:
            self.warnings += [remark for times in self._times() for remark in nrtpy.remarks(times)]
        # The outputs and traces of a failed run are not recorded, so that nothing takes them for results.
        left = [] if reason else self._left(done)
        traced = {} if reason else self._traced()
        conditions = None
        # A simulated run has no neighbours and no throttle to remember.
        if self.tool.kind != "sim":
            self.warnings += unexplained(self.neighbours)
            dge_variable = self.commands[-1].environment.get("NEURON_RT_ENABLE_DGE_NOTIFICATIONS")
            conditions = Conditions(
                instance_type=self.instance_type,
                driver_version=driver_version(),
                runtime_version=runtime_version(),
                neighbours=self.neighbours,
                shared_hbm=self.shared_hbm,
                dge_notifications=self.plan.dge_notifications or dge_variable == "1",
                dge_compiled_out="--disable-dge" in self.bundle.manifest.case.flags,
            )
        return runs.Run(
            status="failed" if reason else "viewed" if self.is_nrtpy else "captured",
            reason=reason,
            neff_sha256=self.bundle.manifest.neff_sha256,
            tool=self.tool.name,
            tool_version=self.tool.version,
            kind=self.tool.kind,
            num_exec=self.options.executions.number,
            profile_nth_exec=self.options.executions.nth,
            lnc=self.bundle.manifest.case.lnc,
            cores=slot.cores,
            created=datetime.now(timezone.utc).isoformat(timespec="microseconds"),
            warnings=tuple(dict.fromkeys(self.warnings)),
            outputs=left[0].outputs if left else {},
            executions=() if reason else self._executions(traced),
            commands=tuple(self.commands),
            series=self.series,
            warmup=self.options.executions.warmup,
            conditions=conditions,
            timing=left[0].timing if left else None,
            other_ranks=tuple(left[1:]),
            findings=findings.left(self.work) if self.tool.kind == "sim" else (),
            program=dict(self.program),
            loaded=next((each.loaded for each in traced.values()), {}),
            deterministic=True if self.compares and not reason else self.deterministic,
        )

    def _executions(self, traced: Mapping[str, Traced]) -> tuple[runs.Execution, ...]:
        return tuple(
            runs.Execution(rank=each.rank, execution=each.execution, ntff=each.file, traced_s=traced[each.file].time_s)
            for each in self._counted()
        )

    def _counted(self) -> list[arguments.Trace]:
        """Return the traces after the warm-up; those of the warm-up are removed."""
        traces = self.traces()
        for trace in traces:
            if trace.execution <= self.options.executions.warmup:
                (self.work / trace.file).unlink()
        return [trace for trace in traces if trace.execution > self.options.executions.warmup]

    def _traced(self) -> dict[str, Traced]:
        """Return what each trace says of itself; of simulated ones nothing is asked. Raises `CaptureFailed` for a trace of another NEFF."""
        from neff_bench.stage2_profile.capture.neff_check import Traced, read_traced

        neff, simulated = self.bundle.path / str(self.bundle.manifest.neff), self.tool.kind == "sim"
        return {
            each.file: Traced() if simulated else read_traced(self.work / each.file, neff) for each in self.traces()
        }

    def _times(self) -> list[nrtpy.Times]:
        return [nrtpy.read_times((self.work / file).read_bytes()) for file in nrtpy.result_files(self.plan.ranks)]

    def _reason(self, done: Finished, failure: Failure | None, has_trace: bool) -> str:
        how = describe_exit(done, self.options.timeout_s)
        if done.timed_out or done.stopped:
            return f"{self.tool.name} capture: {how}"
        if failure is not None:
            tries = f" ({len(self.commands)} tries)" if len(self.commands) > 1 else ""
            return f"{self.tool.name} capture: {failure.explain(done.log)}{tries}"
        what = f"{'a' if has_trace else 'no'} {'result' if self.is_nrtpy else 'trace'}"
        return f"{self.tool.name} capture: {what}, {how}: {last_words(done.log)}"

    def shortcoming(self, done: Finished, failure: Failure | None) -> str | None:
        """Return why a capture with a trace is not a good one: it ended badly for no known reason, or did not save all outputs."""
        if not self.has_result():
            return None
        if done.exit_code != 0 and failure is None:
            return f"it wrote a trace, then: {describe_exit(done, self.options.timeout_s)}"
        if self.is_nrtpy:
            try:
                wrong = next((wrong for times in self._times() if (wrong := nrtpy.wrong_times(times))), None)
            except ValueError as error:
                wrong = str(error)
            if wrong is not None:
                return wrong
        if self.plan.single_io:
            return None
        traced = set(range(self.plan.ranks)) if self.is_nrtpy else {trace.rank for trace in self.traces()}
        if without := [str(rank) for rank in range(self.plan.ranks) if rank not in traced]:
            return f"it wrote no trace of rank {', '.join(without)}"
        try:
            self._traced()
        except CaptureFailed as error:
            return str(error)
        for rank, left in enumerate(self._left(done)):
            wrong = self._wrong_output(left.outputs)
            if wrong is not None:
                return wrong + (f" on rank {rank}" if self.plan.ranks > 1 else "")
        return None

    def _wrong_output(self, outputs: Mapping[str, str]) -> str | None:
        for tensor in self.bundle.manifest.outputs:
            if tensor.name not in outputs:
                return f"it saved no output {tensor.name!r}"
            size_bytes = (self.work / outputs[tensor.name]).stat().st_size
            if size_bytes < tensor.bytes:
                return f"it saved {size_bytes} of the {tensor.bytes} bytes of output {tensor.name!r}"
        return None

    def _left(self, done: Finished) -> list[runs.RankFiles]:
        """Return what is there of each rank; no outputs where they are not to be trusted."""
        times = nrtpy.result_files(self.plan.ranks) if self.is_nrtpy else [None] * self.plan.ranks
        return [
            runs.RankFiles({} if self.plan.single_io else self._outputs(done, rank), file)
            for rank, file in enumerate(times)
        ]

    def _outputs(self, done: Finished, rank: int) -> dict[str, str]:
        """Return the file of each tensor: as the tool said, else by the names that it is known to use."""
        found, saved = {}, {plain_name(name): file for name, file in arguments.saved_outputs(done.log).items()}
        folder = arguments.OUTPUTS_OF_RANK.format(rank=rank) if self.plan.ranks > 1 else ""
        for tensor in self.bundle.manifest.outputs:
            last = f"{tensor.name}.{self.options.executions.number}"
            said = saved.get(plain_name(tensor.name), "")
            said = said.rpartition("/")[2] if folder else said
            for file in (said, last, tensor.name, f"{tensor.name}.npy", f"{tensor.name}.bin", tensor.name + MUST_ALIAS):
                path = self.work / folder / file if file and "/" not in file else None
                if path is not None and path.is_file() and not path.is_symlink():
                    found[tensor.name] = f"{folder}{file}"
                    break
        return found
