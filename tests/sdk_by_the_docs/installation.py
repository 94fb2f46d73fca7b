import json
import os
import shutil
import stat
import sys
from pathlib import Path

FILES = Path(__file__).parent / "files"

PLAIN = {
    "release": "2.32",
    "programs": ["neuron-explorer", "neuron-ls", "neuronx-cc"],
    "nki": "ncc_driver",  # which function writes the NEFF; or private_driver, standalone
    "order": "parameters",  # of a NEFF's inputs and outputs; or reversed
    "lnc_made": None,  # what the compiler writes instead of what it was asked for
    "bf16_name": "bfloat16",  # NEFFs may name no type that numpy has
    "log_on": "stderr",
    "saved_on": "stdout",  # the lines "saved output ..."; or stderr, or nowhere
    "trailing_log": False,  # log lines with braces, on standard output behind the JSON
    "show_session": True,
    "refused": [],  # flags of capture that this release does not have
    "refuses": ["unknown flag `{name}'", 1, "stderr"],  # its words, its exit code, and where it says so
    "summary": None,  # what is impossible in it: see files/profile_of.py
    "host_lnc": 2,
    "instance": "trn2.3xlarge",
    "random_outputs": False,  # a kernel whose executions differ
    "drops_events": False,
    "no_json": False,  # of a system trace
    "output_file_counts": True,  # or view gives the JSON of a system trace a name of its own
    "jax": True,  # on the host, beside the SDK
    "stale_trace": False,  # capture leaves the trace of another NEFF
    "misbehaves": False,  # each second capture, in the ways of files/misbehaviour.py
    "compiler_error": "",  # on standard error of neuronx-cc, which then fails
}

VERSIONS = {
    "2.28": ("0.2.0", "2.23.6484.0"),
    "2.29": ("0.3.0", "2.24.5133.0"),
    "2.31": ("0.5.0", "2.26.6360.0"),
    "2.32": ("0.6.0", "2.27.5334.0"),
    "2.33": ("0.7.0", "2.28.7631.0"),
}


def change(folder: Path, **habits) -> None:
    """Other habits of an SDK that is installed."""
    assert habits.keys() <= PLAIN.keys(), habits.keys() - PLAIN.keys()
    file = folder / "habits.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **habits}))


def install(folder: Path, **habits) -> dict[str, str]:
    """The SDK in that folder. The environment of a process that has it."""
    assert habits.keys() <= PLAIN.keys(), habits.keys() - PLAIN.keys()
    habits = {**PLAIN, **habits}
    shutil.copytree(FILES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "bin").mkdir()
    nki, compiler = VERSIONS[habits["release"]]
    (folder / "habits.json").write_text(json.dumps({**habits, "nki_version": nki, "compiler_version": compiler}))
    for package, version in (("nki", nki), ("neuronx_cc", compiler)):
        metadata = folder / "site" / f"{package}-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: {version}\n")
    for name in habits["programs"]:
        module = {"neuron-ls": "ls", "neuronx-cc": "cc"}.get(name, "explorer")
        program = folder / "bin" / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(folder)!r})\n"
            f"import {module}\nsys.exit({module}.main({name!r}, sys.argv[1:]))\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(folder / "site"), *([] if habits["jax"] else [str(folder / "no_jax")])]),
        "NEFF_BENCH_LOCK_DIR": str(folder / "locks"),
        "NEFF_BENCH_NKI_LOCK_DIR": str(folder / "nki_locks"),
    }
