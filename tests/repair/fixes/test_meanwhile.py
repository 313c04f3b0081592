"""What somebody writes to a file between our last look and the new file's name is never lost."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from rocdoctor.host.live import exchange as exchanging
from rocdoctor.host.live.exchange import exchange, written_to
from rocdoctor.repair.fixes import user_files
from rocdoctor.repair.fixes.user_files import Refused, look, replace

_OLD, _OURS, _THEIRS, _THIRD = b"export A=1\n", b"export A=2\n", b"export A=3\n", b"export A=4\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / ".bashrc").write_bytes(_OLD)
    return home / ".bashrc"


def _renamed_over(path: Path, data: bytes) -> None:
    """As editors save."""
    other = path.with_name("saved")
    other.write_bytes(data)
    other.replace(path)


def _written_in_place(path: Path, data: bytes) -> None:
    with path.open("r+b") as stream:
        stream.write(data)


def _same_length_and_time(path: Path, data: bytes) -> None:
    told = path.stat()
    _written_in_place(path, data)
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], object]]]:
    """What happens right before each exchange."""
    steps: list[Callable[[], object]] = []

    def other(one: Path, another: Path) -> bool:
        if steps:
            steps.pop(0)()
        return exchange(one, another)

    monkeypatch.setattr(user_files, "exchange", other)
    yield steps
    assert steps == []


def _replace(path: Path) -> None:
    replace(look(path, os.geteuid(), path.parent), _OURS)


def _alone(path: Path) -> bool:
    return [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_file_that_nobody_touches_is_replaced(path: Path, before: list[Callable[[], object]]) -> None:
    _replace(path)
    assert path.read_bytes() == _OURS and _alone(path)


@pytest.mark.parametrize("write", [_renamed_over, _written_in_place, _same_length_and_time])
def test_what_was_written_in_that_moment_stays(
    write: Callable[[Path, bytes], None], path: Path, before: list[Callable[[], object]]
) -> None:
    before.append(lambda: write(path, _THEIRS))
    with pytest.raises(Refused, match="in the meantime"):
        _replace(path)
    assert path.read_bytes() == _THEIRS and _alone(path)


def test_the_newest_of_two_that_were_written_stays(path: Path, before: list[Callable[[], object]]) -> None:
    before += [lambda: _renamed_over(path, _THEIRS), lambda: _renamed_over(path, _THIRD)]
    with pytest.raises(Refused, match="in the meantime"):
        _replace(path)
    assert path.read_bytes() == _THIRD and _alone(path)


def test_a_file_that_somebody_has_open_for_writing_is_left(path: Path, before: list[Callable[[], object]]) -> None:
    """What that one writes later would go to a file without a name."""
    with path.open("ab") as theirs:
        with pytest.raises(Refused, match="in the meantime"):
            _replace(path)
        theirs.write(_THIRD)
    assert path.read_bytes() == _OLD + _THIRD and _alone(path)
    with path.open("rb"):  # whoever reads it loses nothing
        _replace(path)
    assert path.read_bytes() == _OURS and _alone(path)


def test_a_file_that_was_removed_stays_so(path: Path, before: list[Callable[[], object]]) -> None:
    before.append(path.unlink)
    with pytest.raises(Refused, match="cannot be written"):
        _replace(path)
    assert list(path.parent.iterdir()) == []


def test_where_names_cannot_be_exchanged_the_file_is_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanging, "_call", lambda: None)
    _replace(path)
    assert path.read_bytes() == _OURS and _alone(path)


def test_what_stops_us_on_the_way_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(user_files, "written_to", stopped)
    with pytest.raises(KeyboardInterrupt):
        _replace(path)
    assert path.read_bytes() == _OLD and _alone(path)


def test_a_lease_tells_of_writers_alone(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert not written_to(descriptor)
        with path.open("rb"):
            assert not written_to(descriptor)
        with path.open("ab"):
            assert written_to(descriptor)
        assert not written_to(descriptor)
    finally:
        os.close(descriptor)


def _entries(named: int) -> bytes:
    """An access list that lets one more user read and write (linux/posix_acl_xattr.h)."""
    nobody = 0xFFFFFFFF
    told = [(1, 7, nobody), (2, 6, named), (4, 7, nobody), (16, 7, nobody), (32, 4, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in told)


def _set_list(path: Path, name: str) -> None:
    try:
        os.setxattr(path, f"system.posix_acl_{name}", _entries(4321))
    except OSError:
        pytest.skip("this file system has no access lists")


@pytest.mark.parametrize("late", [False, True])
def test_who_was_shut_out_meanwhile_stays_so(late: bool, path: Path, before: list[Callable[[], object]]) -> None:
    """Between the look and the step somebody is asked, which may take minutes; ``late``: right before the exchange."""
    path.chmod(0o644)
    seen = look(path, os.geteuid(), path.parent)
    shut = partial(path.chmod, 0o600)
    if late:
        before.append(shut)
    else:
        shut()
    with pytest.raises(Refused, match="in the meantime"):
        replace(seen, _OURS)
    assert path.read_bytes() == _OLD and path.stat().st_mode & 0o777 == 0o600 and _alone(path)


def test_a_list_of_rights_that_was_set_meanwhile_stays(path: Path, before: list[Callable[[], object]]) -> None:
    seen = look(path, os.geteuid(), path.parent)
    _set_list(path, "access")
    path.chmod(0o644)  # as it was seen: the list alone is new
    with pytest.raises(Refused, match="in the meantime"):
        replace(seen, _OURS)
    assert path.read_bytes() == _OLD and "system.posix_acl_access" in os.listxattr(path)


def test_nobody_gets_rights_from_the_folders_own_list(path: Path, before: list[Callable[[], object]]) -> None:
    """The file is older than the list, which every new file of the folder gets."""
    path.chmod(0o664)
    _set_list(path.parent, "default")
    with pytest.raises(Refused, match="access list"):
        _replace(path)
    assert path.read_bytes() == _OLD and _alone(path)
