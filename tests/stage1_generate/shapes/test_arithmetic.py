import pytest
from hypothesis import given
from hypothesis import strategies as st

from neff_bench.stage1_generate.shapes.arithmetic import NotArithmetic, evaluate, names, whole

DIMS = {"M": 6, "N": 4}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*M*N", 48),
        ("M // N", 1),
        ("M/N", 1.5),
        ("2*M/N", 3),
        ("-M + N**2", 10),
        ("(M+2)%5", 3),
        ("1e3", 1000.0),
        ("M**-0.5", 6**-0.5),
        ("2**200/2**100", 2**100),
        ("6.0/N", 1.5),
        ("8/2.0", 4.0),
        ("0/N", 0),
        ("+M % 4", 2),
        ("2**255", 2**255),
        ("1**256", 1),
    ],
)
def test_arithmetic_is_computed(text, value):
    found = evaluate(text, DIMS)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "M.real",
        "[M]",
        "M if N else 1",
        "M and N",
        "lambda: 1",
        "'a'",
        "True",
        "M < N",
        "M & N",
        "~M",
        "f(M)",
        "",
        "M M",
        "M\n+N;",
    ],
)
def test_nothing_else_is_evaluated(text):
    with pytest.raises(NotArithmetic):
        evaluate(text, DIMS)


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9",
        "10**200*10**200",
        "2**100000",
        "1/0",
        "M%0",
        "0**-1",
        "(-1)**0.5",
        "1e308*1e308*0",
        "K",
        "2**256",
        "1**257",
        "1**-257",
        "1.0/0",
    ],
)
def test_what_cannot_be_computed_is_one_line(text):
    with pytest.raises(NotArithmetic, match=r"^[^\n]+$"):
        whole(text, DIMS)


def test_a_size_is_a_whole_number():
    assert whole("M/2", DIMS) == 3
    with pytest.raises(NotArithmetic, match=r"'N/3' is 1.33333 for M=6 N=4, no whole number"):
        whole("N/3", DIMS)


def test_the_names_of_an_expression():
    assert names("2*M*N + 1") == {"M", "N"}


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_one_error(text):
    try:
        assert isinstance(evaluate(text, DIMS), (int, float))
    except NotArithmetic:
        pass


def test_a_text_is_at_most_1000_characters_long():
    assert evaluate("1" + " " * 999, DIMS) == 1
    with pytest.raises(NotArithmetic, match="is no arithmetic"):
        evaluate("1" + " " * 1000, DIMS)


@pytest.mark.parametrize(
    ("text", "dims", "says"),
    [
        ("K", DIMS, "'K' is no dimension of this case, allowed: M, N"), ("K", {}, "'K' is no dimension of this case, allowed: numbers"),
        ("M/0", DIMS, "'M/0' cannot be computed for M=6 N=4 (division by zero)"), ("1**300", DIMS, "an exponent of 300 is too large, allowed: up to 256"),
        ("(-1)**0.5", DIMS, "'(-1)**0.5' is no real number for M=6 N=4"), ("2**256", DIMS, "a number of more than 256 bits is too large"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong_for_which_dimensions(text, dims, says):
    with pytest.raises(NotArithmetic) as error:
        evaluate(text, dims)
    assert str(error.value).replace("integer division or modulo by zero", "division by zero") == says
