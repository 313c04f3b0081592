"""Lines of an apt source list (sources.list(5)): ``deb [options] URI SUITE COMPONENT...``."""

from __future__ import annotations

from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex

_LINE = regex(r"deb[ \t]{1,8}(?:\[[^\]\n]{0,400}\][ \t]{1,8})?(\S{1,300})[ \t]{1,8}(\S{1,80})")


@dataclass(frozen=True, slots=True)
class AptSource:
    """One source that is switched on, with its line (from 1)."""

    uri: str
    suite: str
    line: int


def parse_apt_sources(text: str) -> tuple[AptSource, ...]:
    """The sources of a list, in its order; what is commented out is none."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        matched = _LINE.match(line.strip())
        if matched is not None:
            found.append(AptSource(matched[1], matched[2], number))
    return tuple(found)
