"""``fix --apply`` and ``--undo`` as a user types them, in a mount namespace with a home and an /etc of its own.

What stands there is real: the files, the programs that change groups, the program of ours. Nothing outside is touched.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import ROOT
from tests.repair.fixes.fix_kit import changed, tree

_UNSHARE = ("unshare", "--mount", "--propagation", "private")


def _possible() -> bool:
    try:
        done = subprocess.run([*_UNSHARE, "true"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return os.geteuid() == 0 and done.returncode == 0


pytestmark = pytest.mark.skipif(not _possible(), reason="no mount namespaces for this user")

# Binds the /etc of the scratch folder over the real one, then runs the rest of the words.
_ENTER = 'mount --bind "$1/etc" /etc && shift && exec "$@"'
_OF_ETC = ("group", "shadow", "gshadow", "login.defs", "nsswitch.conf", "ld.so.cache", "os-release")
_BASHRC = "if true; then\n  export ROCM_PATH=/opt/rocm-0.0.1\nfi\n"


class Box:
    """A home, and a copy of what /etc needs for accounts and logins that names it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(mode=0o700)
        (folder / "etc").mkdir(mode=0o755)
        for name in _OF_ETC:
            if (path := Path("/etc") / name).is_file():
                shutil.copy2(path, folder / "etc" / name)
        if Path("/etc/alternatives").is_dir():  # the interpreter may be reached through it
            shutil.copytree("/etc/alternatives", folder / "etc" / "alternatives", symlinks=True)
        rows = [line.split(":") for line in Path("/etc/passwd").read_text().splitlines()]
        lines = [":".join([*row[:5], str(self.home), *row[6:]] if row[2] == str(os.geteuid()) else row) for row in rows]
        (folder / "etc" / "passwd").write_text("\n".join(lines) + "\n")
        for path in (folder / "home" / ".bashrc", folder / "etc" / "environment"):
            path.write_text(_BASHRC if path.name == ".bashrc" else "LANG=C\nROCM_PATH=/opt/rocm-0.0.1\n")
            os.utime(path, ns=(1_600_000_000_000_000_007, 1_600_000_000_000_000_007))

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "ROCM_PATH": "/opt/rocm-0.0.1",
            "COLUMNS": "100",
            "PYTHONPATH": str(ROOT),
            "TERM": "dumb",
        }

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*_UNSHARE, "sh", "-c", _ENTER, "sh", str(self.folder), *words],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def ask(self, answer: str, *arguments: str) -> str:
        """Run the command at a terminal where somebody types an answer to its question; what the terminal showed."""
        ours, theirs = pty.openpty()
        words = [*_UNSHARE, "sh", "-c", _ENTER, "sh", str(self.folder), sys.executable, "-m", "rocdoctor", "fix"]
        child = subprocess.Popen(
            [*words, *arguments],
            env=self.environment(),
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs)
        shown = ""
        asked = False
        try:
            while select.select([ours], [], [], 60)[0]:
                try:
                    shown += os.read(ours, 65536).decode()
                except OSError:  # the other end is closed
                    break
                if "Do this? [y/N]" in shown and not asked:
                    asked = True
                    os.write(ours, f"{answer}\n".encode())
        finally:
            os.close(ours)
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait(30)
        return shown

    def fix(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "rocdoctor", "fix", *arguments)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.mark.live
def test_the_whole_command_changes_what_it_declares_and_undoes_it(box: Box) -> None:
    before = tree(box.folder)
    shown = box.fix("rocm-path-missing")
    if "rocm-path-missing" not in shown.stdout:
        pytest.skip("this machine does not show its ROCm folders")
    assert tree(box.folder) == before, "showing changes nothing"
    assert "switch off line 2 of ~/.bashrc; switch off line 2 of /etc/environment" in shown.stdout
    refused = box.fix("rocm-path-missing", "--apply")
    assert refused.returncode == 2
    assert "no terminal to ask on" in refused.stderr
    assert tree(box.folder) == before

    applied = box.fix("rocm-path-missing", "--apply", "--yes")
    assert applied.returncode == 0, applied.stderr
    after = tree(box.folder)
    ours = {name for name in changed(before, after) if not name.startswith("home/.local")}
    assert ours == {"home/.bashrc", "etc/environment"}
    assert (box.folder / "home" / ".bashrc").read_text() == (
        "if true; then\n  : # off by rocdoctor fix (rocm-path-missing): export ROCM_PATH=/opt/rocm-0.0.1\nfi\n"
    )
    undo = next(line for line in applied.stdout.splitlines() if "--undo" in line).split()[-1]
    assert undo.startswith(f"{box.home}/.local/state/rocdoctor/fixes/")

    again = box.fix("rocm-path-missing", "--apply", "--yes")
    assert "~/.bashrc:2 is switched off already" in " ".join(again.stdout.split())
    assert changed(after, tree(box.folder)) == set()

    undone = box.fix("--undo", undo)
    assert undone.returncode == 0, undone.stdout + undone.stderr
    final = tree(box.folder)
    assert {name for name in changed(before, final) if not name.startswith("home/.local")} == set()


@pytest.mark.live
def test_at_a_terminal_it_asks(box: Box) -> None:
    before = tree(box.folder)
    shown = box.ask("n", "rocm-path-missing", "--apply")
    if "rocm-path-missing" not in shown:
        pytest.skip("this machine does not show its ROCm folders")
    assert "Left to you: 1 of 1." in shown
    assert {name for name in changed(before, tree(box.folder)) if not name.startswith("home/.local")} == set()
    shown = box.ask("y", "rocm-path-missing", "--apply")
    assert "changed ~/.bashrc" in shown
    assert shown.index("switch off line 2 of ~/.bashrc") < shown.index("Do this?") < shown.index("changed ~/.bashrc")
    ours = {name for name in changed(before, tree(box.folder)) if not name.startswith("home/.local")}
    assert ours == {"home/.bashrc", "etc/environment"}


_GROUPS = """
from rocdoctor.model.change import joining
from rocdoctor.judging.check import Fix
from rocdoctor.repair.fixes.apply import apply, undo
from rocdoctor.repair.fixes.journal import Journal, alone, opened
from rocdoctor.repair.fixes.target_machine import this_machine
from rocdoctor.repair.fixes.steps import work_of
import sys, dataclasses
place = dataclasses.replace(this_machine(), user="daemon")
with alone(place.state, place.uid):
    if sys.argv[1] == "apply":
        change = joining(("video", "users"))
        made = work_of(Fix("t", "c", "safe"), (change,), "a-check", place)
        journal = Journal.make(place.state, place.root)
        results = apply(made.steps, "a-check", place, journal)
        print(journal.folder)
    else:
        from pathlib import Path
        results = undo(opened(Path(sys.argv[1]), place), place)
    print([one.said for one in results if not one.ok], file=sys.stderr)
    sys.exit(0 if all(one.ok for one in results) else 1)
"""


@pytest.mark.skipif(not shutil.which("usermod") or not shutil.which("gpasswd"), reason="no usermod here")
def test_groups_are_joined_and_left_by_the_real_programs(box: Box) -> None:
    before = tree(box.folder / "etc")
    if b"\nvideo:" not in (box.folder / "etc" / "group").read_bytes():
        pytest.skip("no group video here")
    applied = box.run(sys.executable, "-c", _GROUPS, "apply")
    assert applied.returncode == 0, applied.stderr
    # The programs keep copies of their own and a lock.
    own = {"group-", "gshadow-", ".pwd.lock", "subgid-", "subuid-"}
    assert changed(before, tree(box.folder / "etc")) - own == {"group", "gshadow"}
    assert "daemon" in next(
        line for line in (box.folder / "etc" / "group").read_text().splitlines() if line.startswith("video:")
    )
    undone = box.run(sys.executable, "-c", _GROUPS, applied.stdout.strip())
    assert undone.returncode == 0, undone.stderr
    assert changed(before, tree(box.folder / "etc")) - own == set()
