"""Walks the tar inside a NEFF as a stream: nothing is written to disk and no more than one piece is held.

It takes POSIX.1-1988 ustar as neuronx-cc writes it, long names as GNU `L` and pax `path`, and gzip with zero padding behind its end.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from neff_bench.parsers.errors import ParseError

BLOCK_BYTES = 512
MEMBERS_MAX = 65_536
LONG_NAME_BYTES_MAX = 65_536

PIECE_BYTES = 256 * 1024
EXPANSION_MAX = 100
"""Compilers' archives expand 6 to 12 times; deflate can reach 1032, and only a bomb comes near to that."""
EXPANSION_FREE_BYTES = 64 * 1024 * 1024
"""What may come out before the ratio counts: small archives of constant tables pack very well."""

GZIP_MAGIC = b"\x1f\x8b"

_REGULAR = (b"0", b"\0", b"7")
_DIRECTORY, _GNU_LONG_NAME, _PAX, _PAX_GLOBAL = b"5", b"L", b"x", b"g"
_REFUSED = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a FIFO"}


@dataclass(frozen=True)
class Member:
    """One regular file of the archive. `offset`: of its first byte in the unpacked archive."""

    name: str
    bytes: int
    offset: int


class Stream:
    """Pieces of bytes, read by count. `position`: how many bytes have been passed."""

    def __init__(self, pieces: Iterator[memoryview]) -> None:
        self.position = 0
        self._pieces = pieces
        self._piece = memoryview(b"")

    def _take(self, count: int) -> Iterator[memoryview]:
        while count:
            if not self._piece:
                self._piece = next(self._pieces, memoryview(b""))
                if not self._piece:
                    return
            part, self._piece = self._piece[:count], self._piece[count:]
            count -= len(part)
            self.position += len(part)
            yield part

    def read(self, count: int) -> bytes:
        """Return `count` bytes, fewer only at the end."""
        return b"".join(self._take(count))

    def skip(self, count: int) -> int:
        """Pass over `count` bytes; returns how many there were."""
        return sum(len(part) for part in self._take(count))


def unpack(name: str, packed: Iterator[bytes], base: int, inflated: bool) -> Iterator[memoryview]:
    """Yield the archive's bytes, `inflated` when they are gzip. `packed`: pieces of the file from offset `base` on. Raises ParseError."""
    if not inflated:
        yield from (memoryview(piece) for piece in packed)
        return
    inflate = zlib.decompressobj(31)
    read_bytes = unpacked_bytes = 0
    pending = b""
    while not inflate.eof:
        if not pending:
            pending = next(packed, b"")
            read_bytes += len(pending)
            if not pending:
                raise ParseError(name, base + read_bytes, "the gzip stream has no end: the file is truncated")
        try:
            data = inflate.decompress(pending, PIECE_BYTES)
        except zlib.error as error:
            raise ParseError(name, base + read_bytes - len(pending), f"damaged gzip stream ({error})") from None
        pending = inflate.unconsumed_tail
        unpacked_bytes += len(data)
        consumed_bytes = read_bytes - len(pending)
        if unpacked_bytes > EXPANSION_FREE_BYTES + EXPANSION_MAX * consumed_bytes:
            what = f"{consumed_bytes} packed bytes hold more than {unpacked_bytes}: a gzip bomb, no compiler's archive"
            raise ParseError(name, base + consumed_bytes, what)
        if data:
            yield memoryview(data)


def walk(name: str, stream: Stream) -> Iterator[Member]:
    """Yield the regular members in archive order; read or leave each one's content before asking for the next.

    Raises ParseError, with offsets of the unpacked archive, for links, devices, names that leave the archive, damage and truncation.
    """
    long_name: str | None = None
    for _ in range(MEMBERS_MAX):
        at = stream.position
        block = stream.read(BLOCK_BYTES)
        if block.count(0) == BLOCK_BYTES:
            while stream.skip(1 << 30):  # to the end of the stream, so that its checksum is verified
                pass
            return
        if len(block) < BLOCK_BYTES:
            raise ParseError(
                name, at, "the archive ends inside a header: the file is truncated (offset of the unpacked archive)"
            )
        size_bytes, kind = _checked(name, at, block)
        if kind in (_GNU_LONG_NAME, _PAX, _PAX_GLOBAL):
            text = _long_text(name, at, stream, size_bytes)
            if kind != _PAX_GLOBAL:
                long_name = _pax_path(text) or long_name if kind == _PAX else _text(text)
            continue
        path, long_name = long_name or _header_name(block), None
        _check_path(name, at, path, kind)
        start = stream.position
        if kind in _REGULAR:
            yield Member("/".join(part for part in path.split("/") if part not in ("", ".")), size_bytes, start)
        padded_bytes = -(-size_bytes // BLOCK_BYTES) * BLOCK_BYTES
        left_bytes = start + padded_bytes - stream.position
        if stream.skip(left_bytes) < left_bytes:
            raise ParseError(name, stream.position, f"member {path!r} is cut short (offset of the unpacked archive)")
    raise ParseError(name, stream.position, f"more than {MEMBERS_MAX} members (offset of the unpacked archive)")


def _checked(name: str, at: int, block: bytes) -> tuple[int, bytes]:
    """Return size in bytes and type of a header whose checksum holds."""
    stored, total = _octal(block[148:156]), sum(block[:148]) + sum(block[156:]) + 8 * ord(" ")
    size_bytes = _octal(block[124:136])
    if stored != total or size_bytes is None:
        raise ParseError(name, at, "no tar header where one is due: bad checksum (offset of the unpacked archive)")
    return size_bytes, block[156:157]


def _octal(field: bytes) -> int | None:
    if field[0] & 0x80:  # GNU: big-endian binary for sizes over 8 GiB
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits, 8) if digits.isdigit() and not set(digits) & set(b"89") else (0 if not digits else None)


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def _header_name(block: bytes) -> str:
    prefix = _text(block[345:500]) if block[257:262] == b"ustar" and block[262:263] == b"\0" else ""
    return f"{prefix}/{_text(block[:100])}" if prefix else _text(block[:100])


def _long_text(name: str, at: int, stream: Stream, size_bytes: int) -> bytes:
    if size_bytes > LONG_NAME_BYTES_MAX:
        raise ParseError(name, at, f"a member name of {size_bytes} bytes (offset of the unpacked archive)")
    text = stream.read(size_bytes)
    stream.skip(-size_bytes % BLOCK_BYTES)
    return text


def _pax_path(text: bytes) -> str | None:
    for line in text.split(b"\n"):
        _, _, record = line.partition(b" ")
        key, _, value = record.partition(b"=")
        if key == b"path":
            return _text(value)
    return None


def _check_path(name: str, at: int, path: str, kind: bytes) -> None:
    what = _REFUSED.get(kind)
    if what is None and kind not in _REGULAR and kind != _DIRECTORY:
        what = f"of the unknown type {kind!r}"
    if what is None and (path.startswith("/") or ".." in path.split("/")):
        what = "outside of the archive"
    if what is not None:
        raise ParseError(
            name, at, f"member {path[:200]!r} is {what}; a NEFF holds plain files only (offset of the unpacked archive)"
        )
