"""What is thinned, in which order, and that whatever is left is judged as it was."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.fleet.retention import KeptRound, Retention, begins, too_large, too_old
from rocdoctor.fleet.store import Batch, Store, StoreError
from rocdoctor.fleet.verdicts import FleetVerdict
from tests.examples import examples
from tests.fleet.kit import line, node, sick

_DAY = 86400
_BEGIN = 1_795_478_400  # midnight


def _rounds(days: int, every_s: int = 300) -> list[KeptRound]:
    return [KeptRound(n + 1, _BEGIN + n * every_s) for n in range(days * _DAY // every_s)]


def test_two_days_whole_then_hours_then_days() -> None:
    rounds = _rounds(400, 1200)
    now = rounds[-1].at
    gone = set(too_old(rounds, now, Retention(newest=10)))
    ages = [(now - one.at) / _DAY for one in rounds if one.number not in gone]
    assert sum(age <= 2 for age in ages) == 2 * 72 + 1
    assert 28 * 24 - 2 <= sum(2.1 < age <= 30 for age in ages) <= 28 * 24
    assert 334 <= sum(30.1 < age <= 366 for age in ages) <= 336
    assert max(ages) < 366.1


def test_the_newest_stay_whatever_the_clock_says() -> None:
    rounds = _rounds(3)
    kept = {one.number for one in rounds} - set(too_old(rounds, rounds[-1].at + 5000 * _DAY, Retention()))
    assert kept >= {one.number for one in rounds[-600:]}
    assert len(kept) < 612


def test_the_oldest_hours_go_where_there_is_too_much() -> None:
    rounds = _rounds(1, 1200)
    sizes = {one.number: 10 for one in rounds}
    assert too_large(rounds, sizes, 720) == []
    assert too_large(rounds, sizes, 715) == [3, 2, 1]
    assert len(too_large(rounds, sizes, 0)) == 69, "the last hour stays"


@examples(60)
@given(st.lists(st.integers(0, 9000), min_size=1, max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_wherever_it_is_interrupted_each_hour_is_whole_up_to_its_last_round(
    gaps: list[int], newest: int, stop: int
) -> None:
    at, rounds = _BEGIN, []
    for n, gap in enumerate(gaps):
        at += gap
        rounds.append(KeptRound(n + 1, at))
    keep = Retention(3600, 7200, 14400, newest)
    gone = too_old(rounds, at, keep)
    left = [one for one in rounds if one.number not in gone[:stop]]
    for hour in {one.hour for one in left}:
        members = [one.number for one in rounds if one.hour == hour]
        there = [one.number for one in left if one.hour == hour]
        assert there == members[: len(there)]
    done = [one for one in rounds if one.number not in gone]
    assert too_old(done, at, keep) == [], "once is enough"


def _filled(folder: Path, keep: Retention, rounds: int = 40) -> tuple[Store, dict[int, FleetVerdict]]:
    """A store with a round each 900 s, in which nodes come and go bad."""
    store, said = Store(folder, keep), {}
    for number in range(rounds):
        at = _BEGIN + 900 * number
        batch = Batch()
        for n in range(11):
            bad = (sick("ras-uncorrectable", 2),) if n == 3 or (n == 4 and number % 7 < 3) else ()
            batch.read_lines(io.BytesIO(line(node(f"n{n}", at, *bad)).encode()))
        said[at] = store.tick(batch, at)
    return store, said


_SHORT = Retention(7200, 6 * 3600, _DAY, newest=4)


def test_what_is_left_is_judged_as_it_was(tmp_path: Path) -> None:
    store, said = _filled(tmp_path / "fleet", _SHORT)
    left = store._times()
    assert len(left) < 22
    assert len(begins(left)) > 6
    for one in left:
        assert store.again(one.at) == said[one.at], one
    states = {int(path.name[:6]) for path in (store.folder / "state").iterdir()}
    assert len(states) < 8 + 12
    assert {path.suffix for path in store.folder.rglob("*") if path.is_file()} == {".gz", ""}, "nothing half written"


def test_a_lost_state_is_made_again_before_its_rounds_go(tmp_path: Path) -> None:
    store, said = _filled(tmp_path / "fleet", Retention(), 12)
    for path in (store.folder / "state").iterdir():
        if int(path.name[:6]) < 11:
            path.unlink()
    short = Store(store.folder, _SHORT)
    short.tick(Batch(), _BEGIN + 5 * 3600)
    left = short._times()
    assert [one.number for one in left] == [1, 5, 9, 10, 11, 12, 13]
    for one in left[:-1]:
        assert short.again(one.at) == said[one.at], one


def test_a_store_stays_below_its_size(tmp_path: Path) -> None:
    store, said = _filled(tmp_path / "fleet", Retention(most_bytes=12_000), 24)
    total = sum(path.stat().st_size for path in store.folder.rglob("*.gz"))
    assert total < 12_000 + 8 * 4_000, "the states of the last rounds come on top"
    assert store.again() == said[_BEGIN + 900 * 23]
    with pytest.raises(StoreError, match="no round as early"):
        store.again(_BEGIN)


def test_a_damaged_round_is_said_and_harms_no_other(tmp_path: Path) -> None:
    store, said = _filled(tmp_path / "fleet", _SHORT, 6)
    (store.folder / "rounds" / "000002.jsonl.gz").write_bytes(b"\x1f\x8b no")
    store.tick(Batch(), _BEGIN + 900 * 6)
    assert store.again(_BEGIN + 900 * 5) == said[_BEGIN + 900 * 5]
