"""The gate closes for what is certain, and for nothing that is not known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.fleet.boot import boot_of, gate
from rocdoctor.fleet.record import NodeRecord, as_data
from tests.fleet.kit import NOW, node, sick


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine whose bus has the GPUs of the record."""
    place = tmp_path / "proc/sys/kernel/random"
    place.mkdir(parents=True)
    (place / "boot_id").write_text("2f7c0000-1111\n")
    for one in node("a").gpus:
        (tmp_path / "sys/bus/pci/devices" / str(one.bdf)).mkdir(parents=True)
    return tmp_path


def _answer(root: Path, record: NodeRecord, **changes: Any) -> tuple[bool, bool, str]:
    path = root / "record.json"
    path.write_text(json.dumps({**as_data(record), "boot": boot_of(str(root)), **changes}))
    found = gate(str(path), NOW + 60, 600, str(root))
    return found.open, found.known, found.why


def test_a_sound_node_is_open(root: Path) -> None:
    assert _answer(root, node("a")) == (True, True, "no certain fault 1 min ago")


def test_a_certain_fault_seen_twice_closes(root: Path) -> None:
    opened, known, why = _answer(root, node("a", NOW, sick("ras-uncorrectable", 2, looks=2)))
    assert (opened, known) == (False, True)
    assert why == "gpu 2: The sentence of ras-uncorrectable. [ras-uncorrectable]"


def test_less_does_not_close(root: Path) -> None:
    assert _answer(root, node("a", NOW, sick("ras-uncorrectable", 2)))[0]
    assert _answer(root, node("a", NOW, sick("pcie-link-narrow", 2, looks=2)))[0]
    assert _answer(root, node("a", NOW, sick("torch-import-fails", looks=2)))[0]
    assert _answer(root, node("a", NOW, sick("ras-log-uncorrectable", 2, looks=2)))[0], "both looks read one line"


def test_a_gpu_that_is_gone_since_closes(root: Path) -> None:
    (root / "sys/bus/pci/devices/0000:4a:00.0").rmdir()
    opened, _, why = _answer(root, node("a"))
    assert not opened
    assert "0000:4a:00.0" in why


def test_a_bus_that_cannot_be_read_proves_nothing(root: Path) -> None:
    for one in (root / "sys/bus/pci/devices").iterdir():
        one.rmdir()
    assert _answer(root, node("a"))[0]


def test_a_record_that_is_not_of_now_proves_nothing(root: Path) -> None:
    bad = node("a", NOW, sick("ras-uncorrectable", 2, looks=2))
    assert _answer(root, bad, boot="b-other")[:2] == (True, False)
    assert _answer(root, bad, boot=None)[:2] == (True, False)
    assert _answer(root, bad, taken_at=NOW - 3600)[:2] == (True, False)
    for odd in (NOW + 3600, float("nan"), 10**400):
        assert _answer(root, bad, taken_at=odd) == (True, False, "the last record has no time that can be")
    assert _answer(root, bad, findings="many")[:2] == (True, False)


def test_no_file_of_any_kind_makes_it_fail_or_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "deep").write_text("[" * 100_000)
    (tmp_path / "large").write_text(" " * 1_100_000)
    (tmp_path / "link").symlink_to(tmp_path / "deep")
    for name in ("nothing", "fifo", "deep", "large", "link"):
        found = gate(str(tmp_path / name), NOW, 600)
        assert (found.open, found.known) == (True, False), name


def test_numbers_of_any_size_are_numbers(root: Path) -> None:
    bad = node("a", NOW, sick("ras-uncorrectable", 2, looks=2))
    fault = as_data(bad)["findings"][-1]
    for change in ({"gpu": 10**400}, {"gpu": -(10**400)}, {"looks": 10**400}):
        assert not _answer(root, bad, findings=[{**fault, **change}])[0], change
    assert _answer(root, bad, taken_at=10**400)[:2] == (True, False)


def test_a_record_that_others_can_write_closes_nothing(root: Path) -> None:
    assert not _answer(root, node("a", NOW, sick("ras-uncorrectable", 2, looks=2)))[0]
    path = root / "record.json"
    for mode in (0o666, 0o602, 0o620):
        path.chmod(mode)
        found = gate(str(path), NOW + 60, 600, str(root))
        assert (found.open, found.known, found.why) == (True, False, "others can change the record")
    if os.geteuid() == 0:
        path.chmod(0o600)
        assert not gate(str(path), NOW + 60, 600, str(root)).open
        os.chown(path, 65534, 65534)
        assert gate(str(path), NOW + 60, 600, str(root)).open


def test_the_command_loads_next_to_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, resource\n"
        "from rocdoctor.cli.main import run\n"
        "code = run(sys.argv[1:])\n"
        "print(code, *sorted(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "gate", "--record", str(tmp_path / "none.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    code, *modules = done.stderr.split()
    assert code == "0"
    assert done.stdout == "open (not known): no record yet\n"
    heavy = ("yaml", "psutil", "rich", "textual", "rocdoctor.collect", "rocdoctor.judging", "rocdoctor.knowledge")
    kept = ("rocdoctor.knowledge", "rocdoctor.knowledge.kept_code", "rocdoctor.knowledge.load")  # of every command
    assert [one for one in modules if one.startswith(heavy) and one not in kept] == []
