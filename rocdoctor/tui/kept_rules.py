"""Rules of how widgets look, parsed once: Textual parses all of them anew for each theme, screen and start."""

from __future__ import annotations

from typing import Any

from textual.css.stylesheet import Stylesheet

_Key = tuple[object, ...]
_parsed: dict[_Key, Any] = {}


class KeptRules(Stylesheet):
    """Looks up rules that were parsed before with the same colours, in this app or in one before it.

    Where another version of Textual parses in another way, it does so, and nothing else is different.
    """

    def set_variables(self, variables: dict[str, str]) -> None:
        """As Textual has it; the colours that it has already change nothing."""
        if variables != getattr(self, "_variables", None):
            super().set_variables(variables)

    def reparse(self) -> None:
        """Textual makes a new stylesheet here, which would know no rules yet."""
        self.parse()

    def _parse_rules(self, *arguments: Any, **named: Any) -> Any:
        variables = getattr(self, "_variables", None)
        if not isinstance(variables, dict):  # another version names its colours in another way
            return super()._parse_rules(*arguments, **named)
        key = (frozenset(variables.items()), arguments, tuple(sorted(named.items())))
        if key not in _parsed:
            _parsed[key] = super()._parse_rules(*arguments, **named)
        return _parsed[key]
