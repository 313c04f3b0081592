"""Scores folders of labelled reports and prints how well ``rocdoctor read`` does, by cause: the tables of accuracy.md.

usage: python -m tools.accuracy [--by-cause] FOLDER...

Each folder holds cases: ``report.txt`` (what somebody pasted) and ``case.yaml`` with ``category`` (the cause, or
not-environment), ``must_mention`` and ``must_not_say`` (lists). Figures alone are printed, never a name of a case, so
that a set which must stay blind can be scored too.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from rocdoctor.judging.check import Check
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.model.finding import Cause
from rocdoctor.paste import open_text
from rocdoctor.service.reading import judged

SOFTWARE = "not-environment"
LAST_RESORTS = frozenset(("told-in-words", "known-symptom", "like-known-reports"))


@dataclass(frozen=True, slots=True)
class Case:
    """What is true of a report, and what has to be said and must not be."""

    cause: str
    text: str
    must_mention: tuple[str, ...] = ()
    must_not_say: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """How an answer did: ``state`` is solved, unspecific (lacks a word), in-three, wrong, silent, or blamed."""

    cause: str
    state: str
    last_resort: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 2 where a folder holds no case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--by-cause", action="store_true", help="a table by cause below that of the sets")
    options = parser.parse_args(arguments)
    checks = tuple(load_check(path) for path in check_files(checks_folder()))
    every: list[Score] = []
    rows = []
    for folder in options.folders:
        scores = [scored(one, checks) for one in cases(folder)]
        if not scores:
            print(f"no cases in {folder.name}", file=sys.stderr)
            return 2
        rows.append((folder.name, scores))
        every += scores
    print("\n".join(by_set(rows)))
    if options.by_cause:
        print("\n" + "\n".join(by_cause(every)))
    return 0


def cases(folder: Path) -> Iterator[Case]:
    """The cases of a folder, by name."""
    for path in sorted(folder.glob("*/case.yaml")):
        row = yaml.safe_load(path.read_text(encoding="utf-8"))
        said, never = (tuple(map(str, row.get(key) or ())) for key in ("must_mention", "must_not_say"))
        yield Case(row["category"], (path.parent / "report.txt").read_text(encoding="utf-8"), said, never)


def scored(case: Case, checks: Sequence[Check]) -> Score:
    """What is said of a case, and how right it is."""
    causes = judged(open_text(case.text, "a case"), checks).causes
    last = bool(causes) and causes[0].check in LAST_RESORTS
    return Score(case.cause, _state(case, causes), last)


def _state(case: Case, causes: Sequence[Cause]) -> str:
    named = [one.cause for one in causes]
    if case.cause == SOFTWARE:
        return "blamed" if any(one != SOFTWARE for one in named) else "solved"
    if not named:
        return "silent"
    if named[0] != case.cause:
        return "in-three" if case.cause in named[:3] else "wrong"
    said = f"{causes[0].message} {causes[0].remedy}".lower()
    lacks = [one for one in case.must_mention if not any(word.strip().lower() in said for word in one.split("|"))]
    leads = [one for one in case.must_not_say if one.lower() in said and f"not {one.lower()}" not in said]
    return "unspecific" if lacks or leads else "solved"


_RIGHT = ("solved", "unspecific")


def by_set(rows: Sequence[tuple[str, Sequence[Score]]]) -> Iterator[str]:
    """A table in markdown with a row for each set."""
    yield "| set | reports | solved | right cause first | in first three | silent | sound ones blamed | left open |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for name, scores in rows:
        faulty = [one for one in scores if one.cause != SOFTWARE]
        count = Counter(one.state for one in scores)
        first = sum(one.state in _RIGHT for one in faulty)
        three = first + sum(one.state == "in-three" for one in faulty)
        sound = len(scores) - len(faulty)
        yield (
            f"| {name} | {len(scores)} | {count['solved']} ({_percent(count['solved'], len(scores))}) | "
            f"{_of(first, len(faulty))} | {_of(three, len(faulty))} | {_of(count['silent'], len(faulty))} | "
            f"{_of(count['blamed'], sound)} | {_of(sum(one.last_resort for one in scores), len(scores))} |"
        )


def by_cause(scores: Sequence[Score]) -> Iterator[str]:
    """A table in markdown with a row for each cause, the most frequent first."""
    yield "| cause | reports | solved | right but unspecific | in first three | wrong | silent |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    states = ("solved", "unspecific", "in-three", "wrong", "silent")
    often = Counter(one.cause for one in scores)
    for cause, number in sorted(often.items(), key=lambda item: (-item[1], item[0])):
        count = Counter("wrong" if one.state == "blamed" else one.state for one in scores if one.cause == cause)
        yield f"| {cause} | {number} | " + " | ".join(str(count[one]) for one in states) + " |"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}"


def _percent(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)} %" if whole else "none"


if __name__ == "__main__":
    sys.exit(main())
