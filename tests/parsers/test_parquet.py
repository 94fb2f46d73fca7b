"""The explorer's Parquet directory."""

import pytest

from neff_bench.parsers.errors import ParseError
from neff_bench.parsers.profile_json import read_summary

pyarrow = pytest.importorskip("pyarrow")


def table(path, **columns):
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({name: [value] for name, value in columns.items()}), path)


def test_the_summary_and_what_moved_to_metadata_are_read(tmp_path):
    from neff_bench.parsers.parquet import read_parquet

    table(
        tmp_path / "Summary.parquet",
        total_time=4e-5,
        total_exec_time=3e-5,
        adjusted_hardware_flops=5,
        hardware_flops=None,
    )
    table(
        tmp_path / "Metadata.parquet",
        instance_type="trn3.3xlarge",
        explorer_version="2.30",
        tensor_engine_clock_freq=2.4,
        num_physical_cores=2,
        is_simulation=False,
    )
    summary, metadata = read_parquet(tmp_path)
    assert summary == read_summary(tmp_path)
    assert (summary.total_time_s, summary.total_exec_time_s, summary.hardware_flops) == (4e-5, 3e-5, None)
    assert (summary.instance_type, summary.profiler_version, summary.is_simulation) == ("trn3.3xlarge", "2.30", False)
    assert (metadata.tensor_clock_hz, metadata.physical_cores) == (2.4e9, 2)


@pytest.mark.parametrize("data", [b"", b"x" * 100, b"PAR1" + bytes(100) + b"PAR1"])
def test_damaged_tables_are_one_error(tmp_path, data):
    (tmp_path / "Summary.parquet").write_bytes(data)
    with pytest.raises(ParseError, match="Summary.parquet"):
        read_summary(tmp_path)
