"""A profile's text as what is expected of a machine."""

from __future__ import annotations

from rocdoctor.compare.traits import OF_GPU, OF_MACHINE, Trait, number
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source
from rocdoctor.model.facts.expected import Expected
from rocdoctor.parsers.own.profile_file import ProfileFile, ProfileValue, parse_profile, under

# Sections of a profile with the groups of traits that they hold.
SECTIONS = {"host": "host", "links": "link", "versions": "version", "settings": "setting"}
_OTHER = frozenset(("schema", "rocdoctor", "plan", "gpus", *SECTIONS))
_MOST_PROBLEMS = 20
_MOST_GPUS = 1024


def read_expected(text: str, name: str) -> tuple[Expected, str]:
    """What a profile expects, and why the text is no profile ("" when it is one)."""
    file = parse_profile(text)
    if file.problem:
        return Expected(name), file.problem
    reader = _Expected(file, name)
    return Expected(name, reader.gpus(), reader.machine(), reader.packages(), reader.problems()), ""


class _Expected:
    def __init__(self, file: ProfileFile, name: str) -> None:
        self.file, self.question = file, f"profile {name}"
        self.found: list[Known[str]] = []

    def _known(self, one: ProfileValue) -> Known[str]:
        return Known(" ".join(one.text.split()), Source(self.question, one.line))

    def _problem(self, one: ProfileValue, words: str) -> None:
        self.found.append(Known(words, Source(self.question, one.line)))

    def _take(self, into: dict[str, Known[str]], traits: dict[str, Trait], key: str, one: ProfileValue) -> None:
        trait = traits.get(key)
        if trait is None:
            self._problem(one, f"'{key[:60]}' is nothing that a profile says there")
        elif key in into:
            self._problem(one, f"'{key}' appears twice; the first one counts")
        elif not one.text.strip():
            self._problem(one, f"'{key}' has no value")
        elif trait.kind in ("near", "number") and number(one.text) is None:
            self._problem(one, f"'{key}' is not a number: {one.text[:40]}")
        else:
            into[key] = self._known(one)

    def gpus(self) -> Fact[tuple[dict[str, Known[str]], ...]]:
        count = next((length for path, length in self.file.lists if path == ("gpus",)), None)
        if count is None:
            return NOT_ASKED
        traits = {one.trait.key: one.trait for one in OF_GPU}
        found: list[dict[str, Known[str]]] = [{} for _ in range(min(count, _MOST_GPUS))]
        first = 0
        for rest, one in under(self.file, "gpus"):
            first = first or one.line
            if len(rest) == 2 and int(rest[0]) < len(found):
                self._take(found[int(rest[0])], traits, rest[1], one)
            else:
                self._problem(one, "a GPU is a mapping of its traits")
        return Known(tuple(found), Source(self.question, first or None))

    def machine(self) -> dict[str, Known[str]]:
        found: dict[str, Known[str]] = {}
        for section, group in SECTIONS.items():
            traits = {one.trait.key: one.trait for one in OF_MACHINE if one.trait.group == group}
            for rest, one in under(self.file, section):
                if rest[:1] == ("packages",) and section == "versions":
                    continue
                self._take(found, traits, ".".join(rest), one)
        return found

    def packages(self) -> dict[str, Known[str]]:
        values = list(under(self.file, "versions", "packages"))
        return {rest[0][:100]: self._known(one) for rest, one in values if len(rest) == 1 and one.text.strip()}

    def problems(self) -> tuple[Known[str], ...]:
        for one in self.file.values:
            if one.path[0] not in _OTHER:
                self._problem(one, f"'{one.path[0][:60]}' is not part of a profile")
        left = len(self.found) - _MOST_PROBLEMS
        found = self.found[:_MOST_PROBLEMS]
        return (*found, Known(f"and {left} more", Source(self.question))) if left > 0 else tuple(found)
