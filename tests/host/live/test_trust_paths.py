"""Whom a path can be changed by: folders, links and files of a made-up disk."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field

import pytest

from rocdoctor.host.live import trust
from rocdoctor.host.live.trust import Status, weaknesses

D, F, L = stat.S_IFDIR, stat.S_IFREG, stat.S_IFLNK
USER, OTHER = 1000, 1001


@dataclass(frozen=True)
class Entry:
    st_mode: int
    st_uid: int = 0
    st_gid: int = 0
    target: str = ""
    acl: bool = False


@dataclass
class FakeDisk(trust.Disk):
    entries: dict[str, Entry] = field(default_factory=dict)
    empty_groups: tuple[int, ...] = (50,)

    def lstat(self, path: str) -> Status:
        try:
            return self.entries[path]
        except KeyError:
            raise FileNotFoundError(2, "No such file or directory", path) from None

    def readlink(self, path: str) -> str:
        return self.entries[path].target

    def listed(self, path: str) -> bool:
        return self.entries[path].acl

    def members(self, gid: int) -> bool:
        return gid not in self.empty_groups


def _disk(**more: Entry) -> FakeDisk:
    base = {
        "/": Entry(D | 0o755),
        "/usr": Entry(D | 0o755),
        "/usr/bin": Entry(D | 0o755),
        "/usr/bin/tool": Entry(F | 0o755),
        "/bin": Entry(L | 0o777, target="usr/bin"),
        "/tmp": Entry(D | 0o1777),
        "/tmp/mine": Entry(D | 0o700),
        "/tmp/mine/tool": Entry(F | 0o755),
        "/tmp/theirs": Entry(D | 0o755, USER),
        "/tmp/theirs/tool": Entry(F | 0o755),
        "/home": Entry(D | 0o755),
        "/home/u": Entry(D | 0o755, USER),
        "/home/u/root": Entry(D | 0o755),
        "/home/u/root/tool": Entry(F | 0o755),
        "/opt": Entry(D | 0o755),
    }
    return FakeDisk({**base, **{name.replace("__", "/"): entry for name, entry in more.items()}})


def _who(path: str, disk: FakeDisk, owners: tuple[int, ...] = (0,)) -> list[tuple[str, int | None]]:
    return [(one.path, one.uid) for one in weaknesses(path, owners, disk)]


@pytest.mark.parametrize(
    "path", ["/usr/bin/tool", "/bin/tool", "/usr/../bin/./tool", "/tmp/mine/tool", "//usr/bin/tool"]
)
def test_what_root_alone_can_change_is_trusted(path: str) -> None:
    assert _who(path, _disk()) == []


def test_a_folder_above_of_somebody_else_counts() -> None:
    assert _who("/home/u/root/tool", _disk()) == [("/home/u", USER)]


def test_what_belongs_to_somebody_else_in_a_sticky_folder_counts() -> None:
    assert _who("/tmp/theirs/tool", _disk()) == [("/tmp/theirs", USER)]


def test_a_link_on_the_way_counts_with_its_own_folder() -> None:
    disk = _disk(
        __home__u__bin=Entry(L | 0o777, USER, target="/usr/bin"),
        __opt__tool=Entry(L | 0o777, target="/home/u/bin/tool"),
    )
    assert _who("/home/u/bin/tool", disk) == [("/home/u", USER)]
    assert _who("/opt/tool", disk) == [("/home/u", USER)]


def test_a_link_of_somebody_in_a_sticky_folder_counts_and_one_in_a_folder_of_root_cannot_be_changed() -> None:
    disk = _disk(
        __tmp__link=Entry(L | 0o777, USER, target="/usr/bin/tool"),
        __opt__link=Entry(L | 0o777, USER, target="/usr/bin/tool"),
    )
    assert _who("/tmp/link", disk) == [("/tmp/link", USER)]
    assert _who("/opt/link", disk) == []


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (Entry(F | 0o755, USER), USER),
        (Entry(F | 0o777), None),
        (Entry(F | 0o1777), None),  # the sticky bit of a file means nothing
        (Entry(F | 0o775, 0, 1000), None),
        (Entry(F | 0o775, 0, 0, acl=True), None),
        (Entry(F | 0o775, 0, 27), None),
    ],
    ids=["owner", "everybody", "sticky file", "group", "list of root's group", "group with members"],
)
def test_a_file_that_others_can_change(entry: Entry, found: int | None) -> None:
    assert _who("/opt/tool", _disk(__opt__tool=entry)) == [("/opt/tool", found)]


@pytest.mark.parametrize("entry", [Entry(F | 0o775), Entry(F | 0o775, 0, 50), Entry(F | 0o755, 0, 1000, acl=True)])
def test_a_group_without_anybody_changes_nothing(entry: Entry) -> None:
    assert _who("/opt/tool", _disk(__opt__tool=entry)) == []


def test_an_open_folder_above_counts_unless_it_is_sticky() -> None:
    inside = {"__opt": Entry(D | 0o777), "__opt__tool": Entry(F | 0o755)}
    assert _who("/opt/tool", _disk(**inside)) == [("/opt", None)]
    assert _who("/opt/tool", _disk(**{**inside, "__opt": Entry(D | 0o1777)})) == []
    assert _who("/opt/tool", _disk(**{**inside, "__opt": Entry(D | 0o1777, USER)})) == [("/opt", USER)]


@pytest.mark.parametrize("path", ["/tmp", "/tmp/.", "/tmp/mine/..", "/opt/link"])
def test_a_sticky_folder_is_no_place_where_names_are_looked_up(path: str) -> None:
    disk = _disk(__opt__link=Entry(L | 0o777, target="../tmp"))
    assert _who(path, disk) == [("/tmp", None)]
    assert [str(one) for one in weaknesses(path, disk=disk)] == ["/tmp is a folder where everybody may put files"]
    assert weaknesses(path, disk=disk, sticky_ok=True) == []  # for new files of our own


def test_a_sticky_folder_of_a_group_counts_and_one_of_root_alone_does_not() -> None:
    assert _who("/opt", _disk(__opt=Entry(D | 0o1775, 0, 27))) == [("/opt", None)]
    assert _who("/opt", _disk(__opt=Entry(D | 0o1775))) == []
    assert _who("/opt", _disk(__opt=Entry(D | 0o1777, USER))) == [("/opt", USER), ("/opt", None)]


def test_a_folder_of_root_in_a_sticky_one_is_as_good_as_anywhere() -> None:
    assert _who("/tmp/mine", _disk()) == []


def test_the_user_is_trusted_by_the_user() -> None:
    assert _who("/home/u/root/tool", _disk(), (0, USER)) == []
    assert _who("/home/u/root/tool", _disk(), (0, OTHER)) == [("/home/u", USER)]


def test_what_is_not_there_is_weak_where_somebody_could_make_it() -> None:
    with pytest.raises(FileNotFoundError):
        weaknesses("/opt/none/tool", disk=_disk())
    assert weaknesses("/opt/none/tool", disk=_disk(), missing_ok=True) == []
    assert [one.path for one in weaknesses("/tmp/none/tool", disk=_disk(), missing_ok=True)] == ["/tmp/none"]
    assert [one.path for one in weaknesses("/home/u/none", disk=_disk(), missing_ok=True)] == ["/home/u"]


def test_links_in_a_circle_end() -> None:
    disk = _disk(__opt__a=Entry(L | 0o777, target="b"), __opt__b=Entry(L | 0o777, target="/opt/a"))
    with pytest.raises(OSError, match="symbolic links"):
        weaknesses("/opt/a", disk=disk)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("         0          0 4294967295\n", False),  # the machine itself
        ("         0       1000          1\n", True),  # unshare -r: root has the rights of user 1000
        ("         0          0          1\n", False),
        ("         0       1000          1\n         1     100000      65536\n", False),  # podman, fakeroot
        ("         0     100000      65536\n", False),  # userns-remap
        ("", False),
    ],
)
def test_root_of_a_name_space_of_one_has_no_rights_of_root(text: str, found: bool) -> None:
    assert trust._root_of_one(text) is found
