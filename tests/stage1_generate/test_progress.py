from neff_bench.stage1_generate.build.build import Outcome
from neff_bench.stage1_generate.progress import progress


def test_without_a_terminal_each_case_is_one_plain_line_on_standard_error(capsys):
    with progress(10) as show:
        show(Outcome("a", "built", None, 1.234))
        show(Outcome("b", "failed", "no"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "[ 1/10] built a 1.23 s\n[ 2/10] failed b: no\n"


def test_on_a_terminal_failures_stay_visible_and_markup_in_a_reason_is_text(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    with progress(2) as show:
        show(Outcome("a", "built", None, 1.0))
        show(Outcome("b", "failed", "[/red] [bold]no"))
    assert "failed b: [/red] [bold]no" in capsys.readouterr().err
