"""No literal of a table is dead: each can stand, as whole words, where its expression is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocdoctor.knowledge.messages.kernel_log import kernel_signatures
from rocdoctor.knowledge.messages.open_symptoms import sign_signatures
from rocdoctor.knowledge.messages.program_errors import message_signatures
from rocdoctor.parsers.logs.log_match import Matcher, Signature, Wording, matcher
from rocdoctor.parsers.logs.message_match import find_messages
from tests.patterns.literals import dead_literals

_TABLES = [message_signatures, sign_signatures, kernel_signatures]


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: table.__name__)
def test_each_literal_of_a_table_can_stand_whole_in_what_its_expression_takes(table: Callable[[], Matcher]) -> None:
    assert list(dead_literals(table())) == []


def _row(find: str, match: str) -> Matcher:
    return matcher([Signature("it", "note", "It.", (Wording((find,), match),))])


@pytest.mark.parametrize(
    ("find", "match", "text"),
    [
        ("/dev/dri/renderD", r"open /dev/dri/renderD\d{1,3}", "open /dev/dri/renderD128"),
        ("renderd12", r"(?i)cannot open [^\n]{0,60}?renderd12\d", "cannot open renderD128"),
        ("cudart64_", r"cudart64_\d{2,3}\.dll", "cudart64_12.dll"),
        ("COMPILER could be found", r"No CMAKE_C_COMPILER could be found", "No CMAKE_C_COMPILER could be found"),
        ("ceph", r"(?i)\bcephfs?\b", "data on ceph"),
        ("enroot", r"squashfs: No space", "enroot: squashfs: No space"),
    ],
)
def test_a_literal_that_ends_inside_a_word_is_dead(find: str, match: str, text: str) -> None:
    assert list(dead_literals(_row(find, match))) == [("it", find)]
    assert not find_messages(_row(find, match), text)


@pytest.mark.parametrize(
    ("find", "match", "text"),
    [
        ("opening /dev/dri/card", r"opening /dev/dri/card\d{1,3}", "when opening /dev/dri/card0"),
        ("gfx1100", r"\bgfx[0-9a-f]{3,4}\b", "gfx1100"),
        ("admins", r"\b(?:admin\w{0,12}|sysadmins?) kill", "our admins kill jobs"),
        ("GPU is lost", r"failed: GPU is lost", "failed: GPU is lost"),
        ("failed to start", r"start the \w{1,9}", "it failed to start the job"),
        (".dll", r"cudart64_\d{2,3}\.dll", "cudart64_12.dll"),
    ],
)
def test_a_literal_that_a_text_can_hold_whole_is_not(find: str, match: str, text: str) -> None:
    assert list(dead_literals(_row(find, match))) == []
    assert find_messages(_row(find, match), text)
