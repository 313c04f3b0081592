"""The rows of the message tables: each example is recognised, each answer is whole, each template can be filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest

from rocdoctor.judging.loading import check_files, checks_folder, name_of
from rocdoctor.knowledge.load import knowledge_folder, load_table, words
from rocdoctor.knowledge.lookup import cause, causes
from rocdoctor.knowledge.messages.answers import When, message_answers, message_questions
from rocdoctor.knowledge.messages.program_errors import message_kinds, message_rows, message_signatures
from rocdoctor.model.finding import CONFIDENCES, SEVERITIES, Safety
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.parsers.logs.message_match import find_messages
from tests.kit import judge
from tests.message_kit import pasted

_MESSAGE_CHECKS = [name_of(path) for path in check_files(checks_folder()) if path.stem.endswith("_message")]
_TABLES = sorted(path.stem for path in knowledge_folder().glob("messages_*.yaml"))


def _texts() -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for name in _TABLES:
        for row in load_table(name)["messages"]:
            for text in row["texts"]:
                yield row, text


_EXAMPLES = [(row["kind"], text["example"]) for row, text in _texts() if "example" in text]
_COUNTERS = [(row["kind"], one) for row, text in _texts() for one in words(text.get("counter"))]


def test_every_text_has_an_example() -> None:
    assert _EXAMPLES
    assert [row["kind"] for row, text in _texts() if not text.get("example")] == []


@pytest.mark.parametrize(("kind", "example"), _EXAMPLES)
def test_an_example_is_recognised(kind: str, example: str) -> None:
    assert kind in {one.kind for one in find_messages(message_signatures(), example) if one.role == "now"}


@pytest.mark.parametrize(("kind", "counter"), _COUNTERS or [("", "")])
def test_a_counter_example_is_not(kind: str, counter: str) -> None:
    assert kind not in {one.kind for one in find_messages(message_signatures(), counter) if one.role == "now"}


def test_kinds_are_named_once() -> None:
    names = [row["kind"] for row in message_rows()]
    assert len(names) == len(set(names)), sorted({one for one in names if names.count(one) > 1})


def test_answers_name_what_exists() -> None:
    for kind, answers in message_answers().items():
        for one in answers:
            where = f"{kind}: {one.cause}"
            assert one.cause == "not-environment" or cause(one.cause) is not None, where
            assert one.confidence in CONFIDENCES, where
            assert one.severity in SEVERITIES, where
            assert one.safety in get_args(Safety), where
            assert one.text.endswith("."), where
            assert not one.fix.endswith("."), where
            assert {*one.when.together, *one.when.every, *one.when.without} <= set(message_kinds()), where
            assert {*one.when.inside, *one.when.outside} <= {"container", "slurm", "wsl"}, where
            assert one.when.vendor in ("", "amd", "nvidia"), where


def test_commands_of_the_tables_can_be_made() -> None:
    for answers in message_answers().values():
        for one in answers:
            for template in (one.command, one.verify):
                shell_of_table(template)
    for questions in message_questions().values():
        for question in questions:
            assert shell_of_table(question.command)
            assert question.why.strip()


@pytest.mark.parametrize(("kind", "example"), _EXAMPLES)
def test_an_example_alone_leads_to_an_answer(kind: str, example: str) -> None:
    """A kind with answers without a condition says something of each of its examples."""
    free = [one for one in message_answers().get(kind, ()) if one.when == When()]
    found = [one.finding for one in judge("known-message", pasted(example)) if one.finding is not None]
    assert not free or found, (kind, free)


@pytest.mark.parametrize(("kind", "example"), _EXAMPLES)
def test_no_other_check_says_the_same_of_an_example(kind: str, example: str) -> None:
    """A message that a check of its own answers needs no answer in the tables, but a more precise one."""
    found = [one.finding for one in judge("known-message", pasted(example)) if one.finding is not None]
    others = [(cause, name) for cause, name in _causes(example) if name != "known-message"]
    twice = [
        (one.cause, name) for one in found for cause, name in others if cause == one.cause and name not in one.explains
    ]
    assert not twice, kind


def _causes(text: str) -> Iterator[tuple[str, str]]:
    for name in _MESSAGE_CHECKS:
        for verdict in judge(name, pasted(text)):
            if verdict.finding is not None:
                yield verdict.finding.cause, verdict.check


def test_a_hostile_value_stays_out_of_commands() -> None:
    assert shell_of_table("ls {path:path} {other}", path="$(id)/x y") == "ls '$(id)/x y' OTHER"


def test_a_finer_id_stands_beside_a_cause_that_it_belongs_to() -> None:
    finer = {row["id"]: row["of"] for row in load_table("causes")["finer"]}
    told = [one for answers in message_answers().values() for one in answers if one.finer]
    assert {"host-memory", "disk-full", "firewall"} <= {one.finer for one in told}
    for one in told:
        assert one.cause in finer[one.finer], (one.finer, one.cause)
    assert not finer.keys() & causes().keys()
    assert {name for known in finer.values() for name in known} <= causes().keys()
