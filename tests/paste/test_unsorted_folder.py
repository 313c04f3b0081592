"""Folders and archives of no known layout: read by what their files hold. The texts are constructed."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocdoctor.collect import collect
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Known
from rocdoctor.service.errors import InputError
from rocdoctor.service.evidence import open_evidence
from tests.kit import ROOT

_DMESG = (
    "[    1.000000] Linux version 6.8.0-45-generic (build@host) #45-Ubuntu SMP\n"
    "[  900.100000] amdgpu 0000:c3:00.0: amdgpu: GPU reset begin!\n"
)
_SMI = (
    "============================ ROCm System Management Interface ============================\n"
    "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI210\n"
    "GPU[0]\t\t: GFX Version: \t\tgfx90a\n"
    "GPU[0]\t\t: PCI Bus: 0000:C3:00.0\n"
    "================================== End of ROCm SMI Log ===================================\n"
)
_CRASH = "RuntimeError: HIP error: invalid device function\n"
_TOPOLOGY = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
    '  <object type="Machine" os_index="0">\n'
    '    <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x1" local_memory="1073741824"/>\n'
    '    <object type="NUMANode" os_index="1" cpuset="0x000000f0" nodeset="0x2" local_memory="1073741824"/>\n'
    "  </object>\n</topology>\n"
)


def folder(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def said(host: Host) -> str:
    found = getattr(host, "read_from", "")
    assert isinstance(found, str)
    return found


def test_files_are_known_by_name_and_by_content(tmp_path: Path) -> None:
    host = open_evidence(
        str(
            folder(
                tmp_path,
                {
                    "dmesg.log": _DMESG,
                    "gpu/rocm-smi.out": _SMI,
                    "job-123.err": _CRASH,
                    "topo.dat": _TOPOLOGY,
                    "core": os.urandom(5000),
                    "notes.txt": "Nothing to see here.\n",
                },
            )
        )
    )
    machine = collect(host)
    assert isinstance(machine.kernel.log, Known)
    assert [event.kind for event in machine.kernel.log.value.events if "reset" in event.kind] == ["gpu-reset-begin"]
    assert [gpu.gfx.value for gpu in machine.gpus if isinstance(gpu.gfx, Known)] == ["gfx90a"]
    assert "no-kernel-image" in [message.kind for message in machine.messages]
    assert [node.node for node in machine.numa_nodes] == [0, 1]
    assert said(host) == "read as text: topo.dat, dmesg.log, gpu/rocm-smi.out, job-123.err (4 of 5 files)"


def test_the_report_says_which_files_were_read(tmp_path: Path) -> None:
    place = folder(tmp_path, {"a/dmesg": _DMESG, "a/readme.md": "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"})
    for command in ("check", "read"):
        arguments = [command, "--from", str(place)] if command == "check" else [command, str(place)]
        done = subprocess.run(
            [sys.executable, "-m", "rocdoctor", *arguments], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert "note: read as text: a/dmesg (1 of 1 files)" in done.stdout


def test_an_archive_is_searched_too(tmp_path: Path) -> None:
    path = tmp_path / "logs.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in (("logs/out.txt", _SMI.encode()), ("logs/kernel.log.gz", gzip.compress(_DMESG.encode()))):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    machine = collect(open_evidence(str(path)))
    assert isinstance(machine.kernel.log, Known) and len(machine.gpus) == 1


def test_a_log_that_was_put_aside_is_left_out(tmp_path: Path) -> None:
    host = open_evidence(str(folder(tmp_path, {"dmesg.0": _DMESG, "dmesg": _SMI, "dmesg.1.gz": b"\x1f\x8bbroken"})))
    assert said(host).endswith("dmesg (1 of 1 files)")


def test_a_dump_of_sys_below_another_folder_is_found_with_the_logs_beside_it(tmp_path: Path) -> None:
    device = "collected/dump/sys/bus/pci/devices/0000:c3:00.0"
    place = folder(
        tmp_path,
        {
            f"{device}/uevent": "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:740F\nPCI_SLOT_NAME=0000:c3:00.0\n",
            "logs/dmesg.log": _DMESG,
            "version.txt": "collector 3\n",
        },
    )
    host = open_evidence(str(place))
    machine = collect(host)
    assert len(machine.gpus) == 1 and isinstance(machine.gpus[0].driver, Known)
    assert isinstance(machine.kernel.log, Known)
    assert said(host) == "the files of the machine are in collected/dump; read as text: logs/dmesg.log"


@pytest.mark.parametrize(
    "files",
    [
        {"n1/sys/class/x": "1", "n2/sys/class/x": "1"},
        {"n1/dmesg.log": _DMESG, "n2/dmesg.log": _DMESG},
    ],
    ids=["files of two machines", "outputs of two machines"],
)
def test_several_machines_are_not_made_one(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"several machines: name one of the folders in it \(n1, n2\)"):
        open_evidence(str(folder(tmp_path, files)))


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"notes.txt": "Nothing to see here.\n"}, "no log or output that is known"),
        ({"pyproject.toml": "[project]\n", "docs/dmesg.txt": _DMESG}, "looks like source code"),
        ({"train.py": "# RuntimeError: HIP error: invalid device function\n"}, "no log or output that is known"),
        ({"core": os.urandom(4000)}, "no log or output that is known"),
    ],
    ids=["prose", "a project", "source code", "binary"],
)
def test_what_is_no_evidence_is_refused(tmp_path: Path, files: dict[str, str | bytes], why: str) -> None:
    with pytest.raises(InputError, match=why):
        open_evidence(str(folder(tmp_path, files)))


def test_links_pipes_depth_and_numbers_are_bounded(tmp_path: Path) -> None:
    secret = folder(tmp_path / "outside", {"dmesg.log": _DMESG})
    place = tmp_path / "place"
    folder(place, {"/".join(["d"] * 20) + "/dmesg.log": _DMESG, "a.log": _CRASH})
    (place / "loop").symlink_to(".")
    (place / "dmesg.log").symlink_to(secret / "dmesg.log")
    os.mkfifo(place / "pipe.log")
    for number in range(600):
        (place / f"{number}.txt").write_text("x\n")
    host = open_evidence(str(place))
    assert said(host).startswith("read as text: a.log (1 of ")
    assert not isinstance(collect(host).kernel.log, Known)


def test_names_of_files_are_shown_and_nothing_more(tmp_path: Path) -> None:
    evil = "x;touch PWNED; #.log"
    host = open_evidence(str(folder(tmp_path, {evil: _CRASH, "a\nb.log": _CRASH})))
    assert said(host) == f"read as text: {evil} (1 of 1 files)"
