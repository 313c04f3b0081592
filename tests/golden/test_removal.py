"""Evidence that is taken away accuses nobody: what a healthy fixture does not show any more is unknown.

Answers are left out, denied, cut at line ends and marked as excerpts, by samples with fixed seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.host.overlay import OverlayHost
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.model.finding import Diagnosis
from tests.golden.replay import NAMES, host_of, our_checks

SAMPLES = 6
# Fixtures with hundreds of partitions or threads take far longer than the others.
_LARGE = ("mi300x-8gpu-cpx",)

Answers = dict[str, Answer]


def _gone(question: str, chance: random.Random) -> Answer:
    return Answer(question, chance.choice(("not-asked", "denied")), complete=False)


def _cut(answer: Answer, chance: random.Random) -> Answer:
    """The answer without its end, its beginning, its middle or some of its lines."""
    lines = answer.data.split(b"\n")
    first, last = sorted((chance.randint(0, len(lines)), chance.randint(0, len(lines))))
    kept: Iterable[bytes] = (
        lines[:first],
        lines[first:],
        lines[:first] + lines[last:],
        [line for line in lines if chance.random() < 0.6],
    )[chance.randrange(4)]
    return replace(answer, data=b"\n".join(kept), complete=False, truncated=True)


def _drop_some(answers: Answers, chance: random.Random) -> Answers:
    share = chance.choice((0.02, 0.1, 0.5, 0.9))
    return {name: _gone(name, chance) for name in answers if chance.random() < share}


def _drop_kind(answers: Answers, chance: random.Random) -> Answers:
    verb = chance.choice(sorted({name.split(" ")[0] for name in answers}))
    return {name: _gone(name, chance) for name in answers if name.split(" ")[0] == verb}


def _drop_folder(answers: Answers, chance: random.Random) -> Answers:
    parts = chance.choice(sorted(answers)).split(" ", 1)[-1].split("/")
    folder = "/".join(parts[: chance.randint(2, max(2, len(parts)))])
    return {name: _gone(name, chance) for name in answers if name.split(" ", 1)[-1].startswith(folder)}


def _keep_few(answers: Answers, chance: random.Random) -> Answers:
    kept = set(chance.sample(sorted(answers), min(len(answers), chance.choice((3, 10, 50)))))
    return {name: _gone(name, chance) for name in answers if name not in kept and not name.startswith("run ")}


def _cut_some(answers: Answers, chance: random.Random) -> Answers:
    long = sorted(name for name, answer in answers.items() if answer.ok and answer.data.count(b"\n") > 2)
    return {
        name: _cut(answers[name], chance) for name in chance.sample(long, min(len(long), chance.choice((1, 4, 16))))
    }


def _excerpts(answers: Answers, chance: random.Random) -> Answers:
    share = chance.choice((0.1, 0.5, 1.0))
    return {name: replace(answer, complete=False) for name, answer in answers.items() if chance.random() < share}


_EDITS: tuple[Callable[[Answers, random.Random], Answers], ...] = (
    _drop_some,
    _drop_kind,
    _drop_folder,
    _keep_few,
    _cut_some,
    _excerpts,
)


def _judged(name: str, seed: int) -> tuple[list[str], Diagnosis]:
    chance = random.Random(f"{name} {seed}")
    host = host_of(name)
    answers, edits = dict(host.capture.answers), []
    for _ in range(chance.choice((1, 1, 2, 3))):
        edit = chance.choice(_EDITS)
        answers |= edit(answers, chance)
        edits.append(edit.__name__)
    return edits, diagnose(collect(OverlayHost(host, answers)), our_checks())


@pytest.mark.parametrize("name", NAMES)
def test_less_evidence_accuses_nobody(name: str) -> None:
    for seed in range(1 if name in _LARGE else SAMPLES):
        edits, diagnosis = _judged(name, seed)
        for verdict in diagnosis.verdicts:
            context = (seed, edits, verdict.check, verdict.subject, verdict.why)
            assert verdict.state != "crashed", context
            if verdict.finding is not None:
                assert verdict.finding.severity == "info", (*context, verdict.finding.message)
