"""neuron-explorer, neuron-profile and neuron-ls of one release, as its contract describes them.

As a program: FAKE_CONTRACT names the contract as JSON (`contracts.write`), FAKE_TOOL the tool. The "NEFF" is JSON:
{"outputs": {name: hex bytes}, "total_time": seconds}. FAKE_PLAN is a JSON list of faults, one for each call of `capture` (the
last one stays, or with FAKE_CYCLE it starts again): names of messages, or of what `Capture.misbehave` does. FAKE_STATE is the
file that counts the calls. FAKE_GONE: output formats and steps that this tool has no more. FAKE_DEVICES: what neuron-ls lists. FAKE_SLOW_RANK takes half as long again,
FAKE_LOST_RANK leaves no trace.
"""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.sdk.grammar import Refused, parse, value
from tests.sdk.tables import write_json, write_tables

SHORT = {
    "busy": "core busy",
    "dge": "DGE notification overflow",
    "memory": "out of device memory",
    "device": "hardware error",
    "driver": "no driver",
    "nan": "NaN",
}


class Fake:
    """A tool of a contract in a directory, with its streams."""

    def __init__(self, contract, tool, environ, directory, out=None, err=None):
        self.contract, self.tool, self.entry = contract, tool, contract["tools"].get(tool)
        self.environ, self.directory = environ, Path(directory)
        self.out, self.err = out or sys.stdout, err or sys.stderr

    def run(self, words):
        """The exit code."""
        if self.entry is None:
            raise FileNotFoundError(self.tool)
        try:
            return self.understood(words)
        except FileNotFoundError as absent:
            print(f"{absent.filename}: no such file", file=self.err)
            return self.entry["commands"][words[0]]["exits"]["failed"]["code"]
        except Refused as refused:
            print(self.entry["unknown_flag"].format(flag=refused), file=self.err)
            print(f"{self.tool} exited with an error.", self.version(), sep="\n", file=self.err)
            return 1

    def understood(self, words):
        if words and words[0] in self.entry["commands"]:
            return getattr(self, words[0].replace("-", "_"))(words[1:], self.entry["commands"][words[0]])
        if words and not words[0].startswith("-"):
            known = ", ".join(self.entry["commands"])
            print(f"Unknown command `{words[0]}'. Please specify one command of: {known}", file=self.err)
            return 1
        given, _ = parse(self.entry["flags"], words, 0)
        if "--version" in given:
            print(self.version(), file=self.out)
            return 0
        return self.list_devices(given)

    def version(self):
        return self.entry["version_line"].format(
            tool=self.tool, version=self.contract["versions"]["tools"], release=self.contract["name"]
        )

    def say(self, message):
        """What the runtime prints for a message of the contract."""
        entry = self.contract["messages"][message]
        statuses = [f"nrt_execute failed: {name} ({number})" for name, number in entry.get("statuses", {}).items()]
        print((entry.get("lines") or statuses)[-1], file=self.err)

    def capture(self, words, command):
        given, pairs = parse(command["flags"], words, None)
        if len(pairs) % 2:
            raise Refused("a name without a file")
        return Capture(self, command, given, pairs).run()

    def view(self, words, command):
        given, _ = parse(command["flags"], words, 0)
        flags = command["flags"]
        if "HOME" not in self.environ:
            print("panic: $HOME is not defined", file=self.err)
            return command["exits"]["failed"]["code"]
        format = given.get("--output-format", command["default_format"])
        formats = {name: entry for name, entry in command["formats"].items() if name not in self.gone()}
        if format not in formats:
            print(self.contract["messages"]["format gone"]["lines"][0], file=self.err)
            return command["exits"]["failed"]["code"]
        if formats[format]["to"] == "server" or set(formats[format].get("needs", ())) - given.keys():
            print("View a list of profiles at http://localhost:3001/", file=self.out)
            return 99  # the real one serves until it is ended
        for name in ("--neff-path", "--session-file"):
            (self.directory / value(given, flags, name)).stat()
        session = json.loads((self.directory / value(given, flags, "--session-file")).read_text())
        print(command["lines"]["log"]["text"], file=self.out)
        print("ERRO[0012] Unable to process node with uid 0 for exec 6", file=self.err)
        self.write(format, formats[format], given.get("--output-file"), session)
        if format == "parquet":
            print(command["lines"]["ingested"]["text"].format(file=given["--session-file"]), file=self.out)
        return command["exits"]["done"]["code"]

    def gone(self):
        return self.environ.get("FAKE_GONE", "").split()

    def write(self, format, entry, output, session):
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
        if entry["to"] == "stdout":
            print(json.dumps({"n_" + "0" * 40: summary}), file=self.out)
        elif format == "parquet":
            if sys.flags.no_site:  # a fake starts without the packages that only this format needs
                import site

                site.main()
            write_tables(self.directory / output, summary, self.contract)
        else:
            write_json(self.directory / (output or entry["default_file"]), summary)

    def show_session(self, words, command):
        given, _ = parse(command["flags"], words, 0)
        if "show-session" in self.gone():
            print("error: cannot show this session", file=self.err)
            return command["exits"]["failed"]["code"]
        (self.directory / given["-s"]).stat()
        print("time=now level=info msg=reading", file=self.out)
        graphs = [{"NC": 0, "CycleCount": 1000, "ErrorCount": 0}]
        if "-j" in given:
            print(json.dumps({"NeffNodes": [{"NodeInfo": {"Graphs": graphs}}]}), file=self.out)
        return command["exits"]["done"]["code"]

    def list_devices(self, given):
        asked = self.entry["json"]
        devices = json.loads(self.environ.get("FAKE_DEVICES", '[{"neuron_device": 0, "nc_count": 8}]'))
        if asked["flag"][0] in given:
            whole = devices if asked["shape"] == "array" else {"instance_type": "trn2", "devices": devices}
            print(json.dumps(whole), file=self.out)
        return 0


class Capture:
    """One call of `capture`."""

    def __init__(self, fake, command, given, pairs):
        self.fake, self.command, self.given = fake, command, given
        flags = command["flags"]
        self.files = {name: entry["name"] for name, entry in command["files"].items()}
        self.program = json.loads((fake.directory / value(given, flags, "--neff")).read_text())
        self.stem = value(given, flags, "--session-file").removesuffix(".ntff")
        self.num, self.nth = (int(value(given, flags, name)) for name in ("--num-exec", "--profile-nth-exec"))
        self.ranks = int(given.get("--collectives-workers-per-node", 0))
        self.rank = value(given, flags, "--collectives-profile-id")
        lists = [pairs]
        if "--multi-input" in given:
            lists = [line.split() for line in (fake.directory / given["--multi-input"]).read_text().splitlines()]
        for path in (path for words in lists for path in words[1::2]):
            (fake.directory / path).stat()

    def check_environment(self):
        """What the contract says to set is set, and what leads the tool elsewhere is gone."""
        for name, entry in self.fake.contract["environment"].items():
            if entry.get("used_by", "both") != "compile" and "{" not in entry.get("set", ""):
                if entry["role"] == "unset" or "set" in entry:
                    found = self.fake.environ.get(name)
                    assert found == entry.get("set"), f"{name} is {found}, expected {entry.get('set')}"

    def run(self):
        if "FAKE_STATE" in self.fake.environ:
            self.check_environment()
        fault = self.next_fault()
        message = SHORT.get(fault, fault)
        if self.misbehave(fault) or self.fails(message):
            if message in self.fake.contract["messages"]:
                self.fake.say(message)
            return self.command["exits"]["failed"]["code"]
        if "--disable-profile" not in self.given:
            for name, execution, rank in self.traces():
                self.trace(name, execution, rank, fault)
        if fault != "no_output" and {"--save-output", "--save-output-npy"} & self.given.keys():
            self.outputs(fault)
        if fault == "crash_after":
            os.kill(os.getpid(), signal.SIGSEGV)
        if message == "NaN" and "--ignore-exec-errors" not in self.given:
            self.fake.say(message)
            return self.command["exits"]["nan"]["code"]
        return self.command["exits"]["done"]["code"]

    def fails(self, message):
        """Whether nothing is run because of it."""
        environ = self.fake.environ
        dge = "--enable-dge-notifs" in self.given or environ.get("NEURON_RT_ENABLE_DGE_NOTIFICATIONS") == "1"
        if message == "DGE notification overflow":
            return dge
        if message == "out of device memory":
            return "--single-io" not in self.given
        if message == "flag" and "--save-nth-output" in self.given:
            raise Refused("save-nth-output")
        return message in self.fake.contract["messages"] and message != "NaN"

    def misbehave(self, fault):
        if fault == "crash_before":
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "hang":
            child = os.fork()
            time.sleep(600 if child else 601)
        if fault == "gigabytes":
            for _ in range(2000):
                self.fake.out.write("spam " * 20000 + "\n")
        if fault == "garbage":
            self.fake.out.buffer.write(bytes(range(256)) * 50)
        return False

    def traces(self):
        """Names of the traces and their executions."""
        last = max(self.num, self.nth)
        executions = [number for number in range(1, last + 1) if self.nth and number % self.nth == 0]
        ranks = range(self.ranks) if self.rank == "all" else [int(self.rank)]
        lost = self.fake.environ.get("FAKE_LOST_RANK")
        for rank in [rank for rank in ranks if str(rank) != lost] if self.ranks else [None]:
            for execution in executions:
                kind = "trace" + ("_of_rank" if rank is not None else "")
                if execution > 1:
                    kind += "_and_execution" if rank is not None else "_of_execution"
                yield self.files[kind].format(stem=self.stem, rank=rank, execution=execution), execution, rank

    def trace(self, name, execution, rank, fault):
        noise = json.loads(self.fake.environ.get("FAKE_NOISE", "[0]"))
        percent = noise[(self.calls() - 1) % len(noise)]
        total = self.program["total_time"] * (1 + 0.01 * execution) * (1 + percent / 100)
        if rank is not None and str(rank) == self.fake.environ.get("FAKE_SLOW_RANK"):
            total *= 1.5
        text = json.dumps({"total_time": total, "environment": self.fake.environ.get("NEURON_RT_VISIBLE_CORES")})
        wrong = {"empty": "", "partial": text[:9]}
        (self.fake.directory / name).write_text(wrong.get(fault, text))

    def outputs(self, fault):
        """With --save-nth-output the last execution alone, under the plain name."""
        chosen = [self.num] if "--save-nth-output" in self.given else range(1, self.num + 1)
        for rank in range(self.ranks) if self.ranks else [None]:
            for name, data in self.program["outputs"].items():
                for execution in chosen:
                    kind = "output" if len(chosen) == 1 or execution == 1 else "output_of_execution"
                    file = self.files[kind].format(tensor=name, execution=execution)
                    if rank is not None:
                        file = self.files["output_of_rank"].format(rank=rank, tensor=file)
                    path = self.fake.directory / file
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(bytes.fromhex(data[: len(data) // 2] if fault == "half_output" else data))
                    print(self.command["lines"]["saved"]["text"].format(tensor=name, file=file), file=self.fake.out)

    def next_fault(self):
        plan = json.loads(self.fake.environ.get("FAKE_PLAN", '["none"]'))
        if "FAKE_STATE" not in self.fake.environ:
            return plan[0]
        with open(self.fake.environ["FAKE_STATE"], "a+") as state:
            fcntl.flock(state, fcntl.LOCK_EX)
            state.seek(0)
            count = len(state.read())
            state.write("x")
        return plan[count % len(plan) if self.fake.environ.get("FAKE_CYCLE") else min(count, len(plan) - 1)]

    def calls(self):
        state = self.fake.environ.get("FAKE_STATE")
        return len(Path(state).read_text()) if state else 1


def main():
    environ = os.environ
    contract = json.loads(Path(environ["FAKE_CONTRACT"]).read_text())
    tool = environ["FAKE_TOOL"]
    return Fake(contract, tool, environ, Path.cwd()).run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
