"""Texts of 10 MB by kind, the same at each call, made of the tables' examples and of what the tests read."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from rocdoctor.knowledge.load import load_table

TEXT_BYTES = 10_000_000
_ROOT = Path(__file__).parents[2]
_NUMBER = re.compile(r"(?<![a-z])\d{3,}(?![a-z])")
_HEX = re.compile(r"\b(?:0x)?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,32}\b")

# By kind: what the names of tables with its messages begin with, patterns of test texts, what comes before each line.
# {n} is a number of up to seven digits, {a} a digit.
_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "kernel log": (
        ("messages_amdgpu", "messages_hardware", "messages_nvidia"),
        ("boot-*", "*/log-amdgpu*", "*/log-systemd*", "gpu-lost*"),
        "[{n}.{n}] ",
    ),
    "debug log of NCCL, 8 ranks": (
        ("messages_rccl", "messages_collectives", "messages_rdma"),
        ("nccl-*", "rccl-*", "*/log-nccl*", "nccl-bridge*"),
        "node0{a}:{n}:{n} [{a}] NCCL INFO ",
    ),
    "training log": (
        ("messages_ranks", "messages_torch"),
        ("train-*", "*/log-accelerate*", "*/log-ds*"),
        "2026-01-02 03:0{a}:{a}{a},{n} - INFO - step {n} loss 2.{n} ",
    ),
    "output of pip, conda and apt": (
        ("messages_wheels", "messages_torch_install", "messages_libraries"),
        ("pip-*", "*/log-apt*", "*/log-cmake*", "*/log-nix*"),
        "",
    ),
    "docker and kubectl": (
        ("messages_containers", "messages_commands", "messages_schedulers", "messages_jobs"),
        ("*/log-docker*", "*/log-k8s*", "code-compose*", "code-k8s*", "container-*", "k8s-*", "dockerfile-*"),
        "2026-01-02T03:0{a}:{a}{a}.{n}Z ",
    ),
    "tracebacks of Python": (
        ("messages_python_api", "messages_torch", "messages_frameworks", "messages_triton"),
        ("trace-*", "pytest-*", "torchvision*", "rank-raised*"),
        "",
    ),
    "plain prose": (("messages_prose", "messages_symptoms"), ("prose-*", "question-*", "talk-*", "told-*"), ""),
}
_ALL = "all of these"
_DENSE = "each line a message of the tables"
_NEAR = "each line nearly a message"
_LONG = "lines of 20,000 signs"
_NEW = "each line of other words"
_ONCE = "words that occur once"
KINDS = (*_KINDS, _ALL, _DENSE, _NEAR, _LONG, _NEW, _ONCE)


@cache
def _examples(prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of the examples in the tables of messages whose names begin so."""
    found: list[str] = []
    for path in sorted((_ROOT / "rocdoctor/knowledge/tables").glob("messages_*.yaml")):
        if path.stem.startswith(prefixes):
            rows = load_table(path.stem)["messages"]
            found += [line for row in rows for text in row["texts"] for line in str(text["example"]).splitlines()]
    return tuple(found)


@cache
def _lines(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of test texts, below the one that tells where they are from."""
    paths = sorted({path for pattern in patterns for path in (_ROOT / "tests/texts").rglob(pattern)})
    return tuple(line for path in paths for line in path.read_text(encoding="utf-8").splitlines()[1:])


def _renumbered(line: str, random_: random.Random) -> str:
    """The line with other numbers of three digits and more, and other long hexadecimal ones."""

    def digits(found: re.Match[str]) -> str:
        return "".join(random_.choices("0123456789", k=len(found[0])))

    def hexadecimal(found: re.Match[str]) -> str:
        return found[0][:2] + "".join(random_.choices("0123456789abcdef", k=len(found[0]) - 2))

    return _HEX.sub(hexadecimal, _NUMBER.sub(digits, line))


def _prefixed(prefix: str, random_: random.Random) -> str:
    filled = re.sub(r"\{n[^}]*\}", lambda _: str(random_.randrange(1_000_000)), prefix)
    return re.sub(r"\{a\}", lambda _: str(random_.randrange(10)), filled)


def _of_kind(kind: str, random_: random.Random) -> list[str]:
    """A passage: lines of a test text in their order, and among them messages."""
    tables, patterns, prefix = _KINDS[kind]
    lines, messages = _lines(patterns), _examples(tables)
    start = random_.randrange(max(1, len(lines) - 20))
    chosen = [*lines[start : start + 20]]
    for message in random_.choices(messages, k=6):
        chosen.insert(random_.randrange(len(chosen) + 1), message)
    return [_prefixed(prefix, random_) + _renumbered(line, random_) for line in chosen]


def _dense(random_: random.Random) -> list[str]:
    return [_renumbered(line, random_) for line in random_.choices(_examples(("messages_",)), k=50)]


def _near(random_: random.Random) -> list[str]:
    """Messages without one of their words."""
    found = []
    for line in _dense(random_):
        words = line.split(" ")
        words.pop(random_.randrange(len(words)))
        found.append(" ".join(words))
    return found


def _long(random_: random.Random) -> list[str]:
    line = " ".join(_dense(random_))
    return [(line * (1 + 20_000 // len(line)))[:20_000]]


def _new(random_: random.Random) -> list[str]:
    """Messages behind words that occur once."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(random_.choices(letters, k=9)) + " " + line for line in _dense(random_)]


def _once(random_: random.Random) -> list[str]:
    """Lines without a message."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [" ".join("".join(random_.choices(letters, k=random_.randint(3, 11))) for _ in range(9))]


def text_of(kind: str, size: int = TEXT_BYTES) -> str:
    """A constructed text of one of the kinds, of ``size`` characters or a few more."""
    random_ = random.Random(kind)
    makers: dict[str, Callable[[random.Random], list[str]]]
    makers = {_DENSE: _dense, _NEAR: _near, _LONG: _long, _NEW: _new, _ONCE: _once}
    pieces: list[str] = []
    length = 0
    while length < size:
        of = random_.choice([*_KINDS]) if kind == _ALL else kind
        for line in makers[of](random_) if of in makers else _of_kind(of, random_):
            pieces.append(line)
            length += len(line) + 1
    return "\n".join(pieces)
