"""``python -m tools.smoke_census``: plants every known kind of fault, and counts what the smoke tests make of it.

The kinds stand in ``tests/train/smoke/kinds.txt``, each with the rank and the layer that are right. Four shares are
printed, and every row that is not as it should be: faults caught; the guilty rank named, of those at one rank; the
right layer named, of those caught; healthy ranks accused. Then those that took more than two seconds beyond their
deadline, and processes that were left. Where every rank is wrong alike by what an exchange brought, the modes that are
nothing but exchanges are run beside it, as in each run of a user's. Run it in a checkout.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rocdoctor.host import output
from rocdoctor.parsers.own.smoke_results import ModeResult
from rocdoctor.train.smoke.worker.mode import all_modes
from tests.train.smoke import kit
from tests.train.smoke.kinds import Planted, kinds

_LIMIT_S = 12.0
_LATE_S = 2.0
# What each run of the quick set has, beside any mode that trains.
_BESIDE = ("compute", "all-reduce", "one-to-all", "all-gather", "reduce-scatter")
# So many faults are put into one set of ranks: each wraps what those before it have wrapped.
_AT_ONCE = 24


@dataclass(frozen=True, slots=True)
class Counted:
    """A planted fault with what came of it."""

    planted: Planted
    found: ModeResult
    limit_s: float = _LIMIT_S
    left: int = 0  # processes

    @property
    def caught(self) -> bool:
        return self.found.state in ("fail", "crashed")

    @property
    def late(self) -> bool:
        """It took much longer than it may."""
        return self.found.wall_s > self.limit_s + _LATE_S

    @property
    def single(self) -> bool:
        """Whether one rank is guilty."""
        return self.planted.rank != "all"

    @property
    def rank_right(self) -> bool:
        """The guilty rank is among those named, beside none but the other end of a way, and not as one of all."""
        named = set(self.found.named)
        ways = {self.planted.rank, *self.planted.beside}
        alone = named == {self.planted.rank}
        return self.planted.rank in named and named <= ways and (alone or len(named) < self.planted.world)

    @property
    def accuses_healthy(self) -> bool:
        """A rank is named that has nothing to do with it; to name all of them accuses nobody."""
        named = set(self.found.named)
        return (
            self.single and len(named) < self.planted.world and bool(named - {self.planted.rank, *self.planted.beside})
        )

    @property
    def layer_right(self) -> bool:
        """What the fault is."""
        return self.found.layer == self.planted.layers[0]

    @property
    def layer_possible(self) -> bool:
        """Or what nobody can tell from it by what is seen."""
        return self.found.layer in self.planted.layers

    def line(self) -> str:
        one, seen = self.planted, self.found
        named = ",".join(map(str, seen.named)) or "none"
        layers = "/".join(each or "none" for each in one.layers)
        return (
            f"{one.name} at {one.rank} of {one.world} in {one.mode} ({layers}): "
            f"{seen.state}, named {named}, {seen.layer or 'no layer'}: {seen.message[:200]}"
        )


def planted_all(rows: Sequence[Planted], told: Callable[[Counted], None]) -> Iterator[Counted]:
    """Plant them: many on one set of ranks, one world after the other, and those that need their own alone."""
    for world in sorted({one.world for one in rows}):
        many = [one for one in rows if one.world == world and not one.alone]
        for first in range(0, len(many), _AT_ONCE):
            part = many[first : first + _AT_ONCE]
            cases = [(one.fault, one.rank, one.mode) for one in part]
            results = kit.planted_in_turn(cases, world, _LIMIT_S)
            left = len(kit.processes())
            for one, found in zip(part, results, strict=True):
                counted = _weighed(Counted(one, found, left=left if one is part[-1] else 0))
                told(counted)
                yield counted
    slow = {mode.name: mode.slow for mode in all_modes()}
    for one in (one for one in rows if one.alone):
        found = kit.planted_for_all_modes(one.fault, one.rank, one.mode, one.world, _LIMIT_S)
        counted = _weighed(Counted(one, found, _LIMIT_S * slow[one.mode], len(kit.processes())))
        told(counted)
        yield counted


def _weighed(one: Counted) -> Counted:
    """The verdict that users see, whose run has other modes that tell of this one."""
    alike = one.caught and one.found.layer == "collectives" and len(one.found.named) == one.planted.world
    if not alike or one.planted.mode in _BESIDE:
        return one
    planted = one.planted
    modes = (*_BESIDE, planted.mode)
    found = kit.planted_beside(planted.fault, planted.rank, modes, planted.world, _LIMIT_S)
    again = next((each for each in found if each.mode == planted.mode), one.found)
    return replace(one, found=again, left=one.left + len(kit.processes()))


def shares(rows: Sequence[Counted]) -> list[str]:
    """The counts in words; what does not apply where the fault was planted is no miss, and is listed by itself."""
    tried = [one for one in rows if one.found.state not in ("not-applicable", "unknown")]
    caught = [one for one in tried if one.caught]
    single = [one for one in caught if one.single]
    lines = [
        f"{len(tried)} planted faults of {len({one.planted.name for one in tried})} kinds",
        _share("caught", sum(one.caught for one in tried), len(tried)),
        _share("guilty rank named", sum(one.rank_right for one in single), len(single)),
        _share("layer right", sum(one.layer_right for one in caught), len(caught)),
        _share("layer right or not to be told from it", sum(one.layer_possible for one in caught), len(caught)),
        f"healthy ranks accused: {sum(one.accuses_healthy for one in single)} of {len(single)}",
        f"more than {_LATE_S:g} s beyond the deadline: {sum(one.late for one in rows)} of {len(rows)}; "
        f"processes left: {sum(one.left for one in rows)}",
    ]
    for title, wrong in (
        ("not caught", [one for one in tried if not one.caught]),
        ("healthy rank accused", [one for one in single if one.accuses_healthy]),
        ("guilty rank not named", [one for one in single if not one.rank_right and not one.accuses_healthy]),
        ("wrong layer", [one for one in caught if not one.layer_possible]),
        ("layer that could be right", [one for one in caught if one.layer_possible and not one.layer_right]),
        ("late, or processes left", [one for one in rows if one.late or one.left]),
        ("does not apply", [one for one in rows if one not in tried]),
    ):
        lines += [f"{title}:" for _ in wrong[:1]] + [f"  {one.line()}" for one in wrong]
    return lines


def _share(what: str, many: int, of: int) -> str:
    return f"{what}: {many} of {of}" + (f" ({100 * many / of:.0f} %)" if of else "")


def main() -> int:
    """Run them; exit status 1 when a fault was missed, a healthy rank accused, or a process left."""
    parser = argparse.ArgumentParser(prog="python -m tools.smoke_census", description=__doc__)
    parser.add_argument("--world", type=int, default=0, help="rows on so many ranks (all)")
    parser.add_argument("--only", default="", help="faults or modes with one of these words, separated by commas")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every nth row (1)")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]
    rows = [one for one in kinds() if options.world in (0, one.world)]
    rows = [one for one in rows if not words or any(word in f"{one.name} {one.mode}" for word in words)]
    began = time.monotonic()
    found = list(planted_all(rows[:: options.every], lambda one: print(one.line(), file=sys.stderr, flush=True)))
    for line in shares(found):
        output.line(line)
    output.line(f"{time.monotonic() - began:.0f} s")
    return 0 if all(one.caught and not one.accuses_healthy and not one.left for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
