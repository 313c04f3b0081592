"""One run of pairs with the names of its nodes, and what it says of each in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rocdoctor.fleet.net.pair_judge import JudgedNode, NetVerdict
from rocdoctor.model.shell_command import CommandText, shell
from rocdoctor.train.smoke.nodes.pair_results import PairResult

# Far below what a stream of one host can do: a tenth of what the interfaces say, or of 10 Gbit/s. As in smoke tests.
_POOR_SHARE, _ENOUGH_MBIT_S = 0.1, 10_000
_CHECK_NODE = "See what else runs on it; then check its cable, its link speed and the error counters of its interface."
_CHECK_UNREACHED = "Check that its firewall lets TCP ports above 1024 through; then check its address and its cable."
_REMEDY = {"slow": _CHECK_NODE, "unreachable": _CHECK_UNREACHED}
_CHECK_LEAF = "Look at the links of this switch to the switches above it: errors, speed, links that are missing."
_ORDER = ("error", "warning", "info")
_NAME_IT = "Name the fast network in NCCL_SOCKET_IFNAME on all nodes."
_LET_THROUGH = "Open TCP ports above 1024 between the nodes, or name a network that they share in NCCL_SOCKET_IFNAME."


@dataclass(frozen=True, slots=True)
class NetRun:
    """``names`` by the number of the node; ``gone``: why nothing is known of a node; ``faces``: where it was measured.

    ``rounds``: pairs and seconds of each round; ``taken_at`` in seconds since 1970.
    """

    names: tuple[str, ...]
    taken_at: int
    seed: int
    leaves: Mapping[int, str]
    verdict: NetVerdict
    results: tuple[PairResult, ...] = ()
    gone: Mapping[int, str] = field(default_factory=dict)
    faces: Mapping[int, str] = field(default_factory=dict)
    rounds: tuple[tuple[int, float], ...] = ()

    def message(self, one: JudgedNode) -> str:
        """What speaks against a node, in a sentence; empty where nothing does."""
        usual = self.verdict.usual
        if one.state == "slow":
            share = "" if one.share is None else f", at best {percent(one.share)} of the usual rate"
            late = one.rtt_us is not None and usual.late_us is not None and one.rtt_us > usual.late_us
            wait = f"; messages take {one.rtt_us:.0f} us there and back" if late else ""
            said = self._slower_link(one.node)
            return f"Slow with all its partners{share}{wait}{said}; {one.with_proven} of them are fast with others."
        if one.state == "unreachable":
            return f"Not reached by {one.with_proven} nodes that reach others ({self._why(one.node)})."
        if one.state == "silent":
            return f"No report: {self.gone.get(one.node, 'it answered none of its orders in time')}."
        if one.state == "path":
            return "Slow with all but its neighbours: the cause lies on the path to it, not in it."
        if one.share is None or one.share >= usual.floor or self.verdict.uneven:
            return ""
        return "Slow so far, but too few partners were measured to say that the node is the cause."

    def _why(self, node: int) -> str:
        return next((one.why for one in self.results if node in one.ends and one.why), "no answer")

    def _slower_link(self, node: int) -> str:
        """What the interface of a node says of its speed, in words, where others say more; empty where none does."""
        told = [(one.speed_mbit_s, node in one.ends) for one in self.results if one.speed_mbit_s]
        own, all_of_them = max((speed for speed, its in told if its), default=0), max(told, default=(0, False))[0]
        return f"; its interface says {gbit(own)}, others say {gbit(all_of_them)}" if 0 < own < all_of_them else ""

    @property
    def apart(self) -> str:
        """Why no node reaches another one, in a few words; empty where one does, or nothing is known of any pair."""
        known = [one for one in self.results if one.rate is not None]
        if any(one.rate for one in known):
            return ""
        return next((one.why or "nothing came" for one in known), "")

    @property
    def poor(self) -> tuple[float, int] | None:
        """Where all ways are far below what the interfaces say: what is usual and what they say, in Mbit/s."""
        named = [(rate, speed) for (_, speed), rate in self.verdict.usual.rates.items() if speed > 0]
        return next((one for one in named if one[0] < _POOR_SHARE * min(one[1], _ENOUGH_MBIT_S)), None)


@dataclass(frozen=True, slots=True)
class NetFinding:
    """What a run finds: of a node, of a leaf switch, of a pair, or of the whole network; ``about`` names it."""

    kind: Literal["node", "leaf", "pair", "all", "silent"]
    severity: Literal["error", "warning", "info"]
    about: tuple[str, ...]
    message: str
    remedy: str = ""
    command: CommandText = ""


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{share * 100:.0f} %"


def findings(run: NetRun) -> list[NetFinding]:
    """All of them, what to do first at the top."""
    verdict = run.verdict
    nodes = [
        NetFinding(
            "node", "error", (run.names[one.node],), run.message(one), _REMEDY[one.state], _commands(run, one.node)
        )
        for one in sorted(verdict.of_state("slow", "unreachable"), key=lambda one: one.share or 0.0)
    ]
    whole: list[NetFinding] = []
    if verdict.common:
        words = f"{verdict.common} of {len(run.names)} nodes are slow with all their partners: a shared cause."
        whole.append(
            NetFinding(
                "all", "error", (), words, "Look at what they share, such as a switch; no single node is to blame."
            )
        )
    if run.apart:
        words = f"No node reaches another one ({run.apart}): it is not known how fast they are."
        whole.append(NetFinding("all", "error", (), words, _LET_THROUGH))
    elif verdict.uneven and run.results:
        words = "Pairs of nodes differ by so much, or so few were measured, that none can be called slow."
        whole.append(NetFinding("all", "warning", (), words, "Run it again on idle nodes, or on more of them."))
    if (poor := run.poor) is not None:
        words = f"All pairs are slow: {gbit(poor[0])} is usual, and the interfaces say {gbit(poor[1])}."
        whole.append(NetFinding("all", "warning", (), words, _NAME_IT))
    leaves = [
        NetFinding("leaf", "error", (one.leaf,), f"{one.slow} of {one.pairs} pairs across it are slow.", _CHECK_LEAF)
        for one in verdict.leaves
        if one.named
    ]
    silent = [
        NetFinding("silent", "warning", (run.names[one.node],), run.message(one), "Check whether it still runs.")
        for one in verdict.of_state("silent")
    ]
    pairs = [
        NetFinding("pair", "info", (run.names[one.a], run.names[one.b]), _pair_words(one), "")
        for one in verdict.slow_pairs
    ]
    return sorted([*whole, *leaves, *nodes, *silent, *pairs], key=lambda one: _ORDER.index(one.severity))


def _pair_words(one: PairResult) -> str:
    found = one.why if one.state == "failed" else f"{gbit(one.rate or 0.0)}"
    return f"Slow with each other ({found}), though both are fast with others: the path between them, or chance."


def _commands(run: NetRun, node: int) -> CommandText:
    face = run.faces.get(node)
    return shell("ethtool {face:interface}; ip -s link show {face:interface}", face=face) if face else ""


def gbit(mbit_s: float) -> str:
    """A rate with its unit."""
    return f"{mbit_s / 1000:.1f} Gbit/s" if mbit_s >= 1000 else f"{mbit_s:.0f} Mbit/s"


def headline(run: NetRun) -> str:
    """The answer in one sentence."""
    found = findings(run)
    bad = [one for one in found if one.severity != "info"]
    if not run.results:
        return "Nothing was measured."
    if bad:
        first = bad[0]
        place = {"node": "", "silent": "", "leaf": "Leaf switch "}.get(first.kind)
        more = f" And {len(bad) - 1} more." if len(bad) > 1 else ""
        about = f"{place}{first.about[0]}: " if place is not None else ""
        return f"{about}{first.message}{more}"
    well = len(run.verdict.of_state("well"))
    unknown = f"; of {len(run.names) - well} it is not known" if well < len(run.names) else ""
    return f"{well} of {len(run.names)} nodes reach another one at the usual rate{unknown}."


def tells(run: NetRun) -> bool:
    """Whether somebody has to do something."""
    return not run.results or any(one.severity == "error" or one.kind == "silent" for one in findings(run))
