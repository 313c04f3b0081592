"""The record of this node: asked, judged, and where a fault looks certain asked once more."""

from __future__ import annotations

import hashlib
import os
import re
import time
from dataclasses import replace
from pathlib import Path

from rocdoctor import __version__
from rocdoctor.collect import collect
from rocdoctor.compare.snapshot import snapshot
from rocdoctor.fleet.boot import boot_of
from rocdoctor.fleet.classes import class_of
from rocdoctor.fleet.making import KeyedNames, record_of, seen_again, sightings
from rocdoctor.fleet.read_record import NODE
from rocdoctor.fleet.record import NodeRecord
from rocdoctor.host.base import Host
from rocdoctor.host.live.regular_files import open_regular, read_regular
from rocdoctor.host.live.trust import owner_of
from rocdoctor.host.recorder import Recorder
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Gpu, Machine
from rocdoctor.model.finding import Diagnosis
from rocdoctor.model.lazy_re import regex
from rocdoctor.report.machine.summary import machine_lines
from rocdoctor.report.masked import discreet, discretion_of
from rocdoctor.service.bundles import bundle_of, recorder_of
from rocdoctor.service.errors import UsageError
from rocdoctor.service.node_places import node_name
from rocdoctor.service.options import EvidenceOptions
from rocdoctor.service.session import chosen_checks, open_host

_KEY_BYTES = (16, 4096)
_MOST_CHECK_BYTES = 4 << 20
_ID = regex(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|(?:0x)?[0-9a-fA-F]{16}")


def key_of(path: str) -> bytes:
    """The fleet's key; raises UsageError for a file that others may read, or made, or that holds none."""
    try:
        with open_regular(Path(path)) as stream:
            status = os.fstat(stream.fileno())
            owner = owner_of(status, stream.fileno())
            content = stream.read(_KEY_BYTES[1])
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    if len(content.strip()) < _KEY_BYTES[0]:
        raise UsageError(f"{path}: a key has at least {_KEY_BYTES[0]} signs")
    if owner not in (0, getattr(os, "geteuid", lambda: status.st_uid)()):
        raise UsageError(f"{path}: this key belongs to another user, who knows it")
    if status.st_mode & 0o077:
        raise UsageError(f"{path}: others may read or write it, so it is no key; make one that only you can read")
    return content.strip()


def checked_name(given: str | None) -> str:
    """What this node is called; raises UsageError for what is no name."""
    name = node_name(given)
    if not NODE.fullmatch(name):
        raise UsageError(f"{name!r}: not the name of a node")
    return name


def rules_of(checks: list[Check]) -> str:
    """The checks that judged, in twelve digits."""
    told = hashlib.sha256()
    for one in checks:
        told.update(read_regular(one.path, _MOST_CHECK_BYTES))
    return told.hexdigest()[:12]


def recorded(options: EvidenceOptions, node: str, key: bytes | None, smoke: str = "") -> tuple[NodeRecord, str]:
    """(the record, the text of the bundle that it stands on).

    The machine is asked unmasked and everything is masked on its way, as in a bundle; only the pseudonyms of cards are
    made of what they name. A live machine with a fault that looks certain is asked a second time.
    """
    live = options.source is None
    raw = open_host(replace(options, include_identity=True))
    recorder = recorder_of(raw)
    checks, _ = chosen_checks((), ())
    machine, diagnosis = _judged(recorder, checks, smoke)
    found = sightings(diagnosis)
    if live and any(class_of(one.check, one.severity, one.confidence) == "certain" for one in found):
        # All of the record is of the second look, also what is not known: that may hang where the first did not.
        raw = open_host(replace(options, include_identity=True))
        recorder = recorder_of(raw)
        machine, diagnosis = _judged(recorder, checks, smoke)
        found = seen_again(found, diagnosis)
    made = bundle_of(recorder, machine, raw.kind)
    mask = discretion_of(recorder)
    look = snapshot(node, machine, diagnosis.verdicts, raw.kind == "text").discreetly(mask)
    ids = _ids(raw, machine.gpus, KeyedNames(key)) if key is not None and live else {}
    record = record_of(
        node,
        int(time.time()),
        look,
        diagnosis,
        tool=__version__,
        rules=rules_of(checks),
        boot=boot_of() if live else None,
        ids=ids,
        findings=found,
        bundle={"name": f"{node}.txt.gz", "sha256": hashlib.sha256(made.content.encode()).hexdigest()},
    )
    return record, made.content


def _judged(host: Host, checks: list[Check], smoke: str) -> tuple[Machine, Diagnosis]:
    machine = collect(host, smoke=smoke)
    diagnosis = diagnose(machine, checks)
    return machine, discreet(diagnosis, discretion_of(host), machine_lines(machine))


def _ids(raw: Host, gpus: tuple[Gpu, ...], names: KeyedNames) -> dict[int, str]:
    """KeyedNames of the cards, from the lines that tell their unique ids as they are."""
    answers = raw.answers if isinstance(raw, Recorder) else {}
    found: dict[int, str] = {}
    for gpu in gpus:
        if not isinstance(gpu.unique_id, Known) or gpu.unique_id.source.line is None:
            continue
        answer = answers.get(gpu.unique_id.source.question)
        lines = answer.text.splitlines() if answer is not None else []
        line = gpu.unique_id.source.line
        told = _ID.search(lines[line - 1]) if line <= len(lines) else None
        if told is not None:
            found[gpu.index] = names.of("gpu", re.sub("^0x", "", told[0]))
    return found
