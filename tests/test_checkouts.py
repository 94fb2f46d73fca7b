import subprocess

import pytest

from tests.checkouts import Checkout, commit_of, find


@pytest.fixture
def made(tmp_path):
    """(a folder OWNER/NAME with one commit, what the tests would ask for)."""
    place = tmp_path / "owner" / "name"
    for words in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"),
    ):
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "-C", place, *words], check=True)
    return place, Checkout("NAME_PATH", "owner/name", commit_of(place))


def test_a_checkout_is_found_by_its_variable_or_in_the_folder_of_all(made, tmp_path):
    place, checkout = made
    assert find(checkout, {"NAME_PATH": str(place)}) == place
    assert find(checkout, {"CHECKOUTS": str(tmp_path)}) == place
    place.rename(tmp_path / "owner+name")
    assert find(checkout, {"CHECKOUTS": str(tmp_path)}) == tmp_path / "owner+name"


def test_another_commit_is_refused_and_named(made, tmp_path):
    place, checkout = made
    with pytest.raises(FileNotFoundError, match=f"is at {checkout.commit[:7]}: run git -C .*name checkout fffffff"):
        find(checkout._replace(commit="f" * 40), {"NAME_PATH": str(place)})


def test_a_checkout_that_is_nowhere_is_named_with_what_to_set(made, tmp_path):
    with pytest.raises(FileNotFoundError, match="needs owner/name at .*: NAME_PATH is not set, nor is CHECKOUTS"):
        find(made[1], {})
    with pytest.raises(FileNotFoundError, match=r"there is no .*/owner/name and no .*/owner\+name"):
        find(made[1], {"CHECKOUTS": str(tmp_path / "elsewhere")})
