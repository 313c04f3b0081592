"""Themes on terminals of 16 colours: what stands out there is cyan, and what may be at risk is yellow.

The orange of Textual's themes comes nearest to red of those 16, so frames and the names of keys looked like errors.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from textual.color import Color
from textual.theme import Theme

from rocdoctor.tui.bounded_app import BoundedApp
from rocdoctor.tui.style import INSTEAD, ON_DARK, ON_LIGHT

_SHADES = tuple(f"-{way}-{number}" for way in ("darken", "lighten") for number in (1, 2, 3))


def with_few(variables: Mapping[str, str], dark: bool) -> dict[str, str]:
    """The colours of a theme with those instead that 16 colours tell apart; their shades become one."""
    named = ON_DARK if dark else ON_LIGHT
    instead = {
        f"{name}{shade}": Color(*named[colour]).hex for name, colour in INSTEAD.items() for shade in ("", *_SHADES)
    }
    return {name: instead.get(name, value) for name, value in variables.items()}


class FewColoursApp(BoundedApp):
    """An app whose themes keep their meaning where the terminal has 16 colours."""

    def get_css_variables(self) -> dict[str, str]:
        """The colours of the theme as this terminal can show them."""
        variables = super().get_css_variables()
        theme: Theme = self.current_theme
        few = self.console.color_system in ("standard", "windows") and "ansi" not in theme.name
        few = few and any(map(os.isatty, (0, 1, 2)))  # a picture has all colours, wherever it is made
        return with_few(variables, theme.dark) if few else variables
