from __future__ import annotations

import pytest

from rocdoctor.paste.clean_text import clean
from tests.text_kit import diagnosed

GETS = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
GENERAL = {
    "question and answer": f"Q: What is this?\n{GETS}\nA: Update the driver.\n",
    "numbered": f"Q1: I get {GETS}\nWhat now?\nA1: Update it.\n\nQ2: More?\nA2: No.\n",
    "heading": f"# FAQ\n\nSome say\n\n    {GETS}\n\nThen update.\n",
    "plain heading": f"Text.\n\nKnown issues\n\n* {GETS}\n",
    "symptom and solution": f"## Driver\n\nSymptom:\n\n    {GETS}\n\nSolution: update it.\n",
    "table": f"| error | what to do |\n| --- | --- |\n| {GETS} | update |\n",
    "example": f"On old machines you will see something like\n\n    {GETS}\n",
    "meaning": f"This error means that the driver is too old:\n\n    {GETS}\n",
}
OWN = {
    "plain": GETS,
    "question without an answer": f"Q: why do I get this?\n{GETS}\n",
    "own words below the heading": f"## Troubleshooting\n\nI updated everything and still get\n\n    {GETS}\n",
    "title of a report": f"# Debugging a failed start\n\n    {GETS}\n",
    "after a page of questions": f"## FAQ\n\nQ: a?\nA: b.\n\n## My problem\n\n    {GETS}\n",
    "workaround of a report": f"The start fails with\n\n    {GETS}\n\nWorkaround: use the old image.\n",
    "own sentence": f"When I start it I see something like\n\n    {GETS}\n",
}


@pytest.mark.parametrize("name", GENERAL)
def test_what_is_said_in_general_is_no_fault_of_this_machine(name: str) -> None:
    assert diagnosed(GENERAL[name]).causes == ()


@pytest.mark.parametrize("name", OWN)
def test_a_report_counts(name: str) -> None:
    assert [one.cause for one in diagnosed(OWN[name]).causes][:1] == ["driver-too-old"]


def test_settings_of_a_remedy_are_advice() -> None:
    text = "GPU: RX 6700 XT\n\nIt crashes.\n\nWorkaround:\n\n    export HSA_OVERRIDE_GFX_VERSION=11.0.0\n"
    assert diagnosed(text).causes == ()
    assert diagnosed(text.replace("Workaround:", "My profile:")).causes[0].cause == "hsa-override-wrong"


def test_a_section_ends_at_the_next_heading() -> None:
    cleaned = clean("# A\n\n## FAQ\n\none\n\n### Why?\n\ntwo\n\n## Other\n\nthree\n")
    assert [cleaned.lines[at] for at in sorted(cleaned.guides) if cleaned.lines[at]] == [
        "## FAQ",
        "one",
        "### Why?",
        "two",
    ]


def test_others_of_a_chat_advise() -> None:
    cleaned = clean("[10:02] <kai> hi\n[10:03] <mel> if you like: set it\n[10:04] <kai> ok\n")
    assert cleaned.guides == {1}


BAD = "CUDA error: no kernel image is available for execution on the device"
SOUND = {
    "pytest": f"=== test session starts ===\n{BAD}\n=== 3 passed, 1 skipped in 0.11s ===\n",
    "pytest -q": f"....  [ 50%]\n..s.  [100%]\n{BAD}\n7 passed, 1 skipped in 2.00s\n",
    "googletest": f"[====] Running 2 tests from 1 test suite.\n{BAD}\n[  PASSED  ] 2 tests.\n",
    "version": f"## kit 2.0.1 - 2025-01-01\n\n- {BAD} on sm_120\n- more\n",
    "kind of change": f"### Fixed\n\n* {BAD} on sm_120\n\n### Added\n",
    "commit": f"commit 1f00aa12\nAuthor: A <a@b.c>\nDate: now\n\n    Rebuild\n\n    {BAD} was seen\n",
    "in a fence": f"```\n### Fixed\n\n* {BAD}\n```\n",
}
UNSOUND = {
    "pytest": f"=== test session starts ===\n{BAD}\n=== 1 failed, 3 passed in 0.11s ===\n",
    "errors": f"=== test session starts ===\n{BAD}\n=== 3 passed, 2 errors in 0.11s ===\n",
    "googletest": f"[====] Running 2 tests from 1 test suite.\n{BAD}\n[  FAILED  ] 1 test.\n[  PASSED  ] 1 test.\n",
    "cut off": f"=== test session starts ===\n{BAD}\n",
    "after the tests": f"=== test session starts ===\n=== 3 passed in 0.11s ===\n{BAD}\n",
    "version of an own report": f"## 2.0.1\n\n- I updated to it\n- {BAD}\n",
    "no list": f"## 2.0.1\n\nThe new release ends with\n{BAD}\n",
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_test_runs_and_lists_of_changes_blame_nothing(name: str) -> None:
    assert diagnosed(SOUND[name]).causes == ()


@pytest.mark.parametrize("name", UNSOUND)
def test_other_runs_and_lists_count(name: str) -> None:
    assert [one.cause for one in diagnosed(UNSOUND[name]).causes][:1] == ["gpu-arch-not-built"]


def test_what_a_dying_process_of_a_test_says_is_no_state() -> None:
    lines = ["[ RUN      ] A.B/1", '[  DEATH   ] Tool lib "libx.so" failed to load.', 'Tool lib "liby.so" failed.']
    assert clean("\n".join(lines)).guides == {1}


def test_what_should_have_been_printed_ends_with_its_paragraph() -> None:
    text = "$ ./count\ndevices: 1\nexpected:\n$ ./count\nerror 38 (hipErrorNoDevice)\n\nerror 100 is what I get"
    assert clean(text).guides == {2, 3, 4}
    assert clean("I expected: more\nerror 100 is what I get").guides == frozenset()


def test_an_empty_field_of_what_was_expected_says_nothing_of_the_next() -> None:
    for seen in ("Observed Behavior: it dies", "Actual: error 38", "- got: error 38", "But got: error 38"):
        assert clean(f"Expected Behavior:\n{seen}").guides in ({0}, frozenset()), seen
        assert clean(f"Expected:\n$ ./count\n{seen}").guides - {0} == {1}, seen
    assert clean("Expected:\nwhat is observed: error 38").guides >= {1}


def test_an_error_that_comes_up_is_reported_and_one_that_comes_from_something_explained() -> None:
    shown = "\n\n```\nError allocating (4 GB) host memory\n```\n"
    assert clean("This error comes up very often on our Windows machines:" + shown).guides == frozenset()
    assert clean("This error comes from a limit of the container:" + shown).guides != frozenset()
