import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from neff_bench.installation import __version__

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

PAGE = """# Page

```console
$ cat > a.txt <<'END'
> one
> END
$ cat a.txt && pwd
old output
```

```bash
not run
```
"""


def load():
    spec = importlib.util.spec_from_file_location("docs_tool", ROOT / "tools" / "docs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


docs = load()
refresh = docs.refresh


def test_outputs_are_replaced_and_the_rest_stays(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    refresh(page)
    assert page.read_text().startswith(PAGE.split("old output")[0] + "one\n/")
    assert page.read_text().endswith("```\n\n```bash\nnot run\n```\n")
    again = page.read_text()
    refresh(page)
    assert again.count("one") == page.read_text().count("one")


def test_a_failed_command_leaves_the_page_as_it_was(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo new\nold\n$ false\n```\n")
    with pytest.raises(subprocess.CalledProcessError):
        refresh(page)
    assert "old" in page.read_text()


@pytest.mark.parametrize(
    ("block", "fresh"),
    [
        ("console", "echo 8 built in 0.4 s"),
        ("console", "echo neuron-sim 0.1.0+sim.2.0123abcd, model trn2-2.99999999"),
        ("console", "echo q_proj 2921 2.0e-06 5.1e-07 passed"),
        ("console host", "echo '128   0.25 ms'"),
    ],
)
def test_what_differs_from_host_to_host_is_not_stale(tmp_path, block, fresh):
    old = {
        "8": "8 built in 12.1 s",
        "n": "neuron-sim 0.1.0+sim.2.xxxxxxxx, model trn2-2.xxxxxxxx",
        "q": "q_proj 2921 0 0 passed",
    }
    shown = old.get(fresh[5], "128 1.00 ms")
    page = tmp_path / "page.md"
    page.write_text(f"```{block}\n$ {fresh}\n{shown}\n```\n")
    assert docs.stale(page) == []
    refresh(page)
    assert shown in page.read_text()


@pytest.mark.parametrize(
    ("block", "fresh"), [("console", "echo total 43.9"), ("console host", "echo other words 43.8")]
)
def test_another_number_or_word_is_stale(tmp_path, block, fresh):
    page = tmp_path / "page.md"
    page.write_text(f"```{block}\n$ {fresh}\ntotal 43.8\n```\n")
    assert any(line.startswith("-total 43.8") for line in docs.stale(page))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```console" in page.read_text()], ids=lambda page: page.name
)
def test_the_page_shows_what_its_commands_print(page, request, monkeypatch):
    """`python tools/docs.py docs/PAGE.md` refreshes a page that fails here."""
    if docs.NEEDS in page.read_text():
        monkeypatch.setenv("NKILIB_PATH", str(request.getfixturevalue("nki_library")))
    assert docs.stale(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_pages_lead_somewhere(page):
    text = page.read_text()
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    assert all(link.startswith("http") or (page.parent / link.partition("#")[0]).exists() for link in links)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_no_model_of_another_day(page):
    """The fingerprint is written as xxxxxxxx; tools/site.py puts that of the built model there."""
    assert docs.FINGERPRINT.findall(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_the_version_that_this_is(page):
    named = re.findall(r"\b(?:neuron-sim|neff-bench) (\d+\.\d+\.\d+)", page.read_text())
    assert set(named) <= {__version__}
