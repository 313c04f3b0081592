"""A record says what the machine is and what was found, in little; whatever comes back is hostile."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rocdoctor.fleet.classes import CERTAIN, LIKELY, class_of
from rocdoctor.fleet.making import KeyedNames, figures, seen_again, sightings, unknown_of
from rocdoctor.fleet.read_record import RecordError, RecordReader, tagged
from rocdoctor.fleet.record import NodeRecord, as_data
from rocdoctor.host.evidence.capture import CaptureHost, parse
from rocdoctor.model.facts import SmokeRun
from rocdoctor.model.finding import Finding, Verdict
from rocdoctor.model.subject import Subject
from tests.fleet.kit import NOW, fixture_record, node, sick
from tests.golden.replay import FIXTURES, judged, judged_fixture, our_checks


def _back(record: NodeRecord) -> NodeRecord:
    return RecordReader().read(json.dumps(as_data(record)), record.node)


@pytest.mark.parametrize("fixture", ["mi300x-8gpu", "h100-8gpu", "cpu-only-laptop", "mi300x-8gpu-cpx"])
def test_a_record_comes_back_as_it_was_and_is_small(fixture: str) -> None:
    record = fixture_record(fixture)
    measured = tuple(600.5 if n else None for n, _ in enumerate(record.gpus))
    record = replace(record, figures={"matmul_bf16_tflops": measured})
    assert _back(record) == record
    assert len(json.dumps(as_data(record))) < 8192


def test_values_that_differ_between_gpus_stay_with_their_gpu() -> None:
    base = fixture_record()
    odd = tuple({**one, "vbios": f"v{n % 2}"} for n, one in enumerate(base.gpu_traits))
    record = replace(base, gpu_traits=odd)
    assert isinstance(as_data(record)["gpu_traits"]["vbios"], list)
    assert [one["vbios"] for one in _back(record).gpu_traits] == ["v0", "v1"] * 4


def test_equal_traits_are_kept_once() -> None:
    reader = RecordReader()
    a, b = (reader.read(json.dumps(as_data(node(name))), name) for name in ("a", "b"))
    assert a.traits is b.traits
    assert a.gpu_traits is b.gpu_traits


_SPOILT: dict[str, Any] = {
    "node": "other",
    "schema": "rocdoctor.report/1",
    "taken_at": -1,
    "complete": "yes",
    "gpus": "eight",
    "findings": [{"check": "x"}],
    "figures": {"a": ["fast"]},
    "traits": ["a"],
    "gpu_traits": {"vbios": ["one"]},
    "unknown": {"why": ["../etc"]},
    "tables": {"package": 3},
}


def test_what_is_not_as_it_should_be_is_refused() -> None:
    good = as_data(node("a"))
    RecordReader().read(json.dumps(good), "a")
    taken = []
    for key, value in _SPOILT.items():
        texts = [json.dumps({**good, key: value}), json.dumps({k: v for k, v in good.items() if k != key})]
        for text in texts:
            try:
                RecordReader().read(text, "a")
                taken.append(text[:200])
            except RecordError:
                pass
    assert taken == []
    deep = "[" * 100_000
    for text in (
        "",
        "{",
        deep,
        '{"a":' * 50_000,
        json.dumps({**good, "figures": {"a": [float("nan")] * 8}}),
        json.dumps({**good, "figures": {"a": [10**400] * 8}}),  # no float
        json.dumps({**good, "figures": {"a": [1.7e308] * 8}}),  # half of two of these is infinite
        json.dumps({**good, "figures": {"a": [5e-324] * 8}}),  # by which nothing can be divided
        json.dumps({**good, "figures": {"a": [1.0] * 256}}),  # of eight GPUs
        json.dumps({**good, "gpus": [good["gpus"][0]] * 256, "gpu_traits": {f"t{n}": None for n in range(4000)}}),
        json.dumps({**good, "taken_at": 10**400}),
        "x" * 2_000_000,
    ):
        with pytest.raises(RecordError):
            RecordReader().read(text, "a")


def test_what_a_record_says_cannot_drive_a_terminal() -> None:
    said = replace(sick("ras-uncorrectable", 1), message="\x1b[31mred\x07\n" + "x" * 1000)
    message = _back(replace(fixture_record(), findings=(said,))).findings[0].message
    assert message.isprintable()
    assert len(message) <= 400


def test_the_name_comes_from_the_engine() -> None:
    assert tagged("gpu7: {}") == ("gpu7", "{}")
    for text in ("{}", "../x: {}", "a b: {}", ": {}", "gpu7:", "-x: {}"):
        with pytest.raises(RecordError):
            tagged(text)
    with pytest.raises(RecordError, match="another node"):
        RecordReader().read(json.dumps(as_data(node("gpu9"))), "gpu7")


def test_pseudonyms_are_those_of_the_key() -> None:
    one, other = KeyedNames(b"k" * 16), KeyedNames(b"l" * 16)
    assert one.of("gpu", " 7C8E\n") == one.of("gpu", "7c8e") != other.of("gpu", "7c8e")
    assert one.of("gpu", "7c8e") != one.of("host", "7c8e")
    assert "7c8e" not in one.of("gpu", "7c8e")


def test_a_second_look_tells_what_stayed() -> None:
    first = [sick("ras-uncorrectable", 1), sick("kfd-missing")]
    fails = Verdict("ras-uncorrectable", Subject("gpu", index=1), "fail", Finding("error", "Errors."))

    def told(*verdicts: Verdict) -> list[tuple[str, int]]:
        second = replace(judged_fixture("mi300x-8gpu"), verdicts=verdicts)
        return [(one.check, one.looks) for one in seen_again(first, second)]

    assert told(fails, Verdict("kfd-missing", Subject(), "pass")) == [("ras-uncorrectable", 2)]
    assert told(fails, Verdict("kfd-missing", Subject(), "unknown")) == [("ras-uncorrectable", 2), ("kfd-missing", 1)]
    assert told(Verdict("kfd-missing", Subject(), "pass")) == [("ras-uncorrectable", 1)], "it was not even asked"

    assert told(fails, Verdict("kfd-missing", Subject(), "not-applicable"))[1:] == [("kfd-missing", 1)], "GPUs unseen"
    other = Verdict("ras-uncorrectable", Subject("gpu", index=0), "pass")
    same = Verdict("ras-uncorrectable", Subject("gpu", index=1), "pass")
    assert told(other) == [("ras-uncorrectable", 1), ("kfd-missing", 1)]
    assert told(other, same) == [("kfd-missing", 1)]
    passed, asked = Verdict("kfd-missing", Subject(), "pass"), Verdict("kfd-missing", Subject("device"), "unknown")
    assert told(same, passed) == []
    assert told(same, passed, asked) == [("kfd-missing", 1)]


def test_a_finding_of_the_log_tells_when_its_last_line_was_written() -> None:
    capture = (FIXTURES / "mi300x-8gpu.capture").read_bytes()
    refused = b"-- run dmesg -- exit 1\ndmesg: read kernel buffer failed: Operation not permitted\n"
    line = b"[%9.6f] amdgpu 0000:4a:00.0: amdgpu: 1 uncorrectable hardware errors detected in gfx block\n"
    lines = b"[    0.000000] Linux version 6.8.0\n" + b"".join(line % (300.5 + n) for n in range(6))
    assert refused in capture
    told = sightings(judged(CaptureHost(parse(capture.replace(refused, b"-- run dmesg --\n" + lines)), "log")))
    log = next(one for one in told if one.check == "ras-log-uncorrectable")
    assert (log.gpu, log.logged_s) == (2, 305.5)
    assert {one.check for one in told if one.logged_s is not None} == {"ras-log-uncorrectable"}
    again = _back(node("n", NOW, log))
    assert [one.logged_s for one in again.findings if one.check == log.check] == [305.5]
    bare = b"Linux version 6.8.0\n" + line.partition(b"] ")[2] * 2
    told = sightings(judged(CaptureHost(parse(capture.replace(refused, b"-- run dmesg --\n" + bare)), "log")))
    assert [(one.logged_s, one.event) for one in told if one.check == log.check] == [(0.0, True)]
    assert {one.check for one in told if one.logged_s is not None} == {"ras-log-uncorrectable"}
    again = _back(node("n", NOW, *told))
    assert 0.0 in [one.logged_s for one in again.findings if one.check == log.check], "which is not the same as none"


def test_the_checks_that_decide_whether_a_node_comes_back_are_all_named_as_not_known() -> None:
    weighed = sorted({*CERTAIN, *LIKELY} & {one.name for one in our_checks()})
    others = [one.name for one in our_checks() if one.name not in weighed]
    verdicts = [
        Verdict(name, Subject(), "unknown", why=f"cannot read /sys/{at % 30}")
        for at, name in enumerate([*others, *weighed])
    ]
    crash = Verdict("tool-failed", Subject(), "crashed", why="KeyError")
    unknown = unknown_of(replace(judged_fixture("mi300x-8gpu"), verdicts=(*verdicts, crash)))
    assert {*weighed} <= {name for names in unknown.values() for name in names}
    assert unknown["the check crashed"] == ("tool-failed",)
    assert len(unknown) <= 18
    assert sum(map(len, unknown.values())) < len(verdicts)


def test_figures_are_by_gpu() -> None:
    rows = {"matmul": [{"gpu": 1, "value": 5.0}, {"gpu": None, "value": 1.0}, {"gpu": 9, "value": 1.0}], "none": []}
    run = SmokeRun(1, "none", "cuda", "2.9", 1.0, (), figures=rows)
    assert figures([run], 2) == {"matmul": (None, 5.0)}


def test_classes_name_checks_that_exist_and_nothing_else_drains() -> None:
    names = {one.name for one in our_checks()}
    assert {one for one in CERTAIN | LIKELY if not one.startswith("fleet-")} <= names
    assert class_of("ras-uncorrectable", "error", "certain") == "certain"
    assert class_of("ras-uncorrectable", "error", "likely") == "likely"
    assert class_of("ras-uncorrectable", "warning", "certain") == "likely"
    assert class_of("ras-uncorrectable", "error", "possible") == "different"
    assert class_of("pcie-link-narrow", "warning", "certain") == "likely"
    assert class_of("torch-import-fails", "error", "certain") == "different"
    assert class_of("pcie-link-narrow", "info", "certain") == "different"
