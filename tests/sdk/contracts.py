"""The contracts as plain JSON, for the fakes; and the fakes as programs on PATH."""

import json
import sys
from functools import cache
from pathlib import Path

from neff_bench.sdk.release import documents, merged, names

RELEASES = names()
FAKE_TOOLS = Path(__file__).with_name("fake_tools.py")
PROFILERS = ("neuron-explorer", "neuron-profile", "neuron-ls")


@cache
def text(release):
    return json.dumps(merged(documents(), release))


def write(release, directory):
    """The contract of a release as a file."""
    path = directory / f"contract-{release}.json"
    path.write_text(text(release))
    return path


def install(release, directory, tools=PROFILERS):
    """The tools that the release has, as programs in a directory."""
    directory.mkdir(exist_ok=True)
    contract = write(release, directory)
    for tool in tools:
        if tool in json.loads(text(release))["tools"]:
            script = directory / tool
            fake = f"FAKE_TOOL={tool} FAKE_CONTRACT='{contract}' exec {sys.executable} -S -E {FAKE_TOOLS}"
            script.write_text(f'#!/bin/sh\n{fake} "$@"\n')
            script.chmod(0o755)
    return directory
