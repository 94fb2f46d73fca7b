"""A stand-in for neuron-profile, driven by the real code of stage 2 as a program of its own.

The "NEFF" is JSON: {"outputs": {name: hex bytes}, "total_time": seconds}. FAKE_PLAN in the environment is a JSON list of
faults, one for each call of `capture` (the last one stays, or with FAKE_CYCLE it starts again); FAKE_STATE is the file that counts the calls.
"""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

VERSION = "neuron-profile 2.29.22.0%kaena-tools/2.29@b486b0a built on 2026-04-29T00:46:08Z"
MESSAGES = {
    "busy": "NRT:nrt_allocate_neuron_cores               NeuronCore(s) not available - Requested:nc1-nc1 Available:0",
    "dge": "execution timeout (30000 ms) on model x, potentially caused by DGE notifications enabled. Please disable it\n"
    "NRT_EXEC_SW_NQ_OVERFLOW (1204)",
    "memory": "neuron:mc_alloc: device mempool [0:0] total 1073741568 occupied 960539030 needed 1272 available 768",
    "device": "nrt_execute failed: NRT_EXEC_HW_ERR_HBM_UE (1201)",
    "driver": "NRT:nrt_init      Unable to determine Neuron Driver version. Please check aws-neuron-dkms package is installed.",
}


def next_fault() -> str:
    plan = json.loads(os.environ.get("FAKE_PLAN", '["none"]'))
    with open(os.environ["FAKE_STATE"], "a+") as state:
        fcntl.flock(state, fcntl.LOCK_EX)
        state.seek(0)
        count = len(state.read())
        state.write("x")
    return plan[count % len(plan) if os.environ.get("FAKE_CYCLE") else min(count, len(plan) - 1)]


def noise_percent() -> float:
    """Of this call of `capture`: FAKE_NOISE is a JSON list of them, which starts again at its end."""
    noise = json.loads(os.environ.get("FAKE_NOISE", "[0]"))
    return noise[(len(Path(os.environ["FAKE_STATE"]).read_text()) - 1) % len(noise)]


def option(argv: list[str], name: str, default: str | None = None) -> str | None:
    for index, word in enumerate(argv):
        if word == name:
            return argv[index + 1]
        if word.startswith(name + "="):
            return word.partition("=")[2]
    return default


def capture(argv: list[str]) -> int:
    fault = next_fault()
    program = json.loads(Path(option(argv, "--neff")).read_text())
    num, nth = int(option(argv, "--num-exec", "1")), int(option(argv, "--profile-nth-exec", "1"))
    dge = "--enable-dge-notifs" in argv or os.environ.get("NEURON_RT_ENABLE_DGE_NOTIFICATIONS") == "1"
    if (
        fault in ("busy", "device", "driver")
        or (fault == "dge" and dge)
        or (fault == "memory" and "--single-io" not in argv)
    ):
        print(MESSAGES[fault], file=sys.stderr)
        return 1
    if fault == "flag" and option(argv, "--save-nth-output"):
        print("unknown flag `save-nth-output'", file=sys.stderr)
        return 1
    if fault == "crash_before":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang":
        child = os.fork()
        time.sleep(600 if child else 601)
    if fault == "gigabytes":
        for _ in range(2000):
            sys.stdout.write("spam " * 20000 + "\n")
    if fault == "garbage":
        sys.stdout.buffer.write(bytes(range(256)) * 50)
    for number in range(1, num + 1):
        if number % nth == 0:
            name = "profile.ntff" if number == 1 else f"profile_exec_{number}.ntff"
            total = program["total_time"] * (1 + 0.01 * number) * (1 + noise_percent() / 100)
            text = json.dumps({"total_time": total, "environment": os.environ.get("NEURON_RT_VISIBLE_CORES")})
            Path(name).write_text("" if fault == "empty" else text[:9] if fault == "partial" else text)
    for name, data in program["outputs"].items() if fault != "no_output" else ():
        Path(name).write_bytes(bytes.fromhex(data[: len(data) // 2] if fault == "half_output" else data))
        print(f'saved output "{name}" as "{name}"')
    if fault == "crash_after":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "nan":
        print("completed with numerical error (NaN) status=1003", file=sys.stderr)
        return 1
    return 0


def view(argv: list[str]) -> int:
    session = json.loads(Path(option(argv, "-s")).read_text())
    summary = {
        "total_time": session["total_time"],
        "total_active_time": session["total_time"] / 2,
        "tensor_engine_active_time": session["total_time"] / 4,
        "mfu_estimated_percent": 0.25,
        "hardware_flops": 2000,
        "matmul_instruction_count": 7,
        "hbm_read_bytes": 1000,
        "hbm_write_bytes": 500,
    }
    text = json.dumps({"n_" + "0" * 40: summary})
    print("ERRO[0012] Unable to process node with uid 0 for exec 6", file=sys.stderr)
    form = option(argv, "--output-format")
    if form == "summary-json":
        print(text)
    elif form in os.environ.get("FAKE_FORMATS", "").split(","):
        write_whole_profile(form, Path(option(argv, "--output-file")), summary)
    else:
        print(f"Invalid value `{form}' for option `--output-format'", file=sys.stderr)
        return 1
    return 0


def write_whole_profile(form: str, path: Path, summary: dict) -> None:
    row = {"opcode": "MATMUL", "nki_source_location": "/k/kernel.py:33", "operands": "", "pc": 0}
    if form == "json":
        row |= {"timestamp": 100, "duration": 300, "subgroup": "Tensor", "subgraph": "sg00"}
        path.write_text(json.dumps({"summary": [summary], "instruction": [row]}))
        return
    import pyarrow
    import pyarrow.parquet

    row |= {"start_ts": 100, "end_ts": 400, "duration_ns": 300, "engine": "tensor", "id": 1}
    path.mkdir()
    for table, rows in {"Summary": [summary], "Instruction_0": [row]}.items():
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path / f"{table}.parquet")


def main() -> int:
    argv = sys.argv[1:]
    if "--version" in argv:
        print(VERSION)
        return 0
    if argv[0] == "capture":
        return capture(argv)
    if argv[0] == "view":
        return view(argv)
    if argv[0] == "show-session":
        print(json.dumps({"NeffNodes": [{"NodeInfo": {"Graphs": [{"NC": 0, "CycleCount": 1000, "ErrorCount": 0}]}}]}))
        return 0
    print(f"Unknown command `{argv[0]}'. Please specify one command of: capture, show-session or view", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
