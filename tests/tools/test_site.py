import re
from pathlib import Path

import pytest

from neff_bench.cli import COMMANDS
from neff_bench.simulator.timing.model import fingerprint
from neff_bench.stage1_generate.shapes import own, read
from tools import site

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    target = tmp_path_factory.mktemp("site") / "pages"
    site.write(target)
    return target


def test_the_navigation_names_the_pages_of_the_site_and_no_others(pages):
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"[\w-]+\.md", navigation)
    assert sorted(named) == sorted(page.name for page in pages.glob("*.md"))


def test_every_command_and_option_has_its_help_in_the_site(pages):
    text = (pages / "commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## neff-bench {name}\n" not in text] == []
    assert "--shapes FILE" in text


def test_the_page_of_the_shapes_file_explains_every_key():
    text = (ROOT / "docs" / "shapes-file.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert explained == {*read._COMMON, *own.KEYS}


def test_the_site_shows_the_model_that_it_was_built_with(pages):
    text = (pages / "index.md").read_text(encoding="utf-8")
    assert f"(trn2-2.{fingerprint()})" in text
    assert not any(site.MASK in page.read_text(encoding="utf-8") for page in pages.glob("*.md"))


def test_the_first_use_of_a_word_of_the_glossary_is_a_link_to_it(pages):
    text = site.explained("# A NEFF\n\n`NEFF` of [a NEFF](x.md) holds a NEFF; each NEFF is one.\n")
    assert text == "# A NEFF\n\n`NEFF` of [a NEFF](x.md) holds a [NEFF](glossary.md#neff); each NEFF is one.\n"
    glossary = (pages / "glossary.md").read_text(encoding="utf-8")
    places = {word.lower().replace(" ", "-") for word in site.EXPLAINED}
    assert [place for place in places if f'<a id="{place}"></a>' not in glossary] == []


def test_a_console_session_becomes_blocks_that_can_be_pasted():
    session = "```console\n$ cat > a <<'END'\n> one\n> END\n$ cat a\none\n```\n"
    commands, output = "```{.bash .console}\ncat > a <<'END'\none\nEND\ncat a\n```\n", "```{.text .output}\none\n```\n"
    assert site.pasteable(session).replace("\n\n", "\n") == commands + output
