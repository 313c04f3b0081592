"""The folder of a run: who may undo it, what a damaged one does, and one run at a time."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.cli.commands import fix
from rocdoctor.cli.main import run
from rocdoctor.model.change import Command, KernelValue, Unset, joining
from rocdoctor.repair.fixes import journal as journal_module
from rocdoctor.repair.fixes.apply import undo
from rocdoctor.repair.fixes.journal import alone, opened, undoing
from rocdoctor.repair.fixes.known_changes import is_startup
from rocdoctor.repair.fixes.target_machine import ProgramOutcome
from rocdoctor.repair.fixes.user_files import Refused, look
from rocdoctor.repair.fixes.user_files import replace as put
from tests.examples import examples
from tests.repair.fixes.fix_kit import Scratch, done, tree, undone, work

_UNSET = (Unset("HSA_OVERRIDE_GFX_VERSION"),)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def test_a_folder_that_others_could_have_made_is_not_undone(scratch: Scratch) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    before = tree(scratch.root)
    for path, mode in ((journal.folder, 0o755), (journal.folder / "list.json", 0o666)):
        path.chmod(mode)
        with pytest.raises(Refused, match="others can read or change it"):
            undone(journal.folder, place)
        journal.folder.chmod(0o700)
        (journal.folder / "list.json").chmod(0o600)
    with pytest.raises(Refused, match="belongs to somebody else"):
        opened(journal.folder, replace(place, uid=os.geteuid() + 1))
    with pytest.raises(Refused, match="no folder of rocdoctor fix"):
        opened(scratch.home, place)
    link = scratch.state / "link"
    link.symlink_to(journal.folder)
    with pytest.raises(Refused, match="a symbolic link"):
        opened(link, place)
    with pytest.raises(Refused, match="another machine's root"):
        opened(journal.folder, replace(place, root=Path("/elsewhere")))
    assert tree(scratch.root) == before


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("path", "../../etc/passwd", "never does"),
        ("path", "/home/../etc/passwd", "never does"),
        ("kind", "shell", "damaged"),
        ("copies", [{"path": "/x", "copy": "../../../etc/shadow"}], "damaged"),
        ("copies", 3, "damaged"),
        ("words", [["rm"]], "damaged"),
        ("copies", [], "never does"),
        ("undo", "x", "damaged"),
        ("state", "x", "damaged"),
        ("check", None, "damaged"),
        ("copies", [{"path": "/x", "copy": "copy-1", "digest": "0" * 64, "mode": "s", "mtime_ns": 0}], "damaged"),
        ("copies", [{"path": "/x", "copy": "copy-1", "digest": "0" * 64, "mode": 0, "mtime_ns": "t"}], "damaged"),
    ],
)
def test_a_damaged_list_is_refused(scratch: Scratch, key: str, value: object, words: str) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    file = journal.folder / "list.json"
    data = json.loads(file.read_text())
    data["entries"][0][key] = value
    file.write_text(json.dumps(data))
    with pytest.raises(Refused, match=words):
        opened(journal.folder, place)
    file.write_text("{")
    with pytest.raises(Refused, match="damaged"):
        opened(journal.folder, place)


def test_a_list_with_another_command_runs_nothing(scratch: Scratch) -> None:
    scratch.groups()
    place = scratch.place(privileged=True)
    _, journal = done([joining(("render",))], place)
    file = journal.folder / "list.json"
    data = json.loads(file.read_text())
    data["entries"][0]["undo"] = [["rm", "-rf", "/"]]
    file.write_text(json.dumps(data))
    scratch.calls.clear()
    with pytest.raises(Refused, match="entry 1 names what rocdoctor fix never does"):
        undone(journal.folder, place)
    assert scratch.calls == []


_NEVER: tuple[tuple[str, object], ...] = (
    ("undo", [["usermod", "-o", "-u", "0", "nobody"]]),
    ("undo", [["gpasswd", "-d", "bob", "render"]]),
    ("undo", [["gpasswd", "-d", "alice", "video"]]),
    ("undo", [["mount", "-o", "remount,size=1", "/dev/shm"]]),
    ("undo", [["gpasswd", "-d", "-R", "render"]]),
    ("undo", [["mount", "--bind", "/tmp/x", "/etc"]]),
    ("words", ["usermod", "-aG", "sudo", "alice"]),
    ("words", ["usermod", "-aG", "render", "-p", "x", "alice"]),
    ("words", ["udevadm", "trigger", "--subsystem-match=kfd"]),
    ("words", ["usermod"]),
    ("words", []),
    ("copies", [{"path": "/bin/sh", "copy": "", "digest": "", "mode": 0o4755, "mtime_ns": 0}]),
    ("path", "/etc/shadow"),
)


@pytest.mark.parametrize(("key", "value"), _NEVER)
def test_what_no_fix_does_is_not_taken_back_either(scratch: Scratch, key: str, value: object) -> None:
    """A list that somebody else wrote gets no more from us than we would have written."""
    scratch.groups()
    place = scratch.place(privileged=True)
    _, journal = done([joining(("render",))], place)
    _rewritten(journal.folder, {key: value})
    before = tree(scratch.root)
    scratch.calls.clear()
    with pytest.raises(Refused, match="never does"):
        undone(journal.folder, place)
    assert (scratch.calls, tree(scratch.root)) == ([], before)


@pytest.mark.parametrize(
    "size", ["0", "00", "0G", "-1", "+1", "\uff18G", "8G,mode=4777", "100%", "99999999999999999999", "17179869184G"]
)
def test_no_size_without_end_is_set(scratch: Scratch, size: str) -> None:
    """tmpfs takes 0 for no limit, also where a product loses its upper bits."""
    enlarge = Command(
        ("mount", "-o", "remount,size=8G", "/dev/shm"), (("mount", "-o", "remount,size=67108864", "/dev/shm"),)
    )
    scratch.programs["mount"] = lambda _: ProgramOutcome(True, "")
    place = scratch.place(privileged=True)
    _, journal = done([enlarge], place)
    scratch.calls.clear()
    for key, value in (("undo", [words(size)]), ("words", words(size))):
        _rewritten(journal.folder, {key: value})
        with pytest.raises(Refused, match="never does"):
            undone(journal.folder, place)
        _rewritten(journal.folder, {"words": list(enlarge.words), "undo": [list(one) for one in enlarge.undo]})
    assert scratch.calls == []
    assert [one.ok for one in undone(journal.folder, place)] == [True]
    assert scratch.calls == [enlarge.undo[0]]
    assert "not a command that rocdoctor runs" in work([Command(tuple(words(size)))], place).left[0]


def words(size: str) -> list[str]:
    return ["mount", "-o", f"remount,size={size}", "/dev/shm"]


@pytest.mark.parametrize("mode", [0o4755, 0o2644, 0o1644, 0o6777, 0o666, 0o664, 0o645, 0o755])
def test_no_list_gives_a_file_more_rights_than_it_has(scratch: Scratch, mode: int) -> None:
    scratch.groups()
    place = scratch.place(privileged=True)
    _, of_edit = done(_UNSET, place)
    _, of_command = done([joining(("render",))], place)
    for folder in (of_edit.folder, of_command.folder):
        copies = json.loads((folder / "list.json").read_text())["entries"][0]["copies"]
        _rewritten(folder, {"copies": [{**one, "mode": mode} for one in copies]})
        assert all(one.ok for one in undone(folder, place))
    for name, before in ((".bashrc", 0o644), ("../../etc/group", 0o644), ("../../etc/gshadow", 0o640)):
        now = stat.S_IMODE((scratch.home / name).stat().st_mode)
        assert now & ~0o700 & ~before == 0, name


def test_a_file_gets_its_own_mode_back_set_id_bits_too(scratch: Scratch) -> None:
    (scratch.home / ".bashrc").chmod(0o2664)
    place = scratch.place()
    _, journal = done(_UNSET, place)
    assert all(one.ok for one in undone(journal.folder, place))
    assert stat.S_IMODE((scratch.home / ".bashrc").stat().st_mode) == 0o2664


def test_what_a_kernel_path_leads_to_is_judged_too(scratch: Scratch) -> None:
    """Links on the way lead where the path does not say."""
    place = scratch.place(privileged=True)
    scratch.file("sys/devices/a/scaling_governor", "powersave\n")
    _, journal = done([KernelValue("/sys/devices/a/scaling_governor", "performance")], place)
    other = scratch.file("sys/kernel/uevent_helper", "performance\n")
    (scratch.root / "sys/devices/a/scaling_governor").unlink()
    (scratch.root / "sys/devices/a/scaling_governor").symlink_to(other)
    assert [(one.ok, "does not change" in one.said) for one in undone(journal.folder, place)] == [(False, True)]
    assert other.read_text() == "performance\n"


@pytest.mark.parametrize("path", ["/proc/sys/kernel/core_pattern", "/sys/kernel/uevent_helper", "/etc/shadow"])
def test_no_other_word_of_the_kernel_is_written(scratch: Scratch, path: str) -> None:
    place = scratch.place(privileged=True)
    _, journal = done([KernelValue("/proc/sys/kernel/numa_balancing", "0")], place)
    for changes in ({"path": path}, {"old": "|/tmp/x %P"}):
        _rewritten(journal.folder, changes)
        with pytest.raises(Refused, match="never does"):
            undone(journal.folder, place)
    assert (scratch.root / "proc/sys/kernel/numa_balancing").read_text() == "0\n"


@pytest.mark.parametrize("path", ["/etc/shadow", "/home/alice/.ssh/authorized_keys", "/etc/profile.d/deep/x.sh"])
def test_no_file_but_a_start_up_file_is_put_back(scratch: Scratch, path: str) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    data = json.loads((journal.folder / "list.json").read_text())["entries"][0]
    data["copies"][0]["path"] = path
    _rewritten(journal.folder, {"path": path, "copies": data["copies"]})
    with pytest.raises(Refused, match="never does"):
        undone(journal.folder, place)


def test_start_up_files_are_known_by_their_path() -> None:
    """Also in a home whose name means something in a pattern."""
    for path in ("/home/a[b]/.bashrc", "/home/a[b]/.config/environment.d/x.conf", "/etc/profile.d/a.sh"):
        assert is_startup(path, "/home/a[b]")
    for path in ("/home/ab/.bashrc", "/home/a[b]/.ssh/rc", "/etc/profile.d/../shadow", "/etc/profile.d/a/b.sh", ""):
        assert not is_startup(path, "/home/a[b]")


def _rewritten(folder: Path, changes: Mapping[str, object]) -> None:
    file = folder / "list.json"
    data = json.loads(file.read_text())
    data["entries"][0].update(changes)
    file.write_text(json.dumps(data))


def test_a_folder_that_becomes_a_link_meanwhile_is_not_read(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write above it exchanges it between any two looks; what was judged is what is read and written."""
    place = scratch.place()
    _, journal = done(_UNSET, place)
    aside, other = scratch.state / "aside", scratch.state / "other"
    shutil.copytree(journal.folder, other)
    _rewritten(other, {"check": "theirs"})
    theirs = tree(other)
    real = os.open
    flips: list[Path] = []

    def flipping(path: object, *args: object, **kwargs: object) -> int:
        descriptor = real(path, *args, **kwargs)  # type: ignore[arg-type]
        if not flips and Path(str(path)).name == journal.folder.name:
            flips.append(journal.folder.rename(aside))
            journal.folder.symlink_to(other)
        return descriptor

    monkeypatch.setattr(os, "open", flipping)
    again = opened(journal.folder, place)
    assert flips and [one.check for one in again.entries] == ["a-check"]
    assert [one.ok for one in undo(again, place)] == [True]
    assert tree(other) == theirs
    with pytest.raises(Refused, match="a symbolic link, which is not followed"):
        opened(journal.folder, place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_trusts_no_folder_below_one_of_somebody_else(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "privileged", lambda: True)
    place = scratch.place()
    _, journal = done(_UNSET, place)
    os.chown(scratch.state, 12345, -1)
    try:
        with pytest.raises(Refused, match="belongs to user 12345, so the contents of"):
            opened(journal.folder, place)
    finally:
        os.chown(scratch.state, os.geteuid(), -1)
    assert opened(journal.folder, place).entries


# -- damaged lists

_WORDS = st.sampled_from(
    ("", "a", "/etc/profile", "copy-1", "edit", "kernel", "command", "begun", "\0", "\ud800", "0" * 64)
)
_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def _damaged(draw: st.DrawFn, raw: object) -> object:
    """The same with one thing in it exchanged, doubled or taken away."""
    if isinstance(raw, dict) and raw and draw(st.integers(0, 9)):
        key = draw(st.sampled_from(sorted(raw)))
        if not draw(st.integers(0, 7)):
            return {name: value for name, value in raw.items() if name != key}
        return {**raw, key: draw(_damaged(raw[key]))}
    if isinstance(raw, list) and raw and draw(st.integers(0, 9)):
        at = draw(st.integers(0, len(raw) - 1))
        how = draw(st.integers(0, 7))
        return (
            raw[:at] + raw[at + 1 :]
            if how == 0
            else raw + raw[at:]
            if how == 1
            else [*raw[:at], draw(_damaged(raw[at])), *raw[at + 1 :]]
        )
    return draw(_JUNK)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scratch, Path, dict[str, object]]:
    """A machine with a run that did each kind of step."""
    scratch = Scratch(tmp_path_factory.mktemp("damaged"))
    scratch.groups()
    kernel = KernelValue("/proc/sys/kernel/numa_balancing", "0")
    _, journal = done([*_UNSET, kernel, joining(("render",))], scratch.place(privileged=True))
    return scratch, journal.folder, json.loads((journal.folder / "list.json").read_text())


@examples(3)
@given(st.data())
def test_a_damaged_list_ends_in_one_sentence(
    machine: tuple[Scratch, Path, dict[str, object]], data: st.DataObject
) -> None:
    scratch, folder, good = machine
    text = json.dumps(data.draw(_damaged(good))).encode()
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.binary(max_size=4)) + text[at + data.draw(st.integers(0, 4)) :]
    (folder / "list.json").write_bytes(text)
    place = scratch.place(privileged=True)
    try:
        journal = opened(folder, place)
    except Refused as refused:
        assert "list.json: " in str(refused) or "another machine's root" in str(refused)
        return
    for one in undo(journal, place):
        assert one.said
    assert {one[0] for one in scratch.calls} <= {"usermod", "gpasswd"}


@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b'{"a":' * 200_000, b"9" * 100_000, b"", b"\xff\xfe", b"nul", b"[]", b'{"entries": [[]]}']
)
def test_a_list_of_any_bytes_is_damaged(scratch: Scratch, text: bytes) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    (journal.folder / "list.json").write_bytes(text)
    with pytest.raises(Refused, match="damaged"):
        opened(journal.folder, place)


def test_a_damaged_list_is_status_2(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    monkeypatch.setattr(fix, "this_machine", lambda: place)
    (journal.folder / "list.json").write_bytes(b"[" * 200_000)
    assert run(["fix", "--undo", str(journal.folder)]) == 2
    assert capsys.readouterr().err.rstrip().endswith("list.json: damaged")


def test_a_changed_copy_is_not_put_back(scratch: Scratch) -> None:
    place = scratch.place()
    _, journal = done(_UNSET, place)
    (journal.folder / "copy-1").write_text("evil\n")
    before = tree(scratch.root)
    (result,) = undone(journal.folder, place)
    assert not result.ok
    assert "copy-1 has been changed" in result.said
    assert tree(scratch.root) == before


# Another run of fix: it says when it is at work, and ends when its input does.
_OTHER = """
import os, pathlib, sys
from rocdoctor.repair.fixes.journal import alone
with alone(pathlib.Path(sys.argv[1]), os.geteuid()):
    print("at work", flush=True)
    sys.stdin.read()
"""


def test_two_runs_at_once_do_not_meet(scratch: Scratch) -> None:
    command = [sys.executable, "-c", _OTHER, str(scratch.state)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"at work\n"
        with pytest.raises(Refused, match="another rocdoctor fix is at work"), alone(scratch.state, os.geteuid()):
            pass
    finally:
        other.communicate(timeout=60)
    assert other.returncode == 0
    with alone(scratch.state, os.geteuid()):
        pass


def test_backups_go_where_others_cannot_write(scratch: Scratch) -> None:
    scratch.state.mkdir(mode=0o700)
    scratch.state.chmod(0o777)
    with pytest.raises(Refused, match="that others cannot change"), alone(scratch.state, os.geteuid()):
        pass
    scratch.state.rmdir()
    scratch.state.symlink_to(scratch.root)
    with pytest.raises(Refused), alone(scratch.state, os.geteuid()):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_somebody_else_is_not_written_in(scratch: Scratch) -> None:
    path = scratch.file("home/alice/x", "a")
    os.chown(scratch.home, 12345, -1)
    with pytest.raises(Refused, match="others can change the folder"):
        look(path, os.geteuid(), scratch.root)
    os.chown(scratch.home, 0, -1)
    os.chown(scratch.root / "home", 12345, -1)
    assert look(path, os.geteuid(), scratch.root).data == b"a", "what lies above may belong to anybody"


def test_a_file_keeps_mode_and_group(scratch: Scratch) -> None:
    path = scratch.file("home/alice/x", "a", 0o640)
    seen = look(path, os.geteuid(), scratch.root)
    put(seen, b"b")
    status = path.stat()
    assert (path.read_bytes(), stat.S_IMODE(status.st_mode), status.st_gid) == (b"b", 0o640, seen.gid)
    with pytest.raises(Refused, match="in the meantime"):
        put(seen, b"c")
    assert [one.name for one in scratch.home.iterdir() if one.name.startswith(".x")] == []


def test_the_command_that_takes_back_names_its_folder_for_a_shell() -> None:
    assert undoing(Path("/home/bea/state/20261128-1")) == "rocdoctor fix --undo /home/bea/state/20261128-1"
    assert undoing(Path("/tmp/a b;reboot")) == "rocdoctor fix --undo '/tmp/a b;reboot'"
