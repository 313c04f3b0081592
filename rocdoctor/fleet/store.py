"""The folder of a fleet: what each round brought, and what was kept after it. Any round can be judged again, exactly.

    rounds/000001.jsonl.gz   {"round": 1, "at": 1795527600}, then what engines brought, line by line
    state/000001.json.gz     what is kept of each node after that round
    incoming/                records that wait for the next round

Old rounds are thinned by the hour (retention.py). Every file is written beside and then renamed; a round that was
interrupted leaves nothing.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rocdoctor.fleet.changes import Changes, changes
from rocdoctor.fleet.judge import Incoming, Memories, judge
from rocdoctor.fleet.kept_files import DAMAGED, numbered, opened_round, read_state, unfinished
from rocdoctor.fleet.memory import as_state, from_state
from rocdoctor.fleet.net.read_net import MOST_BYTES as MOST_NET
from rocdoctor.fleet.net.read_net import NetLook, as_row, read_net
from rocdoctor.fleet.read_record import NODE, RecordError, RecordReader, tagged
from rocdoctor.fleet.record import MOST_BYTES, NodeRecord
from rocdoctor.fleet.retention import KeptRound, Retention, begins, too_large, too_old
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.host.live.folder_names import names_in
from rocdoctor.host.live.new_file import write_new
from rocdoctor.host.live.only_one import only_one
from rocdoctor.host.live.regular_files import open_regular, read_regular
from rocdoctor.host.live.trust import privileged, weaknesses

_KEPT_STATES = 8
_MOST_NODES = 100_000
_MOST_NAMES = 4 * _MOST_NODES  # in a folder of records, where each node may write
_DAY_S = 86400
_STALE_S = _DAY_S  # older ones say nothing of now (judge.py)
_LEVEL = 1
_LINE_ENDS = str.maketrans("\r\n", "  ")
_PLACES = ("", "rounds", "state", "incoming", "lock", "actions.lock", "actions.jsonl")


class StoreError(Exception):
    """Why the folder cannot be used, in a few words."""


class Batch:
    """What engines brought: one line for each node, the newest; a line that is no record costs its own node alone."""

    def __init__(self, reader: RecordReader | None = None) -> None:
        self.lines: dict[str, bytes] = {}
        self.records: dict[str, NodeRecord] = {}
        self.problems: dict[str, str] = {}
        self.forget: tuple[str, ...] = ()  # nodes of which nothing earlier is to count
        self.net: list[NetLook] = []  # what runs of pairs say of nodes
        self.unnamed = 0  # lines that do not even say whose they are
        self.beyond = 0  # what came of more nodes than a fleet has
        self.doubles: dict[str, None] = {}  # nodes of which one source brought records that are not of one boot
        self.waiting: list[Path] = []  # files that have been taken in once a round holds them
        self._reader = RecordReader() if reader is None else reader
        self._nodes: set[str] = set()
        self._boots: dict[str, str | None] = {}  # of what the present source brought

    def take(self, line: bytes) -> None:
        """A line as engines tag it: ``gpu0012: {...}``."""
        try:
            text = line.decode("utf-8")
            node, text = tagged(text)
        except (RecordError, UnicodeDecodeError):
            self.unnamed += bool(line.strip())
            return
        self.add(node, text)

    def add(self, node: str, text: str) -> None:
        """What a node says of itself."""
        if self._too_many(node):
            return
        try:
            record = self._reader.read(text, node)
        except RecordError as error:
            self.problem(node, str(error))
            return
        if self._boots.setdefault(node, record.boot) != record.boot:
            self.doubles[node] = None
        before = self.records.get(node)
        if before is None or record.taken_at > before.taken_at:
            self.records[node] = record
            # A round has a line for each; line ends of JSON stand between its words alone.
            self.lines[node] = f"{node}: {text.translate(_LINE_ENDS).strip()}\n".encode()

    def problem(self, node: str, why: str) -> None:
        """Why there is no record of a node."""
        if node in self.problems or not self._too_many(node):
            self.problems.setdefault(node, why)

    def _too_many(self, node: str) -> bool:
        """Whether it would be one node more than a fleet has: names may be anything, and without end."""
        if node not in self._nodes:
            if len(self._nodes) >= _MOST_NODES:
                self.beyond += 1
                return True
            self._nodes.add(node)
        return False

    def read(self, path: Path) -> None:
        """A folder of records, each called after its node, or a file of tagged lines; raises OSError for neither.

        Or what `fleet net --json` wrote, where it is named itself: into the folder all nodes may write.
        """
        if not path.is_dir():
            if self._read_net(path):
                return
            with open_regular(path) as stream:
                self.read_lines(stream)
            return
        for name in sorted(names_in(str(path), _MOST_NAMES)):
            each = path / name
            if each.suffix == ".json" and NODE.fullmatch(each.stem) and not self._too_many(each.stem):
                try:
                    self.add(each.stem, read_regular(each, MOST_BYTES).decode("utf-8"))
                except (OSError, UnicodeDecodeError) as error:
                    self.problem(each.stem, f"cannot be read: {getattr(error, 'strerror', None) or 'not a text'}")

    def _read_net(self, path: Path) -> bool:
        """Whether the file is such a document; of a file of lines, the first of them names a node."""
        with open_regular(path) as stream:
            if stream.read(64).lstrip()[:1] != b"{":
                return False
        try:
            self.net += read_net(read_regular(path, MOST_NET))
        except (RecordError, OSError):
            return False
        return True

    def read_lines(self, stream: Any) -> None:
        """Tagged lines; one that is longer than any record is passed over without being held."""
        self._boots.clear()
        most = MOST_BYTES + 300
        while line := stream.readline(most):
            if len(line) == most and not line.endswith(b"\n"):
                head = line[:300]
                while (rest := stream.readline(most)) and not rest.endswith(b"\n"):
                    pass
                with contextlib.suppress(RecordError):
                    self.problem(tagged(head.decode("utf-8", errors="replace"))[0], "larger than a record may be")
                continue
            self.take(line)

    def came(self) -> str:
        """How many records came, and what is wrong with the rest, in words."""
        words = [f"{len(self.records)} records"]
        bad = [node for node in self.problems if node not in self.records]
        if bad:
            words.append(f"{len(bad)} unreadable (e.g. {bad[0]}: {self.problems[bad[0]]})")
        if self.unnamed:
            words.append(f"{self.unnamed} lines without a node name")
        if self.beyond:
            words.append(f"{self.beyond} of more nodes than a fleet has, not read")
        if self.doubles:
            names = [*self.doubles][:3] + ["..."] * (len(self.doubles) > 3)
            told = f"{len(self.doubles)} {'name has' if len(self.doubles) == 1 else 'names have'}"
            words.append(f"{told} records of different boots, of which the newest counts ({', '.join(names)})")
        return ", ".join(words)

    def incoming(self) -> Incoming:
        """What a round starts from."""
        problems = {node: why for node, why in self.problems.items() if node not in self.records}
        return Incoming(self.records, problems, self.forget, tuple(self.net))


class Store:
    """A folder with the rounds of one fleet."""

    def __init__(self, folder: Path, keep_for: Retention | None = None) -> None:
        self.folder, self.keep_for = folder, keep_for or Retention()

    def rounds(self) -> list[int]:
        """The numbers of all rounds, in order."""
        return list(numbered(self.folder / "rounds"))

    def tick(self, batch: Batch, now: int) -> FleetVerdict:
        """Judge what came as a new round and keep it; one process at a time. Raises StoreError."""
        with self._locked():
            last = self.rounds()[-1:]
            number = last[0] + 1 if last else 1
            self._refuse_clock(batch, last, now)
            memories = self._state(number - 1)
            verdict = judge(memories, batch.incoming(), now)
            head = {"round": number, "at": now, **_head_of(batch)}
            body = b"".join([json.dumps(head).encode() + b"\n", *(batch.lines[node] for node in sorted(batch.lines))])
            self._write("state", number, _as_bytes({node: as_state(one) for node, one in memories.items()}))
            self._write("rounds", number, body, ".jsonl.gz")
            for path in batch.waiting:
                path.unlink(missing_ok=True)
            self._thin(now)
            return verdict

    def _refuse_clock(self, batch: Batch, last: Sequence[int], now: int) -> None:
        """A clock that jumped ahead would thin all that is kept; one that was ahead leaves a round of times to come."""
        if last and now < (before := self._head(last[0])):
            name = self._path("rounds", last[0], ".jsonl.gz").relative_to(self.folder)
            words = f"the last round was {before - now} s later than this: is the clock of this host right?"
            raise StoreError(f"{words} If it is, and was not then, remove {name}")
        newest = max((one.taken_at for one in batch.records.values()), default=now)
        if last and now - newest > _STALE_S:
            hours = (now - newest) // 3600
            raise StoreError(
                f"all records are {hours} h old or older: do new ones come, and is this host's clock right?"
            )

    def _thin(self, now: int) -> None:
        """Delete rounds that are old, and states that no round begins from. What interrupts it loses nothing else."""
        for path in (one for kind in ("incoming", "rounds", "state") for one in unfinished(self.folder / kind)):
            path.unlink(missing_ok=True)
        rounds = self._times()
        gone = too_old(rounds, now, self.keep_for)
        left = [one for one in rounds if one.number not in set(gone)]
        gone += too_large(left, {one.number: self._size(one.number) for one in left}, self.keep_for.most_bytes)
        self._mend({number for number in begins(rounds) if number not in set(gone)})
        for number in gone:
            self._path("rounds", number, ".jsonl.gz").unlink(missing_ok=True)
        left = [one for one in left if one.number not in set(gone)]
        needed = {number - 1 for number in begins(left)}
        for number, old in [*numbered(self.folder / "state").items()][:-_KEPT_STATES]:
            if number not in needed:
                old.unlink(missing_ok=True)

    def _mend(self, firsts: set[int]) -> None:
        """States that hours begin from and that are lost are made again, as long as there are rounds to do it from."""
        for number in sorted(firsts - {1}):
            if not self._path("state", number - 1).exists():
                with contextlib.suppress(StoreError):
                    memories = self._state(number - 1)
                    self._write("state", number - 1, _as_bytes({node: as_state(one) for node, one in memories.items()}))

    def _times(self) -> list[KeptRound]:
        """All rounds that can be read. Raises StoreError."""
        found: list[KeptRound] = []
        for number in self.rounds():
            with contextlib.suppress(StoreError):
                found.append(KeptRound(number, self._head(number)))
        return found

    def _size(self, number: int) -> int:
        """The bytes of a round and of what it is judged from."""
        found = 0
        for path in (self._path("rounds", number, ".jsonl.gz"), self._path("state", number - 1)):
            with contextlib.suppress(OSError):
                found += path.stat().st_size
        return found

    def keep(self, batch: Batch) -> None:
        """Put records aside for the next tick. Raises StoreError."""
        with self._locked():
            lines = [batch.lines[node] for node in sorted(batch.lines)]
            head = json.dumps(_head_of(batch)).encode() + b"\n"
            number = max(numbered(self.folder / "incoming"), default=0) + 1
            self._write("incoming", number, head + b"".join(lines), ".jsonl.gz")

    def kept(self, batch: Batch) -> Batch:
        """The batch with what was put aside before."""
        self.safe()
        for path in numbered(self.folder / "incoming").values():
            try:
                with opened_round(path) as (head, stream):
                    batch.read_lines(stream)
            except DAMAGED:
                continue  # its nodes are missing from this round, which is said of them
            for node, why in head.problems.items():
                batch.problem(node, why)
            batch.forget += head.forget
            batch.net += head.net
            batch.waiting.append(path)
        return batch

    def again(self, at: int | None = None) -> FleetVerdict:
        """The verdict of the last round that was not after ``at``, judged once more from what came."""
        self.safe()
        numbers = self.rounds() if at is None else [one.number for one in self._times() if one.at <= at]
        if not numbers:
            raise StoreError("no round yet" if at is None else "no round as early as that")
        return self._judge_again(numbers[-1], self._state(numbers[-1] - 1))

    def since(self, at: int | None = None) -> Changes:
        """What has changed between the last round that was not after ``at`` (a day before the last) and the last."""
        self.safe()
        times = self._times()
        if not times:
            raise StoreError("no round yet")
        at = times[-1].at - _DAY_S if at is None else at
        before = [one.number for one in times if one.at <= at] or [times[0].number]
        reader = RecordReader()  # equal traits are one object, in both
        old, new = Batch(reader), Batch(reader)
        was = self._judge_again(before[-1], self._state(before[-1] - 1), old)
        now = self._judge_again(times[-1].number, self._state(times[-1].number - 1), new)
        return changes(was, now, old.records, new.records)

    def _judge_again(self, number: int, memories: Memories, batch: Batch | None = None) -> FleetVerdict:
        batch = Batch() if batch is None else batch
        at, problems = self._opened(number, batch)
        batch.problems.update(problems)
        return judge(memories, batch.incoming(), at)

    def _head(self, number: int) -> int:
        return self._opened(number)[0]

    def _opened(self, number: int, batch: Batch | None = None) -> tuple[int, dict[str, str]]:
        """When a round was and what it says of records that cannot be read; the others go into ``batch``."""
        try:
            with opened_round(self._path("rounds", number, ".jsonl.gz")) as (head, stream):
                if not head.at:
                    raise ValueError("no time")
                if batch is not None:
                    batch.forget, batch.net = head.forget, head.net
                    batch.read_lines(stream)
            return head.at, head.problems
        except FileNotFoundError:
            raise StoreError(f"round {number} is no longer kept") from None
        except DAMAGED as error:
            why = f": {error}" if isinstance(error, PermissionError) else ""
            raise StoreError(f"round {number} cannot be read{why}") from None

    def _path(self, kind: str, number: int, ending: str = ".json.gz") -> Path:
        return self.folder / kind / f"{number:06d}{ending}"

    def _state(self, number: int) -> Memories:
        """What was kept after a round; where that is lost or damaged, by the rounds since an earlier one.

        Rounds are the truth, states a shortcut.
        """
        kept, memories, first = numbered(self.folder / "state"), Memories(), 0
        for each in sorted((one for one in kept if one <= number), reverse=True):
            try:
                memories, first = {node: from_state(one) for node, one in read_state(kept[each]).items()}, each
                break
            except DAMAGED:
                continue
        for each in range(first + 1, number + 1):
            self._judge_again(each, memories)
        return memories

    def safe(self) -> None:
        """Raises StoreError where root would read or write what others can exchange: a store decides who is drained."""
        for name in _PLACES:
            self._refuse(self.folder / name)

    def _refuse(self, path: Path, folder_only: bool = False) -> None:
        if not privileged():
            return
        try:
            found = weaknesses(os.path.abspath(path), missing_ok=True, sticky_ok=folder_only)
        except OSError as error:
            raise StoreError(f"{error.strerror or error}") from None
        if found:
            raise StoreError(f"{found[0]}, and as root rocdoctor keeps a fleet only where nobody else can write")

    def _write(self, kind: str, number: int, data: bytes, ending: str = ".json.gz") -> None:
        path = self._path(kind, number, ending)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_new(path, gzip.compress(data, _LEVEL, mtime=0), replace=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        above = next(one for one in (self.folder, *self.folder.absolute().parents) if one.exists())
        self._refuse(above, folder_only=True)
        with contextlib.ExitStack() as held:
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.safe()
                held.enter_context(only_one(self.folder / "lock"))
            except BlockingIOError:
                raise StoreError("another tick or ingest is at work here") from None
            except OSError as error:
                raise StoreError(f"{error.strerror or error}") from None
            try:
                yield
            except OSError as error:
                raise StoreError(f"cannot be written: {error.strerror or error}") from None


def _head_of(batch: Batch) -> dict[str, Any]:
    """What stands before the records."""
    head = {"problems": batch.incoming().problems, "forget": batch.forget}
    return {**head, "net": [as_row(one) for one in batch.net]} if batch.net else head


def _as_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
