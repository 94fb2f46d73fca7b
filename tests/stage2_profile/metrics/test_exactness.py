"""What a stated error says of the counts of simulated rows."""

import pytest

from neff_bench.stage2_profile.metrics.exactness import exact_part

EXACT, OTHER = (
    "-26 to +39 % on hardware",
    "the farthest of 322: AWS's compiler may make another; counts and bytes are not exact",
)


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ({EXACT}, "instructions and bytes are exact"),
        ({OTHER}, "instructions and bytes may differ"),
        ({EXACT, OTHER}, "instructions and bytes of some cases may differ"),
        ({OTHER, None}, "instructions and bytes of some cases may differ"),
        ({EXACT, None}, "whether instructions and bytes are exact is not known"),
    ],
)
def test_counts_are_exact_where_every_row_says_so(errors, said):
    assert exact_part(errors) == said
