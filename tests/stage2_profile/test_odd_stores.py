"""One bundle of four in an odd state costs its own row: whole commands, in processes that may not read what is not readable."""

import ctypes
import json
import os
import shutil
import subprocess
import sys

import pytest

from neff_bench.neffs.store import Store

# Commands that run as another user are forked, which jax warns of where another test of this process has imported it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:os.fork"),
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. .function _at_fork:pytest.PytestUnraisableExceptionWarning"
    ),
]

ODD = "exp_nki_M7_N128_float32_trn2_lnc1"
SHAPES = "cases: [{kernel: exp, implementation: nki, M: '5:8:1', N: 128, target: trn2, lnc: 1, dtype: float32}]"
NO_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


int flock(int fd, int operation) {
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, getenv("WITHOUT_LOCKS"))) {
        errno = ENOLCK;
        return -1;
    }
    return ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(fd, operation);
}
"""
DROP = 24
"""PR_CAPBSET_DROP of prctl(2). Without the capabilities 1 and 2 also root may not read what has no permission."""


def as_anybody():
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(DROP, capability, 0, 0, 0)


def run(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "neff_bench", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=as_anybody if os.geteuid() == 0 else None,
        timeout=120,
    )


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    directory = tmp_path_factory.mktemp("four")
    (directory / "shapes.yaml").write_text(SHAPES)
    for words in (("generate", "--shapes", directory / "shapes.yaml", "--out", directory / "store"),
                  ("profile", directory / "store")):  # fmt: skip
        assert run(*words).returncode == 0
    return directory / "store"


@pytest.fixture
def copy(four, tmp_path):
    shutil.copytree(four, tmp_path / "store")
    yield tmp_path / "store"
    for folder in (".", "profiles", "profiles/1"):
        (tmp_path / "store" / ODD / folder).chmod(0o755)


def profiled(store, **environment):
    """The reason of the one row of four that fails."""
    done = run("profile", store, "--force", "--format", "json", **environment)
    rows = json.loads(done.stdout)
    failed = [row for row in rows if row["status"] != "profiled"]
    assert (done.returncode, len(rows), [row["case"] for row in failed]) == (1, 4, [ODD]), done.stderr
    return failed[0]["reason"]


def test_a_directory_in_the_place_of_a_lock(copy):
    (copy / ODD / "profiles" / ".lock").mkdir()
    assert profiled(copy) == f"{copy}/{ODD}/profiles/.lock: cannot be locked: it is a directory; remove it"


def test_a_link_in_the_place_of_a_lock(copy, tmp_path):
    (copy / ODD / "profiles" / ".lock").symlink_to(tmp_path / "elsewhere")
    assert profiled(copy) == f"{copy}/{ODD}/profiles/.lock: cannot be locked: it is a link; remove it"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_file_system_without_locks(copy, tmp_path):
    (tmp_path / "no_locks.c").write_text(NO_LOCKS)
    library = tmp_path / "no_locks.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "no_locks.c", "-ldl"], check=True)
    reason = profiled(copy, LD_PRELOAD=str(library), WITHOUT_LOCKS=ODD)
    assert reason.startswith(f"{copy}/{ODD}/profiles/.lock: cannot be locked: this file system has no locks; put it on")


@pytest.mark.parametrize("folder", [".", "profiles"])
def test_a_folder_that_cannot_be_read(copy, folder):
    (copy / ODD / folder).chmod(0)
    assert "Permission denied" in profiled(copy)


@pytest.mark.parametrize(("folder", "done"), [("profiles", None), ("profiles/1", "left as it is; make it readable")])
def test_fsck_of_a_store_with_a_folder_that_cannot_be_read(copy, folder, done):
    (copy / ODD / folder).chmod(0)
    for words in ((), ("--repair",)):
        said = run("fsck", copy, "--format", "json", *words)
        [finding] = json.loads(said.stdout)
        assert (finding["problem"], finding["what"]) == ("unreadable", "Permission denied"), said.stderr
        assert finding["file"].startswith(f"{ODD}/{folder}")
        assert (said.returncode, finding["done"]) == (1, done if words else None)


def test_gc_and_merge_of_a_store_with_a_folder_that_cannot_be_read(copy, tmp_path):
    odd = copy / ODD / "profiles"
    odd.chmod(0)
    done = run("gc", copy, "--keep", "1")
    assert (done.returncode, done.stdout) == (1, "0 runs of 0 cases removed: 0 bytes.\n")
    assert done.stderr == f"error: {ODD}: {odd}: Permission denied; its runs are left as they are\n"
    done = run("merge", tmp_path / "other", copy, "--format", "json")
    merged = {one["case"]: one["done"] for one in json.loads(done.stdout)}
    assert (done.returncode, merged.pop(ODD), set(merged.values())) == (1, "unreadable", {"copied"})
    assert len(merged) == 3 and len(Store(copy).names()) == 4
