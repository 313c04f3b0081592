"""Figure 3: slow GPUs in simulated figures, three kinds of nodes of which a third has older firmware."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from rocdoctor.fleet.statistics import confirmed, suspects, usual
from tools.fleet_acceptance.rows import Row, Setting, most, none, share

_LEAST = {0.07: 0.95, 0.10: 0.99, 0.15: 1.0}
_SEEDS, _EACH, _NODES = 5, 80, 10_000
_MIDDLES = (610.0, 1270.0, 720.0)


def figure(setting: Setting) -> Iterator[Row]:
    """Five seeds, 80 GPUs of each slowness in each."""
    caught, accused, again, nodes = dict.fromkeys(_LEAST, 0), list[str](), 0, 0
    for seed in range(setting.seed, setting.seed + _SEEDS):
        found, planted, extra = _sweeps(Random(seed), _NODES)
        again, nodes = again + extra, nodes + _NODES
        accused += [f"{seed}:{node}" for node in found if node not in planted]
        for node, (gpu, less) in planted.items():
            caught[less] += gpu in found.get(node, ())
    for less, least in _LEAST.items():
        yield share(f"GPUs that are {less * 100:.0f} % slow, found", caught[less], _SEEDS * _EACH, least)
    yield none(f"sound nodes accused, of {nodes}", accused)
    yield most("nodes measured twice more, of all", again / nodes * 100, 10, " %")


def _sweeps(random: Random, count: int) -> tuple[dict[str, list[int | None]], dict[str, tuple[int, float]], int]:
    groups: dict[tuple[int, bool], list[str]] = {}
    true: dict[str, list[float]] = {}
    for number in range(count):
        name = f"n{number}"
        kind, old = random.choices((0, 1, 2), (5, 3, 2))[0], random.random() < 0.3
        groups.setdefault((kind, old), []).append(name)
        middle = _MIDDLES[kind] * random.gauss(1, 0.010) * (0.97 if old else 1.0)
        true[name] = [middle * random.gauss(1, 0.008) for _ in range(8)]
    planted = {}
    for at, name in enumerate(random.sample(sorted(true), len(_LEAST) * _EACH)):
        less, gpu = tuple(_LEAST)[at % len(_LEAST)], random.randrange(8)
        planted[name] = (gpu, less)
        true[name][gpu] *= 1 - less

    def sweep(names: Sequence[str]) -> Mapping[str, list[float]]:
        return {name: [one * random.gauss(1, 0.007) for one in true[name]] for name in names}

    found: dict[str, list[int | None]] = {}
    extra = 0
    for names in groups.values():
        first = sweep(names)
        among = usual(first)
        assert among is not None
        named = sorted({one.node for one in suspects(first, among)})
        extra += len(named) * 2
        looks = [first, sweep(named), sweep(named)]
        for name in named:
            if slow := confirmed([(one, among) for one in looks], name):
                found[name] = [one.gpu for one in slow]
    return found, planted, extra
