"""What a contract, as plain data, says otherwise than `documented.py`: a list of complaints, empty where they agree."""

import io
import json
import shutil
from functools import cache

import msgspec

from neff_bench.sdk.release import Command, Message, order
from neff_bench.stage1_generate.toolchains.compiled import Request
from neff_bench.stage1_generate.toolchains.neuron.compile import compiler_words
from neff_bench.stage2_profile.capture.arguments import CapturePlan, capture, saved_outputs, show_session, view
from neff_bench.stage2_profile.capture.failures import failure_of
from tests.sdk import documented
from tests.sdk.fake_tools import Fake
from tests.sdk.grammar import Refused, parse


def within(release, first, last):
    return order(first) <= order(release) <= order(last or release)


def complaints(contract, section, directory):
    """Of one section of the contract: the key at its top."""
    check = SECTIONS.get(section)
    try:
        if check is not None:
            yield from check(contract, directory)
    except Exception as error:  # what a fake or a reader stumbles over is a complaint like any other
        yield repr(error)


def tools(contract, directory):
    release = contract["name"]
    for tool, (first, last) in documented.TOOLS.items():
        if (tool in contract["tools"]) != within(release, first, last):
            yield f"{tool} in {release}"
    for words, names, first, last in documented.CALLS:
        for tool in contract["tools"]:
            expected = tool in names.split() and within(release, first, last)
            if accepted(contract, tool, words.split()) != expected:
                yield f"{tool} {words} in {release}"
    for words in documented.NEVER:
        yield from (f"{tool} takes {words}" for tool in contract["tools"] if accepted(contract, tool, words.split()))
    for (first, sure), path in documented.SURE.items():
        tool, command, kind, name = path.split()
        found = contract["tools"][tool]["commands"][command][kind][name]["sure"]
        if within(release, first, None) and found != sure:
            yield f"{path} is {found}"
    yield from (f"{tool} is written otherwise" for tool in written(contract))
    for tool, commands in documented.DEFAULTS.items():
        for command, flags in commands.items():
            for flag, default in flags.items():
                known = contract["tools"].get(tool, {}).get("commands", {}).get(command, {}).get("flags", {})
                if flag in known and known[flag].get("default") != default:
                    yield f"{tool} {command} {flag}: {known[flag].get('default')}"
    for tool in contract["tools"].keys() & {"neuron-explorer", "neuron-profile"}:
        yield from runs(contract, tool, directory)
    yield from other_tools(contract, directory)


def accepted(contract, tool, words):
    entry = contract["tools"][tool]
    command = entry["commands"].get(words[0])
    try:
        if command is None:
            parse(entry["flags"], words, 0)
            return True
        given, others = parse(
            command["flags"], words[1:], None if command.get("pairs") else command.get("files_given", 0)
        )
    except Refused:
        return False
    if command.get("pairs") and len(others) % 2:
        return False
    format = given.get("--output-format", command.get("default_format"))
    if format is None:
        return True
    return format in command["formats"] and set(command["formats"][format].get("needs", ())) <= given.keys()


def written(contract):
    """The tools for which our own argument lists are not those that AWS's code writes."""
    plan = CapturePlan("file.neff", (("x", "x.bin"),), 10, 10, alias=True, single_io=True, dge_notifications=True)
    for tool in contract["tools"].keys() & {"neuron-explorer", "neuron-profile"}:
        known = {name: msgspec.convert(entry, Command) for name, entry in contract["tools"][tool]["commands"].items()}
        ours = (
            capture((), plan, known["capture"]),
            show_session((), "profile.ntff", known["show-session"]),
            view((), "file.neff", "profile.ntff", "summary-json", known["view"]),
        )
        if tuple(map(" ".join, ours)) != documented.WRITTEN:
            yield tool
    request = Request("xla", "", (), None, {}, (), "trn2", 2, ())
    compiler = msgspec.convert(contract["tools"]["neuronx-cc"]["commands"]["compile"], Command)
    if " ".join(compiler_words(request, compiler)) != documented.COMPILED:
        yield "neuronx-cc"


def runs(contract, tool, directory):
    """Files, lines and exit codes of a profiler, by its fake."""
    before = {"file.neff": json.dumps({"outputs": {"out": "00"}, "total_time": 1e-4})}

    def call(words, **environ):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        for name, text in {**before, "given.ntff": '{"total_time": 1e-4}'}.items():
            (directory / name).write_text(text)
        out, err = io.StringIO(), io.StringIO()
        code = Fake(contract, tool, {"HOME": "/", **environ}, directory, out, err).run(words.split())
        left = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
        return code, left - before.keys() - {"given.ntff"}, out.getvalue(), err.getvalue()

    for words, files in documented.FILES:
        code, left, _, _ = call(words)
        if code != 0 or left != set(files.split()):
            yield f"{tool} {words}: exit {code}, {sorted(left)}"
    _, left, said, _ = call("capture -n file.neff --save-output")
    if saved_outputs(said) != {"out": "out"}:
        yield f"{tool}: {said}"
    code, left, _, _ = call("capture -n file.neff", FAKE_PLAN='["nan"]')
    if code == 0 or left != {"profile.ntff"}:
        yield f"{tool}: a NaN ends with {code} and {left}"
    code, left, _, _ = call("capture -n file.neff", FAKE_PLAN='["busy"]')
    if code == 0 or left:
        yield f"{tool}: a busy core ends with {code} and {left}"
    code, _, said, _ = call("view -n file.neff -s given.ntff --output-format=summary-json")
    warns = tool == "neuron-explorer" and within(contract["name"], "2.33", None)
    if code != 0 or ("WARN" in said) != warns or said.startswith("{") or "\n{" not in said:
        yield f"{tool}: summary-json ends with {code} and {said}"
    if call("view -n file.neff -s given.ntff --output-format=none")[0] == 0:
        yield f"{tool}: view writes any format"
    for format in ("json", "perfetto"):
        if format in contract["tools"][tool]["commands"]["view"]["formats"]:
            left = call(f"view -n file.neff -s given.ntff --output-format={format}")[1]
            if left != {"ntff." + ("json" if format == "json" else "pftrace")}:
                yield f"{tool}: {format} leaves {left}"
    if call("view -n file.neff -s given.ntff")[0] != 99:
        yield f"{tool}: a bare view ends"
    code, _, said, _ = call("show-session -s given.ntff --show-errors -j")
    if code != 0 or "CycleCount" not in said:
        yield f"{tool}: show-session ends with {code} and {said}"
    if call("show-session -s nothing.ntff -j")[0] == 0:
        yield f"{tool}: show-session reads what is not there"
    said = call("--version")[2]
    if f"{tool} {contract['versions']['tools']}" not in said:
        yield f"{tool}: {said}"
    if "unknown flag `none'" not in call("capture --none")[3]:
        yield f"{tool}: what it says to an unknown flag"
    if "parquet" in contract["tools"][tool]["commands"]["view"]["formats"]:
        if "is complete" not in contract["tools"][tool]["commands"]["view"]["lines"]["ingested"]["text"]:
            yield f"{tool}: what ends an ingestion"


def other_tools(contract, directory):
    listed = contract["tools"]["neuron-ls"]
    asked = listed["json"]
    old = within(contract["name"], "2.28", "2.33")
    expected = ["--json-output"] if old else ["--output-format", "json"]
    if asked["flag"] != expected or asked["shape"] != ("array" if old else "object"):
        yield f"neuron-ls: {asked}"
    if not accepted(contract, "neuron-ls", asked["flag"]):
        yield "neuron-ls refuses what the contract says to ask"
    out = io.StringIO()
    Fake(contract, "neuron-ls", {}, directory, out, out).run(["--version"])
    Fake(contract, "neuron-ls", {}, directory, out, out).run(["--none"])
    if "neuron-ls 2." not in out.getvalue() or "unknown flag `none'" not in out.getvalue():
        yield f"neuron-ls: {out.getvalue()}"
    compiler = contract["tools"]["neuronx-cc"]
    compile = compiler["commands"]["compile"]
    if "{compiler}" not in compiler["version_line"] or "unrecognized" not in compiler["unknown_flag"]:
        yield "neuronx-cc: its version line or what it says to an unknown flag"
    if (compile["exits"]["done"]["code"], bool(compile["exits"]["failed"]["code"])) != (0, True):
        yield "neuronx-cc: exit codes"
    if compile["files"]["neff"]["name"] != "{output}" or "PASS" not in compile["lines"]["passed"]["text"]:
        yield "neuronx-cc: what it leaves and says"
    if sorted(compile["flags"]["--target"]["values"]) != ["inf2", "trn1", "trn1n", "trn2", "trn3"]:
        yield "neuronx-cc: targets"
    if compile["flags"]["--target"]["undocumented"] != ["trn3"]:
        yield "neuronx-cc: which target no page names"
    if compile["flags"]["--framework"]["values"] != ["XLA"]:
        yield "neuronx-cc: frameworks"


@cache
def pattern_of(encoded):
    name, message = json.loads(encoded)
    return failure_of(name, msgspec.convert(message, Message))


def messages(contract, directory):
    table = [pattern_of(json.dumps(item)) for item in contract["messages"].items()]
    said = {" ".join(line.split()) for entry in contract["messages"].values() for line in entry.get("lines", ())}
    newer = [line[:3] for line in documented.NEW_LINES if within(contract["name"], line[3], None)]
    for line, name, kind in (*documented.LINES, *newer):
        hits = (failure for failure in table if failure.pattern.search(line))
        found = next((failure for failure in hits if failure.kind != "unknown"), None)
        if found is None or (found.name, found.kind) != (name, kind):
            yield f"{line}: {found}"
        said -= (shown := {text for text in said if text in " ".join(line.split())})
        if not shown and "err: 1006" not in line:
            yield f"not in the data: {line}"
    yield from (f"in no page: {line}" for line in said)
    for status, (number, kind) in documented.STATUSES.items():
        for text in (f"nrt_execute failed: {status}", f"NMGR:dlr_infer  Inference completed with err: {number}. mode"):
            found = next((failure for failure in table if failure.pattern.search(text)), None)
            if found is None or found.kind != kind:
                yield f"{text}: {found}"
    if {name for entry in contract["messages"].values() for name in entry.get("statuses", ())} != set(
        documented.STATUSES
    ):
        yield "statuses"


def compiler_errors(contract, directory):
    told = {name: entry["codes"] for name, entry in contract.get("compiler_errors", {}).items()}
    known = [line[1:] for line in documented.COMPILER_ERRORS if within(contract["name"], line[0], None)]
    if told != {name: codes.split() for name, codes in known}:
        yield "compiler errors"


def environment(contract, directory):
    release = contract["name"]
    expected = {
        name: role for name, (role, first, last) in documented.VARIABLES.items() if within(release, first, last)
    }
    found = {name: entry["role"] for name, entry in contract["environment"].items()}
    if found != expected:
        yield f"{set(found.items()) ^ set(expected.items())}"
    lines = {name: entry["lines"] for name, entry in contract["environment"].items() if "lines" in entry}
    if lines != documented.LINES_BY:
        yield f"{lines}"
    for step in ("compile", "capture"):
        settings, taken = {}, {}
        for name, entry in contract["environment"].items():
            if entry.get("used_by", "both") in (step, "both"):
                value = entry.get("set", entry.get("default"))
                settings |= {name: value.format(target="trn2", lnc="2", core="3")} if value else {}
                taken |= {name: None} if entry["role"] == "unset" else {}
        gone = {name for name, first in documented.TAKEN_AWAY[step].items() if within(release, first, None)}
        more = {"NKI_ENABLE_TRACE_CACHE": "0"} if step == "compile" and within(release, "2.32", None) else {}
        if settings != documented.SETTINGS[step] | more or taken.keys() != gone:
            yield f"{step}: {settings}, without {list(taken)}"


def nki(contract, directory):
    first, targets = documented.TARGETS
    if contract["nki"].get("targets", []) != (targets if within(contract["name"], first, None) else []):
        yield "targets of NKI"
    release, entry = contract["name"], contract["nki"]
    for name, first, last, functions in documented.INTERFACES:
        found = entry["interfaces"].get(name)
        if (found is not None) != within(release, first, last):
            yield f"{name} in {release}"
        elif found is not None and found["functions"] != {path: names.split() for path, names in functions}:
            yield f"{name}: {found['functions']}"
    (lnc_by,) = (by for by, first, last in documented.LNC_BY if within(release, first, last))
    if entry["sure"] != ("?" if release == "2.34" else "+"):
        yield f"nki is {entry['sure']}"
    if entry["lnc_by"] != lnc_by or entry["backend_splits_paths"] is not True or len(entry["generation"]) < 10:
        yield f"{entry}"


def versions(contract, directory):
    found = [contract["versions"].get(name) for name in ("tools", "nki", "neuronx-cc", "runtime", "driver")]
    tools, *others, _ = documented.VERSIONS[contract["name"]]
    if found[1:] != others or not found[0].startswith(tools):
        yield f"{found}"
    if contract["versions"].get("nrtpy") != {"2.32": "2.32", "2.33": "2.35.30"}.get(contract["name"]):
        yield "nrtpy"
    if contract["versions"].get("torch-neuronx") != {"2.33": "2.9.0.2.15.32035"}.get(contract["name"]):
        yield "torch-neuronx"


def parquet_schema(contract, directory):
    entry = contract["parquet_schema"]
    view = "view " if within(contract["name"], "2.33", None) else ""
    if (entry["version"], entry["flag"]) != (
        documented.VERSIONS[contract["name"]][-1],
        f"neuron-explorer {view}--show-profile-schema",
    ):
        yield f"{entry}"


def packages(contract, directory):
    if {name: (entry["module"], entry["part"]) for name, entry in contract["packages"].items()} != documented.PACKAGES:
        yield "packages"


def notes(contract, directory):
    for release, part in documented.NOTES:
        if release == contract["name"] and not any(part in note for note in contract.get("notes", ())):
            yield f"no note on {part}"


def needs_driver(contract, directory):
    first, driver = documented.NEEDS_DRIVER
    if contract["needs_driver"] != (driver if within(contract["name"], first, None) else None):
        yield f"{contract['needs_driver']}"


def python(contract, directory):
    expected = {
        package: {name: names.split() for name, names in functions.items()}
        for package, first, functions in documented.PYTHON
        if within(contract["name"], first, None)
    }
    found = {package: entry["functions"] for package, entry in contract["python"].items()}
    if found != expected:
        yield f"{found}"


SECTIONS = {
    "tools": tools,
    "messages": messages,
    "compiler_errors": compiler_errors,
    "environment": environment,
    "nki": nki,
    "versions": versions,
    "parquet_schema": parquet_schema,
    "packages": packages,
    "notes": notes,
    "needs_driver": needs_driver,
    "python": python,
}
