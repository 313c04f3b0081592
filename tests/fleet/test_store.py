"""The folder of a fleet: exact replay, hostile lines, and what interrupts a tick."""

from __future__ import annotations

import gzip
import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.fleet import kept_files
from rocdoctor.fleet.memory import from_state
from rocdoctor.fleet.record import MOST_BYTES
from rocdoctor.fleet.store import Batch, Store, StoreError
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.host.base import Answer
from rocdoctor.service.errors import UsageError
from rocdoctor.service.fleet_apply import Acting
from tests.fleet.kit import NOW, line, node, sick

_FATAL = sick("ras-uncorrectable", 2)


def _batch(*lines: str | bytes) -> Batch:
    batch = Batch()
    data = b"".join((one.encode() if isinstance(one, str) else one) + b"\n" for one in lines)
    batch.read_lines(io.BytesIO(data))
    return batch


def _lines(at: int, size: int = 12) -> list[str]:
    fatal = {"n3": (_FATAL,), "n4": (_FATAL,) if at % 1000 == 0 else ()}
    return [line(node(f"n{n}", at, *fatal.get(f"n{n}", ()))) for n in range(size)]


@pytest.fixture
def told(tmp_path: Path) -> tuple[Store, list[FleetVerdict]]:
    """A store with twelve rounds, and what was said after each."""
    store = Store(tmp_path / "fleet")
    return store, [store.tick(_batch(*_lines(NOW + 100 * n), "n9: {"), NOW + 100 * n) for n in range(12)]


def test_every_round_can_be_judged_again_exactly(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, verdicts = told
    assert store.again() == verdicts[-1]
    for number, before in enumerate(verdicts):
        assert store.again(NOW + 100 * number + 50) == before, number
    assert len(list((store.folder / "state").iterdir())) == 8
    with pytest.raises(StoreError, match="no round as early"):
        store.again(NOW - 1)


def test_a_state_that_is_lost_or_damaged_is_made_again(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, verdicts = told
    (store.folder / "state" / "000011.json.gz").write_bytes(b"\x1f\x8b damaged")
    (store.folder / "state" / "000010.json.gz").unlink()
    assert store.again() == verdicts[-1]


_PLACES = (("incoming", "000012.jsonl.gz"), ("rounds", "000013.jsonl.gz"), ("state", "000013.json.gz"))
_HEAD = f'"round": 13, "at": {NOW + 1300}'


_STRANGE = [
    "5",
    "[]",
    f'{{{_HEAD}, "problems": {{"n1": 5}}}}',
    f'{{{_HEAD}, "problems": {{}}, "forget": [{{}}]}}',
    f'{{{_HEAD}, "problems": {"[" * 100_000}',
    *(f'{{{_HEAD}, "problems": {{}}, "net": [[{row}]]}}' for row in ('"n1", 1e999, 1, ""', '"\\u001b[31m", 5, 1, ""')),
    *(f'{{"at": {at}, "problems": {{}}}}' for at in ("1e999", "NaN", "-1", "1" + "0" * 30)),
]


def test_a_strangers_state_counts_for_nothing(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, verdicts = told
    path = store.folder / "state" / "000011.json.gz"
    kept = json.loads(gzip.decompress(path.read_bytes()))
    node = next(iter(kept))
    for field, value in {
        **dict.fromkeys(("at", "missed", "gpus", "sick", "boot", "kind", "ids", "trails"), "x"),
        "trails": {"x": []},
        "different": [["x"]],
        "net": [["x", "y"]],
        "net_at": True,
        "spells": [[]],
        "unsettled": [{}],
        "figures": {"x": [{"values": [10**400], "usual": [1, 2, 3, 4]}]},
    }.items():
        path.write_bytes(gzip.compress(json.dumps({**kept, node: {**kept[node], field: value}}).encode()))
        assert store.again() == verdicts[-1], field
    path.write_bytes(gzip.compress(json.dumps({**kept, "\x1b[31m": kept[node]}).encode()))
    assert store.again() == verdicts[-1]


def test_a_clock_that_jumps_takes_nothing_away(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, verdicts = told
    kept = sorted(path.name for path in (store.folder / "rounds").iterdir())
    with pytest.raises(StoreError, match="h old or older: do new ones come"):
        store.tick(_batch(*_lines(NOW + 1200)), NOW + 10 * 365 * 86400)
    assert sorted(path.name for path in (store.folder / "rounds").iterdir()) == kept
    assert store.again() == verdicts[-1]
    store.tick(_batch(*_lines(NOW + 9000)), NOW + 9000)  # two hours ahead, and the nodes too
    (ahead,) = {path.name for path in (store.folder / "rounds").iterdir()} - set(kept)
    with pytest.raises(StoreError, match=rf"remove rounds/{ahead}$"):
        store.tick(_batch(*_lines(NOW + 1200)), NOW + 1200)
    (store.folder / "rounds" / ahead).unlink()
    assert store.tick(_batch(*_lines(NOW + 1200)), NOW + 1200).told == 12
    assert store.again(NOW + 1100) == verdicts[-1]


def test_what_differs_is_a_check_and_a_sentence_with_cause_and_gpu_or_without() -> None:
    for row in (["x", "y"], ["x", "y", "c", 2], ["x", "y", "", None]):
        assert from_state({"different": [row]}).different == [row]
    wrong: list[Any] = [["x"], ["x", 5], ["x", "y", "c"], ["x", "y", "c", "2"], ["x", "y", "c", True], ["x", "y", 0, 2]]
    for odd in (*wrong, [], {"x": 1, "y": 2}, "xy", 5):
        with pytest.raises(TypeError):
            from_state({"different": [odd]})


def test_a_text_of_brackets_is_not_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda _: pytest.fail("takes thirty times its size in memory"))
    (tmp_path / "1.json.gz").write_bytes(gzip.compress(b'{"n1": [' + b"[]," * (5 << 20) + b"[]]}"))
    with pytest.raises(ValueError, match="more values than a fleet has"):
        kept_files.read_state(tmp_path / "1.json.gz")


def test_a_strangers_round_is_refused_in_words(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, verdicts = told
    for head in _STRANGE:
        (store.folder / "rounds" / "000013.jsonl.gz").write_bytes(gzip.compress(head.encode() + b"\n"))
        with pytest.raises(StoreError, match="round 13 cannot be read"):
            store.again()
    assert store.again(NOW + 1100) == verdicts[-1], "those before it count"


def test_what_waits_or_has_no_number_is_none_of_the_stores(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, verdicts = told
    for kind, name in (("state", "x.json.gz"), ("incoming", "1abc.jsonl.gz"), ("rounds", "\u0663\u0669.jsonl.gz")):
        (store.folder / kind).mkdir(exist_ok=True)
        (store.folder / kind / name).write_bytes(b"")
    state = store.folder / "state" / "000011.json.gz"
    state.unlink()
    os.mkfifo(state)
    assert store.again() == verdicts[-1]
    state.unlink()
    state.write_bytes(gzip.compress(b"[" * 100_000))
    assert store.again() == verdicts[-1]
    store.keep(_batch(*_lines(NOW + 1200)))
    assert store.tick(store.kept(Batch()), NOW + 1200).told == 12
    (store.folder / "rounds" / "900000000000.jsonl.gz").write_bytes(
        gzip.compress(f'{{{_HEAD}, "problems": {{}}}}'.encode())
    )
    with pytest.raises(StoreError, match="no longer kept"):  # at once, whatever number a name has
        store.again()


def test_what_a_killed_tick_left_goes_with_the_next(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, _ = told
    left = [store.folder / kind / f".{name}.0123456789ab" for kind, name in _PLACES]
    kept = store.folder / "rounds" / ".000013.jsonl.gz.other"
    for path in (*left, kept):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    store.tick(_batch(*_lines(NOW + 1300)), NOW + 1300)
    assert [path for path in left if path.exists()] == []
    assert kept.exists(), "somebody else's"


def test_root_reads_no_round_that_others_can_change(
    told: tuple[Store, list[FleetVerdict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = told
    monkeypatch.setattr(kept_files, "privileged", lambda: True)
    (store.folder / "rounds" / "000012.jsonl.gz").chmod(0o666)
    with pytest.raises(StoreError, match="not root's alone"):
        store.again()


def test_files_are_those_of_their_owner_alone(told: tuple[Store, list[FleetVerdict]]) -> None:
    for path in told[0].folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_one_tick_at_a_time_and_none_before_the_last(told: tuple[Store, list[FleetVerdict]]) -> None:
    store, _ = told
    with pytest.raises(StoreError, match="clock of this host"):
        store.tick(_batch(), NOW)
    with store._locked(), pytest.raises(StoreError, match="another tick"):
        store.tick(_batch(), NOW + 10_000)
    assert len(store.rounds()) == 12


def test_records_wait_for_the_next_round(tmp_path: Path) -> None:
    store = Store(tmp_path / "fleet")
    store.keep(_batch(*_lines(NOW)[:6], "n11: {"))
    store.keep(_batch(*_lines(NOW)[6:11]))
    found = store.tick(store.kept(_batch()), NOW)
    assert (found.total, found.told) == (12, 11)
    assert list((store.folder / "incoming").iterdir()) == []


def _hostile() -> list[str | bytes]:
    good = line(node("n1", NOW))
    return [
        line(node("n2", NOW, _FATAL), by="n1"),  # in another node's name
        good[: len(good) // 2],
        "n1: " + "[" * 50_000,
        "n1: " + json.dumps({"schema": "rocdoctor.record/1", "node": "n1"}),
        "n1: " + '{"a": ' + "9" * 10_000 + "}",
        "n1: {" + " " * (MOST_BYTES + 5),
        "../../etc/passwd: {}",
        "no name at all",
        b"n1: {\xff\xfe}",
        b"\x00" * 2000,
    ]


def test_hostile_lines_cost_their_own_node_alone(tmp_path: Path) -> None:
    """Each among the lines of eleven sound nodes; n2, in whose name one of them speaks, is one of these."""
    others = [one for one in _lines(NOW) if not one.startswith(("n1:", "n3:", "n4:"))]
    for number, bad in enumerate(_hostile()):
        found = Store(tmp_path / str(number)).tick(_batch(*others[:4], bad, *others[4:]), NOW)
        assert found.told == 9, bad[:40]
        assert {one.node for one in found.nodes} <= {"n1"}, bad[:40]
        assert [one.proposal for one in found.nodes] in ([], ["none"])
    assert not (tmp_path.parent / "etc").exists()


def test_a_line_without_end_is_not_held() -> None:
    class Endless(io.RawIOBase):
        left = 64

        def readline(self, size: int | None = -1) -> bytes:
            self.left -= 1
            assert size is not None
            return (b"n1: {" + b"x" * size)[:size] if self.left > 0 else b""

    batch = Batch()
    batch.read_lines(Endless())
    assert batch.problems == {"n1": "larger than a record may be"}


def test_names_without_end_are_no_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whether they come as lines or as files; nodes that are known by then are heard all the same."""
    monkeypatch.setattr("rocdoctor.fleet.store._MOST_NODES", 3)
    batch = _batch(line(node("n1", NOW)), "n2: {", "n3: {", "n4: {", line(node("n5", NOW)), line(node("n2", NOW)))
    assert sorted(batch.records) == ["n1", "n2"]
    assert sorted(batch.problems) == ["n2", "n3"]
    assert batch.beyond == 2
    for number in range(5):
        (tmp_path / f"m{number}.json").write_text("{")
    batch = Batch()
    batch.read(tmp_path)
    assert sorted(batch.problems) == ["m0", "m1", "m2"]
    assert batch.beyond == 2


def test_of_two_records_of_a_node_the_newer_counts() -> None:
    old, new = line(node("n1", NOW, _FATAL)), line(node("n1", NOW + 5))
    for lines in ((old, new), (new, old)):
        assert _batch(*lines).records["n1"].taken_at == NOW + 5


def test_a_folder_of_records_is_read_by_the_names_of_its_files(tmp_path: Path) -> None:
    def write(name: str, text: str) -> None:
        (tmp_path / name).write_text(text)

    write("n1.json", line(node("n1", NOW)).partition(": ")[2])
    write("n2.json", line(node("n1", NOW)).partition(": ")[2])
    write("-x.json", "{}")
    write("n1.txt", "{}")
    os.mkfifo(tmp_path / "n3.json")
    (tmp_path / "n4.json").symlink_to(tmp_path / "n1.json")
    write("n5.json", " " * (MOST_BYTES + 2))
    batch = Batch()
    batch.read(tmp_path)
    assert list(batch.records) == ["n1"]
    assert set(batch.problems) == {"n2", "n3", "n4", "n5"}
    assert batch.problems["n2"] == "speaks for another node"


def test_a_record_of_many_lines_is_judged_again_as_it_was(tmp_path: Path) -> None:
    data = json.loads(line(node("n2", NOW, _FATAL)).partition(": ")[2])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n2.json").write_text(json.dumps(data, indent=1).replace("\n", "\r\n"))
    (tmp_path / "in" / "n1.json").write_text(line(node("n1", NOW)).partition(": ")[2])
    batch, store = Batch(), Store(tmp_path / "fleet")
    batch.read(tmp_path / "in")
    found = store.tick(batch, NOW)
    assert (found.told, batch.problems) == (2, {})
    assert store.again() == found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away")
def test_root_keeps_no_fleet_where_others_can_change_it(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    store = Store(mine)
    store.tick(_batch(*_lines(NOW)), NOW)
    for name in ("", "rounds", "state", "actions.jsonl"):
        place = mine / name
        if name == "actions.jsonl":
            place.touch()
        os.chown(place, 65534, 65534)
        with pytest.raises(StoreError, match="belongs to user 65534"):
            store.tick(_batch(*_lines(NOW + 300)), NOW + 300)
        with pytest.raises(StoreError, match="belongs to user 65534"):
            store.again()
        os.chown(place, 0, 0)
    mine.chmod(0o777)
    with pytest.raises(StoreError, match="can be changed by everybody"):
        store.again()
    mine.chmod(0o700)
    assert store.tick(_batch(*_lines(NOW + 300)), NOW + 300).told == 12


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    for name in ("lock", "actions.lock"):
        (tmp_path / name).symlink_to(tmp_path / "planted")
    with pytest.raises(StoreError):
        Store(tmp_path).tick(_batch(*_lines(NOW)), NOW)
    with pytest.raises(UsageError):
        Acting(tmp_path, lambda _: Answer("q", "ok")).undo()
    assert not (tmp_path / "planted").exists()


def test_a_full_disk_leaves_the_rounds_that_were_there(
    told: tuple[Store, list[FleetVerdict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, verdicts = told

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rocdoctor.fleet.store.write_new", full)
    with pytest.raises(StoreError, match="No space left"):
        store.tick(_batch(*_lines(NOW + 5000)), NOW + 5000)
    monkeypatch.undo()
    assert store.again() == verdicts[-1]
    assert store.tick(_batch(*_lines(NOW + 5000)), NOW + 5000).told == 12


def test_a_link_does_not_speak_for_a_node(tmp_path: Path) -> None:
    """A record in the shape of another name is refused whatever file it stands in."""
    batch = Batch()
    batch.add("n7", json.dumps({**json.loads(line(node("n8", NOW)).partition(": ")[2])}))
    assert batch.problems == {"n7": "speaks for another node"}
    assert replace(node("n8", NOW), node="n7").node == "n7"


def test_two_machines_of_one_name_are_said() -> None:
    """The newest record counts, and whoever named two machines alike learns of it."""
    first, other = node("n1", NOW), replace(node("n1", NOW + 1), boot="b-0000000000000000")
    batch = _batch(line(first), line(other), line(node("n2", NOW)), line(node("n2", NOW + 300)), line(node("n3", NOW)))
    assert batch.records["n1"].boot == other.boot
    assert batch.came() == "3 records, 1 name has records of different boots, of which the newest counts (n1)"
    same = _batch(line(first), line(first))
    assert same.came() == "1 records"
    same.read_lines(io.BytesIO(f"{line(other)}\n".encode()))
    assert same.came() == "1 records", "a node that was restarted between two rounds"
