"""The page of a comparison: which cases it looks at."""

from neff_bench.stage2_profile.compare import page
from tests.stage2_profile.conftest import case


def test_whole_profiles_are_made_of_the_compared_cases_alone(make_bundle, store, monkeypatch):
    viewed = []
    monkeypatch.setattr(page, "profiled_rows", lambda options: viewed.append(options.only))
    one, two = make_bundle(case(lnc=1)), make_bundle(case(lnc=2))
    page._Files(store, [{"case": two.name}])
    assert one.name != two.name and viewed == [(two.name,)]
