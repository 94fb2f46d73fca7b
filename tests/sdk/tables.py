"""The whole profile, as the explorer writes it: JSON, or Parquet, a directory with a file for each table that has rows."""

import json

INSTRUCTION = {"opcode": "MATMUL", "nki_source_location": "/k/kernel.py:33", "operands": "", "pc": 0}


def write_json(path, summary):
    row = {**INSTRUCTION, "timestamp": 100, "duration": 300, "subgroup": "Tensor", "subgraph": "sg00"}
    path.write_text(json.dumps({"summary": [summary], "instruction": [row]}))


def write_tables(directory, summary, contract):
    import pyarrow
    import pyarrow.parquet

    directory.mkdir(exist_ok=True)
    row = {**INSTRUCTION, "start_ts": 100, "end_ts": 400, "duration_ns": 300, "engine": "tensor", "id": 1}
    device = {"profile_schema_version": contract["parquet_schema"]["version"], "instance_type": "trn2.48xlarge"}
    for table, values in {"Summary": summary, "Metadata": device, "Instruction_0": row}.items():
        known = {name: value for name, value in values.items() if value is not None}
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([known]), directory / f"{table}.parquet")
