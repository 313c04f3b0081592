"""The rows of the message tables: each example is recognised, each answer is whole, each template can be filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import pytest

from rocdoctor.judging.loading import check_files, checks_folder, name_of
from rocdoctor.knowledge.load import knowledge_folder, load_table, words
from rocdoctor.knowledge.lookup import cause, causes
from rocdoctor.knowledge.messages.answers import When, message_answers, message_questions
from rocdoctor.knowledge.messages.program_errors import message_kinds, message_rows
from rocdoctor.knowledge.messages.told import told_kinds
from rocdoctor.model.finding import CONFIDENCES, SEVERITIES, Finding, Safety
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.paste.clean_text import clean
from tests.kit import judge
from tests.message_kit import messages, pasted

_MESSAGE_CHECKS = [name_of(path) for path in check_files(checks_folder()) if path.stem.endswith("_message")]
_TABLES = sorted(path.stem for path in knowledge_folder().glob("messages_*.yaml"))


def _texts(table: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for row in load_table(table)["messages"]:
        for text in row["texts"]:
            yield row, text


_COUNTERS = {
    table: [(row["kind"], one) for row, text in _texts(table) for one in words(text.get("counter"))]
    for table in _TABLES
}
_SPOKEN = ("own wording", "own list", "wording of", "name of", "names of")
_of_each_table = pytest.mark.parametrize("table", _TABLES)


def _examples(table: str) -> list[tuple[str, str]]:
    """(kind, example) of each example of each text of a table."""
    return [(row["kind"], one) for row, text in _texts(table) for one in words(text.get("example"))]


def _kinds(text: str) -> set[str]:
    return {one.kind for one in messages(text) if one.role == "now"}


@_of_each_table
def test_every_text_has_an_example(table: str) -> None:
    assert _examples(table)
    assert [row["kind"] for row, text in _texts(table) if not text.get("example")] == []


@_of_each_table
def test_examples_are_recognised(table: str) -> None:
    assert [(kind, example) for kind, example in _examples(table) if kind not in _kinds(example)] == []


def test_examples_are_recognised_without_marks_of_code() -> None:
    """The reader takes backticks off before it looks, also those that a program prints."""
    marked = [(kind, text) for table in _TABLES for kind, text in _examples(table) if "`" in text]
    assert len(marked) > 20
    assert [(kind, text) for kind, text in marked if kind not in _kinds(clean(text).text)] == []


@pytest.mark.parametrize("table", [name for name, found in _COUNTERS.items() if found])
def test_counter_examples_are_not(table: str) -> None:
    assert [(kind, counter) for kind, counter in _COUNTERS[table] if kind in _kinds(counter)] == []


@_of_each_table
def test_each_row_says_whether_its_source_was_read(table: str) -> None:
    marks = [(row["kind"], one["verified"]) for row, text in _texts(table) for one in (row, text) if "verified" in one]
    assert [one for one in marks if not (isinstance(one[1], bool) or one[1] == "words")] == []
    # Words of people are no claim about a program: such a row names none.
    spoken = [row for row in load_table(table)["messages"] if row.get("verified") == "words"]
    assert [row["kind"] for row in spoken if not row["source"].startswith(_SPOKEN)] == []


def test_kinds_are_named_once() -> None:
    names = [row["kind"] for row in message_rows()]
    assert len(names) == len(set(names)), sorted({one for one in names if names.count(one) > 1})


def test_answers_name_what_exists() -> None:
    known = set(message_kinds()) | {one.kind for one in told_kinds()}
    for kind, answers in message_answers().items():
        for one in answers:
            where = f"{kind}: {one.cause}"
            assert one.cause == "not-environment" or cause(one.cause) is not None, where
            assert one.confidence in CONFIDENCES, where
            assert one.severity in SEVERITIES, where
            assert one.safety in get_args(Safety), where
            assert one.text.endswith("."), where
            assert not one.fix.endswith("."), where
            assert {*one.when.together, *one.when.every, *one.when.without} <= known, where
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


@_of_each_table
def test_examples_alone_lead_to_an_answer(table: str) -> None:
    """A kind with answers without a condition says something of each of its examples."""
    silent = []
    for kind, example in _examples(table):
        free = any(one.when == When() for one in message_answers().get(kind, ()))
        if free and not _findings("known-message", example):
            silent.append((kind, example))
    assert silent == []


@_of_each_table
def test_no_other_check_says_the_same_of_an_example(table: str) -> None:
    """A message that a check of its own answers needs no answer in the tables, but a more precise one."""
    twice = []
    for kind, example in _examples(table):
        found = _findings("known-message", example)
        for name in _MESSAGE_CHECKS if found else ():
            causes = {one.cause for one in _findings(name, example)} if name != "known-message" else set()
            twice += [(kind, one.cause, name) for one in found if one.cause in causes and name not in one.explains]
    assert twice == []


def _findings(check: str, text: str) -> list[Finding]:
    return [one.finding for one in judge(check, pasted(text)) if one.finding is not None]


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
