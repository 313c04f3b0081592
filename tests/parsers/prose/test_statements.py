"""Patterns over the sentences of a text."""

from __future__ import annotations

from dataclasses import replace

from rocdoctor.parsers.prose.claims import Outcome, Utterance, Voice
from rocdoctor.parsers.prose.sentences import Sentence
from rocdoctor.parsers.prose.statements import ReportMarks, pattern_of, place_of, told_by, trouble_in

_MARKS = ReportMarks(
    frozenset({"bad", "slow"}),
    frozenset({"over"}),
    frozenset({"you"}),
    frozenset({"me"}),
    settled=frozenset({"works now"}),
)


def _claim(
    *names: str, outcomes: tuple[Outcome, ...] = (), voice: Voice = "tells", good: str = "", same: str = ""
) -> Utterance:
    sides = [frozenset({one} if one else ()) for one in (good, same)]
    return Utterance(
        Sentence(1, "", (), voice == "asks"),
        voice,
        frozenset(names),
        frozenset(outcomes),
        sides[0],
        frozenset(),
        sides[1],
    )


def _said(text: str, claim: Utterance) -> Utterance:
    return replace(claim, sentence=Sentence(1, text, (), False))


def _place(written: str, *claims: Utterance) -> int | None:
    return place_of(pattern_of(written), told_by(claims, {"root": "user", "user": "root"}))


def test_plain_names_stand_in_one_sentence() -> None:
    assert _place("riser slow", _claim("riser"), _claim("slow")) is None
    assert _place("riser slow", _claim("card"), _claim("riser", "slow")) == 1
    assert _place("riser bad", _claim("riser", outcomes=("bad",))) == 0


def test_a_star_means_near_a_plus_beside() -> None:
    far = [_claim("riser"), *[_claim("x")] * 4, _claim("slow")]
    assert _place("*riser *slow", _claim("riser"), _claim("x"), _claim("slow")) == 0
    assert _place("*riser *slow", *far) is None, "too far apart"
    assert _place("riser slow+", _claim("riser"), _claim("slow")) == 0
    assert _place("riser slow+", _claim("riser"), _claim("x"), _claim("slow")) is None


def test_what_may_not_stand_there() -> None:
    assert _place("riser !dock", _claim("riser", "dock")) is None
    assert _place("riser !dock", _claim("riser"), _claim("dock")) == 0
    assert _place("riser !*dock", _claim("riser"), _claim("dock")) is None


def test_one_of_several() -> None:
    assert _place("riser|dock slow", _claim("dock", "slow")) == 0


def test_a_comparison_is_found_wherever_it_stands() -> None:
    assert _place("good:root *card", _claim("card"), _claim(good="root")) == 1
    assert _place("good:root", _claim(good="user")) is None
    assert _place("good:root", _claim(good="root"), _claim(same="user")) is None, "it makes no difference"
    assert _place("good:root", _claim(good="root"), _claim(good="user")) is None, "it works on both sides"


def test_questions_name_things_and_tell_nothing() -> None:
    asked = _claim("flag", outcomes=("bad",), voice="asks")
    assert _place("*box *flag", _claim("box"), asked) == 0
    assert _place("flag", asked) is None
    assert _place("*box *flag", _claim("box"), _claim("flag", voice="guesses")) is None


def _report(*claims: Utterance) -> bool:
    return trouble_in(told_by(claims, {}), _MARKS) is not None


def test_a_report_tells_of_trouble_that_is_there() -> None:
    assert _report(_claim("card", outcomes=("bad",)))
    assert not _report(_claim("card"))
    assert not _report(_claim(outcomes=("bad",)), _claim("over"))
    assert not _report(_claim(outcomes=("bad",)), _claim(voice="advises")), "half of it is advice"
    assert not _report(_claim("you", outcomes=("bad",)))
    assert _report(_claim("you", outcomes=("bad",)), _claim("me"))


def test_a_long_text_without_its_writer_is_no_report() -> None:
    long = [_claim("x")] * 7
    assert not _report(_claim(outcomes=("bad",)), *long)
    assert _report(_claim("me", outcomes=("bad",)), *long)


def test_relief_is_the_end_where_nothing_follows_and_nothing_is_compared() -> None:
    trouble, relief = _claim("card", outcomes=("bad",)), _claim("works now")
    assert not _report(trouble, relief)
    assert _report(relief, trouble), "trouble follows"
    assert _report(trouble, relief, _claim("x", voice="asks")), "a question follows"
    assert _report(trouble, _claim("works now", good="root")), "one side of a comparison"
    assert _report(trouble, _claim("card"), _claim("works now", voice="guesses"))
    assert _report(trouble, _said("Everything works when I switch back to Vulkan", relief)), "under a condition alone"
    assert not _report(trouble, _said("Everything works now with the new driver", relief))
