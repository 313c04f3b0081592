"""What is said where nothing else answers: signs, kinds of trouble, and the commands that tell the causes apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rocdoctor.insight.texts.answers import fill
from rocdoctor.knowledge.load import load_table, words
from rocdoctor.knowledge.lookup import causes
from rocdoctor.knowledge.messages.open_symptoms import (
    Symptom,
    foreign_sign_rows,
    last_resorts,
    last_sign_rows,
    sign_rows,
    sign_signatures,
    speaking_against,
)
from rocdoctor.knowledge.messages.program_errors import message_kinds
from rocdoctor.knowledge.messages.told import TROUBLE, told_kinds
from rocdoctor.model.shell_command import shell_of_table
from rocdoctor.parsers.logs.message_match import find_messages
from rocdoctor.parsers.prose.foreign_signs import foreign_signs
from rocdoctor.paste import open_text
from rocdoctor.service.reading import judged
from tests.text_kit import all_checks, diagnosed

_KNOWN = {row["kind"] for row in sign_rows()} | {row["kind"] for row in last_sign_rows()} | set(message_kinds())
_KNOWN |= {one.kind for one in foreign_sign_rows()} | {TROUBLE} | {one.kind for one in told_kinds()}


def _kinds(text: str) -> set[str]:
    return {one.kind for one in find_messages(sign_signatures(), text) if one.role == "now"}


@pytest.mark.parametrize("row", last_sign_rows(), ids=lambda row: row["kind"])
def test_a_sign_is_found_in_its_example_and_not_in_its_counter_example(row: Mapping[str, Any]) -> None:
    assert row["kind"] not in {one["kind"] for one in sign_rows()}
    for text in row["texts"]:
        assert row["kind"] in _kinds(text["example"])
        assert not [one for one in words(text["counter"]) if row["kind"] in _kinds(one)]


@pytest.mark.parametrize("row", load_table("last_resorts")["foreign"], ids=lambda row: row["kind"])
def test_a_sign_of_another_language_has_its_words(row: dict[str, str]) -> None:
    found = {kind for kind, _, _ in foreign_signs(foreign_sign_rows(), row["example"])}
    assert row["kind"] in found
    assert row["kind"] not in {kind for kind, _, _ in foreign_signs(foreign_sign_rows(), row["counter"])}


@pytest.mark.parametrize("one", last_resorts(), ids=lambda one: one.name)
def test_a_kind_of_trouble_is_whole(one: Symptom) -> None:
    assert {*one.seen, *one.when.together, *one.when.every, *one.when.without} <= _KNOWN
    assert set(one.despite) <= speaking_against()
    named = {each.cause for each in one.answers}
    shown = {cause for each in one.questions for _, cause in each.outcomes if cause}
    assert named <= set(causes()) and shown <= set(causes())
    assert named <= shown or not named  # each cause that is said has an outcome that means it
    for each in one.answers:
        assert fill(each.text, {}).endswith(".") and not each.fix.endswith(".") and each.confidence == "possible"
    for question in one.questions:
        shell_of_table(question.command)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HIP enumerates zero devices in our container, I do not know why.", "container-device-access"),
        ("The ROCm build fails: error: kernel requires gfx950, got gfx942", "kernel-lib-arch-unsupported"),
        ("My GPU job dies: ImportError: libfoo64.so: cannot enable executable stack", "libc-or-abi-mismatch"),
        ("我用 PyTorch 载入模型时，进程就被杀掉了，请问怎么办？", "out-of-memory"),
        ("两台机器用 nccl 训练一直卡住，单机没有问题。", "network-interface-wrong"),
    ],
)
def test_trouble_that_nothing_else_answers_has_possible_causes(text: str, expected: str) -> None:
    found = judged(open_text(text, "test"), all_checks())
    assert found.causes[0].cause == expected
    assert all(one.confidence == "possible" for one in found.causes)
    assert any(each.cause == expected for step in found.next for each in step.outcomes)


@pytest.mark.parametrize(
    "text",
    [
        "Feature request: please support GPUs on which HIP enumerates zero devices in a container.",
        "How do I count the GPUs of my machine in a container?",
        "A colleague had an old card on which HIP enumerates zero devices. Solved by now, I was just curious.",
    ],
)
def test_wishes_questions_and_what_is_over_have_none(text: str) -> None:
    assert diagnosed(text).causes == ()


def test_a_hang_names_no_cause_and_says_what_tells() -> None:
    found = judged(open_text("My PyTorch training hangs after an hour on the Radeon.", "test"), all_checks())
    assert found.causes == ()
    told = {each.cause for step in found.next for each in step.outcomes}
    assert {"iommu-acs-p2p", "not-environment"} <= told


def test_an_update_before_the_trouble_names_no_cause_and_says_what_tells() -> None:
    text = "Since the kernel upgrade my Radeon is not initialized and the GPU does not work."
    found = judged(open_text(text, "test"), all_checks())
    assert found.causes == ()
    told = {each.cause for step in found.next for each in step.outcomes}
    assert {"dkms-kernel-mismatch", "gpu-firmware"} <= told


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Importing our package on the MI300 fails with an undefined symbol.", True),
        ("After #32996 the current main on MI300 fails at import with an undefined symbol.", False),
        ("Our CI on the MI300 fails at import with an undefined symbol since the change that fuses both.", False),
    ],
)
def test_a_symbol_that_a_change_of_the_program_lost_is_no_matter_of_the_machine(text: str, named: bool) -> None:
    assert bool(diagnosed(text).causes) is named
