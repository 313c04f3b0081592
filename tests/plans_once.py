"""Plans that several tests look at from different sides are searched once a process.

For tests of what is said, shown and written of a plan. A test that changes tables or figures of the planner must not
use it: whether a plan is known is told by the fleet and the workload alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rocdoctor.service import comparing, planning
from rocdoctor.train.recommend import advise
from rocdoctor.train.recommend.plan import Recommendation
from rocdoctor.train.recommend.search import overview

_recommend, _overview = advise.recommend, overview.overview
_known: dict[tuple[object, ...], Any] = {}


def recommend(
    fleet: Any,
    workload: Any,
    refuses: Any = (),
    only: Any = (),
    transformers: bool = False,
    seen: Callable[[], None] | None = None,
) -> Recommendation:
    """``advise.recommend``, which tells a caller that looks on of one step at least."""
    if seen is not None:
        seen()
    # Functions are told apart by where they are, which their text would not do for one made in a function.
    key = ("plan", repr((fleet, workload, only, transformers)), *refuses)
    if key not in _known:
        _known[key] = _recommend(fleet, workload, refuses, only, transformers, seen)
    found: Recommendation = _known[key]
    return found


def _overview_once(fleet: Any, seq: int | None = None) -> Any:
    key = ("overview", repr((fleet, seq)))
    if key not in _known:
        _known[key] = _overview(fleet, seq)
    return _known[key]


@pytest.fixture
def plans_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The commands and screens of a test look up plans that are known."""
    for module in (advise, planning, comparing):
        monkeypatch.setattr(module, "recommend", recommend)
    monkeypatch.setattr(overview, "overview", _overview_once)
    yield
