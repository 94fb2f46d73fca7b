import subprocess
import sys

import pytest

CODE = """
import msgspec
prepared = set()

real = msgspec.json.Decoder

def seen(kind):
    prepared.update(structs(kind))
    return real(kind)

def structs(kind):
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from structs(field.type)
    for inner in getattr(kind, "__args__", ()):
        yield from structs(inner)

msgspec.json.Decoder = seen
import neff_bench.parsers.MODULE as module
mine = {kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)}
assert mine and mine <= prepared, mine - prepared
"""


@pytest.mark.parametrize("module", ["document", "events", "neff", "profile_json", "session"])
def test_msgspec_knows_every_type_once_a_module_is_imported(module):
    """Threads that decode a type for the first time at once can crash, so nothing may be left for the first decode."""
    subprocess.run([sys.executable, "-c", CODE.replace("MODULE", module)], check=True)
