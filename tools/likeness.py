"""Fits the weights of ``likeness.yaml`` on labelled texts, and says how well they do on sets that were left out.

usage: python -m tools.likeness gather FILE SETS...
       python -m tools.likeness fit FILE [--before FILE] [--write]

SETS are folders of cases (``report.txt`` and ``case.yaml`` with ``category``). ``gather`` reads them with the rocdoctor
that is imported and writes their features; with them the examples of all message tables, the manual pages of checks and
the texts of the tests. ``fit`` makes the weights of a file, with the sets left out in turn (those whose names begin
alike together).

Rules that were made from a set answer its texts and repeat its words, so figures on it must come from before them:
``--before`` is what ``gather`` wrote of the same sets with an older checkout on PYTHONPATH (then run this file by its
path). scikit-learn must be importable; it is a dependency of nothing else.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

import rocdoctor
from rocdoctor.collect import collect
from rocdoctor.insight.texts import likeness as insight
from rocdoctor.insight.texts.likeness import SOFTWARE, features
from rocdoctor.insight.texts.pasted import vendors
from rocdoctor.judging.check import Check
from rocdoctor.judging.diagnose import diagnose
from rocdoctor.judging.loading import check_files, checks_folder, load_check
from rocdoctor.knowledge.load import knowledge_folder
from rocdoctor.knowledge.lookup import causes
from rocdoctor.knowledge.messages.likeness import LETTERS, Likeness, weighed
from rocdoctor.knowledge.messages.program_errors import message_rows
from rocdoctor.parsers.own.told_words import word_counts
from rocdoctor.paste import open_text

ROOT = Path(rocdoctor.__file__).resolve().parents[1]
TABLE = knowledge_folder() / "likeness.yaml"
_WEIGHT = {"row": 0.6, "answer": 0.4, "manual": 0.6, "healthy": 0.6, "faulty": 1.0, "case": 1.5, "software": 1.5}
_KEEP = 24_000  # weights that ship
_STRENGTH = 10.0  # of the fit: the inverse of the penalty on weights
_BLAMED = 0.01  # of the sound texts, at most
_HINTED = 0.05  # of the sound texts, at most, get commands that show a cause
_ENOUGH = 10  # texts of which a figure is told to the reader
_LEVELS = tuple(one / 100 for one in range(20, 95, 5))  # shares of which figures are given


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text as its features, with its cause.

    ``asked``: nothing surer is known, so its words are weighed. ``kinds``, ``sentences`` and ``vendors``: what tells
    whether it is a report of trouble. ``group``: the texts that are left out together, ``thread``: its address.
    """

    kind: str
    name: str
    cause: str
    counts: Mapping[str, int]
    asked: bool = False
    kinds: Sequence[str] = ()
    sentences: Sequence[str] = ()
    vendors: Sequence[str] = ()
    group: str = ""
    thread: str = ""

    @property
    def spoken_of(self) -> bool:
        """Whether its words are weighed in ``read``."""
        return self.asked and insight.tells_of_machine(frozenset(self.kinds), self.sentences, self.vendors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    gathering = verbs.add_parser("gather")
    gathering.add_argument("file", type=Path)
    gathering.add_argument("sets", nargs="+", type=Path)
    fitting = verbs.add_parser("fit")
    fitting.add_argument("file", type=Path)
    fitting.add_argument("--before", type=Path, help="the same sets, gathered before rules were made from them")
    fitting.add_argument("--write", action="store_true", help="write the table")
    options = parser.parse_args()
    if options.verb == "gather":
        options.file.write_text(json.dumps([asdict(one) for one in _gathered(options.sets)]), encoding="utf-8")
        return
    texts = _read(options.file)
    guesses = list(cross_validated(_read(options.before or options.file)))
    figures = Figures.of(guesses)
    print("\n".join(figures.lines))
    if options.write:
        TABLE.write_text(_text(fitted(texts), figures, texts), encoding="utf-8")
        print(f"{TABLE.name}: {TABLE.stat().st_size} bytes")


# -- what is learned from


def _gathered(sets: Sequence[Path]) -> Iterator[Labelled]:
    yield from _rows()
    yield from _manuals()
    yield from _test_texts()
    seen: set[str] = set()
    checks = tuple(load_check(path) for path in check_files(checks_folder()) if path.stem != "like_known_reports")
    for folder in sets:
        for path in sorted(folder.glob("*/case.yaml")):
            text = (path.parent / "report.txt").read_text(encoding="utf-8")
            same = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
            if same not in seen:
                seen.add(same)
                yield from _case(folder.name, path, text, checks)


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
        body = path.read_text(encoding="utf-8").partition("\n")[2]
        yield Labelled("healthy", path.stem, SOFTWARE, features(collect(open_text(body, path.stem))))
    for path in sorted((ROOT / "tests" / "texts" / "faulty").glob("*.txt")):
        header, _, body = path.read_text(encoding="utf-8").partition("\n")
        cause = dict(entry.split(": ", 1) for entry in header.split("; ") if ": " in entry)["cause"]
        yield Labelled("faulty", path.stem, cause, features(collect(open_text(body, path.stem))))
    for line in (ROOT / "tests" / "texts" / "told" / "sound.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield Labelled("healthy", line[:40], SOFTWARE, features(collect(open_text(line, "told"))))


def _case(folder: str, path: Path, text: str, checks: Sequence[Check]) -> Iterator[Labelled]:
    """The case with the first of its accepted causes that has a name; none where none has."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    accepted = [one for one in (case["category"], *(case.get("accepted") or ())) if one in causes()]
    if not accepted:
        return
    machine = collect(open_text(text, path.parent.name))
    yield Labelled(
        "software" if accepted[0] == SOFTWARE else "case",
        f"{folder}/{path.parent.name}",
        accepted[0],
        features(machine),
        not diagnose(machine, checks).causes,
        sorted({one.kind for one in machine.messages if one.role == "now"}),
        machine.told.sentences,
        sorted(vendors(machine)),
        folder.split("_", 1)[0],
        str(case.get("url") or "").rstrip("/"),
    )


def _read(path: Path) -> list[Labelled]:
    return [Labelled(**one) for one in json.loads(path.read_text(encoding="utf-8"))]


# -- the fit


def fitted(texts: Sequence[Labelled]) -> Likeness:
    """The weights for these texts: a logistic regression over words, of which the weightiest weights are kept."""
    often = Counter(word for one in texts for word in one.counts)
    rarity = {
        word: round(math.log((1 + len(texts)) / (1 + count)) + 1, 2) for word, count in often.items() if count > 1
    }
    values = [_values(one, rarity) for one in texts]
    vectoriser: Any = importlib.import_module("sklearn.feature_extraction").DictVectorizer()
    regression: Any = importlib.import_module("sklearn.linear_model").LogisticRegression
    model = regression(C=_STRENGTH, max_iter=100, tol=1e-3)
    matrix = vectoriser.fit_transform(values)
    model.fit(matrix, [one.cause for one in texts], sample_weight=[_WEIGHT[one.kind] for one in texts])
    use = Counter[str]()
    for each in values:
        for word, value in each.items():
            use[word] += value * value  # type: ignore[assignment]
    rows: dict[str, dict[int, int]] = {}
    names = [str(one) for one in vectoriser.get_feature_names_out()]
    sizes = abs(model.coef_) * [math.sqrt(use[word]) for word in names]
    least = sorted(sizes.flatten(), reverse=True)[: _KEEP + 1][-1]
    for place, at in zip(*(sizes > least).nonzero(), strict=True):
        if tenths := round(float(model.coef_[place][at]) * 10):
            rows.setdefault(names[at], {})[int(place)] = tenths
    words = {
        word: f"{round(rarity[word] * 100)}" + "".join(f"{LETTERS[place]}{row[place]}" for place in sorted(row))
        for word, row in sorted(rows.items())
    }
    bias = tuple(round(float(one) * 100) / 100 for one in model.intercept_)
    return Likeness(tuple(str(one) for one in model.classes_), bias, words, 0.0)


def _values(one: Labelled, rarity: Mapping[str, float]) -> dict[str, float]:
    values = {word: (1 + math.log(count)) * rarity[word] for word, count in one.counts.items() if word in rarity}
    length = math.sqrt(sum(value * value for value in values.values())) or 1.0
    return {word: value / length for word, value in values.items()}


# -- how good it is


@dataclass(frozen=True, slots=True)
class Guess:
    """What weights say of a text that they were not fitted on; ``share``: that of the likeliest cause."""

    text: Labelled
    share: float
    causes: tuple[str, ...]


def cross_validated(texts: Sequence[Labelled]) -> Iterator[Guess]:
    """A guess for each text of a set, by weights of the other groups and without its thread."""
    for group in sorted({one.group for one in texts if one.group}):
        left_out = [one for one in texts if one.group == group]
        threads = {one.thread for one in left_out if one.thread}
        table = fitted([one for one in texts if one.group != group and one.thread not in threads])
        print(f"left out: {group}, {len(left_out)} texts", file=sys.stderr, flush=True)
        for one in left_out:
            found = [each for each in weighed(table, one.counts) if each.cause != SOFTWARE]
            yield Guess(one, found[0].share, tuple(each.cause for each in found[:3]))


@dataclass(frozen=True, slots=True)
class Figures:
    """The thresholds, how often the likeliest cause was right by its share, and what is printed."""

    threshold: int  # hundredths
    hints: int
    counted: tuple[tuple[int, int, int], ...]
    lines: tuple[str, ...]

    @classmethod
    def of(cls, guesses: Sequence[Guess]) -> Figures:
        sound = [one for one in guesses if one.text.cause == SOFTWARE]
        blamed = sorted((one.share for one in sound if one.text.spoken_of), reverse=True)
        asked = [one for one in guesses if one.text.spoken_of and one.text.cause != SOFTWARE]
        threshold = _above(blamed, int(_BLAMED * len(sound)))
        silent = sum(one.text.asked and one.text.cause != SOFTWARE for one in guesses)
        lines = [
            f"{len(guesses)} texts, left out by set; {silent} with a cause that nothing surer answers, "
            f"{len(asked)} of them reports; {len(sound)} sound ones, {len(blamed)} of them asked",
            "share | answered | right first | in three | sound ones blamed",
        ]
        counted = []
        for level in sorted({*_LEVELS, threshold / 100}):
            spoken = [one for one in asked if one.share > level]
            right = sum(one.causes[0] == one.text.cause for one in spoken)
            three = sum(one.text.cause in one.causes for one in spoken)
            wrong = sum(one > level for one in blamed)
            lines.append(f"{level:.2f} | {len(spoken)} | {right} | {three} | {wrong}")
            if level * 100 >= threshold and len(spoken) + wrong >= _ENOUGH:
                counted.append((round(level * 100), len(spoken) + wrong, right))
        return cls(threshold, _above(blamed, int(_HINTED * len(sound))), tuple(counted), tuple(lines))


def _above(shares: Sequence[float], allowed: int) -> int:
    """The share in hundredths that no more than so many exceed."""
    return math.ceil(100 * shares[allowed]) if len(shares) > allowed else 50


def _text(table: Likeness, figures: Figures, texts: Iterable[Labelled]) -> str:
    counts = Counter(one.kind for one in texts)
    head = [
        "# Words and how much they speak for a cause; made by tools/likeness.py, not by hand. A row is the rarity of",
        "# the word (hundredths), then for each cause (a letter by its place in causes: A, B ...) a weight in tenths.",
        "# counted: [share, texts left out whose likeliest cause had more than it, those of which it was the cause].",
        f"# Learned from: {', '.join(f'{number} {kind}' for kind, number in sorted(counts.items()))}; {date.today()}.",
        *(f"# {line}" for line in figures.lines),
        "schema: 1",
        f"threshold: {figures.threshold}",
        f"hints: {min(figures.hints, figures.threshold)}",
        f"counted: {[list(one) for one in figures.counted]}",
        f"causes: [{', '.join(table.causes)}]",
        f"bias: [{', '.join(str(round(one * 100)) for one in table.bias)}]",
        "words:",
    ]
    rows = [f"  {json.dumps(word)}: {json.dumps(row)}" for word, row in table.words.items()]
    return "\n".join([*head, *rows]) + "\n"


if __name__ == "__main__":
    main()
