"""Words of the kernel and commands in a scratch root: changed, verified, and taken back."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rocdoctor.model.change import Command, KernelValue, Unset, joining
from rocdoctor.repair.fixes.apply import Done, told_back, undo
from rocdoctor.repair.fixes.journal import opened
from rocdoctor.repair.fixes.steps import Write
from rocdoctor.repair.fixes.target_machine import ProgramOutcome
from tests.repair.fixes.fix_kit import Scratch, changed, done, tree, undone, work

_BALANCING = (KernelValue("/proc/sys/kernel/numa_balancing", "0"),)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


# -- words of the kernel


def test_a_word_of_the_kernel(scratch: Scratch) -> None:
    place = scratch.place(privileged=True)
    before = tree(scratch.root)
    results, journal = done(_BALANCING, place)
    assert results == [Done(True, "wrote 0 to /proc/sys/kernel/numa_balancing")]
    assert (scratch.root / "proc/sys/kernel/numa_balancing").read_text() == "0\n"
    assert changed(before, tree(scratch.root)) == {"proc/sys/kernel/numa_balancing"}
    assert work(_BALANCING, place).steps == (), "it is so already"
    assert undone(journal.folder, place) == [Done(True, "wrote 1 to /proc/sys/kernel/numa_balancing again")]
    assert (scratch.root / "proc/sys/kernel/numa_balancing").read_bytes() == b"1\n"


def test_a_word_in_brackets_is_the_one_that_counts(scratch: Scratch) -> None:
    place = scratch.place(privileged=True)
    made = work([KernelValue("/sys/kernel/mm/transparent_hugepage/enabled", "madvise")], place)
    assert made.steps == (Write("/sys/kernel/mm/transparent_hugepage/enabled", "never", "madvise"),)


def test_every_file_that_matches_gets_the_word(scratch: Scratch) -> None:
    for number, word in enumerate(("powersave", "performance", "powersave")):
        scratch.file(f"sys/devices/system/cpu/cpufreq/policy{number}/scaling_governor", f"{word}\n")
    place = scratch.place(privileged=True)
    before = tree(scratch.root)
    change = KernelValue("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "performance")
    results, journal = done([change], place)
    assert [one.ok for one in results] == [True, True]
    names = {name for name in changed(before, tree(scratch.root)) if name.endswith("governor")}
    assert {name.split("/")[-2] for name in names} == {"policy0", "policy2"}
    assert all(one.ok for one in undone(journal.folder, place))
    words = [(scratch.root / name).read_text() for name in sorted(names)]
    assert words == ["powersave\n", "powersave\n"]


def test_without_the_rights_of_root_the_command_is_shown(scratch: Scratch) -> None:
    for changes in (_BALANCING, (joining(("render",)),)):
        made = work(changes, scratch.place())
        assert made.steps == ()
        assert "needs root" in made.left[0]
        assert made.typed == ("sudo command",)


def test_a_word_that_the_kernel_refuses(scratch: Scratch) -> None:
    path = scratch.root / "proc/sys/kernel/numa_balancing"
    path.unlink()
    place = scratch.place(privileged=True)
    assert "there is no /proc/sys/kernel/numa_balancing here" in work(_BALANCING, place).left
    path.symlink_to(scratch.root / "etc/group")
    made = work(_BALANCING, place)
    assert made.steps == ()
    assert "which rocdoctor does not change" in made.left[0]


def test_undoing_leaves_a_word_that_somebody_else_wrote(scratch: Scratch) -> None:
    place = scratch.place(privileged=True)
    _, journal = done(_BALANCING, place)
    (scratch.root / "proc/sys/kernel/numa_balancing").write_text("2\n")
    (result,) = undone(journal.folder, place)
    assert not result.ok
    assert "it is 2 now" in result.said
    assert (scratch.root / "proc/sys/kernel/numa_balancing").read_text() == "2\n"


# -- commands


def test_joining_groups(scratch: Scratch) -> None:
    scratch.groups()
    place = scratch.place(privileged=True)
    before = tree(scratch.root)
    results, journal = done([joining(("render", "video"))], place)
    assert results == [Done(True, "ran usermod -aG render,video alice")]
    assert changed(before, tree(scratch.root)) == {"etc/group", "etc/gshadow"}
    assert "video:x:44:bob,alice" in (scratch.root / "etc/group").read_text()
    assert (journal.folder / "copy-1").read_bytes() == before["etc/group"][4]
    assert undone(journal.folder, place) == [Done(True, "ran gpasswd -d alice render; gpasswd -d alice video")]
    assert tree(scratch.root) == before
    assert scratch.calls == [
        ("usermod", "-aG", "render,video", "alice"),
        ("gpasswd", "-d", "alice", "render"),
        ("gpasswd", "-d", "alice", "video"),
    ]


def test_a_file_that_nobody_may_write_is_copied_too(scratch: Scratch) -> None:
    scratch.groups()
    (scratch.root / "etc/gshadow").chmod(0o400)
    place = scratch.place(privileged=True)
    before = tree(scratch.root)
    scratch.programs["usermod"] = lambda words: ProgramOutcome(True, "")
    results, journal = done([joining(("render",))], place)
    assert results[0].ok
    assert (journal.folder / "copy-2").read_bytes() == before["etc/gshadow"][4]


def test_groups_that_were_held_before_stay(scratch: Scratch) -> None:
    scratch.groups()
    scratch.file("etc/group", "render:x:992:bob\nvideo:x:44:bob,alice\n")
    scratch.file("etc/gshadow", "render:!::bob\nvideo:!::bob,alice\n", 0o640)
    place = scratch.place(privileged=True)
    before = tree(scratch.root)
    _, journal = done([joining(("render", "video"))], place)
    assert undone(journal.folder, place) == [Done(True, "ran gpasswd -d alice render")]
    assert tree(scratch.root) == before


def test_a_command_that_fails_is_said(scratch: Scratch) -> None:
    scratch.programs["usermod"] = lambda words: ProgramOutcome(False, "usermod: group 'render' does not exist\n")
    place = scratch.place(privileged=True)
    results, journal = done([joining(("render",))], place)
    assert results == [Done(False, "usermod -aG render alice failed: usermod: group 'render' does not exist")]
    assert undone(journal.folder, place) == [Done(True, "usermod -aG render alice had failed and changed nothing")]


def test_what_undoing_would_do_is_told_in_its_order_before(scratch: Scratch) -> None:
    scratch.groups()
    place = scratch.place(privileged=True)
    _, journal = done([Unset("HSA_OVERRIDE_GFX_VERSION"), *_BALANCING, joining(("render",))], place)
    again = opened(journal.folder, place)
    assert told_back(again, place) == [
        "run gpasswd -d alice render",
        "write 1 to /proc/sys/kernel/numa_balancing again (rocdoctor wrote 0)",
        "bring ~/.bashrc back as it was before",
    ]
    undo(again, place)
    assert told_back(again, place) == []


def test_a_step_that_failed_is_told_with_a_doubt(scratch: Scratch) -> None:
    place = scratch.place(privileged=True)
    _, journal = done([joining(("render",))], place)  # there is no usermod
    assert told_back(journal, place) == ["run gpasswd -d alice render, if the step left something"]


def test_undoing_says_what_is_not_as_before(scratch: Scratch) -> None:
    scratch.groups()
    place = scratch.place(privileged=True)
    _, journal = done([joining(("render",))], place)
    with (scratch.root / "etc/group").open("a") as stream:
        stream.write("new:x:1001:\n")
    (result,) = undone(journal.folder, place)
    assert result.ok
    assert "not byte for byte as before: /etc/group (before: " in result.said
    assert "new:x:1001:" in (scratch.root / "etc/group").read_text()


@pytest.mark.parametrize(
    "words", [("rm", "-rf", "/"), ("sh", "-c", "usermod"), ("usermod", "-aG", "render", "a\nb"), ("usermod", ""), ()]
)
def test_no_other_command_is_run(scratch: Scratch, words: tuple[str, ...]) -> None:
    made = work([Command(words)], scratch.place(privileged=True))
    assert made.steps == ()
    assert "is not a command that rocdoctor runs" in made.left[0]
    assert scratch.calls == []


def test_an_unknown_user_joins_nothing(scratch: Scratch) -> None:
    made = work([joining(("render",))], replace(scratch.place(privileged=True), user=""))
    assert made.left == ("the name of the user is not known here",)


# -- what somebody else has changed since

_ENLARGE = Command(
    ("mount", "-o", "remount,size=8G", "/dev/shm"), (("mount", "-o", "remount,size=67108864", "/dev/shm"),)
)


@pytest.mark.parametrize(
    ("now", "ok", "ran", "words"),
    [
        (8 << 30, True, 1, "ran mount -o remount,size=67108864 /dev/shm"),
        (16 << 30, False, 0, "/dev/shm: it has 16 GiB now, which rocdoctor did not set; it had 64 MiB"),
        (67108864, True, 0, "was taken back already"),
    ],
)
def test_undoing_leaves_a_size_that_somebody_else_set(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, now: int, ok: bool, ran: int, words: str
) -> None:
    scratch.programs["mount"] = lambda _: ProgramOutcome(True, "")
    place = scratch.place(privileged=True)
    _, journal = done([_ENLARGE], place)
    scratch.calls.clear()
    asked: list[Path] = []

    def size(path: Path) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(f_blocks=now // 4096, f_frsize=4096)

    monkeypatch.setattr(os, "statvfs", size)
    (result,) = undone(journal.folder, place)
    assert (result.ok, len(scratch.calls)) == (ok, ran)
    assert words in result.said
    assert asked == [scratch.root / "dev" / "shm"]


def test_undoing_takes_nobody_out_of_a_group_that_somebody_else_has_left_already(scratch: Scratch) -> None:
    scratch.groups()
    place = scratch.place(privileged=True)
    _, journal = done([joining(("render", "video"))], place)
    scratch.run(("gpasswd", "-d", "alice", "render"))
    scratch.programs["gpasswd"] = lambda words: ProgramOutcome(words[3] == "video", "user is not a member")
    (result,) = undone(journal.folder, place)
    assert result.ok
    assert result.said.startswith("ran gpasswd -d alice video")
