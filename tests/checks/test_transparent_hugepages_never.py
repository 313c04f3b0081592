from __future__ import annotations

import pytest

from rocdoctor.model.facts import Memory
from tests.kit import amd_gpu, judge, k, machine, severities, states, u

NAME = "transparent-hugepages-never"


@pytest.mark.parametrize(("mode", "found"), [("always", []), ("madvise", []), ("never", ["info"])])
def test_only_never_is_worth_a_word(mode: str, found: list[str]) -> None:
    of = machine(amd_gpu(), amd_gpu(1), memory=Memory(transparent_hugepage=k(mode)))
    assert severities(judge(NAME, of)) == found


def test_unknown_and_not_applicable() -> None:
    unread = Memory(transparent_hugepage=u())
    assert states(judge(NAME, machine(amd_gpu(), amd_gpu(1), memory=unread))) == ["unknown"]
    assert states(judge(NAME, machine(amd_gpu(), memory=Memory(transparent_hugepage=k("never"))))) == ["not-applicable"]
