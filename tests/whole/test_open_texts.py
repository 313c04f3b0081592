"""Reports in which nothing is sure: the answer is the two or three causes that remain, with what tells them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocdoctor.host.base import Host
from rocdoctor.insight.texts.likeness import likely_causes
from rocdoctor.insight.texts.open_symptoms import remaining
from rocdoctor.model.finding import Diagnosis
from rocdoctor.paste import open_text
from rocdoctor.service.reading import judged
from tests.text_kit import TEXTS, all_checks, header_and_body
from tests.whole.test_healthy_texts import quoted, wrapped

_TEXTS = [(path, *header_and_body(path)) for path in sorted((TEXTS / "open").glob("*.txt"))]
OPEN = [(path, header, body) for path, header, body in _TEXTS if "answered" not in header]
HINTED = [(path, header, body) for path, header, body in _TEXTS if header.get("answered") == "by commands"]
SURE = [(path, header, body) for path, header, body in _TEXTS if header.get("answered") == "surely"]
LAST_RESORTS = {"known-symptom", "like-known-reports"}


def _read(text: str) -> Diagnosis:
    host: Host = open_text(text, "test")
    return judged(host, all_checks())


def _ids(rows: list[tuple[Path, dict[str, str], str]]) -> list[str]:
    return [path.stem for path, _, _ in rows]


def test_there_are_enough_texts() -> None:
    assert len(OPEN) >= 15
    assert len(SURE) >= 6
    assert HINTED


@pytest.mark.parametrize(("path", "header", "body"), OPEN, ids=_ids(OPEN))
def test_an_open_text_gets_the_causes_that_remain(path: Path, header: dict[str, str], body: str) -> None:
    found = _read(body)
    assert found.open
    assert 2 <= len(found.causes) <= 3
    assert header["cause"] in [one.cause for one in found.causes]
    assert {one.confidence for one in found.causes} == {"possible"}
    assert {one.check for one in found.causes} <= LAST_RESORTS
    for one in found.causes:
        assert one.finding is not None and one.finding.evidence and one.remedy


@pytest.mark.parametrize(("path", "header", "body"), OPEN, ids=_ids(OPEN))
def test_the_first_commands_tell_the_causes_apart(path: Path, header: dict[str, str], body: str) -> None:
    found = _read(body)
    told = [one for one in found.next if one.outcomes]
    assert told == list(found.next[: len(told)]), "they come first"
    assert 1 <= len(told) <= 3
    assert {outcome.cause for one in told for outcome in one.outcomes} >= {one.cause for one in found.causes}
    assert len({one.command for one in found.next}) == len(found.next)


@pytest.mark.parametrize(("path", "header", "body"), HINTED, ids=_ids(HINTED))
def test_what_is_not_likely_enough_is_looked_for_and_not_named(path: Path, header: dict[str, str], body: str) -> None:
    found = _read(body)
    assert found.causes == ()
    told = [one for one in found.next if one.outcomes]
    assert told == list(found.next[: len(told)]) and 1 <= len(told) <= 3
    assert header["cause"] in [outcome.cause for one in told for outcome in one.outcomes]


def test_what_only_other_commands_tell_is_not_named_either() -> None:
    unnamed = [body for _, header, body in _TEXTS if header.get("answered") == "unnamed"]
    assert unnamed
    for body in unnamed:
        found = _read(body)
        assert found.causes == () and found.next


@pytest.mark.parametrize("form", ["72", "quoted"])
@pytest.mark.parametrize(("path", "header", "body"), OPEN, ids=_ids(OPEN))
def test_the_form_of_a_text_does_not_change_that(path: Path, header: dict[str, str], body: str, form: str) -> None:
    text = quoted(body) if form == "quoted" else wrapped(body, int(form))
    assert header["cause"] in [one.cause for one in _read(text).causes]


@pytest.mark.parametrize(("path", "header", "body"), SURE, ids=_ids(SURE))
def test_what_is_surer_speaks_alone(path: Path, header: dict[str, str], body: str) -> None:
    found = _read(body)
    assert found.causes[0].cause == header["cause"]
    assert not found.open
    assert {one.check for one in found.causes}.isdisjoint(LAST_RESORTS)
    assert [one.check for one in found.verdicts if one.finding is not None and one.finding.undecided] == []


def test_some_of_them_have_an_open_symptom_too() -> None:
    """Else the test above would hold without anything that holds it back."""
    machines = [_read(body).machine for _, _, body in SURE]
    assert sum(remaining(one) is not None or bool(likely_causes(one)) for one in machines) >= 4


def test_the_order_of_surer_causes_does_not_change() -> None:
    """With the last resorts and without them every text of the tests has the same causes, but for silent ones."""
    without = tuple(one for one in all_checks() if one.name not in LAST_RESORTS)
    for path in sorted((TEXTS / "faulty").glob("*.txt")):
        host = open_text(header_and_body(path)[1], "test")
        assert _said(judged(host, all_checks())) == _said(judged(host, without)), path.stem


def _said(found: Diagnosis) -> list[tuple[str, str, str]]:
    return [(one.cause, one.confidence, one.message) for one in found.causes]
