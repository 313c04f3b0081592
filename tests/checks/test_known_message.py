"""Messages whose answers stand in the tables; the rows themselves are tested in tests/knowledge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocdoctor.insight.texts import answers
from rocdoctor.insight.texts.answers import applied, fill
from rocdoctor.knowledge.messages.answers import MessageAnswer, When
from rocdoctor.model.facts import Machine
from tests.kit import amd_gpu
from tests.message_kit import finding_of, pasted

_LINE = "host1:88:88 [0] bootstrap.cc:577 NCCL WARN no device found matching exactly ens9, verify NCCL_OOB_NET_IFNAME"
_KIND = "nccl-bootstrap-interface-unset"


def test_a_sentence_takes_the_values_of_its_message() -> None:
    line = (
        "host1:88:88 [0] bootstrap.cc:577 NCCL WARN no device found matching exactly ens9, verify NCCL_OOB_NET_IFNAME"
    )
    found = finding_of("known-message", line)
    assert found is not None
    assert (found.cause, found.confidence) == ("network-interface-wrong", "certain")
    assert "the interface ens9," in found.message
    assert fill("{a|one} and {b|two}", {"b": "three"}) == "one and three"


def _causes(machine: Machine) -> Iterator[tuple[str, str]]:
    return ((one.answer.cause, one.answer.confidence) for one in applied(machine))


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        (When(), True),
        (When(vendor="amd"), True),
        (When(vendor="nvidia"), False),
        (When(gfx=("gfx103*",)), True),
        (When(gfx=("gfx1100",)), False),
        (When(inside=("container",)), False),
        (When(outside=("container",)), True),
        (When(variables=("NCCL_DEBUG",)), False),
        (When(values={"wanted": ("ens*",)}), True),
        (When(values={"wanted": ("eth0",)}), False),
        (When(together=(_KIND,)), True),
        (When(without=(_KIND,)), False),
        (When(together=("gpu-lost",)), False),
        (When(together=("gpu-lost", _KIND)), True),
        (When(every=(_KIND, "mentions-nccl")), True),
        (When(every=(_KIND, "gpu-lost")), False),
    ],
)
def test_a_condition_decides(when: When, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {_KIND: (MessageAnswer("memlock-limit", "It.", "Do", when=when),)}
    monkeypatch.setattr(answers, "message_answers", lambda: rows)
    assert bool(applied(pasted(_LINE, amd_gpu(gfx="gfx1031")))) is holds


def test_the_first_sure_answer_stands_alone_and_possible_ones_together(monkeypatch: pytest.MonkeyPatch) -> None:
    thin = [MessageAnswer(cause, "It.", "Do", "possible") for cause in ("memlock-limit", "shm-too-small", "a", "b")]
    sure = MessageAnswer("out-of-memory", "It.", "Do", "likely")
    monkeypatch.setattr(answers, "message_answers", lambda: {_KIND: (*thin, sure)})
    assert [one for one, _ in _causes(pasted(_LINE))] == ["out-of-memory"]
    monkeypatch.setattr(answers, "message_answers", lambda: {_KIND: tuple(thin)})
    assert [one for one, _ in _causes(pasted(_LINE))] == ["memlock-limit", "shm-too-small", "a"]


def test_an_answer_that_lacks_a_value_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {_KIND: (MessageAnswer("memlock-limit", "It is {size}.", "Do"),)}
    monkeypatch.setattr(answers, "message_answers", lambda: rows)
    assert not applied(pasted(_LINE))


def test_nothing_without_a_message() -> None:
    assert finding_of("known-message", "no device was found") is None
