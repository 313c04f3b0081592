"""A directory of accounts that gives no answer holds nobody, and is asked once."""

from __future__ import annotations

import ctypes
import grp
import os
import pwd
import threading
from collections.abc import Callable, Iterator

import pytest

from rocdoctor.host.live import accounts, interpreter, trust
from rocdoctor.repair.fixes import target_machine, user_files


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What was asked of a server that is gone, until the test ends."""
    noted: list[object] = []
    back = threading.Event()

    def hangs(name: object, *_: object) -> object:
        noted.append(name)
        back.wait(30)
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwuid", hangs)
    monkeypatch.setattr(pwd, "getpwnam", hangs)
    monkeypatch.setattr(grp, "getgrgid", hangs)
    monkeypatch.setattr(accounts, "_groups_of", hangs)
    monkeypatch.setattr(accounts, "_LIMIT_S", 0.05)
    monkeypatch.setattr(accounts, "_gone", [])
    yield noted
    back.set()


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: trust.name_of(54321), "user 54321"),
        (lambda: trust.Disk().members(50), True),
        (lambda: user_files._name(54321), "user 54321"),
        (lambda: target_machine.this_machine().home, os.environ["HOME"].rstrip("/")),
    ],
)
def test_whoever_asks_goes_on(ask: Callable[[], object], said: object, asked: list[object]) -> None:
    assert ask() == said
    assert len(asked) == 1
    assert ask() == said
    assert len(asked) == 1, "asked once more"


def test_a_user_whose_groups_are_not_known_is_not_taken_for_one_without(
    asked: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer groups torch sees fewer GPUs, and the driver would be blamed."""
    monkeypatch.setattr(interpreter, "privileged", lambda: True)
    monkeypatch.setattr(interpreter, "weak_interpreter", lambda *_, **__: [trust.Weakness("/v", 54321, "is weak")])
    monkeypatch.setattr(interpreter, "interpreter_environment", dict)
    how = interpreter.chosen("/v/bin/python", "import")
    assert how.who is None
    assert "the directory of accounts gives no answer" in how.refused


def test_a_home_that_nobody_tells_stays_as_it_is(asked: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    assert accounts.expanded("~nobody-known/x") == "~nobody-known/x"
    monkeypatch.delenv("HOME")
    assert accounts.expanded("~/x") == "~/x"
    assert accounts.expanded("~") == "~"
    assert len(asked) == 1, "asked once more"


def test_a_home_that_is_told_is_asked_of_nobody(asked: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    given = ("~", "~/x", "x~", "/a/~", "")
    assert [accounts.expanded(path) for path in given] == ["/h", "/h/x", "x~", "/a/~", ""]
    assert asked == []


def test_a_home_is_that_of_the_account() -> None:
    assert accounts.expanded("~root/x") == os.path.expanduser("~root/x") != "~root/x"


def test_groups_are_those_of_the_system() -> None:
    for one in pwd.getpwall()[:20]:
        assert accounts.groups_of(one.pw_name, one.pw_gid) == os.getgrouplist(one.pw_name, one.pw_gid)
    assert accounts.groups_of("nobody-has-this-name", 7) == [7]


def test_many_groups_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first try says how many there are."""
    room: list[int] = []

    class Library:
        @staticmethod
        def getgrouplist(name: bytes, gid: object, found: object, count: object) -> int:
            room.append(len(found))  # type: ignore[arg-type]
            count._obj.value = 300  # type: ignore[attr-defined]
            return -1 if len(found) < 300 else 300  # type: ignore[arg-type]

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library)
    assert len(accounts.groups_of("x", 1)) == 300
    assert room == [256, 300]
