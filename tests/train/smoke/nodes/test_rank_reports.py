"""What a node tells of its ranks cannot break the verdict over all of them, whatever types it has."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from rocdoctor.parsers.own.smoke_results import SmokeRun, to_json
from rocdoctor.report import text
from rocdoctor.report.smoke import smoke_document
from rocdoctor.train.smoke.judge.verdicts import judge, located
from rocdoctor.train.smoke.nodes import messages
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord

JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**39,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x" * 9000,
    "\x1b[31m",
    [],
    {},
    [[]],
    [{}],
    "fail",
    {"a": {"b": 1}},
    ["a", 1, None],
    {"work": 1.0},
    1e300,
    {"deadline": float("nan")},
)
FAULT = {"stage": "grad", "step": 1, "turn": 0, "name": "w", "words": "0.1 for 0.2", "origins": [1]}
_BETWEEN = {**FAULT, "between": [0, 1]}
RIGHT = {
    "event": "result",
    "rank": 1,
    "state": "fail",
    "errors": {"grad": 0.1},
    "tolerances": {"grad": 1e-6},
    "faults": [FAULT],
    "facts": {"suspects": [1]},
    "message": "",
    "kind": "",
}
NOTE = {"mode": "ddp", "mark": "step 1", "call": "all_reduce 4 among 0,1", "seq": 3, "pairs": False}


def _rank(word: dict[str, Any], note: dict[str, Any], silent: bool = False) -> RankRecord:
    sent = messages.event(json.loads(json.dumps(word)), 1, 1)
    _, seen = messages.looked({"ranks": {"1": {"note": json.loads(json.dumps(note))}}}, 1, 1)
    found = RankRecord(1, node=1, note=seen[1]["note"], silent=silent)
    found.result = None if silent else sent
    return found


def _shown(one: RankRecord) -> str:
    healthy = RankRecord(0, result={"state": "pass", "errors": {"grad": 0.0}, "tolerances": {"grad": 1e-6}}, node=0)
    waiting = RankRecord(0, silent=True, node=0, note=NOTE)
    texts = []
    for other in (healthy, waiting):
        record = ModeRecord("ddp", 1.0, (other, one))
        verdict = located(judge(record), record)
        run = SmokeRun(2, "gloo", "cpu", "2.5", 1.0, (verdict,))
        json.dumps(to_json((run,)))
        texts.append(text.render(smoke_document.document((run,)), 100))
    return texts[0]


def test_what_a_rank_really_says_is_kept() -> None:
    assert "the gradients of step 1, w: 0.1 for 0.2" in _shown(_rank(RIGHT, NOTE))
    told = messages.event(RIGHT, 1, 1)
    assert told is not None and {name: told[name] for name in RIGHT} == RIGHT
    assert messages.looked({"ranks": {"1": {"note": NOTE}}}, 1, 1)[1][1]["note"] == NOTE
    assert "between ranks 0 (node 0), 1 (node 1)" in _shown(_rank({**RIGHT, "faults": [_BETWEEN]}, NOTE))


@pytest.mark.parametrize("name", [*RIGHT, *(f"faults.{name}" for name in _BETWEEN), *(f"note.{name}" for name in NOTE)])
def test_no_type_of_a_word_breaks_the_verdict(name: str) -> None:
    for junk in JUNK:
        word: dict[str, Any] = {**RIGHT, "faults": [dict(FAULT)]}
        note: dict[str, Any] = dict(NOTE)
        part, _, inner = name.rpartition(".")
        target: dict[str, Any] = {"": word, "faults": word["faults"][0], "note": note}[part]
        target[inner] = junk
        if messages.event(json.loads(json.dumps(word)), 1, 1) is not None:
            for silent in (False, True):
                _shown(_rank(word, note, silent))


def test_no_mixture_of_words_breaks_the_verdict() -> None:
    chance = random.Random(1)
    for _ in range(300):
        word = {**RIGHT, "state": chance.choice(["pass", "fail", "crashed", "not-applicable", 5])}
        for name in chance.sample([*RIGHT], 4):
            if name not in ("rank", "event", "state"):
                word[name] = chance.choice(JUNK)
        _shown(_rank(word, {name: chance.choice([value, *JUNK]) for name, value in NOTE.items()}))


def test_what_a_second_look_saw_on_another_node_is_kept_and_nothing_else() -> None:
    told = {**RIGHT, "facts": {"work": False, "exchanges": ["all_reduce"], "computing": [1], "gpu": "x"}}
    told["faults"] = [{**FAULT, "whole": True, "every": True, "reduced": True, "summed": "yes"}]
    sent = messages.event(told, 1, 1)
    assert sent is not None
    assert sent["facts"] == {"computing": [1], "work": False, "exchanges": ["all_reduce"]}
    assert sent["faults"] == [{**FAULT, "whole": True, "every": True, "reduced": True}]
    half = messages.event({**RIGHT, "facts": {"work": "no", "exchanges": []}}, 1, 1)
    assert half is not None and half["facts"] == {}
    assert messages.mode({"mode": "again"}) == "again"
