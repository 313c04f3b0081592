"""Figure 9: the past is judged again exactly, and bad input costs its own line alone."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from rocdoctor.fleet.record import as_data
from rocdoctor.fleet.store import Batch, Store, StoreError
from rocdoctor.fleet.verdicts import FleetVerdict
from rocdoctor.report.fleet.fleet_document import document
from rocdoctor.report.fleet.fleet_json import report
from rocdoctor.report.fleet.fleet_metrics import metrics
from rocdoctor.report.fleet.fleet_page import page
from rocdoctor.report.text import lines as as_lines
from tests.fleet.kit import NOW, node, sick
from tools.fleet_acceptance.bad_input import FILES, LINES, VICTIM
from tools.fleet_acceptance.rows import PROGRAM, ROOT, Row, Setting, holds, none, skipped
from tools.fleet_world import World

_NAMES = [f"n{number:02d}" for number in range(20)]
_BROKEN = "n03"
_TOOL = re.compile(r'"tool":"[^"]*"')


def figure(setting: Setting) -> Iterator[Row]:
    """Rounds of a planted fleet again, records of three versions, all of ``bad_input``, and a store that suffers."""
    yield _again(setting)
    yield from _bad(setting)
    yield _killed(setting)
    yield _two_at_once(setting)
    yield from _damaged(setting)
    yield _full(setting)


def _told(found: FleetVerdict) -> str:
    return json.dumps(report(found), sort_keys=True)


def _again(setting: Setting) -> Row:
    world, store, said = World(300, setting.seed, 40, 10, 10), Store(setting.place("again")), {}
    edited = 0
    for number in range(1, 9):
        batch = Batch()
        for line in world.round(number):
            old = _TOOL.sub(f'"tool":"{("0.0.9", "0.1.0", "7.0")[number % 3]}","of_later":[1]', line)
            edited += number > 2 and old != line
            batch.take((old if number > 2 else line).encode())
        at = world.begin + number * 300
        said[at] = _told(store.tick(batch, at))
    wrong = [at for at, words in said.items() if _told(store.again(at)) != words]
    what = f"{len(said)} rounds, records of three versions: another verdict --at"
    return none(what, wrong if edited else ["no record names its tool"])


def _line(name: str, at: int) -> bytes:
    bad = (sick("ras-uncorrectable", 2, "gpu-hardware-fault"),) if name == _BROKEN else ()
    return json.dumps(as_data(replace(node(name, at, *bad), taken_at=at))).encode()


def _store(place: Path, rounds: int = 1) -> Store:
    store = Store(place)
    for number in range(rounds):
        batch = Batch()
        for name in _NAMES:
            batch.take(name.encode() + b": " + _line(name, NOW + 300 * number))
        store.tick(batch, NOW + 300 * number)
    return store


def _bad(setting: Setting) -> Iterator[Row]:
    """Each in round two, in the place of one node's record."""
    first, place = setting.place("first"), setting.place("bad")
    _store(first)
    at = NOW + 300
    wrong, odd = list[str](), list[str]()
    expected = ""
    for number, what in enumerate(("", *LINES, *FILES)):
        folder, store = place / f"{number}", Store(place / f"{number}-store")
        shutil.copytree(first, store.folder)
        folder.mkdir()
        batch = Batch()
        if what in FILES:
            for name in _NAMES:
                if name != VICTIM:
                    (folder / f"{name}.json").write_bytes(_line(name, at))
            FILES[what](folder / f"{VICTIM}.json")
            batch.read(folder)
        else:
            with (folder / "lines").open("wb") as stream:
                for name in _NAMES:
                    text = _line(name, at)
                    if name == VICTIM and what:
                        text = LINES[what](json.loads(text))
                    stream.write(name.encode() + b": " + text + b"\n")
            batch.read(folder / "lines")
        found = store.tick(batch, at)
        told = report(found)
        others = json.dumps([one for one in told["nodes"] if one["node"] != VICTIM], sort_keys=True)
        expected = expected or others
        if others != expected or told["findings"] or _BROKEN not in others:
            wrong.append(what)
        if any(one["node"] == VICTIM and one["proposal"] != "none" for one in told["nodes"]):
            wrong.append(f"{what}: {VICTIM} is to drain or test")
        texts = ("\n".join(as_lines(document(found), 100)), page(found), metrics(found))
        if any(sign in text for text in texts for sign in ("\x1b", "\x9b", "\x00", "\u202e", "<script>alert")):
            odd.append(what)
        shutil.rmtree(store.folder)
        shutil.rmtree(folder)
    yield none(f"of {len(LINES) + len(FILES)} kinds of bad input, that change another line or drain", wrong)
    yield none("  that bring signs into text, page or metrics", odd)


def _tick(store: Path, lines: Path, at: int) -> subprocess.Popen[bytes]:
    words = [*PROGRAM, "fleet", "tick", str(store), str(lines), "--at", str(at)]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)


def _lines_of(path: Path, at: int) -> Path:
    path.write_bytes(b"".join(name.encode() + b": " + _line(name, at) + b"\n" for name in _NAMES))
    return path


def _killed(setting: Setting) -> Row:
    """SIGKILL at ten moments of a tick; the next one says what an undisturbed one does."""
    place, rng, wrong = setting.place("killed"), random.Random(setting.seed), list[str]()
    lines = _lines_of(place / "lines", NOW + 300)
    calm = _store(place / "calm")
    batch = Batch()
    batch.read(lines)
    expected, killed = calm.tick(batch, NOW + 300).nodes, 0
    for number in range(10 if setting.heavy else 2):
        folder = place / f"{number}"
        store = _store(folder)
        child = _tick(folder, lines, NOW + 300)
        until = time.monotonic() + 20
        seen = {path.name for path in (folder / "rounds").iterdir()}
        while child.poll() is None and time.monotonic() < until:
            if {path.name for path in (folder / "rounds").iterdir()} != seen:  # it writes now
                time.sleep(rng.random() * 0.01)
                break
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        batch = Batch()
        batch.read(lines)
        if (said := store.tick(batch, NOW + 301)).nodes != expected:
            wrong.append(f"{number}: {[(one.node, one.proposal) for one in said.nodes]}")
        left = [path.name for path in folder.rglob("*") if path.name.startswith(".")]
        wrong += [f"{number}: {one} is left" for one in left]
    what = f"{killed} ticks killed while they write: another verdict after"
    return none(what, wrong) if killed else skipped(what, "each ended first")


def _two_at_once(setting: Setting) -> Row:
    place = setting.place("two")
    store = _store(place / "store")
    lines = _lines_of(place / "lines", NOW + 300)
    both = [_tick(store.folder, lines, NOW + 300) for _ in range(4)]
    said = [(child.wait(), (child.stderr.read() if child.stderr else b"").decode()) for child in both]
    fine = all(code in (0, 1) or (code == 2 and "another tick" in words) for code, words in said)
    drains = [one.node for one in store.again().nodes if one.proposal == "drain"]
    return holds("four ticks at once: done or refused, and the verdict stands", fine and drains == [_BROKEN])


def _rewrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _damaged(setting: Setting) -> Iterator[Row]:
    """Files of a store of five rounds, as a crash, an old disk or a newer release may leave them."""
    base = setting.place("damaged")
    _store(base / "store", 5)
    expected = _told(Store(base / "store").again())

    def newer(path: Path) -> None:
        head, rest = gzip.decompress(path.read_bytes()).split(b"\n", 1)
        path.write_bytes(gzip.compress(json.dumps({**json.loads(head), "format": 9}).encode() + b"\n" + rest))

    cases: dict[str, tuple[str, Callable[[Path], None]]] = {
        "state cut": ("state/*", lambda path: _rewrite(path, path.read_bytes()[:50])),
        "states gone": ("state/*", lambda path: path.unlink()),
        "state of zeros": ("state/*", lambda path: _rewrite(path, bytes(4096))),
        "rounds of a newer release": ("rounds/*", newer),
    }
    wrong = []
    for what, (pattern, change) in cases.items():
        copy = base / what.replace(" ", "-")
        shutil.copytree(base / "store", copy)
        for path in sorted(copy.glob(pattern)):
            change(path)
        try:
            said = _told(Store(copy).again())
        except StoreError as error:
            said = str(error)
        if said != expected:
            wrong.append(f"{what}: {said[:60]}")
    yield none(f"of {len(cases)} damaged stores, with another verdict", wrong)
    copy = base / "last-cut"
    shutil.copytree(base / "store", copy)
    last = max((copy / "rounds").iterdir())
    last.write_bytes(last.read_bytes()[:200])
    try:
        Store(copy).again()
        yield holds("a last round that is cut is refused, not guessed", False)
    except StoreError as error:
        yield holds("a last round that is cut is refused, not guessed", True, str(error))


def _full(setting: Setting) -> Row:
    """A tmpfs of 100 KiB in a mount namespace of its own."""
    what = "a full disk: refused with the reason, the last round stands"
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return skipped(what, "needs root and unshare")
    place = setting.place("full")
    lines = _lines_of(place / "lines", NOW + 300)
    _store(place / "store")
    (place / "small").mkdir()
    small = f"{place}/small/store"
    program = " ".join(PROGRAM)
    script = (
        f"mount -t tmpfs -o size=100k,mode=700 small {place}/small && cp -a {place}/store {small} && "
        f"head -c 200000 /dev/zero > {place}/small/fill; "
        f"{program} fleet tick {small} {lines} --at {NOW + 300}; echo status $?; rm {place}/small/fill; "
        f"{program} fleet judge {small} --json > {place}/after; ls {small}/rounds; find {small} -name '.*' -type f"
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    stands = json.loads((place / "after").read_text())["at"] if (place / "after").stat().st_size else None
    refused = "status 2" in done.stdout and "No space left" in done.stderr
    words = done.stderr.strip().splitlines()
    return holds(what, refused and stands is not None and len(done.stdout.split()) == 3, words[-1] if words else "")
