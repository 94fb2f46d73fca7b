"""neuron-explorer (and neuron-profile): capture, view, show-session, as AWS's pages and nki-library's harness know them."""

import json
import os
import re
import sys
import zlib
from datetime import datetime, timezone
from pathlib import Path

import misbehaviour
import profile_of
from habits import HABITS, HERE
from neff import Neff

VERSION = f"{HABITS['release']}.28.0%kaena-tools/{HABITS['release']}@5d9c0b9 built on 2026-08-10T22:27:26Z"
SUFFIX = ".must_alias_input"


class Stop(Exception):
    """The text with which the program ends, non-zero."""

    def __init__(self, text, code=1, stream="stderr"):
        super().__init__(text)
        self.code, self.stream = code, getattr(sys, stream)


def log(message, level="info"):
    stream = sys.stdout if HABITS["log_on"] == "stdout" else sys.stderr
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(f'time="{now}" level={level} msg="{message}"', file=stream, flush=True)


def main(program, arguments):
    with open(HERE / "calls.txt", "a") as calls:
        calls.write(" ".join([program, *arguments]) + "\n")
    commands = {"capture": capture, "view": view}
    if HABITS["show_session"]:
        commands["show-session"] = show_session
    try:
        if arguments[:1] in (["--version"], ["-v"]):
            print(f"{program} {VERSION}")
            return 0
        if not arguments or arguments[0] not in commands:
            known = ", ".join(sorted(commands))
            raise Stop(f"Unknown command `{(arguments or [''])[0]}'. Please specify one command of: {known}")
        return commands[arguments[0]](program, arguments[1:]) or 0
    except Stop as stop:
        print(f"{stop}\n{program} exited with an error.\n{program} {VERSION}", file=stop.stream)
        return stop.code


def options(arguments, valued, flags, short):
    """go-flags: `--name value`, `--name=value`, `-n value`; what it does not know is an error before anything runs."""
    found, rest = {}, []
    waiting = list(arguments)
    while waiting:
        part = waiting.pop(0)
        if not part.startswith("-"):
            rest.append(part)
            continue
        name, equals, value = part.partition("=")
        name = short.get(name, name)
        if name in HABITS["refused"] or name not in (*valued, *flags):
            words, code, stream = HABITS["refuses"]
            raise Stop(words.format(name=name.lstrip("-"), word=part), code, stream)
        if name in flags:
            found[name] = True
        elif equals or waiting:
            found[name] = value if equals else waiting.pop(0)
        else:
            raise Stop(f"expected argument for flag `{name}'")
    return found, rest


CAPTURE = ("--neff", "--session-file", "--num-exec", "--profile-nth-exec", "--capture-type", "--exec-mode",
           "--single-io-threshold", "--collectives-workers-per-node", "--collectives-worker-count",
           "--collectives-worker-start-id", "--collectives-profile-id", "--multi-input", "--systrace-event-filter",
           "--save-nth-output", "--write-tensors-per-exec", "--io-from")  # fmt: skip
CAPTURE_FLAGS = ("--ignore-exec-errors", "--disable-profile", "--enable-dge-notifs", "--single-io", "--save-output",
                 "--save-output-npy", "--check-output-determinism", "--systrace-get-event-types")  # fmt: skip
CAPTURE_SHORT = {"-n": "--neff", "-s": "--session-file", "-t": "--capture-type", "-r": "--collectives-workers-per-node",
                 "-i": "--collectives-profile-id", "-m": "--multi-input"}  # fmt: skip


def capture(_program, arguments):
    from machine import load

    given, pairs = options(arguments, CAPTURE, CAPTURE_FLAGS, CAPTURE_SHORT)
    neff = Neff(given.get("--neff", "file.neff"))
    asked_lnc = int(os.environ.get("NEURON_LOGICAL_NC_CONFIG", HABITS["host_lnc"]))
    if neff.lnc != asked_lnc:
        raise Stop(f"NRT:nrt_load  Logical NC not available {neff.lnc}/{asked_lnc}")
    inputs = _inputs(neff, pairs)
    executions, nth = int(given.get("--num-exec", 1)), int(given.get("--profile-nth-exec", 1))
    executions = max(executions, nth)
    session = Path(given.get("--session-file", "profile.ntff"))
    if given.get("--capture-type") == "systrace":
        return system_trace(neff, executions)
    function, kernel = load(neff.kernel), neff.kernel
    misdeed = misbehaviour.next_one()
    misbehaviour.before(misdeed)
    log(f"Executing {neff.name} {{exec: {executions}}}")
    sums = set()
    device = dict(inputs)
    for number in range(1, executions + 1):
        if given.get("--write-tensors-per-exec") == "alias":
            device |= {name: raw for name, raw in inputs.items() if name.endswith(SUFFIX)}
        outputs = execute(function, kernel, device)
        sums.add(tuple(zlib.crc32(raw) for raw in outputs.values()))
        if "--save-output" in given:
            save(misbehaviour.other_outputs(misdeed, outputs), number)
        if nth and number % nth == 0 and "--disable-profile" not in given:
            name = session.name if number == 1 else f"{session.stem}_exec_{number}{session.suffix}"
            trace = profile_of.ntff(neff, kernel["program"], number, misdeed)
            session.with_name(name).write_bytes(misbehaviour.damaged(misdeed, trace))
    if "--check-output-determinism" in given and len(sums) > 1:
        raise Stop("output determinism check failed: CRC of execution 2 does not match the first")
    return misbehaviour.after(misdeed)


def system_trace(neff, executions):
    """The folder of how-to-profile-workload.rst, "neuron-explorer inspect output example". What the files hold is not public."""
    folder = Path(f"i-012590440bb9fd263_pid_{os.getpid()}")
    folder.mkdir()
    (folder / "trace_info.pb").write_text(json.dumps({"neff": neff.name, "lnc": neff.lnc}))
    (folder / "ntrace.pb").write_text(str(executions))


def _inputs(neff, pairs):
    if len(pairs) % 2:
        raise Stop("inputs must be <NAME> <FILE_PATH> pairs")
    files = dict(zip(pairs[::2], pairs[1::2], strict=True))
    if unknown := files.keys() - neff.inputs.keys():
        raise Stop(f"NRT_INVALID(2): input {sorted(unknown)[0]} is not found in the model")
    inputs = {}
    for name, size in neff.inputs.items():
        inputs[name] = Path(files[name]).read_bytes() if name in files else bytes(size)
        if len(inputs[name]) != size:
            raise Stop(f"NRT_INVALID(2): input {name} has {len(inputs[name])} bytes, the model wants {size}")
    return inputs


def execute(function, kernel, device):
    """The outputs, raw and by their names in the NEFF. An aliased input in `device` holds afterwards what was written."""
    import numpy as np
    from machine import BFLOAT16, run, tensor

    tensors = {}
    for name, (shape, dtype) in kernel["tensors"].items():
        raw = device.get(name + SUFFIX, device.get(name))
        kind = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
        tensors[name] = tensor(np.frombuffer(raw, kind).reshape(shape))
    results = run(function, tensors, kernel["scalars"], kernel["lnc"])
    outputs = {name: result.tobytes() for name, result in zip(kernel["results"], results, strict=True)}
    if HABITS["random_outputs"]:
        outputs = {name: os.urandom(1) + raw[1:] for name, raw in outputs.items()}
    for name, raw in outputs.items():
        if name + SUFFIX in device:
            device[name + SUFFIX] = raw
    return outputs


def save(outputs, number):
    for name, raw in outputs.items():
        file = name if number == 1 else f"{name}.{number}"
        Path(file).write_bytes(raw)
        if HABITS["saved_on"] != "nowhere":
            stream = sys.stderr if HABITS["saved_on"] == "stderr" else sys.stdout
            print(f'saved output "{name}" as "{file}"', file=stream, flush=True)


VIEW = (
    "--neff-path",
    "--session-file",
    "--session-dir",
    "--output-format",
    "--output-file",
    "--display-name",
    "--data-path",
)
VIEW_FLAGS = (
    "--ingest-only",
    "--disable-ui",
    "--ignore-device-profile",
    "--ignore-system-profile",
    "--show-profile-schema",
)
VIEW_SHORT = {"-n": "--neff-path", "-s": "--session-file", "-d": "--session-dir"}


def view(program, arguments):
    given, _ = options(arguments, VIEW, VIEW_FLAGS, VIEW_SHORT)
    if not os.environ.get("HOME"):
        raise Stop("$HOME is not defined")
    form = given.get("--output-format", "parquet" if program == "neuron-explorer" else "db")
    if "--session-dir" in given:
        return view_system_trace(form, Path(given["--session-dir"]), given.get("--output-file"))
    neff = Neff(given["--neff-path"])
    profile = profile_of.Profile(neff, Path(given["--session-file"]).read_bytes(), given["--session-file"])
    log(f"Processing n_{profile.id} {{version: 7}}")
    if form == "summary-json":
        if "--output-file" in given:
            raise Stop("--output-file cannot be used with summary-json")
        print(misbehaviour.viewed(profile.misdeed, json.dumps(profile.summaries())))
    elif form == "json":
        Path(given.get("--output-file", "ntff.json")).write_text(json.dumps(profile.document()))
    elif form == "parquet" and program == "neuron-explorer":
        profile.write_parquet(Path(given["--output-file"]))
    else:
        raise Stop(f"output format {form} is not supported")
    if profile.misdeed == "view_fails":
        raise Stop("failed to process the profile: unexpected EOF")
    if HABITS["trailing_log"]:
        print(f'time="2026-08-10T00:00:00Z" level=info msg="Processing for {profile.id} is complete {{rows: 12}}"')
        print('{"level": "info", "msg": "uploaded nothing"}')


def view_system_trace(form, folder, file):
    """get-started.rst, "JSON schema": events with names, timestamps and durations in ns; `exec_id` and `device_core_idx` as public
    programs read them. Each execution takes 31 us, and 40 us lie between two."""
    (found,) = (each for each in folder.rglob("*") if each.name == "trace_info.pb")
    about, executions = json.loads(found.read_text()), int(found.with_name("ntrace.pb").read_text())
    events = [{"name": "nrt_execute", "timestamp": 990_000, "duration": 90_000, "group": "nrt-nc-000", "type": 11}]
    for number in range(executions):
        for core in range(about["lnc"]):
            events.append(
                {
                    "name": "nc_exec_running", "timestamp": 1_000_000 + 71_000 * number, "duration": 31_000, "exec_id": number,
                    "device_core_idx": core, "lnc_idx": 0, "nc_idx": 0, "process_id": "2", "model_name": about["neff"],
                }
            )  # fmt: skip
    lost = [{"message": "Warning: 3 trace events were dropped"}] if HABITS["drops_events"] else []
    if form == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        Path(file).mkdir()
        keys = {"timestamp": "start_ts", "name": "event_type"}
        rows = [{keys.get(key, key): value for key, value in event.items()} for event in events[1:]]
        rows = [row | {"end_ts": row["start_ts"] + row.pop("duration")} for row in rows]
        pq.write_table(pa.Table.from_pylist(rows), Path(file) / "SystemProfileEvents.parquet")
    elif form == "json" and not HABITS["no_json"]:
        target = file if HABITS["output_file_counts"] else "system_profile.json"
        Path(target).write_text(json.dumps({"trace_events": events, "warnings": lost, "mem_usage": [], "cpu_util": []}))
    else:
        raise Stop(f"output format {form} is not supported")


def show_session(_program, arguments):
    given, _ = options(arguments, ("--session-file",), ("--show-errors", "-j", "-e"), {"-s": "--session-file"})
    raw = Path(given["--session-file"]).read_bytes()
    cycles = profile_of.total_ps(raw)
    cores = re.findall(rb"sg0\d", raw)
    graphs = [{"NC": core, "CycleCount": cycles, "EventsCount": 0, "ErrorCount": 0} for core in range(len(cores))]
    print(json.dumps({"Name": "file.neff", "NeffNodes": [{"NodeInfo": {"Graphs": graphs}}]}))
