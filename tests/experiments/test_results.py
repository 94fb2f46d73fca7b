import orjson
import pytest

from neff_bench.experiments.errors import BadResults
from neff_bench.experiments.results import read_results

HEADER = "M,K,N,latency_ms,backend,p10_ms,p90_ms,source\n"


def write(tmp_path, text, name="r.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_csv_of_latencies(tmp_path):
    results = read_results(write(tmp_path, HEADER + "128,64,32,0.5,torch,0.4,0.7,measured\n,,,0.1,torch,,,measured\n"))
    (point,) = results.points
    assert (point.config.M, point.config.K, point.config.N) == (128, 64, 32)
    assert point.time_us == 500 and point.noise_us == pytest.approx(300 / 2.563)
    assert "torch" in point.series and results.source == "measured" and results.metric == "latency_ms"


def test_json_rows_of_stage_2(tmp_path):
    row = {"case": "a", "M": 1, "K": 2, "N": 3, "total_time_us": 20.5, "source": "simulated", "lnc": 2}
    failed = {"case": "b", "M": 1, "K": 2, "N": 3, "total_time_us": None, "source": None}
    results = read_results(write(tmp_path, orjson.dumps([row, failed]), "r.json"))
    assert [point.time_us for point in results.points] == [20.5]
    assert results.source == "simulated" and results.points[0].series == "lnc2 simulated"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        (HEADER, "no rows"),
        ("M,K,latency_ms\n1,2,3\n", "column N is missing"),
        ("M,K,N\n1,2,3\n", "column latency_ms is missing"),
        (HEADER + "128,64,32,fast,,,,\n", "line 2: latency_ms is 'fast'"),
        (HEADER + "128,64,32,0,,,,\n", "line 2: latency_ms is 0"),
        (HEADER + "128,64,32,nan,,,,\n", "line 2: latency_ms is 'nan'"),
        (HEADER + "128,-1,32,1,,,,\n", "line 2: K is -1"),
        (HEADER + "128,x,32,1,,,,\n", "line 2: K is 'x'"),
        (HEADER + "128,64\n", "no row holds a matmul"),
        (b"\xff\xfe\x00binary", "not text"),
        ("[1, 2]", "expected a JSON list of rows"),
        ("[{", "not JSON"),
    ],
)
def test_bad_files_are_named_with_line_and_column(tmp_path, text, message):
    with pytest.raises(BadResults, match=message):
        read_results(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadResults, match="nowhere.csv: cannot be read"):
        read_results(tmp_path / "nowhere.csv")
