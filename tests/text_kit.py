"""Whole pasted texts, from ``tests/texts``, through the same steps as ``rocdoctor read``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rocdoctor.collect import collect
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.model.finding import Diagnosis
from rocdoctor.paste import open_text

TEXTS = Path(__file__).parent / "texts"


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check of this project."""
    return tuple(load_check(path) for path in check_files(checks_folder()))


def diagnosed(text: str) -> Diagnosis:
    """What ``rocdoctor read`` finds in a text."""
    return diagnose(collect(open_text(text, "test")), all_checks())


def causes_of(text: str) -> list[str]:
    """The ids of all causes that are found in a text, the likeliest first."""
    return [one.cause for one in diagnosed(text).causes]


def first_cause(text: str) -> str | None:
    """The id of the first cause, None without one."""
    return next(iter(causes_of(text)), None)


def header_and_body(path: Path) -> tuple[dict[str, str], str]:
    """The "key: value" lines that tell about a text (origin, cause), and the text itself.

    The header is the first line, with its entries separated by "; ".
    """
    first, _, body = path.read_text(encoding="utf-8").partition("\n")
    return dict(entry.split(": ", 1) for entry in first.split("; ") if ": " in entry), body
