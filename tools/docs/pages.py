"""The pages of ``docs/`` that are made from the code, by name. ``python -m tools.docs`` writes all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tools.docs import checks, privacy, smoke, tables

_ROOT = Path(__file__).resolve().parents[2]
DOCS, FIXTURES = _ROOT / "docs", _ROOT / "fixtures"

PAGES: Mapping[str, Callable[[], str]] = {
    "advice": tables.advice,
    "checks": checks.manual,
    "environment": tables.environment,
    "privacy": privacy.page,
    "signatures": tables.signatures,
    "smoke": smoke.page,
}
