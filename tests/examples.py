"""How much of what could be tried belongs to each run of the suite, and how much to the heavy stage."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import settings


def examples(times: float) -> settings:
    """``times`` the examples that the profile gives to every property (``tests/conftest.py``), one at least."""
    return settings(max_examples=max(1, round(times * settings().max_examples)))


def some(cases: Sequence[Any], each: int = 3) -> list[Any]:
    """Every ``each``-th case, spread over all of them; the others belong to the heavy stage."""
    return [one if at % each == 0 else pytest.param(one, marks=pytest.mark.heavy) for at, one in enumerate(cases)]


def rows(
    names: str | Sequence[str], table: Iterable[Any], ids: Callable[[Any], object] | Sequence[object] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``pytest.mark.parametrize``, in one test that goes through all rows and names each that fails.

    For tables of many rows that cost less than a test does (about a millisecond). What the test asks for beside the
    row is shared by all rows: nothing that one may leave changed.
    """
    wanted = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    kept = list(table)
    assert kept, "a table without rows"

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        def all_rows(**asked: Any) -> None:
            failed = []
            for at, row in enumerate(kept):
                values = (row,) if len(wanted) == 1 else tuple(row)
                try:
                    test(**asked, **dict(zip(wanted, values, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as problem:
                    name = _name(ids, at, row)
                    failed.append(f"{name}: {type(problem).__name__}: {problem}")
            assert not failed, f"{len(failed)} of {len(kept)} rows fail:\n" + "\n".join(failed)

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in wanted]
        all_rows.__name__, all_rows.__doc__, all_rows.__module__ = test.__name__, test.__doc__, test.__module__
        all_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return all_rows

    return decorated


def _name(ids: Callable[[Any], object] | Sequence[object] | None, at: int, row: Any) -> object:
    if ids is None:
        return repr(row)[:200]
    return ids(row) if callable(ids) else ids[at]
