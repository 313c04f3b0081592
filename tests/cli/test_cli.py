"""The command line under an unkind shell: closed and full streams, other encodings, odd arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rocdoctor.cli.main import run
from tests.kit import ROOT

FIXTURE = ROOT / "fixtures" / "rx6600.capture"
ACCENTS = """rocdoctor capture 1
origin: constructed
-- read /etc/os-release --
ID=debian
PRETTY_NAME="Débian ☃ \U0001f427"
-- list /sys/bus/pci/devices/* --
/sys/bus/pci/devices/0000:03:00.0
-- read /sys/bus/pci/devices/0000:03:00.0/uevent --
PCI_CLASS=30000
PCI_ID=1002:73FF
PCI_SLOT_NAME=0000:03:00.0
-- read /sys/bus/pci/devices/0000:03:00.0/product_name --
Räd\x1b[31meon\x07
"""


def _shell(command: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    program = f'"$0" -m rocdoctor {command}'
    return subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", program, sys.executable, *arguments],
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def accents(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("evidence") / "accents.capture"
    path.write_text(ACCENTS, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("form", ["text", "json", "markdown", "junit"])
@pytest.mark.parametrize("coding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_of_the_terminal_is_served(
    accents: str, form: str, coding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = TextIOWrapper(BytesIO(), encoding=coding)
    monkeypatch.setattr(sys, "stdout", out)
    assert run(["check", "--from", accents, "--format", form, "--verbose"]) in (0, 1)
    out.flush()
    _told(out.buffer.getvalue(), form, coding)


@pytest.mark.parametrize("coding", ["ascii", "latin-1", "utf-8"])
def test_every_encoding_of_a_pipe_is_served(accents: str, coding: str) -> None:
    done = _shell('check --from "$1" --verbose', accents, PYTHONIOENCODING=coding)
    assert done.returncode in (0, 1), done.stderr
    _told(done.stdout, "text", coding)


def _told(said: bytes, form: str, coding: str) -> None:
    text = said.decode(coding)
    assert text
    assert "\x1b" not in text
    assert "\x07" not in text
    if form == "json":
        assert json.loads(text)["schema"] == "rocdoctor.report/1"
    if form == "junit" and coding == "utf-8":
        assert ElementTree.fromstring(text).tag in ("testsuite", "testsuites")


def test_facts_keep_their_letters_in_ascii(accents: str) -> None:
    done = _shell('facts --from "$1" --json', accents, PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["os"]["pretty_name"].startswith("Débian")


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = _shell(f"check --verbose --from {FIXTURE} | head -1")
    assert (done.stderr, done.stdout.count(b"\n")) == (b"", 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_full_disk_is_named(form: str) -> None:
    done = _shell(f"check --from {FIXTURE} --format {form} > /dev/full")
    assert done.returncode == 2
    assert done.stderr.decode().startswith("rocdoctor: cannot write: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_break_nothing(closed: str) -> None:
    done = _shell(f"check --fail-on never --from {FIXTURE} {closed}")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chek"], "did you mean 'check'"),
        (["check", "--timeout", "0"], "not a time between"),
        (["check", "--timeout", "-1"], "not a time between"),
        (["check", "--timeout", "nan"], "not a time between"),
        (["check", "--timeout", "1e9"], "not a time between"),
        (["check", "--timeout", "soon"], "not a time between"),
        (["check", "--from", "/none\x1b[31m\nx"], r"$'/none\x1b[31m\nx': no such file"),
        (["check", "gpu-without-drivr"], "did you mean 'gpu-without-driver'"),
        (["check", "--skip", "gpu_without_drivr"], "did you mean 'gpu-without-driver'"),
        (["check", "--checks", "/none"], "no such folder of checks"),
        (["check", "--format", "yaml"], "invalid choice"),
        (["explain", "gpu-without-drivr"], "did you mean"),
        (["emit", "envv"], "did you mean 'env'"),
        (["--no-such-option"], "unrecognized arguments"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1
    assert "\x1b" not in said.err


def test_a_hostile_folder_of_checks_costs_that_check_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "syntax_error.py").write_text("def (")
    (tmp_path / "raises_at_import.py").write_text('"""x"""\nraise SystemExit(7)')
    (tmp_path / "no_check.py").write_text('"""x"""\n')
    (tmp_path / "nul.py").write_bytes(b"\0")
    head = '"""x"""\nfrom rocdoctor.judging.check import check, whole_machine\n@check(whole_machine)\n'
    (tmp_path / "exits_later.py").write_text(head + "def exits_later(_):\n    raise SystemExit(7)\n")
    (tmp_path / "finds_numbers.py").write_text(head + "def finds_numbers(_):\n    return [1, 2]\n")
    (tmp_path / "folder.py").mkdir()
    assert run(["check", "--fail-on", "never", "--from", str(FIXTURE), "--checks", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in ("syntax_error", "raises_at_import", "no_check", "nul", "exits-later", "finds-numbers"):
        assert name in said


_OWN = """\"\"\"x\"\"\"
from rocdoctor.judging.check import check, whole_machine
@check(whole_machine)
def {name}(_):
    return []
"""


def test_a_check_of_a_taken_name_is_not_left_out_in_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pcie_link_narrow.py").write_text(_OWN.format(name="pcie_link_narrow"))
    assert run(["check", "--from", str(FIXTURE), "--fail-on", "never", "--checks", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "pcie_link_narrow.py was not run: a check of that name comes first" in said


def test_a_named_check_that_cannot_be_loaded_is_no_clean_bill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine_own.py").write_text('raise ValueError("\x1b]0;x\x07no")\n')
    assert run(["check", "--from", str(FIXTURE), "--checks", str(tmp_path), "mine-own"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "mine_own.py: ValueError:" in said.err
    assert "\x1b" not in said.err


def test_no_check_is_taken_from_a_folder_called_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nobody tells the home of who asks, "~" is a name like any other in the working directory."""
    folder = tmp_path / "~" / ".config" / "rocdoctor" / "checks"
    folder.mkdir(parents=True)
    (folder / "mine_own.py").write_text(_OWN.format(name="mine_own"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "~/.config")
    assert run(["check", "--from", str(FIXTURE), "mine-own"]) == 2
    assert "no check 'mine-own'" in capsys.readouterr().err
