"""What the probe of an interpreter said: as our parser reads it, and all of it."""

from __future__ import annotations

import json
from typing import Any

from rocdoctor.parsers.python.interpreter import parse


class Told:
    """An output of the probe."""

    def __init__(self, text: str) -> None:
        self.report = parse(text)
        found = [line[line.index('{"schema"') :] for line in text.splitlines() if '{"schema": "rocdoctor' in line]
        self.records: list[dict[str, Any]] = [json.loads(line) for line in found]

    def _part(self, name: str) -> dict[str, Any]:
        return next(one for one in self.records if one["part"] == name)

    @property
    def finished(self) -> bool:
        """Whether the probe came to its end."""
        return any(one["part"] == "end" for one in self.records)

    @property
    def static(self) -> dict[str, Any]:
        """What it told without an import."""
        return self._part("static")

    @property
    def torch(self) -> dict[str, Any]:
        """The files of torch."""
        found: dict[str, Any] = self.static["torch"]
        return found

    @property
    def sources(self) -> list[dict[str, Any]]:
        """What tells architectures of torch."""
        found: list[dict[str, Any]] = self._part("device-code")["sources"]
        return found

    def source(self, name: str) -> dict[str, Any]:
        """One of them."""
        return next(one for one in self.sources if one["source"] == name)

    def package(self, name: str) -> dict[str, Any]:
        """The first package of a name."""
        return next(one for one in self.static["packages"] if one["name"] == name)

    def step(self, name: str) -> dict[str, Any]:
        """The record of a question to the imported torch."""
        return next(one for one in self.records if one["part"] == "step" and one["step"] == name)

    def value(self, name: str) -> Any:
        """The answer to it."""
        return self.step(name)["value"]

    def error(self, name: str) -> dict[str, Any]:
        """The exception that it ended in."""
        found: dict[str, Any] = self.step(name)["error"]
        return found
