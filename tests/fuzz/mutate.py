"""Fixtures damaged in many ways, run through the commands: ``python -m tests.fuzz.mutate --count 200 --seed 1``.

Each case is one damaged input (a bundle, a packed one, a folder, an archive, a text, a script, a specification, a
profile, a node's record) and one command in a child with a limit of time and memory. ``--minutes 30`` goes on until
the time is over, two cases at a time. A case is broken when it ends with another status than 0, 1 or 2, prints a
traceback, sends a control character to standard output, or passes a limit. Broken inputs stay where ``--keep`` says.
"""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rocdoctor.host.evidence.capture import CaptureError, parse
from tests.fuzz import documents

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 20  # of the processor, which other programs of the machine do not take away
_MORE_S = 1.0  # for each MiB that a folder holds: no text is read for longer
_PATIENCE_S = 600  # a case that waits for something would wait for ever
LARGEST = 4 * 2**20  # of a damaged input: larger ones show the same and take longer to make
LIMIT_BYTES = 500 * 2**20
# Control characters, invisible ones, and orders to build services.
_CONTROLS = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u3164\U000e0041]|(?m:^)\\s*::[^\n]*::|##\\w*\\["
)
# What reaches for a terminal, the end of a number type, another folder, or the markup of a report.
ODD = (
    b"\x1b[2J\x1b]0;title\x07",
    b"\x9b31m",
    b"\xc2\x9b2J",
    b"\xff\xfe\xfd",
    b"\0",
    b"99999999999999999999",
    b"-1",
    b"1e999",
    b"nan",
    "\u202e\u2028\ufeff".encode(),
    b"](http://x) <script> ``` | *",
    b"../../../../etc/passwd",
    b"<!ENTITY a SYSTEM 'file:///etc/passwd'>&a;",
    b"{" * 300,
    b"[" * 5000,
    b"-- env --",
    b"\\-- env --",
    b"&a *a",
    "٣".encode(),
    b"%s{0}",
    b"9" * 5000,
    "\u00b2".encode(),
    "\u061c\u200c\U000e0041\u3164".encode(),
    b"\n::error file=a.py,line=1::b",
    b"##[error]c",
    b"##vso[task.setvariable variable=PATH]d",
    b"@somebody #1",
)

Change = Callable[[bytes, random.Random], bytes]


def _flip(data: bytes, source: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(source.choice((1, 8, 200))):
        changed[source.randrange(len(changed))] = source.randrange(256)
    return bytes(changed)


def _cut(data: bytes, source: random.Random) -> bytes:
    return data[: source.randrange(1, len(data) + 1)]


def _odd(data: bytes, source: random.Random) -> bytes:
    words = re.split(rb"([\s=:,/]+)", data)
    for _ in range(1 + len(words) // source.choice((10, 100, 1000))):
        words[source.randrange(len(words))] = source.choice(ODD)
    return b"".join(words)


def _header(data: bytes, source: random.Random) -> bytes:
    lines = data.split(b"\n")
    heads = [at for at, line in enumerate(lines) if line.startswith(b"-- ")] or [0]
    for _ in range(1 + len(heads) // 20):
        at = source.choice(heads)
        lines[at] = source.choice(
            (
                lines[at] + b" base64",
                lines[at] + b" timeout",
                b"--",
                b"-- read ../../etc/passwd --",
                b"-- env -- exit 9" * 9,
                lines[at][:-3],
                b"-- list /* --",
                lines[at].replace(b"/", b"//"),
                b"rocdoctor capture 1",
                lines[at] + b" denied",
            )
        )
    return b"\n".join(lines)


def _doubled(data: bytes, source: random.Random) -> bytes:
    parts = re.split(rb"(?m)^(?=-- )", data)
    for _ in range(min(30, LARGEST // (len(data) + 1))):
        parts.insert(source.randrange(1, len(parts) + 1), source.choice(parts))
    return b"".join(parts)


def _shuffled(data: bytes, source: random.Random) -> bytes:
    head, *parts = re.split(rb"(?m)^(?=-- )", data)
    bodies = [part.partition(b"\n") for part in parts]
    answers = [body for _, _, body in bodies]
    source.shuffle(answers)
    return head + b"".join(question + b"\n" + body for (question, _, _), body in zip(bodies, answers, strict=True))


def _giant(data: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(data) + 1)
    unit = source.choice(
        (b"a", b" ", b"0", b"\t", b"[", b"{", b'"', b"\\", b"a ", b"1,", b"=", b"<a>", b"0000:03:00.0 ", b"NCCL ")
    )
    return data[:at] + unit * (source.choice((10_000, 400_000)) // len(unit)) + data[at:]


def _many(data: bytes, source: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = source.randrange(len(lines))
    return b"\n".join(lines[:at] + [lines[at]] * min(20_000, 2_000_000 // (len(lines[at]) + 1)) + lines[at:])


CHANGES: tuple[Change, ...] = (_flip, _cut, _odd, _header, _doubled, _shuffled, _giant, _many)


def changed(data: bytes, source: random.Random) -> bytes:
    """Bytes damaged in one to three ways."""
    for _ in range(source.randrange(1, 4)):
        data = source.choice(CHANGES)(data or b"x", source)[:LARGEST]
    return data


# -- inputs


@dataclass(frozen=True, slots=True)
class Case:
    """One damaged input on disk and the arguments that read it."""

    path: Path
    arguments: tuple[str, ...]


def case(folder: Path, seed: int) -> Case:
    """The damaged input number ``seed``, written below a folder, and the command that it is tried on."""
    source = random.Random(seed)
    fixtures = sorted((ROOT / "fixtures").glob("*.capture"))
    data = source.choice(fixtures).read_bytes()
    form = source.choice(("bundle", "bundle", "gzip", "folder", "folder", "tar", "text", *documents.FORMS))
    path = folder / f"{seed}-{form}"
    if form in documents.FORMS:
        path.write_bytes(changed(documents.document(form, source), source))
        return Case(path, documents.arguments(form, path, source))
    if form == "bundle":
        path.write_bytes(changed(data, source))
    elif form == "gzip":
        packed = gzip.compress(changed(data, source))
        path.write_bytes(_flip(packed, source) if source.random() < 0.5 else packed)
    elif form == "text":
        parts = re.split(rb"(?m)^-- [^\n]* --[^\n]*\n", data)
        path.write_bytes(changed(b"\n".join(source.sample(parts, min(len(parts), 12))), source))
    elif form == "folder":
        _unfold(path, data, source)
    else:
        _archive(path, data, source)
    return Case(path, _arguments(path, fixtures, source))


def _arguments(path: Path, fixtures: Sequence[Path], source: random.Random) -> tuple[str, ...]:
    form = source.choice(("text", "json", "markdown", "junit"))
    plain = [] if form == "text" else ["--format", form]
    return tuple(
        source.choice(
            (
                ["check", "--verbose", "--from", str(path), *plain],
                ["check", "--from", str(path), *plain],
                ["facts", "--from", str(path), *(plain if form == "json" else [])],
                ["bundle", "--show", "--from", str(path)],
                ["recommend", "--from", str(path), "--model", "llama-3.1-8b", *([] if form == "junit" else plain)],
                ["diff", str(path), str(source.choice(fixtures)), *([] if form == "junit" else plain)],
            )
        )
    )


def _files(data: bytes, source: random.Random) -> dict[str, bytes]:
    """A capture as the files of a folder, some of them damaged."""
    try:
        answers = parse(data).answers
    except CaptureError:
        return {}
    files: dict[str, bytes] = {}
    for question, answer in answers.items():
        verb, _, rest = question.partition(" ")
        if not answer.ok or verb not in ("read", "run", "link"):
            continue
        body = changed(answer.data, source) if source.random() < 0.1 else answer.data
        if verb == "run":
            files["commands/" + rest.replace("/", ".").replace(" ", "_")[:200]] = body
        else:
            files["files/" + rest.strip("/")] = body
    return files


def _unfold(path: Path, data: bytes, source: random.Random) -> None:
    path.mkdir()
    for name, body in _files(data, source).items():
        place = path / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if source.random() < 0.02:
                _trap(place, source)
            else:
                place.write_bytes(body)
        except (OSError, ValueError):  # a file stands where a folder would
            continue


def _trap(place: Path, source: random.Random) -> None:
    way = source.randrange(5)
    if way == 0:
        os.mkfifo(place)
    elif way == 1:
        place.symlink_to(
            source.choice(("/etc/passwd", "/dev/zero", "../" * 30 + "etc/passwd", place.name, "/proc/self/environ"))
        )
    elif way == 2:
        place.mkdir()
    elif way == 3:
        (place.parent / f"{place.name}\x1b[2J\n").write_bytes(b"x")
    else:
        with place.open("wb") as stream:
            stream.truncate(2**32)


def _archive(path: Path, data: bytes, source: random.Random) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=source.choice(("w:gz", "w"))) as archive:
        for name, body in _files(data, source).items():
            member = tarfile.TarInfo(source.choice(("../", "/", "a/../../")) + name if source.random() < 0.02 else name)
            member.size = len(body)
            if source.random() < 0.03:
                member.type = source.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"S"))
                member.linkname = source.choice(
                    ("/etc/passwd", "../" * 30 + "etc/passwd", name, "files/etc/os-release")
                )
                member.size = 0
            archive.addfile(member, io.BytesIO(body))
    packed = out.getvalue()
    path.with_suffix(".tar").write_bytes(b"")
    path.write_bytes(_flip(packed, source) if source.random() < 0.3 else packed)
    path.with_suffix(".tar").unlink()


# -- running


def _limits(limit_s: int) -> None:
    """In the child: more memory than is allowed ends in a MemoryError, which is a broken case."""
    resource.setrlimit(resource.RLIMIT_AS, (3 * LIMIT_BYTES, 3 * LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))


def broken(one: Case) -> str:
    """What is wrong with how a case ends; "" when nothing is."""
    read = sum(min(path.lstat().st_size, LARGEST) for path in (one.path, *one.path.rglob("*")) if path.is_file())
    limit_s = int(LIMIT_S + _MORE_S * read / 2**20)
    # The child prints its peak memory itself. That of getrusage would count what we held when it was forked from us.
    program = (
        "import sys\n"
        "from rocdoctor.cli.main import run\n"
        "code = run(sys.argv[1:])\n"
        "sys.stdout.flush()\n"
        "status = open('/proc/self/status').read()\n"
        "print('peak', status.partition('VmHWM:')[2].split()[0], file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, *one.arguments],
            capture_output=True,
            timeout=_PATIENCE_S,
            stdin=subprocess.DEVNULL,
            preexec_fn=partial(_limits, limit_s),
            cwd=ROOT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"waited for more than {_PATIENCE_S} s"
    said = done.stderr.decode("utf-8", errors="replace")
    peak = re.search(r"^peak (\d+)\Z", said.strip().rpartition("\n")[2])
    if done.returncode == -signal.SIGXCPU:
        return f"took more than {limit_s} s of the processor"
    if done.returncode not in (0, 1, 2) or "Traceback" in said or "rocdoctor broke" in said:
        return f"status {done.returncode}: {said[-2000:]}"
    shown = done.stdout.decode("utf-8", errors="replace")
    if peak and int(peak[1]) * 1024 > LIMIT_BYTES:
        return f"held {int(peak[1]) // 1024} MiB"
    found = _CONTROLS.search(shown) if "bundle" not in one.arguments else None
    if found is not None:
        return f"prints {found[0]!r} in {shown[max(0, found.start() - 60) : found.end() + 60]!r}"
    if "json" in one.arguments and done.returncode != 2:
        json.loads(shown)
    return ""


def main() -> int:
    """Try cases until the count is reached or the time is over; the status is 1 when any was broken."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=40)
    options.add_argument("--minutes", type=float, help="go on for this long, whatever the count")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--keep", type=Path, help="where broken inputs are kept")
    told = options.parse_args()
    until = None if told.minutes is None else time.monotonic() + 60 * told.minutes
    seeds = itertools.count(told.seed) if until else iter(range(told.seed, told.seed + told.count))
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        folder = told.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)

        def tried() -> tuple[int, int]:
            done = wrong = 0
            while until is None or time.monotonic() < until:
                seed = next(seeds, None)
                if seed is None:
                    break
                done, wrong = done + 1, wrong + _told(folder, seed)
            return done, wrong

        totals = [one.result() for one in [pool.submit(tried), pool.submit(tried)]]
    cases, wrong = sum(done for done, _ in totals), sum(broke for _, broke in totals)
    print(f"{cases} damaged inputs from seed {told.seed} on, {wrong} broke a command")
    return 1 if wrong else 0


def _told(folder: Path, seed: int) -> bool:
    """Whether the case broke a command, which is printed; what broke none is removed."""
    one = case(folder, seed)
    problem = broken(one)
    if problem:
        print(f"{seed}: rocdoctor {' '.join(one.arguments)}\n  {problem}", flush=True)
    else:
        for path in folder.glob(f"{one.path.name}*"):
            _remove(path)
    return bool(problem)


def _remove(path: Path) -> None:
    if path.is_dir():
        for inner in sorted(path.rglob("*"), reverse=True):
            inner.rmdir() if inner.is_dir() and not inner.is_symlink() else inner.unlink()
        path.rmdir()
    else:
        path.unlink()


if __name__ == "__main__":
    sys.exit(main())
