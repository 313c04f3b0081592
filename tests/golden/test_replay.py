"""A bundle gives byte for byte the report of the machine it was made on, also when that was masked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocdoctor.collect import collect
from rocdoctor.host.base import Host
from rocdoctor.host.evidence.capture import CaptureHost, parse, write
from rocdoctor.host.masking.masker import Masker
from rocdoctor.host.recorder import MaskedHost, Recorder
from rocdoctor.judging.diagnose import diagnose
from tests.examples import some
from tests.golden.replay import NAMES, facts_of, host_of, judged, our_checks, report_of, text_of
from tests.machines.catalogue import MACHINES
from tests.machines.files import Files, MachineHost


def _all_texts(host: Host) -> tuple[str, str, str]:
    diagnosis = judged(host)
    return text_of(diagnosis), facts_of(diagnosis), report_of(diagnosis)


def _recorded(host: Host, summary: str = "") -> tuple[tuple[str, str, str], CaptureHost]:
    """The texts of a host, and the host that its recording is, through the file format."""
    recorder = Recorder(host)
    diagnosis = diagnose(collect(recorder), our_checks())
    texts = text_of(diagnosis), facts_of(diagnosis), report_of(diagnosis)
    content = write(recorder.answers.values(), {"origin": "recorded"}, summary or texts[0])
    return texts, CaptureHost(parse(content.encode()), "bundle")


@pytest.mark.parametrize("name", NAMES)
def test_recording_of_a_fixture_replays_exactly(name: str) -> None:
    texts, replay = _recorded(host_of(name))
    assert _all_texts(replay) == texts


def _masked(files: Files) -> MaskedHost:
    masker = Masker()
    masker.learn(hostname="node-17.cluster.example", user="user", home="/home/user")
    return MaskedHost(MachineHost(files), masker)


@pytest.mark.parametrize("build", some(MACHINES), ids=lambda build: str(build.__name__))
def test_bundle_of_a_masked_machine_replays_exactly(build: Callable[[], Files]) -> None:
    texts, replay = _recorded(_masked(build()))
    assert _all_texts(replay) == texts


@pytest.mark.parametrize("build", MACHINES[::6], ids=lambda build: str(build.__name__))
def test_bundle_of_a_bundle_replays_exactly(build: Callable[[], Files]) -> None:
    texts, replay = _recorded(_masked(build()))
    again, second = _recorded(replay)
    assert again == texts
    assert _all_texts(second) == texts


def test_masking_changes_no_verdict() -> None:
    for build in MACHINES[:3]:
        files = build()
        masked, plain = judged(_masked(files)), judged(MachineHost(files))
        assert [(one.check, one.subject, one.state) for one in masked.verdicts] == [
            (one.check, one.subject, one.state) for one in plain.verdicts
        ]
