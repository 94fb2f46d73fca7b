import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))

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


def refresh(page):
    spec = importlib.util.spec_from_file_location("docs_tool", ROOT / "tools" / "docs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.refresh(page)


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_pages_lead_somewhere(page):
    text = page.read_text()
    links = [part.split(")")[0] for part in text.split("](")[1:]]
    assert all(link.startswith("http") or (page.parent / link).exists() for link in links)
