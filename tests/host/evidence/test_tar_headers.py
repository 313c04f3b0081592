"""Headers of tar archives: as the standard library reads them, and bounded where it is not."""

from __future__ import annotations

import contextlib
import io
import tarfile
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.host.evidence import tar_headers
from rocdoctor.host.evidence.archive import TarTree
from rocdoctor.host.evidence.folder import TreeHost
from rocdoctor.host.evidence.tar_headers import BLOCK, Header, HeaderError, headers

_TYPES = {b"0": "file", b"5": "dir", b"2": "link", b"1": "hard link", b"3": "other", b"6": "other"}
_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/\n"), min_size=1, max_size=30)
_PATHS = st.lists(_NAMES, min_size=1, max_size=9).map("/".join)
_MEMBERS = st.lists(st.tuples(_PATHS, st.sampled_from(sorted(_TYPES)), _PATHS, st.binary(max_size=1500)), max_size=6)


def _archive(members: list[tuple[str, bytes, str, bytes]], form: int) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as one:
        for name, kind, target, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, target, len(data) if kind == b"0" else 0
            one.addfile(info, io.BytesIO(data))
    return made.getvalue()


@given(members=_MEMBERS, form=st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
def test_as_the_standard_library_reads_them(members: list[tuple[str, bytes, str, bytes]], form: int) -> None:
    data = _archive(members, form)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as one:
        wanted = [
            (
                found.name,
                "dir" if found.isdir() else _TYPES[found.type],
                found.linkname if found.issym() or found.islnk() else "",
                found.offset_data,
                found.size,
            )
            for found in one
        ]
    seen = [
        (one.name.rstrip("/"), one.kind, one.target if "link" in one.kind else "", one.begin, one.size)
        for one in headers(io.BytesIO(data))
    ]
    assert seen == [(name.rstrip("/"), *rest) for name, *rest in wanted]


@given(data=st.binary(max_size=3000), at=st.integers(0, 2999), form=st.sampled_from([0, 1, 2]))
def test_any_bytes_give_members_or_a_reason(data: bytes, at: int, form: int) -> None:
    whole = _archive(
        [("a" * 120, b"0", "", b"x" * 700), ("b", b"2", "c" * 120, b"")], form if form else tarfile.PAX_FORMAT
    )
    for damaged in (data, whole[:at] + data[:8] + whole[at + 8 :]):
        with contextlib.suppress(HeaderError):
            assert all(isinstance(one, Header) for one in headers(io.BytesIO(damaged)))


def _header(name: str, kind: bytes, size: int = 0) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.USTAR_FORMAT)


def _filled(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def _of(*parts: bytes) -> list[Header]:
    return list(headers(io.BytesIO(b"".join(parts) + bytes(2 * BLOCK))))


def test_what_is_said_of_all_members_costs_no_member_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    records = b"".join(b"%d %x=\n" % (len(b"%x" % one) + 4, one) for one in range(4096, 20000))
    monkeypatch.setattr(tar_headers, "MAX_RECORDS", 10)
    many = [_header(f"etc/{number}", b"0") for number in range(50)]
    assert len(_of(_header("g", b"g", len(records)), _filled(records), *many)) == 50
    with pytest.raises(HeaderError, match="more than 10 records"):
        _of(_header("x", b"x", len(records)), _filled(records), *many)


def _sparse(blocks: int) -> bytes:
    head = bytearray(_header("etc/sparse", b"S"))
    head[482] = 1
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 256 + sum(head[156:]))
    more = (b"00000000001\0" * 42)[:504]
    return bytes(head) + (more + b"\1" + bytes(7)) * (blocks - 1) + more + bytes(8)


def test_a_map_of_a_sparse_file_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.kind for one in _of(_header("etc/a", b"0"), _sparse(100), _header("etc/b", b"0"))] == [
        "file",
        "other",
        "file",
    ]
    monkeypatch.setattr(tar_headers, "MAX_BLOCKS", 50)
    with pytest.raises(HeaderError, match="more than 50 headers"):
        _of(_header("etc/a", b"0"), _sparse(100))


def test_headers_of_headers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_headers, "MAX_BLOCKS", 5000)
    with pytest.raises(HeaderError, match="more than 5000 headers"):
        _of(*[_header("g", b"g")] * 6000)


def test_what_was_read_before_is_kept_and_the_rest_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_headers, "MAX_BLOCKS", 50)
    with tempfile.TemporaryFile() as file:
        file.write(_header("etc/os-release", b"0", 7) + _filled(b"ID=test") + _sparse(100))
        file.flush()
        tree = TarTree(file)
    assert "damaged or cut off (more than 50 headers)" in tree.notes[0]
    assert tree.kind(("etc", "os-release")) == "file"


@pytest.mark.parametrize(
    "field", [b"\x80" + (1 << 70).to_bytes(11, "big"), b"77777777777\0", b"-0000000001\0", b"1234567x\0\0\0\0"]
)
def test_sizes_are_sizes(field: bytes) -> None:
    head = bytearray(_header("etc/a", b"0"))
    head[124:136] = field
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 256 + sum(head[156:]))
    with contextlib.suppress(HeaderError):
        assert all(0 <= one.size <= 1 << 50 for one in _of(bytes(head)))


def test_a_few_bytes_do_not_become_gigabytes() -> None:
    import bz2

    with tempfile.TemporaryFile() as file:
        file.write(bz2.compress(_header("etc/os-release", b"0", 7) + _filled(b"ID=test") + bytes(70 << 20)))
        file.flush()
        tree = TarTree(file)
    assert "it unpacks to more than 64 MiB" in tree.notes[0]
    assert TreeHost(tree, "x").ask("read /etc/os-release").text == "ID=test"
