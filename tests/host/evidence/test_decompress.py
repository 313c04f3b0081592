"""Compressed evidence: whole, in several members, cut, and made to cost much."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.host.evidence import archive, tar_headers
from rocdoctor.host.evidence import decompress as unpack
from rocdoctor.host.evidence.archive import TarTree
from rocdoctor.host.evidence.capture import CaptureError, gunzip
from rocdoctor.host.evidence.decompress import Damaged, is_packed, unpacked
from rocdoctor.host.evidence.folder import TreeError

PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
DATA = bytes(range(256)) * 5000


def _whole(data: bytes) -> bytes:
    pieces = list(unpacked(io.BytesIO(data)))
    assert all(0 < len(piece) <= 256 * 1024 for piece in pieces)
    return b"".join(pieces)


@pytest.mark.parametrize("kind", PACK)
def test_one_member_and_several_are_unpacked(kind: str) -> None:
    pack = PACK[kind]
    assert is_packed(pack(b"")[:6])
    assert _whole(pack(DATA)) == DATA
    assert _whole(pack(b"") + pack(b"a") + pack(DATA) + pack(b"")) == b"a" + DATA


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("behind", [b"", b"\0" * 512, b"words behind it", b"\0" * 300_000 + b"words"])
def test_what_follows_is_left_alone(kind: str, behind: bytes) -> None:
    assert _whole(PACK[kind](DATA) + behind) == DATA


@pytest.mark.parametrize("kind", PACK)
def test_members_behind_zeros_are_found(kind: str) -> None:
    assert _whole(PACK[kind](b"a") + b"\0" * 400_000 + PACK[kind](b"b")) == b"ab"


@pytest.mark.parametrize("kind", PACK)
def test_a_cut_file_is_told(kind: str) -> None:
    packed = PACK[kind](DATA)
    for length in (6, len(packed) // 2, len(packed) - 1):
        with pytest.raises(Damaged, match="too early"):
            _whole(packed[:length])


@pytest.mark.parametrize("kind", PACK)
def test_damage_is_told(kind: str) -> None:
    packed = bytearray(PACK[kind](DATA))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(Damaged):
        _whole(bytes(packed))


@pytest.mark.parametrize("kind", PACK)
def test_members_are_counted(kind: str) -> None:
    packed = PACK[kind](b"")
    assert _whole(packed * 500) == b""
    with pytest.raises(Damaged, match="more than 20000 members"):
        _whole(packed * 20_001)


_REAL = zlib.decompressobj


class _Counter:
    """Counts the bytes that unpackers are given and hand back."""

    def __init__(self) -> None:
        self.moved = 0

    def decompressobj(self, wbits: int) -> Any:
        counter = self

        class _Inner:
            def __init__(self) -> None:
                self.inner = _REAL(wbits=wbits)

            def decompress(self, data: bytes, most: int) -> bytes:
                counter.moved += len(data)
                return self.inner.decompress(data, most)

            def __getattr__(self, name: str) -> Any:
                found = getattr(self.inner, name)
                counter.moved += len(found) if isinstance(found, bytes) else 0
                return found

        return _Inner()


def test_many_members_before_much_data_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = _Counter()
    monkeypatch.setattr(zlib, "decompressobj", counter.decompressobj)
    data = gzip.compress(b"") * 990
    counted: list[int] = []
    for behind in (b"", b"x" * (8 << 20)):
        counter.moved = 0
        assert gunzip(data + behind) == b""
        counted.append(counter.moved)
    # Handed on whole, the 8 MiB behind would count 990 times, 8 GB.
    assert counted[1] < 990 * (1 << 20)


def test_too_many_members_of_a_capture_are_told() -> None:
    with pytest.raises(CaptureError, match="more than 1000 members"):
        gunzip(gzip.compress(b"") * 1001)


def _tar(path: Path, names: list[str], pax: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as made:
        for name in names:
            member = tarfile.TarInfo(name)
            member.pax_headers = pax or {}
            made.addfile(member)
    return path


def test_xz_takes_no_more_memory_than_the_strongest_usual_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "a.tar.xz"
    made.write_bytes(lzma.compress(_tar(tmp_path / "a.tar", ["sys/x"]).read_bytes(), preset=6))
    assert TarTree(made.open("rb")).kind(("sys", "x")) == "file"
    monkeypatch.setattr(unpack, "MAX_XZ_BYTES", 4 << 20)  # a dictionary of 8 MiB is the usual one
    with pytest.raises(TreeError, match="memory to unpack"):
        TarTree(made.open("rb"))
    assert unpack.MAX_XZ_BYTES == 4 << 20


def test_folders_that_names_imply_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 1000)
    made = _tar(tmp_path / "a.tar", [f"a{number}/" + "b/" * 50 + "c" for number in range(100)])
    tree = TarTree(made.open("rb"))
    assert len(tree.members) < 1100
    assert "only its first 20 members were read" in tree.notes[0]
    assert "(with the folders that their names imply they are 1000)" in tree.notes[0]


def test_extended_headers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_headers, "MAX_EXTENDED", 100_000)
    made = _tar(tmp_path / "a.tar", [f"sys/{number}" for number in range(200)], {"comment": "x" * 2000})
    tree = TarTree(made.open("rb"))
    assert 20 < len(tree.members) < 60
    assert "extended headers" in tree.notes[0]
    large = _tar(tmp_path / "b.tar", ["sys/a", "sys/b"], {"comment": "x" * 1_100_000})
    with pytest.raises(TreeError, match="a header of 11"):
        TarTree(large.open("rb"))
