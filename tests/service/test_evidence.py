"""Inputs of every kind: a host, or one line that names the input and says what is wrong."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import CaptureHost, write
from rocdoctor.service.errors import InputError
from rocdoctor.service.evidence import add_answers, open_evidence

LOG = "[   12.123456] amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b" \n\t\n", "it is empty"),
        (b"PK\x03\x04" + bytes(100), "a zip archive"),
        (b"\xfd7zXZ\x00" + bytes(100), "compressed with xz"),
        (b"\x89PNG\r\n" + bytes(100), "a picture"),
        (bytes(100_000), "binary data"),
        (bytes((n * n * 31 + n * 7) % 256 for n in range(10_000)), "binary data"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-9], "damaged gzip data"),
        (b"\x1f\x8bnot really", "damaged gzip data"),
        (b"rocdoctor capture 9\n", "newer rocdoctor"),
    ],
)
def test_what_is_no_evidence_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words) as caught:
        open_evidence(str(path))
    assert str(caught.value).startswith(str(path))


def test_missing_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    host = CaptureHost.__new__(CaptureHost)
    for name, words in (("none", "no such file"), ("fifo", "neither a file nor a folder")):
        with pytest.raises(InputError, match=words):
            open_evidence(str(tmp_path / name))
        with pytest.raises(InputError, match=words):
            add_answers(host, [str(tmp_path / name)])
    with pytest.raises(InputError, match="neither"):
        add_answers(host, ["run dmesg=/dev/zero"])
    with pytest.raises(InputError, match="no sys, proc"):
        open_evidence(str(tmp_path))


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_text_as_windows_writes_it_is_read(tmp_path: Path, coding: str) -> None:
    (tmp_path / "log.txt").write_bytes(LOG.encode(coding))
    assert "GPU reset begin" in open_evidence(str(tmp_path / "log.txt")).ask("text").text


def test_an_archive_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "sosreport"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("proc/version")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"Linux"))
    assert open_evidence(str(path)).ask("read /proc/version").text == "Linux"


def test_answers_can_be_added_packed_named_and_from_names_with_an_equals_sign(tmp_path: Path) -> None:
    (tmp_path / "cap").write_text(write([Answer("env", "ok", b"A=1")], {}))
    (tmp_path / "log.gz").write_bytes(gzip.compress(LOG.encode()))
    (tmp_path / "a=b.log").write_text(LOG)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    host = open_evidence(str(tmp_path / "cap"))
    assert "GPU reset" in add_answers(host, [f"run dmesg={tmp_path}/log.gz"]).ask("run dmesg").text
    assert "GPU reset" in add_answers(host, [str(tmp_path / "a=b.log")]).ask("run dmesg").text
    added = add_answers(host, [f"read /sys/x={tmp_path}/binary"]).ask("read /sys/x")
    assert (added.data, added.complete) == (bytes(range(256)), False)
    with pytest.raises(InputError, match="binary"):
        add_answers(host, [str(tmp_path / "binary")])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may look into every folder")
def test_a_closed_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(InputError, match="Permission denied"):
        open_evidence(str(tmp_path / "closed"))
