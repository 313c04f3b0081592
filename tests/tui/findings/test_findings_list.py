"""Grouping by root cause, and the filter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocdoctor.knowledge.lookup import causes
from rocdoctor.model.finding import Verdict
from rocdoctor.model.subject import MACHINE, Subject
from rocdoctor.tui.findings.empty_list import no_rows
from rocdoctor.tui.findings.finding_page import page
from rocdoctor.tui.findings.findings_list import (
    Filter,
    FindingsSection,
    filtered,
    next_area,
    next_severity,
    next_state,
    sections,
    state_counts,
)
from rocdoctor.tui.findings.machine_parts import AREAS, OTHER, area_of
from rocdoctor.tui.look import Look
from tests.golden.replay import judged, our_checks
from tests.tui.findings.finding_kit import BROKEN, diagnosis_of, every_machine, failed

TITLES = {"wheel": "A wheel", "kfd": "The compute driver"}


def _shape(found: tuple[FindingsSection, ...]) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(one.heading, [(row.check, row.follows) for row in one.rows]) for one in found]


def _sick() -> tuple[FindingsSection, ...]:
    return sections(
        diagnosis_of(
            (
                failed("note", "A remark.", "info", "wrong-backend-build"),
                failed("shm", "Little shared memory.", "warning", "shm-too-small"),
                failed("wheel", "A CPU wheel.", "error", "wrong-backend-build", ("no-gpu", "gpu-arch-not-built")),
                failed("also-wheel", "A CPU wheel of vision.", "warning", "wrong-backend-build"),
                failed("arch", "No code for it.", "error", "gpu-arch-not-built", ("hang",)),
                failed("no-gpu", "torch sees none.", "error", ""),
                failed("hang", "It hangs.", "warning", "out-of-memory"),
                failed("lone", "Something else.", "warning", ""),
            )
        )
    )


def test_causes_come_in_their_order_with_what_follows_below_and_notes_last() -> None:
    # "arch" and "hang" have causes of their own, which are explained away: "hang" follows from the wheel in two steps.
    wheel = "wrong-backend-build"
    assert _shape(_sick()) == [
        (
            "do first: The installed build is for a different kind of machine",
            [("wheel", ""), ("also-wheel", ""), ("arch", wheel), ("no-gpu", wheel), ("hang", wheel)],
        ),
        ("cause 2: Shared memory is too small", [("shm", "")]),
        ("other findings", [("lone", "")]),
        ("worth knowing", [("note", "")]),
    ]


def test_a_cause_is_called_what_its_finding_knows_more_precisely() -> None:
    killed = failed("oom-killer-log", "The kernel's OOM killer ended processes.", "warning", "out-of-memory")
    assert killed.finding is not None
    killed = replace(killed, finding=replace(killed.finding, finer="host-memory"))
    found = diagnosis_of([killed])
    (section,) = sections(found)
    assert section.heading == "do first: Main memory ran out"
    assert "root cause, the one to do first: Main memory ran out" in page(section.rows[0], found, None, 80).plain
    assert filtered((section,), Filter(text="main memory"), TITLES) == (section,)


def test_findings_without_a_cause_are_a_list_of_their_own() -> None:
    found = sections(diagnosis_of([failed("lone", "Something.", "warning")]))
    assert _shape(found) == [("no root cause is known; start with the first", [("lone", "")])]
    notes = sections(diagnosis_of([failed("note", "A remark.", "info")]))
    assert [one.heading for one in notes] == ["nothing to fix; worth knowing"]


def test_a_finding_of_the_same_cause_may_follow_too() -> None:
    found = sections(
        diagnosis_of(
            [
                failed("smi", "The tool fails.", "error", "gpu-not-supported"),
                failed("legacy", "An old card.", "error", "gpu-not-supported", ("smi",)),
            ]
        )
    )
    # The first of the alphabet stands for the cause; what it explains comes after it.
    assert _shape(found)[0][1] == [("legacy", ""), ("smi", "gpu-not-supported")]


def test_a_finding_on_eight_gpus_is_one_row() -> None:
    found = sections(
        diagnosis_of(failed("hot", "Too hot.", "error", subject=f"gpu {n} (0000:0{n}:00.0)") for n in range(8))
    )
    (row,) = found[0].rows
    assert (row.where, len(row.members), row.word) == ("gpu 0-7", 8, "error")


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_the_first_row_of_a_broken_machine_is_its_first_cause(name: str) -> None:
    diagnosis = judged(BROKEN[name]())
    first = sections(diagnosis)[0]
    if diagnosis.causes:
        assert first.heading.startswith("do first: ")
        assert (first.rows[0].check, first.rows[0].cause) == (diagnosis.causes[0].check, diagnosis.causes[0].cause)
    else:
        assert first.heading.startswith("no root cause is known")


def test_every_verdict_of_every_machine_stands_in_exactly_one_row() -> None:
    for name, _, diagnosis in every_machine():
        rows = [row for one in sections(diagnosis) for row in one.rows]
        assert sum(len(row.members) for row in rows) == len(diagnosis.verdicts), name
        assert len({(*row.key, row.word) for row in rows}) == len(rows), name


def test_the_filter_lets_through_what_it_says() -> None:
    whole = _sick()

    def left(wanted: Filter) -> list[str]:
        return [row.check for one in filtered(whole, wanted, TITLES) for row in one.rows]

    assert len(left(Filter())) == 8
    assert left(Filter(severity="warning")) == ["also-wheel", "hang", "shm", "lone"]
    assert left(Filter(area="host")) == ["hang", "shm"]
    assert left(Filter(text="cpu VISION")) == ["also-wheel"]
    assert left(Filter(text="compute driver")) == []  # a title of a check that found nothing
    assert left(Filter(text="a remark")) == ["note"]
    assert left(Filter(text="nowhere")) == []
    assert left(Filter(state="unknown")) == []


def test_the_findings_of_one_gpu_are_those_that_name_it() -> None:
    gpus = [Subject("gpu", index) for index in (1, 10)]
    each = [replace(failed("hot", "Too hot.", "warning"), subject=gpu) for gpu in gpus]
    found = sections(diagnosis_of([*each, failed("lone", "Something.", "warning")]))

    def left(subject: Subject) -> list[str]:
        return [row.check for one in filtered(found, Filter(subject=subject), TITLES) for row in one.rows]

    assert left(gpus[0]) == ["hot"]
    gone = Subject("gpu", 0)
    assert left(gone) == []
    assert gone.label in no_rows(Look(diagnosis=diagnosis_of([])), Filter(subject=gone), False).plain


def test_rows_beside_the_findings_are_in_sight_whatever_their_state_but_keep_to_the_other_filters() -> None:
    passed = Verdict("mended", MACHINE, "pass", why="all is well")
    found = sections(diagnosis_of([failed("lone", "Something.", "warning"), passed]))
    beside = {("pass", "mended", "all is well")}

    def checks(wanted: Filter) -> list[str]:
        return [row.check for one in filtered(found, wanted, TITLES, beside) for row in one.rows]

    assert checks(Filter()) == ["lone", "mended"]
    assert checks(Filter(text="something")) == ["lone"]
    assert checks(Filter(state="unknown")) == []


def test_unknown_and_passed_verdicts_are_a_filter_away() -> None:
    diagnosis = judged(BROKEN["link x4"]())
    whole = sections(diagnosis)
    counts = state_counts(whole)
    assert counts["unknown"] > 10
    assert counts["pass"] > 50
    for state in ("unknown", "pass", "not-applicable"):
        (section,) = filtered(whole, Filter(state=state), {})
        assert sum(len(row.members) for row in section.rows) == counts[state] == diagnosis.count(state)
        assert {row.state for row in section.rows} == {state}


def test_a_crashed_check_is_not_hidden() -> None:
    from rocdoctor.model.finding import Verdict

    whole = sections(diagnosis_of([Verdict("broken", MACHINE, "crashed", why="ValueError: x")]))
    assert state_counts(whole) == {"crashed": 1}
    assert next_state(whole, "fail") == "crashed"


def test_choices_go_round_and_only_offer_what_there_is() -> None:
    whole = sections(judged(BROKEN["link x4"]()))
    states = ["fail"]
    while (state := next_state(whole, states[-1])) != "fail":
        states.append(state)
    assert states == ["fail", "unknown", "not-applicable", "pass", ""]
    assert [next_severity(whole, Filter(severity=one)) for one in ("", "warning", "info")] == ["warning", "info", ""]
    areas = [""]
    while area := next_area(whole, Filter(area=areas[-1])):
        areas.append(area)
    assert areas == ["", "links", "software"]


def test_every_cause_has_an_area_and_nearly_every_check() -> None:
    # "not-environment" is no part of a machine: there the name of the check decides.
    assert [name for name in causes() if area_of("x", name) == OTHER] == ["not-environment"]
    lost = [one.name for one in our_checks() if area_of(one.name, one.cause) == OTHER]
    assert len(lost) <= len(our_checks()) // 50, lost
    assert {area_of(one.name, one.cause) for one in our_checks()} >= set(AREAS)


@pytest.mark.parametrize(
    ("check", "cause", "area"),
    [
        ("pcie-link-narrow", "pcie-link-degraded", "links"),
        ("xgmi-errors", "", "links"),
        ("torch-gpu-count-mismatch", "", "software"),
        ("env-unknown-name", "", "settings"),
        ("numa-node-unset", "", "host"),
        ("gpu-over-temperature", "", "GPU"),
        ("ring-timeout", "", "GPU"),
        ("job-rank-missing", "", "job"),
        ("network-link-flaps", "", "network"),
        ("device-node-denied", "device-permission", "access"),
        ("tool-failed", "", "driver"),
    ],
)
def test_areas_are_those_that_a_user_would_look_in(check: str, cause: str, area: str) -> None:
    assert area_of(check, cause) == area
