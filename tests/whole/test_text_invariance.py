"""What a mail program, a terminal or a web page does to a text does not change what it says."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.text_kit import TEXTS, first_cause, header_and_body

FAULTY = sorted((TEXTS / "faulty").glob("*.txt"))


def unrelated_log(lines: int, first: int = 0) -> str:
    """Lines as services, a kernel and a training run print them, none of which tells of a fault."""
    kinds: tuple[Callable[[int], str], ...] = (
        lambda n: (
            f"Nov 12 {n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02} box CRON[{4000 + n}]: (root) CMD (run-parts)"
        ),
        lambda n: f'10.0.{n % 7}.{n % 250} - - [12/Nov/2024:10:01:11 +0000] "GET /v1/items/{n} HTTP/1.1" 200 {n % 999}',
        lambda n: f"step {n * 10}/90000 loss {2 + 1 / (n + 1):.4f} lr 3.0e-4 tokens/s {81000 + n % 100}",
        lambda n: (
            f"[{900 + n}.{n % 999999:06}] usb 1-{n % 8}: new high-speed USB device number {n % 100} using xhci_hcd"
        ),
        lambda n: f"2024-11-12 10:01:11,{n % 1000:03} INFO scheduler: job {n} finished on host-{n % 30}, 0 errors",
        lambda n: f"I1112 10:01:11.{n:06} 17 cache.cc:{n % 500}] kept {n} of {n + 3} entries in memory",
    )
    return "".join(kinds[n % len(kinds)](n) + "\n" for n in range(first, first + lines))


def inside_a_log(text: str) -> str:
    return unrelated_log(1000) + text + unrelated_log(1000, 1000)


def quoted(text: str) -> str:
    return "".join(f"> {line}".rstrip() + "\n" for line in text.splitlines())


def with_carriage_returns(text: str) -> str:
    return text.replace("\n", "\r\n")


def cut_at_80(text: str) -> str:
    """As a terminal cuts: at the column, also within words."""
    return "".join(line[at : at + 80] + "\n" for line in text.splitlines() for at in range(0, max(len(line), 1), 80))


def wrapped_at_80(text: str) -> str:
    """As a mail program wraps: at blanks."""
    wrapped = (
        textwrap.wrap(line, 80, break_long_words=False, break_on_hyphens=False) or [""] for line in text.splitlines()
    )
    return "".join(piece + "\n" for pieces in wrapped for piece in pieces)


def fenced(text: str) -> str:
    return "````text\n" + text + "````\n"


def coloured(text: str) -> str:
    """Each line in a colour, and its first word in bold."""
    lines = (line.partition(" ") for line in text.splitlines())
    return "".join(f"\x1b[31m\x1b[1m{first}\x1b[22m{blank}{rest}\x1b[0m\x1b[K\n" for first, blank, rest in lines)


CHANGES = (inside_a_log, quoted, with_carriage_returns, cut_at_80, wrapped_at_80, fenced, coloured)


def test_there_are_enough_faulty_texts() -> None:
    assert len(FAULTY) >= 12


def test_the_unrelated_log_says_nothing() -> None:
    assert first_cause(unrelated_log(2000)) is None


@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_first_cause_of_the_plain_text(path: Path) -> None:
    header, body = header_and_body(path)
    assert first_cause(body) == header["cause"]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("path", FAULTY, ids=lambda path: path.stem)
def test_first_cause_after_a_change_of_form(path: Path, change: Callable[[str], str]) -> None:
    header, body = header_and_body(path)
    assert first_cause(change(body)) == header["cause"]
