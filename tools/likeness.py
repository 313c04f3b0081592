"""Fits the weights of ``likeness.yaml`` on labelled texts, and says how well they do on texts that were left out.

usage: python -m tools.likeness [--write] CASES...

CASES are folders of cases (``report.txt`` and ``case.yaml`` with ``category``). With them count the examples of all
message tables, the manual pages of checks and the texts of the tests. scikit-learn must be importable; it is a
dependency of nothing else. Texts are left out in groups (one case, one text); rows of tables are always known.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from rocdoctor.collect import collect
from rocdoctor.insight.texts.likeness import SOFTWARE, features, is_report
from rocdoctor.insight.texts.open_symptoms import remaining
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.knowledge.load import knowledge_folder
from rocdoctor.knowledge.messages.likeness import LETTERS, Likeness, weighed
from rocdoctor.knowledge.messages.program_errors import message_rows
from rocdoctor.parsers.own.told_words import word_counts
from rocdoctor.paste import open_text

ROOT = Path(__file__).resolve().parents[1]
TABLE = knowledge_folder() / "likeness.yaml"
_WEIGHT = {"row": 0.6, "answer": 0.4, "manual": 0.6, "healthy": 0.6, "faulty": 1.0, "case": 1.5, "software": 3.0}
_KEEP = 20_000  # weights that ship
_STRENGTH = 10.0  # of the fit: the inverse of the penalty on weights
_FOLDS, _ROUNDS = 8, 2
# The greatest share of a sound thread among 379 that the weights of 2026-11-24 had not seen; none is named up to here.
_LEAST = 0.88
_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)  # shares of which figures are given


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text as its features, with its cause; ``asked``: its words would be weighed, since nothing surer is known."""

    kind: str
    name: str
    cause: str
    counts: Mapping[str, int]
    asked: bool = False
    silent: bool = False


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("cases", nargs="*", type=Path)
    arguments.add_argument("--write", action="store_true", help="write the table")
    arguments.add_argument("--test", type=Path, action="append", default=[], help="cases that are not learned from")
    options = arguments.parse_args()
    known = [*_rows(), *_manuals()]
    whole = [*_test_texts(), *(one for folder in options.cases for one in _cases(folder))]
    threshold, figures = _cross_validated(known, whole)
    table = fitted([*known, *whole], threshold)
    for line in figures:
        print(line)
    for folder in options.test:
        print(_tested(folder, table))
    if options.write:
        TABLE.write_text(_text(table, [*known, *whole], figures), encoding="utf-8")
        print(f"{TABLE.name}: {len(table.words)} words, {TABLE.stat().st_size} bytes")


# -- what is learned from


def _plain(text: str) -> Mapping[str, int]:
    return {word: count for word, (count, _) in word_counts(enumerate(text.split("\n"), 1)).items()}


def _rows() -> Iterator[Labelled]:
    for row in message_rows():
        says = row.get("says") or []
        cause = says[0]["cause"] if says else row.get("cause")
        if not cause:
            continue
        examples = "\n".join(str(text["example"]) for text in row["texts"] if text.get("example"))
        yield Labelled("row", row["kind"], cause, _plain(examples))
        if says:
            yield Labelled("answer", row["kind"], cause, _plain(f"{row['means']} {says[0]['text']}"))


def _manuals() -> Iterator[Labelled]:
    for path in check_files(checks_folder()):
        source = path.read_text(encoding="utf-8")
        causes = re.findall(r'cause="([a-z-]+)"', source)
        if causes:
            page = (ast.get_docstring(ast.parse(source)) or "").split("References")[0]
            yield Labelled("manual", path.stem, causes[0], _plain(page))


def _test_texts() -> Iterator[Labelled]:
    for path in sorted((ROOT / "tests" / "texts" / "healthy").glob("*.txt")):
        yield _labelled("healthy", path.stem, SOFTWARE, path.read_text(encoding="utf-8").partition("\n")[2])
    for path in sorted((ROOT / "tests" / "texts" / "faulty").glob("*.txt")):
        header, _, body = path.read_text(encoding="utf-8").partition("\n")
        cause = dict(entry.split(": ", 1) for entry in header.split("; ") if ": " in entry)["cause"]
        yield _labelled("faulty", path.stem, cause, body)


def _cases(folder: Path) -> Iterator[Labelled]:
    for path in sorted(folder.glob("*/case.yaml")):
        cause = yaml.safe_load(path.read_text(encoding="utf-8"))["category"]
        text = (path.parent / "report.txt").read_text(encoding="utf-8")
        yield _labelled("software" if cause == SOFTWARE else "case", f"{folder.name}/{path.parent.name}", cause, text)


def _checks() -> tuple[Check, ...]:
    return tuple(load_check(path) for path in check_files(checks_folder()) if path.stem != "like_known_reports")


_SURER: tuple[Check, ...] = ()


def _labelled(kind: str, name: str, cause: str, text: str) -> Labelled:
    global _SURER
    _SURER = _SURER or _checks()
    machine = collect(open_text(text, name))
    silent = not diagnose(machine, _SURER).causes
    asked = silent and is_report(machine) and remaining(machine) is None
    return Labelled(kind, name, cause, features(machine), asked, silent)


# -- the fit


def fitted(texts: Sequence[Labelled], threshold: float) -> Likeness:
    """The weights for these texts: a logistic regression over words, of which the weightiest weights are kept."""
    often = Counter(word for one in texts for word in one.counts)
    vocabulary = {word for word, count in often.items() if count > 1}
    for last in (False, True):
        rarity = {word: math.log((1 + len(texts)) / (1 + often[word])) + 1 for word in vocabulary}
        causes, bias, weights = _regression(texts, rarity)
        kept = _weightiest(texts, rarity, weights)
        if not last:
            vocabulary = {word for word, _ in kept}
    rows: dict[str, dict[int, int]] = {}
    for (word, place), value in kept.items():
        if round(value * 10):
            rows.setdefault(word, {})[place] = round(value * 10)
    words = {
        word: f"{round(rarity[word] * 100)}" + "".join(f"{LETTERS[place]}{row[place]}" for place in sorted(row))
        for word, row in sorted(rows.items())
    }
    return Likeness(tuple(causes), tuple(round(one * 100) / 100 for one in bias), words, threshold)


def _values(one: Labelled, rarity: Mapping[str, float]) -> dict[str, float]:
    values = {word: (1 + math.log(count)) * rarity[word] for word, count in one.counts.items() if word in rarity}
    length = math.sqrt(sum(value * value for value in values.values())) or 1.0
    return {word: value / length for word, value in values.items()}


def _regression(
    texts: Sequence[Labelled], rarity: Mapping[str, float]
) -> tuple[list[str], list[float], dict[tuple[str, int], float]]:
    vectoriser: Any = importlib.import_module("sklearn.feature_extraction").DictVectorizer()
    model: Any = importlib.import_module("sklearn.linear_model").LogisticRegression(C=_STRENGTH, max_iter=400)
    matrix = vectoriser.fit_transform([_values(one, rarity) for one in texts])
    model.fit(matrix, [one.cause for one in texts], sample_weight=[_WEIGHT[one.kind] for one in texts])
    names = vectoriser.get_feature_names_out()
    weights = {
        (str(name), place): float(model.coef_[place][at])
        for place in range(len(model.classes_))
        for at, name in enumerate(names)
    }
    return [str(one) for one in model.classes_], [float(one) for one in model.intercept_], weights


def _weightiest(
    texts: Sequence[Labelled], rarity: Mapping[str, float], weights: Mapping[tuple[str, int], float]
) -> dict[tuple[str, int], float]:
    """The weights that move most: by their size and by how much their word weighs in all texts."""
    use: Counter[str] = Counter()
    for one in texts:
        for word, value in _values(one, rarity).items():
            use[word] += value * value  # type: ignore[assignment]
    ranked = sorted(weights.items(), key=lambda item: -abs(item[1]) * math.sqrt(use[item[0][0]]))
    return dict(ranked[:_KEEP])


# -- how good it is


@dataclass(frozen=True, slots=True)
class Guess:
    """What the weights say of a text that they were not fitted on."""

    text: Labelled
    share: float  # of all causes in the environment
    causes: tuple[str, ...]


def _guess(known: Likeness, one: Labelled) -> Guess:
    found = [each for each in weighed(known, one.counts) if each.cause != SOFTWARE]
    return Guess(one, sum(each.share for each in found), tuple(each.cause for each in found[:3]))


def _cross_validated(known: Sequence[Labelled], whole: Sequence[Labelled]) -> tuple[float, list[str]]:
    """(the threshold at which no sound text that is asked was blamed, the figures)."""
    guesses: list[Guess] = []
    for seed in range(_ROUNDS):
        order = list(whole)
        random.Random(seed).shuffle(order)
        for fold in range(_FOLDS):
            left_out = order[fold::_FOLDS]
            rest = [one for place, one in enumerate(order) if place % _FOLDS != fold]
            table = fitted([*known, *rest], 0.0)
            guesses += [_guess(table, one) for one in left_out]
            print(f"round {seed + 1}, fold {fold + 1}", file=sys.stderr)
    lines = [
        f"texts: {len(known)} rows and pages, {len(whole)} whole texts; {_FOLDS} folds, {_ROUNDS} rounds",
        "first cause of cases in the environment: " + _share([one for one in guesses if one.text.kind == "case"]),
    ]
    asked = [one for one in guesses if one.text.asked]
    sound = sorted((one.share for one in asked if one.text.cause == SOFTWARE), reverse=True)
    shares = ", ".join(f"{one:.2f}" for one in sound[:6])
    lines.append(f"sound texts that are asked: {len(sound) / _ROUNDS:g}; highest shares {shares}")
    for level in _LEVELS:
        spoken = [one for one in asked if one.share > level]
        right = [one for one in spoken if one.text.cause != SOFTWARE]
        blamed = len(spoken) - len(right)
        lines.append(f"above {level}: {_share(right)}, sound ones blamed {blamed / _ROUNDS:g}")
    threshold = math.ceil(100 * (sound[0] if sound else 0.5)) / 100
    return threshold, lines


def _share(guesses: Sequence[Guess]) -> str:
    first = sum(one.causes[0] == one.text.cause for one in guesses)
    three = sum(one.text.cause in one.causes for one in guesses)
    return f"{first / _ROUNDS:g} right of {len(guesses) / _ROUNDS:g}, in three {three / _ROUNDS:g}"


def _tested(folder: Path, table: Likeness) -> str:
    guesses = [_guess(table, one) for one in _cases(folder)]
    blamed = [one for one in guesses if one.text.cause != SOFTWARE]
    silent = sum(one.text.silent for one in blamed)
    lines = [f"{folder.name}, not learned from: {_right(blamed)}; silent without the words {silent}"]
    for level in _LEVELS:
        asked = [one for one in guesses if one.text.asked and one.share > level]
        sound = sum(one.text.cause == SOFTWARE for one in asked)
        lines.append(f"  above {level}: {_right(asked)}, sound ones blamed {sound}")
    return "\n".join(lines)


def _right(guesses: Sequence[Guess]) -> str:
    first = sum(one.causes[0] == one.text.cause for one in guesses)
    return f"{first} right of {len(guesses)}, in three {sum(one.text.cause in one.causes for one in guesses)}"


def _text(table: Likeness, texts: Iterable[Labelled], figures: Sequence[str]) -> str:
    counts = Counter(one.kind for one in texts)
    head = [
        "# Words and how much they speak for a cause; made by tools/likeness.py, not by hand. A row is the rarity of",
        "# the word (hundredths), then for each cause (a letter by its place in causes: A, B ...) a weight in tenths.",
        f"# Learned from: {', '.join(f'{number} {kind}' for kind, number in sorted(counts.items()))}; {date.today()}.",
        *(f"# {line}" for line in figures),
        "schema: 1",
        f"threshold: {round(max(_LEAST, table.threshold) * 100)}",
        f"hints: {round(table.threshold * 100)}",
        f"causes: [{', '.join(table.causes)}]",
        f"bias: [{', '.join(str(round(one * 100)) for one in table.bias)}]",
        "words:",
    ]
    rows = [f"  {json.dumps(word)}: {json.dumps(row)}" for word, row in table.words.items()]
    return "\n".join([*head, *rows]) + "\n"


if __name__ == "__main__":
    main()
