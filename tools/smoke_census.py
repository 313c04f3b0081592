"""``python -m tools.smoke_census``: plants every known kind of fault, and counts what the smoke tests make of it.

The kinds stand in ``tests/train/smoke/kinds.txt``, each with the rank and the layer that are right. Four shares are
printed, and every row that is not as it should be: faults caught; the guilty rank named, of those at one rank; the
right layer named, of those caught; healthy ranks accused. Run it in a checkout.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rocdoctor.host import output
from rocdoctor.parsers.own.smoke_results import ModeResult
from tests.train.smoke import kit
from tests.train.smoke.kinds import Planted, kinds

_LIMIT_S = 12.0
# So many faults are put into one set of ranks: each wraps what those before it have wrapped.
_AT_ONCE = 24


@dataclass(frozen=True, slots=True)
class Counted:
    """A planted fault with what came of it."""

    planted: Planted
    found: ModeResult

    @property
    def caught(self) -> bool:
        return self.found.state in ("fail", "crashed")

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
            for one, found in zip(part, kit.planted_in_turn(cases, world, _LIMIT_S), strict=True):
                told(Counted(one, found))
                yield Counted(one, found)
    for one in (one for one in rows if one.alone):
        counted = Counted(one, kit.planted_for_all_modes(one.fault, one.rank, one.mode, one.world, _LIMIT_S))
        told(counted)
        yield counted


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
    ]
    for title, wrong in (
        ("not caught", [one for one in tried if not one.caught]),
        ("healthy rank accused", [one for one in single if one.accuses_healthy]),
        ("guilty rank not named", [one for one in single if not one.rank_right and not one.accuses_healthy]),
        ("wrong layer", [one for one in caught if not one.layer_possible]),
        ("layer that could be right", [one for one in caught if one.layer_possible and not one.layer_right]),
        ("does not apply", [one for one in rows if one not in tried]),
    ):
        lines += [f"{title}:" for _ in wrong[:1]] + [f"  {one.line()}" for one in wrong]
    return lines


def _share(what: str, many: int, of: int) -> str:
    return f"{what}: {many} of {of}" + (f" ({100 * many / of:.0f} %)" if of else "")


def main() -> int:
    """Run them; exit status 1 when a fault was missed or a healthy rank accused."""
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
    return 0 if all(one.caught and not one.accuses_healthy for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
