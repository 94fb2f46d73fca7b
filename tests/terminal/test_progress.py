from neff_bench.terminal.progress import progress


def test_without_a_terminal_each_step_is_one_plain_line_on_standard_error(capsys):
    with progress(10, "building") as step:
        step("built a 1.23 s")
        step("failed b: n\no", failed=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "[ 1/10] built a 1.23 s\n[ 2/10] failed b: n\\no\n"


def test_the_time_left_is_told_when_it_is_long(capsys, monkeypatch):
    clock = iter([0.0, 1200.0, 2400.0, 2990.0])
    monkeypatch.setattr("neff_bench.terminal.progress.time.monotonic", lambda: next(clock))
    with progress(5, "building") as step:
        for name in "abc":
            step(name)
    assert capsys.readouterr().err == "[1/5] a (1:20:00 left)\n[2/5] b (1:00:00 left)\n[3/5] c (0:33:13 left)\n"


def test_on_a_terminal_failures_stay_visible_and_markup_in_a_reason_is_text(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    with progress(2, "building") as step:
        step("built a")
        step("failed b: [/red] [bold]no", failed=True)
    assert "failed b: [/red] [bold]no" in capsys.readouterr().err
