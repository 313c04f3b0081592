"""Under which condition something works or fails, and how a sentence is meant."""

from __future__ import annotations

import pytest

from rocdoctor.parsers.prose.claims import Utterance, claim_of, claims_in, grammar_of
from rocdoctor.parsers.prose.sentences import sentences_in

_GRAMMAR = grammar_of(
    {
        "words": {
            "good": ["work~", "run~", "fine", "no crash"],
            "bad": ["fail~", "crash~", "no gpu", "cannot"],
            "same": ["no difference"],
            "not": ["not", "doesn't", "never"],
            "without": ["without"],
            "first-person": ["i", "my"],
            "why": ["why"],
            "guess": ["maybe"],
            "advice": ["you should"],
            "past": ["last year"],
            "root": ["as root", "with sudo"],
            "user": ["as user", "as my user"],
            "box": ["in the container"],
            "host": ["on the host"],
            "riser": ["riser"],
            "slot": ["in the slot"],
        },
        "conditions": {"root": "user", "box": "host", "slot": "riser"},
        "voices": {"past": ["past"], "advises": ["advice"], "guesses": ["guess"]},
    }
)


def _claim(sentence: str) -> Utterance:
    (one,) = sentences_in([(1, sentence)])
    return claim_of(_GRAMMAR, one)


@pytest.mark.parametrize(
    ("sentence", "good", "bad"),
    [
        ("As root it works, as my user it fails.", {"root"}, {"user"}),
        ("It works as root, but not as user.", {"root"}, {"user"}),
        ("It works, but only as root.", {"root"}, set()),
        ("On the host it runs fine while in the container it crashes.", {"host"}, {"box"}),
        ("In the container it does not work.", set(), {"box"}),
        ("Without the riser it never fails.", {"slot"}, set()),
        ("With the riser there is no crash.", {"riser"}, set()),
        ("It fails unless I run it as root.", set(), {"user"}),
        ("As my user no GPU, with sudo my card.", {"root"}, {"user"}),
        ("It crashes.", set(), set()),
    ],
)
def test_a_condition_goes_with_its_outcome(sentence: str, good: set[str], bad: set[str]) -> None:
    claim = _claim(sentence)
    assert (set(claim.good), set(claim.bad)) == (good, bad)


def test_what_makes_no_difference_is_no_condition() -> None:
    claim = _claim("It crashes on the riser and in the slot: no difference.")
    assert claim.same == {"riser", "slot"}


@pytest.mark.parametrize(
    ("sentence", "voice"),
    [
        ("It fails as user.", "tells"),
        ("Does it fail as user?", "asks"),
        ("Why does it fail as user?", "tells"),
        ("Maybe it fails as user.", "guesses"),
        ("You should run it as root.", "advises"),
        ("I think you should know that my card fails.", "tells"),
        ("Last year it failed as user.", "past"),
    ],
)
def test_how_a_sentence_is_meant(sentence: str, voice: str) -> None:
    assert _claim(sentence).voice == voice


def test_two_speeds_far_apart_tell_of_slowness() -> None:
    assert "slowness" in _claim("The first card gets 26 GB/s and the second 3 GB/s.").names
    assert "slowness" not in _claim("The first card gets 26 GB/s and the second 24 GB/s.").names
    assert "slowness" not in _claim("The first card gets 26 GB/s and has 3 GB.").names


_OF_A_MACHINE = grammar_of(
    {
        "words": {
            "good": ["work~", "fine"],
            "bad": ["fail~", "crash~", "cannot"],
            "same": [],
            "not": ["not"],
            "without": ["without"],
            "root": ["as root"],
            "user": ["as my user", "as user"],
            "gpu": ["gpu", "torch"],
            "others": ["editor"],
            "known": ["job"],
        },
        "conditions": {"root": "user"},
        "voices": {},
        "subjects": {"machine": ["gpu"], "others": ["others"], "troubles": ["bad"]},
    }
)


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("The GPU fails.", {"bad"}),
        ("My browser crashes.", set()),
        ("The GPU works. It fails as user.", {"good", "bad"}),
        ("The GPU works. pip fails.", {"good"}),
        ("The GPU works. As my user crontab fails.", {"good"}),
        ("The GPU works. It's fine, it still fails.", {"good", "bad"}),
        ("As root it works, as my user the GPU fails.", {"good", "bad"}),
        ("The GPU works. My browser crashes.", {"good"}),
        ("The GPU works, but my browser crashes.", {"good"}),
        ("The GPU works, but the editor for GPU code crashes.", {"good"}),
        ("The browser is new. It crashes.", set()),
        ("The browser is new, it crashes. The GPU works.", {"good"}),
        ("The GPU works as root. As my user: fails.", {"good", "bad"}),
        ("The GPU works. The job fails.", {"good", "bad"}),
        ("The GPU works. I cannot decide.", {"good"}),
        ("The GPU works. It fails in my kitchen.", {"good", "bad"}),
    ],
)
def test_only_what_is_said_of_the_machine_has_an_outcome(text: str, outcomes: set[str]) -> None:
    claims = claims_in(_OF_A_MACHINE, sentences_in([(1, text)]))
    assert set().union(*(one.outcomes for one in claims)) == outcomes


def test_a_strange_part_gives_no_condition_and_names_no_trouble() -> None:
    (claim,) = claims_in(_OF_A_MACHINE, sentences_in([(1, "As user my browser crashes.")]))
    assert (claim.good, claim.bad, claim.names, claim.about) == (frozenset(), frozenset(), frozenset({"user"}), False)
