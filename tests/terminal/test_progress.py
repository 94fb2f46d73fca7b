from neff_bench.terminal.progress import progress


def test_without_a_terminal_each_step_is_one_plain_line_on_standard_error(capsys):
    with progress(10, "building") as step:
        step("built a 1.23 s")
        step("failed b: n\no", failed=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "[ 1/10] built a 1.23 s\n[ 2/10] failed b: n\\no\n"


def test_on_a_terminal_failures_stay_visible_and_markup_in_a_reason_is_text(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    with progress(2, "building") as step:
        step("built a")
        step("failed b: [/red] [bold]no", failed=True)
    assert "failed b: [/red] [bold]no" in capsys.readouterr().err
