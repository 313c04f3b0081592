"""Lines that differ in numbers and addresses alone: few of them get all rules, and every one becomes the same."""

from __future__ import annotations

import random

import pytest

from rocdoctor.host.masking import masker as masking
from rocdoctor.host.masking.addressed import NO_LINES, AddressedShapes
from rocdoctor.host.masking.masker import Masker
from tests.host.masking import test_corpora

_FORMS = (
    "sshd[{n}]: Connection closed by {a} port {n} [preauth]",
    "kernel: nfs: connect from {a} port {n} ok after {n} ms",
    "kernel: [UFW BLOCK] IN=eno1 OUT= SRC={a} DST={a} LEN={n} TTL={t} PROTO=TCP SPT={n} DPT={n}",
    "kernel: arp {m} is at {a}, was {n} s ago",
    "dnsmasq-dhcp[{n}]: DHCPACK(virbr0) {a} {m}",
    "bash[{n}]: + ssh mia@gateway ping {a}",
    "slurmd[{n}]: launch task from UID:{n} HOST:{a} PORT:{n}",
)


_LIGHT = "Nov 29 10:00:00 zeus-17 kernel: nfs: connect from 10.1.2.3 port 12345 ok after 54321 ms"


def _journal(lines: int, seed: int, machine: str = "zeus-17") -> list[str]:
    chosen = random.Random(seed)

    def number() -> str:
        return str(chosen.randint(1, 99_999))

    def address() -> str:
        return ".".join(str(chosen.randint(1, 254)) for _ in range(4))

    def card() -> str:
        return ":".join(f"{chosen.randint(0, 255):02x}" for _ in range(6))

    made = []
    for at in range(lines):
        form = chosen.choice(_FORMS).replace("{t}", str(chosen.randint(20, 64)))
        for slot, value in (("{n}", number), ("{a}", address), ("{m}", card)):
            while slot in form:
                form = form.replace(slot, value(), 1)
        made.append(f"Nov 29 {at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02} {machine} {form}")
    return made


def _both(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """What a text becomes, and what it becomes where every line gets all rules."""
    light = Masker().mask_text(text)
    with monkeypatch.context() as patched:
        patched.setattr(AddressedShapes, "among", lambda self, text: NO_LINES)
        return light, Masker().mask_text(text)


@pytest.mark.parametrize("seed", range(2))
def test_a_journal_becomes_the_same_with_the_same_numbers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_SLAB", 700)
    lines = _journal(2100, seed)
    hidden = [line for line, _ in test_corpora.ALL_HIDDEN]
    chosen = random.Random(seed)
    for line in chosen.sample(hidden, 200) + chosen.sample(test_corpora.ALL_CONTROLS, 200):
        lines.insert(chosen.randrange(len(lines)), line)
    light, full = _both("\n".join(lines), monkeypatch)
    assert light == full
    assert "mia@" not in light
    assert Masker().mask_text(light) == light


def test_few_lines_of_a_journal_get_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    plain = Masker.masked_lines

    def counted(self: Masker, fresh: list[str], light: frozenset[int] = NO_LINES) -> list[str]:
        asked.append(len(fresh) - len(light))
        return plain(self, fresh, light)

    monkeypatch.setattr(Masker, "masked_lines", counted)
    monkeypatch.setattr(masking, "_SLAB", 1000)
    masker = Masker()
    masker.learn(hostname="zeus-17")
    masker.mask_text("\n".join(_journal(6000, 4)))
    assert sum(asked) < 3000


@pytest.mark.parametrize(
    "odd",
    [
        "Nov 29 10:00:00 zeus-17 sshd[12]: Connection closed by krause-pc port 12 [preauth]",
        "Nov 29 10:00:00 zeus-17 kernel: nfs: connect from 10.1.2.3 port 12 ok after 9 ms password=Zq7mK2vTx9",
        "Nov 29 10:00:00 zeus-17 kernel: nfs: connect from 10.1.2.3 port 12 ok after 4111111111111111 ms",
        "Nov 29 10:00:00 zeus-17 kernel: nfs: connect from 1.2.3.4.5 port 12 ok after 9 ms",
        "Nov 29 10:00:00 zeus-17 kernel: nfs: connect from 0.0.0.0 port 12 ok after 9 ms",
        "Nov 29 10:00:00 zeus-17 kernel: nfs: connect from 127.0.0.1 port 12 ok after 9 ms",
        "Nov 29 10:00:00 zeus-17 kernel: nfs version 10.1.2.3 port 12 ok after 9 ms",
        "docker run --rm \\\nNov 29 10:00:00 zeus-17 kernel: nfs: connect from 10.1.2.3 port 12 ok after 9 ms",
        "docker run --rm \\\n  krusehub/train:1 10.1.2.3",
        f"docker run --rm \\\n{_LIGHT}\nkrusehub/train:1 up",
        "Nov 29 10:00:00 zeus-17 sshd[12]: Connection closed by invalid user mkraus7 10.1.2.3 port 12 [preauth]",
    ],
)
def test_what_differs_in_more_than_addresses_gets_all_rules(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_SLAB", 400)
    lines = _journal(1500, 6)
    lines[1200:1200] = odd.split("\n")
    light, full = _both("\n".join(lines), monkeypatch)
    assert light == full


def test_a_machine_that_one_line_tells_is_replaced_in_all_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_SLAB", 400)
    lines = [*_journal(1000, 8), "Hostname: zeus-17", *_journal(1000, 9)]
    light, full = _both("\n".join(lines), monkeypatch)
    assert light == full
    assert "zeus" not in light
