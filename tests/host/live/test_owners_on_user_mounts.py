"""What a user mounted is that user's for every judgement of owners, whatever owner it claims."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rocdoctor.fleet.boot import gate
from rocdoctor.host.live import named_path, trust
from rocdoctor.host.live.user_mounts import UserMounts
from rocdoctor.repair.fixes.journal import alone, opened
from rocdoctor.repair.fixes.target_machine import ProgramOutcome, TargetMachine
from rocdoctor.repair.fixes.user_files import Refused, look
from rocdoctor.service.errors import UsageError
from rocdoctor.service.recording import key_of
from rocdoctor.train.smoke.nodes.secret import SecretError, given

_KEY = "k" * 32
_OTHER = 54321


def _place(folder: Path) -> TargetMachine:
    def run(words: object) -> ProgramOutcome:
        raise AssertionError(words)

    return TargetMachine(folder, "/", os.geteuid(), "", folder / "state", run, False)


def _smoke_key(folder: Path) -> str:
    try:
        given(None, str(folder / "key"), {})
    except SecretError as error:
        return str(error)
    return ""


def _fleet_key(folder: Path) -> str:
    try:
        key_of(str(folder / "key"))
    except UsageError as error:
        return str(error)
    return ""


def _gate(folder: Path) -> str:
    record = folder / "record.json"
    record.write_text(json.dumps({"boot": "x", "gpus": [], "findings": []}))
    return gate(str(record), 0.0, 60.0).why


def _journal(folder: Path) -> str:
    kept = folder / "kept"
    kept.mkdir(mode=0o700, exist_ok=True)
    (kept / "list.json").write_text(json.dumps({"schema": "rocdoctor.fixes/1", "root": str(folder), "entries": []}))
    (kept / "list.json").chmod(0o600)
    try:
        opened(kept, _place(folder))
    except Refused as error:
        return str(error)
    return ""


def _lock(folder: Path) -> str:
    try:
        with alone(folder / "state", os.geteuid()):
            return ""
    except Refused as error:
        return str(error)


def _startup_file(folder: Path) -> str:
    try:
        look(folder / "key", os.geteuid(), folder)
    except Refused as error:
        return str(error)
    return ""


def _checks(folder: Path) -> str:
    return trust.untrusted(folder, [folder / "key"])


def _settings(folder: Path) -> str:
    try:
        trust.read_settings(folder / "key")
    except OSError as error:
        return str(error)
    return ""


def _link(folder: Path) -> str:
    if not named_path.walks():
        pytest.skip("links of others are followed by the kernel where we are not root")
    link = folder / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(folder / "key")
    try:
        os.close(named_path.open_named(link))
    except OSError as error:
        return str(error)
    return ""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners there")
@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (_smoke_key, "belongs to another user"),
        (_fleet_key, "belongs to another user"),
        (_gate, "others can change the record"),
        (_journal, "somebody else|is on a file system that user 54321 mounted"),
        (_lock, "folder of yours"),
        (_startup_file, "belongs to user 54321"),
        (_checks, "user 54321"),
        (_settings, "belongs to user 54321"),
        (_link, "symbolic link of user 54321"),
    ],
)
def test_the_owner_that_it_claims_is_not_believed(
    judge: Callable[[Path], str], words: str, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = shared / "key"
    key.write_text(_KEY)
    key.chmod(0o600)
    assert not re.search(words, judge(shared)), "believed where nobody mounted anything"
    told = shared / "mountinfo"
    device = os.stat(shared).st_dev
    told.write_text(
        "21 1 0:9999 / / rw - ext4 /dev/x rw\n"
        f"40 21 {os.major(device)}:{os.minor(device)} / {shared} rw,nosuid - fuse.x x rw,user_id={_OTHER},allow_other\n"
    )
    monkeypatch.setattr(trust, "_mounts", UserMounts(str(told)))
    assert re.search(words, judge(shared))
