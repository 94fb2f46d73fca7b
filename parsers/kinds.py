"""Says what a path holds, told by its content."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from neff_bench.parsers.errors import NoProfile, ParseError, guarded
from neff_bench.parsers.formats.neff import HEADER_BYTES
from neff_bench.parsers.formats.ntff import DATA_START, SIMULATED, VERSIONS
from neff_bench.parsers.hlo import SUFFIX as HLO_SUFFIX
from neff_bench.parsers.neff import is_neff
from neff_bench.parsers.source import open_source

Kind = Literal["neff", "ntff", "json", "parquet", "hlo"]
JsonKind = Literal["summary", "profile", "session", "system"]


@guarded
def kind_of(path: str | os.PathLike[str]) -> Kind:
    """Return the kind of a path. Raises ParseError when it cannot be read or holds none of these.

    An HLO module is told by its name; what is nothing else is an NTFF when its version byte and length fit, or when its name says so.
    """
    directory = Path(path)
    if directory.is_dir():
        if (directory / "Summary.parquet").is_file():
            return "parquet"
        raise ParseError(
            path, None, "a directory, expected a NEFF, an NTFF, a profile JSON, an HLO module or a Parquet profile"
        )
    from neff_bench.parsers.session import is_session_table

    source = open_source(path)
    size_bytes, head = source.size_bytes, source.read(0, HEADER_BYTES + 2)
    if is_neff(head):
        return "neff"
    if head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"["):
        return "json"
    if is_session_table(head):
        return "json"  # the same session, printed without -j
    suffix = directory.suffix.lower()
    if suffix == HLO_SUFFIX:
        return "hlo"
    if suffix in (".neff", ".ntff", ".json"):
        return suffix[1:]  # type: ignore[return-value]
    metadata_bytes = int.from_bytes(head[1:8], "little")
    if head[0] in (*VERSIONS, SIMULATED) and 0 < metadata_bytes <= size_bytes - DATA_START:
        return "ntff"
    raise ParseError(path, 0, "neither a NEFF, nor an NTFF, nor a profile JSON")


@dataclass(frozen=True)
class JsonProfile:
    """Holds what can be told of a JSON profile without its events. `total_time_s`: of the execution, of whichever shape."""

    kind: JsonKind
    total_time_s: float | None
    neff_uuid: str | None
    ntff_name: str | None


@guarded
def describe_json(path: str | os.PathLike[str]) -> JsonProfile | None:
    """Return the profile of a JSON file; None for JSON that is sound and no profile. Raises ParseError for damaged files."""
    from neff_bench.parsers.document import Document
    from neff_bench.parsers.profile_json import identity_of, summary_of
    from neff_bench.parsers.session import is_session_table, read_session

    if is_session_table(open_source(path).read(0, HEADER_BYTES)):
        return JsonProfile("session", read_session(path).total_time_s, None, None)
    try:
        document = Document(path)
        if document.has("NeffNodes"):
            return JsonProfile("session", read_session(path).total_time_s, None, None)
        if document.is_system_trace():
            return JsonProfile("system", None, None, None)
        summary = summary_of(document)
    except NoProfile:
        return None
    if not summary.has_times and not document.has("instruction"):
        return None
    identity = identity_of(document)
    kind: JsonKind = "profile" if document.has("instruction") else "summary"
    return JsonProfile(kind, summary.total_time_s, identity.neff_uuid, identity.ntff_name)
