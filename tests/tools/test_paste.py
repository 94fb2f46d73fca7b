"""A built page is run as a reader pastes it."""

from tools.paste import differences

PAGE = """<p><code>a.txt</code> holds a word:</p><div class="text highlight"><pre><code>{word}
</code></pre></div><div class="console highlight"><pre><code>cat a.txt &amp;&amp; echo 1 built in 2.0 s
</code></pre></div><div class="output highlight"><pre><code>one
1 built in 0.4 s
</code></pre></div>"""


def test_a_page_that_prints_what_it_shows_has_no_differences(tmp_path):
    (tmp_path / "page.html").write_text(PAGE.format(word="one"))
    assert differences(tmp_path / "page.html") == []


def test_other_output_is_named(tmp_path):
    (tmp_path / "page.html").write_text(PAGE.format(word="two"))
    assert {"-one", "+two"} <= set(differences(tmp_path / "page.html"))
