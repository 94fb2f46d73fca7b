"""The timeline of a whole-profile JSON, with and without what depends on what."""

import json

from neff_bench.parsers.event_rows import Dependence, LinkedInstructionRow
from neff_bench.parsers.event_tables import read_timeline


def write(path):
    tables = {
        "summary": [{"total_time": 1e-6}],
        "instruction_usage": [{"timestamp": 5, "type": "sb", "usage_avg": 0.25, "subgraph": "sg00"}],
        "instruction": [
            {"timestamp": 1, "duration": 2, "subgroup": "Tensor", "id": 7},
            {"timestamp": 4, "duration": 2, "subgroup": "Vector", "id": 9,
             "predecessors": [{"id": 7, "type": "FLOW_DEPENDENCE"}, {"id": 3, "type": "A_NEW_ONE"}]},
        ],
        "dma": [{"timestamp": 1, "duration": 2, "trigger": 9}],
    }  # fmt: skip
    path.write_text(json.dumps(tables))
    return path


def test_a_linked_timeline_tells_what_depends_on_what(tmp_path):
    timeline = read_timeline(write(tmp_path / "x.json"), linked=True)
    links = [(one.id, one.type) for one in timeline.instructions[1].predecessors]
    assert links == [(7, Dependence.FLOW), (3, Dependence.OTHER)]
    assert timeline.dma[0].trigger == 9
    assert [(use.type, use.usage_avg) for use in timeline.usage] == [("sb", 0.25)]


def test_a_plain_timeline_does_without(tmp_path):
    timeline = read_timeline(write(tmp_path / "x.json"))
    assert not isinstance(timeline.instructions[0], LinkedInstructionRow) and timeline.usage == []
