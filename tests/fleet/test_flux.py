"""Drains by Flux, in the forms that its manual and its source give; no Flux was there to read them back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.fleet.acting import PREFIX, ActionLimits, EngineCall, EngineNode
from rocdoctor.fleet.engines import FLUX
from rocdoctor.fleet.flux import commands, nodes_of
from rocdoctor.fleet.verdicts import FleetVerdict, NodeVerdict, Reason
from rocdoctor.host.base import Answer
from rocdoctor.service.errors import UsageError
from rocdoctor.service.fleet_apply import Acting
from tests.fleet.kit import NOW

_BAD = Reason("certain", "ras-uncorrectable", "", 2, "Errors.", 2, 2, True)
_NAMES = [f"n{n:02d}" for n in range(20)]
_WIDE = ActionLimits(share=0.2, rate=1.0)


class _Flux:
    """Keeps drains as flux-resource(1) says: --update leaves those that are there."""

    def __init__(self) -> None:
        self.drained: dict[str, str] = {}
        self.asked: list[list[str]] = []

    def __call__(self, argv: list[str]) -> Answer:
        self.asked.append(argv)
        if argv[:3] == ["flux", "resource", "drain"]:
            for name in argv[4].split(","):
                self.drained.setdefault(name, argv[5])
        elif argv[:3] == ["flux", "resource", "undrain"]:
            for name in argv[3].split(","):
                del self.drained[name]
        free = ",".join(name for name in _NAMES if name not in self.drained)
        lines = [f"avail|online|{free}|", *(f"drained|online|{name}|{why}" for name, why in self.drained.items())]
        return Answer("q", "ok", "\n".join(lines).encode(), 0)


def _verdict(*bad: str) -> FleetVerdict:
    nodes = tuple(NodeVerdict(name, "k", (_BAD,), NOW) for name in bad)
    return FleetVerdict(NOW, 20, 20, nodes, (), (), dict.fromkeys(_NAMES, NOW), dict.fromkeys(_NAMES, "k"))


def test_what_flux_says_of_nodes() -> None:
    text = """\
avail|online|gpu[01-02]|
avail|offline|gpu03|
draining|online|gpu04|bad | cable, says Ann
torpid|online|gpu05|
housekeeping|online|gpu06|
exclude|online|gpu07|
STATE|STATUS|NODELIST|REASON
avail|online|0-3|
avail|online|gpu[|
avail|online|gpu04|
"""
    assert nodes_of(text) == [
        EngineNode("gpu01", False, "", True),
        EngineNode("gpu02", False, "", True),
        EngineNode("gpu03", True, "", True),
        EngineNode("gpu04", True, "bad | cable, says Ann", True),
        EngineNode("gpu05", True, "", True),
        EngineNode("gpu06", False, "", True),
        EngineNode("gpu07", True, "", True),
    ]


def test_the_calls() -> None:
    drain = EngineCall("drain", ("gpu01", "gpu02", "login"), f"{PREFIX}kfd-missing [certain] 20261124T1340Z")
    assert list(commands(drain)) == [["flux", "resource", "drain", "--update", "login,gpu[01-02]", drain.reason]]
    back = EngineCall("resume", ("gpu01",), "")
    assert list(commands(back)) == [["flux", "resource", "undrain", "gpu01"]]


def test_a_bad_node_is_drained_and_comes_back_by_undo_alone(tmp_path: Path) -> None:
    flux = _Flux()
    flux.drained["n07"] = "mine, Ann"
    acting = Acting(tmp_path, flux, FLUX)
    done, failed = acting.apply(_verdict("n03", "n07"), _WIDE, NOW)
    assert (failed, done.foreign, list(flux.drained)) == ([], ("n07",), ["n07", "n03"])
    assert flux.drained["n03"].startswith(PREFIX)
    later, _ = acting.apply(_verdict(), _WIDE, NOW + 900)
    assert later.calls == (), "Flux does not tell in which boot a node is, so no record brings it back"
    call, failed = acting.undo()
    assert (call, failed) == ([EngineCall("resume", ("n03",), "")], [])
    assert list(flux.drained) == ["n07"]


def test_flux_has_nothing_to_set_a_suspect_aside_with(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave out --suspects"):
        Acting(tmp_path, _Flux(), FLUX).apply(_verdict("n03"), replace(_WIDE, suspects=True), NOW)
