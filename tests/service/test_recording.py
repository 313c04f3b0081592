"""The record of a live machine: masked on its way, cards by pseudonyms under a key, a second look where it matters."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rocdoctor.fleet.record import as_data
from rocdoctor.host.base import Host
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.host.recorder import Recorder
from rocdoctor.service import recording
from rocdoctor.service.options import EvidenceOptions
from rocdoctor.service.recording import recorded
from tests.golden.replay import FIXTURES

_KEY, _OTHER = b"k" * 32, b"o" * 32
_SOUND = (FIXTURES / "mi300x-8gpu.capture").read_bytes()


def _machines(monkeypatch: pytest.MonkeyPatch, *looks: bytes) -> list[EvidenceOptions]:
    """This machine answers as these captures do, one for each time that it is opened."""
    opened: list[EvidenceOptions] = []

    def open_host(options: EvidenceOptions) -> Host:
        opened.append(options)
        return Recorder(CaptureHost(parse(looks[min(len(opened), len(looks)) - 1]), "this machine"))

    monkeypatch.setattr(recording, "open_host", open_host)
    monkeypatch.setattr(recording, "boot_of", lambda: "b-1")
    return opened


def test_cards_have_pseudonyms_under_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    _machines(monkeypatch, _SOUND)
    one, bundle = recorded(EvidenceOptions(), "n", _KEY)
    ids = [gpu.id for gpu in one.gpus]
    assert len(set(ids)) == 8
    assert None not in ids
    assert [gpu.id for gpu in recorded(EvidenceOptions(), "n", _KEY)[0].gpus] == ids, "the same on another day"
    assert not set(ids) & {gpu.id for gpu in recorded(EvidenceOptions(), "n", _OTHER)[0].gpus}
    assert {gpu.id for gpu in recorded(EvidenceOptions(), "n", None)[0].gpus} == {None}
    for raw in ("7c8e5a843506a841",):  # as the fixture has it
        assert raw.encode() in _SOUND
        assert raw not in json.dumps(as_data(one))
        assert raw not in bundle
    assert one.boot == "b-1"


def test_another_card_in_a_place_has_another_pseudonym(monkeypatch: pytest.MonkeyPatch) -> None:
    _machines(monkeypatch, _SOUND, _SOUND.replace(b"7c8e5a843506a841", b"7c8e5a843506a8ff"))
    before, after = (recorded(EvidenceOptions(), "n", _KEY)[0].gpus for _ in range(2))
    assert [at for at, (a, b) in enumerate(zip(before, after, strict=True)) if a.id != b.id] == [0]


def test_what_looks_certain_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tired = (FIXTURES / "faulty" / "mi300x-8gpu-tired.capture").read_bytes()
    monkeypatch.setattr(
        recording, "class_of", lambda check, severity, _: "certain" if severity == "error" else "likely"
    )
    for looks, opened_times, seen in (
        ((tired, tired), 2, {2}),
        ((_SOUND, tired), 1, set()),
        ((tired, _SOUND), 2, set()),
    ):
        opened = _machines(monkeypatch, *looks)
        record, _ = recorded(EvidenceOptions(), "n", None)
        assert len(opened) == opened_times
        assert {one.looks for one in record.findings if one.severity == "error"} == seen


def test_a_second_look_that_hangs_hides_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not known of it stands in the record, and what the first look saw stays as seen once."""
    tired = (FIXTURES / "faulty" / "mi300x-8gpu-tired.capture").read_bytes()
    monkeypatch.setattr(recording, "class_of", lambda *_: "certain")
    _machines(monkeypatch, tired)
    whole, _ = recorded(replace(EvidenceOptions(), source="x"), "n", None)
    _machines(monkeypatch, tired, b"rocdoctor capture 1\n")
    record, _ = recorded(EvidenceOptions(), "n", None)
    assert record.unknown != whole.unknown
    assert not record.complete
    seen = {one.key: one.looks for one in record.findings}
    assert {one.key for one in whole.findings if one.severity == "error"} <= set(seen)
    assert set(seen.values()) == {1}


def test_evidence_of_another_machine_is_not_looked_at_twice_and_names_no_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = _machines(monkeypatch, _SOUND)
    record, _ = recorded(replace(EvidenceOptions(), source="x"), "n", _KEY)
    assert len(opened) == 1
    assert record.boot is None
    assert {gpu.id for gpu in record.gpus} == {None}
