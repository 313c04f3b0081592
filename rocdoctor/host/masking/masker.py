"""Masking at the host boundary: secrets and identities leave every answer before anything else sees it.

One ``Masker`` lives as long as one run. It replaces consistently (the same host is ``host-1`` in every answer) and
keeps form and relations, so that the parsers read masked text as they read the original. Masking is deterministic for
the same answers in the same order, and masking twice changes nothing. No input makes it raise.

Captures repeat themselves (eight equal GPUs, hundreds of equal files), so each different line is masked once and kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from itertools import chain, islice

from rocdoctor.host.masking.addressed import NO_LINES, AddressedShapes, kept_lines, woven
from rocdoctor.host.masking.alike import KnownShapes, QuietTexts
from rocdoctor.host.masking.blocks import mask_blocks
from rocdoctor.host.masking.encoded import KnownValues, mask_coded, mask_spelled
from rocdoctor.host.masking.escapes import mask_seen, without_escapes
from rocdoctor.host.masking.ids import (
    Pseudonyms,
    bare_numbers,
    mask_bare_numbers,
    mask_ids,
    mask_whole_answer,
    numbered_lines,
    serial_question,
)
from rocdoctor.host.masking.name_lists import listed_names
from rocdoctor.host.masking.names import Names
from rocdoctor.host.masking.near_lines import lines_around
from rocdoctor.host.masking.needs_masking import is_numbers, is_plain
from rocdoctor.host.masking.network import mask_emails, mask_net
from rocdoctor.host.masking.prompted import masked_secret
from rocdoctor.host.masking.rules import DROPPED, VALUE_TOKEN, load_tables
from rocdoctor.host.masking.secrets import mask_secrets
from rocdoctor.host.masking.telling import placeholder, secret_name
from rocdoctor.model.lazy_re import regex

_HOST_QUESTION = regex(
    r"(?:read /etc/hostname|read /proc/sys/kernel/hostname|run (?:hostname|uname -n)\b.{0,400}(?!.))\s*\Z"
)
_PASSWD_LINE = regex(r"(?P<name>[A-Za-z_][\w.-]{0,40}):[^:]*:(?P<uid>\d{1,10}):[^:]*:(?P<gecos>[^:]*):")
_FIRST_PERSON_UID = 1000
_NOBODY_UID = 65534
_MOST_LINES = 400_000
_MOST_PASSES = 4
_OWN = "masked-"
_CUT = regex(r"(?<![\w-])(?:user|host)-\d{1,6}[A-Za-z_]")  # the rest of a name too long for its place
_JUDGED_AGAIN = 2
_MANY_LINES = 200  # of fewer it is not worth while to ask which are alike
_MANY_TEXTS = 40  # of fewer it is not worth while to look at them together
_SLAB, _AT_ONCE = 10_000, 500  # lines; the fewer, the fewer rules have a word in them, but each rule has its price
MOST_TOLD = 30_000
# What logs may well tell of thousands of times.
_MANY = frozenset(("ip", "ipv6", "ipv6-network", "ip-in-gid", "uuid", "device-id", "serial", "variable"))


class Masker:
    """The consistent replacement of secrets and identities for one run; safe to use from several threads."""

    def __init__(self, hears: bool = False) -> None:
        """``hears``: only what it learns counts; what it makes of lines that teach nothing is not masked."""
        self._tables = load_tables()
        self._pseudonyms = Pseudonyms()
        self._names = Names(self._tables, self._pseudonyms)
        self._values = KnownValues()
        self._lines: dict[str, str] = {}
        self._alike = KnownShapes(_teaching_nothing if hears else _unchanged_lines, hears)
        self._quiet = QuietTexts(lambda texts: Masker().unchanged(texts))
        self._addressed = AddressedShapes(lambda lines: Masker().masked_lines(lines))
        self._foreseen: set[str] = set()  # texts that no rule changes
        self._numbered: set[str] = set()  # masked lines with numbers that may turn out to be ids
        self.numbered: set[str] = set()  # questions whose answers hold numbers that may turn out to be ids
        self._grown = 0  # grows with every secret value that is masked everywhere from then on
        self._of_lines = 0
        self._lock = threading.Lock()

    def learn(
        self,
        hostname: str | None = None,
        user: str | None = None,
        home: str | None = None,
        domain: str | None = None,
        passwd: str | None = None,
        extra_users: Iterable[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Primes identities and secrets, so that they are replaced from the first answer on.

        ``passwd`` is text in the format of /etc/passwd: accounts of people (uid 1000 and above) are learned. ``env``
        is an environment: values of secret-like names are found wherever they stand.
        """
        with self._lock:
            before = (self.learned(), self._names.users())
            self._names.learn_host(hostname)
            self._names.learn_domain(domain)
            self._names.learn_user(user, home)
            for name in extra_users:
                self._names.learn_user(name)
            for line in (passwd or "").splitlines()[:10000]:
                match = _PASSWD_LINE.match(line)
                if match and _FIRST_PERSON_UID <= int(match["uid"]) != _NOBODY_UID:
                    self._names.learn_user(match["name"])
            for name, value in (env or {}).items():
                if secret_name(name) and not placeholder(value):
                    self._learn_value(value, sure=True)
            if (self.learned(), self._names.users()) != before:
                self._lines.clear()

    def hear(self, text: str) -> None:
        """Learns what a text tells of people, machines and secrets; no name gets its number before it is masked."""
        heard = Masker(hears=True)
        heard.mask_text(text)
        if heard._names.ordered() or heard._values.full():  # what is kept depends on the order of the lines
            heard = Masker()
            heard.mask_text(text)
        with self._lock:
            self._names.adopt(heard._names)
            self._grown += self._values.adopt(heard._values)
            self._lines.clear()

    def mask_text(self, text: str, question: str = "") -> str:
        """The answer without secrets and identities; ``question`` helps where a file holds one bare value."""
        if not text:
            return text
        with self._lock:
            if question and _HOST_QUESTION.search(question):
                self._names.learn_host(text.strip().split("\n", 1)[0])
            return mask_seen(text, lambda part: self._mask(part, question))

    def foresee(self, texts: Iterable[str]) -> None:
        """Finds out for many texts together which of them no rule changes: all rules for each of them cost more."""
        asked = [one for one in dict.fromkeys(texts) if not is_plain(one) and next(bare_numbers(one), None) is None]
        asked = [one for one in asked if len(one) <= QuietTexts.LONGEST and without_escapes(one) == one]
        asked = [one for one in asked if mask_whole_answer(one, Pseudonyms(), "") == one]
        if len(asked) >= _MANY_TEXTS:
            same = Masker().unchanged(asked)
            with self._lock:
                self._foreseen.update(one for one, kept in zip(asked, same, strict=True) if kept)

    def mask_env(self, pairs: Mapping[str, str]) -> dict[str, str]:
        """The environment with every name, and values only for listed names (others ``<dropped>``), masked.

        The user and host that it tells are learned first, so that they are masked wherever they stand.
        """
        with self._lock:
            for name in ("USER", "LOGNAME", "SUDO_USER", "USERNAME", "SLURM_JOB_USER"):
                self._names.learn_user(pairs.get(name))
            self._names.learn_user(pairs.get("HOME", "").rstrip("/").rpartition("/")[2])
            self._names.learn_host(pairs.get("HOSTNAME") or pairs.get("HOST"))
        return {name: self._env_value(name, value) for name, value in pairs.items()}

    def mask_question(self, question: str) -> str:
        """The question without identities (``read ~/.bashrc``); the part that names a device or file class stays."""
        return self.mask_text(question)

    def counts(self) -> dict[str, int]:
        """Class (``host``, ``ip``, ``github-token``, ...) -> number of replacements made; repeated lines count once."""
        with self._lock:
            return dict(sorted(self._pseudonyms.totals.items()))

    def distinct(self) -> dict[str, int]:
        """Class -> number of different values that were replaced."""
        with self._lock:
            return dict(sorted(self._pseudonyms.distinct().items()))

    def _mask(self, text: str, question: str) -> str:
        if self.learned() != self._of_lines:
            self._lines.clear()
            self._of_lines = self.learned()
        if text in self._lines:
            masked = self._lines[text]
            if masked not in self._numbered:
                return masked
            self.numbered.add(question)
        plain = not serial_question(question)
        if plain and is_plain(text):
            return self._values.mask(self._names.mask_plain(text), self._pseudonyms.note)
        if plain and ((text in self._foreseen and self._known_gone(text) == text) or self._is_quiet(text)):
            return text
        made = self._masked(text, question)
        if made == text:
            self._quiet.stayed(text)
        return made

    def _is_quiet(self, text: str) -> bool:
        """Whether a text is like others that nothing changes, and no known name stands in it."""
        return len(text) <= QuietTexts.LONGEST and self._quiet.holds(text) and self._known_gone(text) == text

    def _masked(self, text: str, question: str) -> str:
        """The text after all steps of masking."""
        if len(text) <= 200:
            text = mask_whole_answer(text, self._pseudonyms, question)
        lines = self._numbers(text) if is_numbers(text) else self._passed(text)
        before = text.split("\n") if _OWN in "\n".join(lines) else lines
        for _ in range(_MOST_PASSES):  # what is beside a replaced secret may tell more than the secret did
            same = len(before) == len(lines)  # a key of many lines becomes one
            changed = [at for at, one in enumerate(lines) if _OWN in one and not (same and before[at] == one)]
            around = list(lines_around(changed))
            if not around:
                break
            before = list(lines)
            for first, last in around:
                lines[first:last] = self._passed("\n".join(lines[first:last]))
        if not self._numbered.isdisjoint(lines):
            self.numbered.add(question)
            lines = [mask_bare_numbers(one, self._pseudonyms) if one in self._numbered else one for one in lines]
        return "\n".join(lines)

    def _numbers(self, text: str) -> list[str]:
        """The lines of a text of numbers alone, which may be ids that others are seen to be."""
        text = self._values.mask(text, self._pseudonyms.note)
        self._numbered.update(numbered_lines(text))
        return text.split("\n")

    def unchanged(self, texts: list[str]) -> list[bool]:
        """For each text whether masking leaves it as it is, but for names that lines told which are masked later."""
        kept = [self._over_lines(text) == text for text in texts]
        lines = "\n".join(texts).split("\n")
        pieces = (lines[at : at + _AT_ONCE] for at in range(0, len(lines), _AT_ONCE))
        masked = chain.from_iterable(map(self.masked_lines, pieces))
        made = ["\n".join(islice(masked, text.count("\n") + 1)) for text in texts]
        return [same and one == text for same, one, text in zip(kept, made, texts, strict=True)]

    def _over_lines(self, text: str) -> str:
        """The text after the steps that look at more than single lines."""
        text = self._names.mask_prompted(text, masked_secret(self._note))
        text = mask_blocks(text, self._tables, self._note)
        return self._names.mask_columns(text)

    def _passed(self, text: str) -> list[str]:
        """The lines of the text after each step of masking was taken once."""
        lines = self._over_lines(text).split("\n")
        different = dict.fromkeys(lines)
        known, stale = dict[str, str](), dict[str, str]()  # not all of them stay in what is kept for other texts
        for _ in range(_MOST_PASSES):
            fresh = [line for line in different if line not in known and line not in self._lines]
            if not fresh:
                break
            self._mask_lines(fresh, known, stale, _JUDGED_AGAIN)
        for found in (self._lines, stale):
            known.update((line, found[line]) for line in different if line not in known and line in found)
        return [known.get(line, VALUE_TOKEN) for line in lines]

    def _mask_lines(self, fresh: list[str], known: dict[str, str], stale: dict[str, str], times: int) -> None:
        """Masks lines, each different from the others, and keeps what they become.

        ``stale``: what lines became before a name was learned that may stand in them. ``times``: how often lines that
        differ in digits alone may wait for one of them. What hides more names and secrets than any machine tells is not
        worth its time: the rest of it is not kept.
        """
        now = list(range(len(fresh)))
        waiting: dict[int, list[int]] = {}
        bare: list[str] = []
        alike, learned = times > 0 and len(fresh) >= _MANY_LINES, self.learned()
        if alike:
            bare = self._known_gone("\n".join(fresh)).split("\n")
            now, waiting = self._alike.parted(bare)
        made = self._mask_slabs([fresh[at] for at in now], known, stale)
        if not alike:
            return
        firsts = list(waiting)
        kept = [made[fresh[at]] == bare[at] for at in firsts]
        inert = self._alike.judge([bare[at] for at in firsts], kept)
        rest = sorted(one for at, quick in zip(firsts, inert, strict=True) if not quick for one in waiting[at])
        # Where a name was learned, they may be alike in all but that.
        self._mask_lines([fresh[at] for at in rest], known, stale, times - 1 if self.learned() != learned else 0)
        looked = {*now, *rest}
        plain = [line for at, line in enumerate(fresh) if at not in looked]
        if plain:
            named = str if self._alike.hears else self._names.mask_plain
            text = self._values.mask(named("\n".join(plain)), self._pseudonyms.note)
            known.update(zip(plain, text.split("\n"), strict=True))

    def _known_gone(self, text: str) -> str:
        """The text with what is known of names and secrets replaced; nothing is counted."""
        totals = dict(self._pseudonyms.totals)
        text = self._values.mask(self._names.mask_plain(text), self._pseudonyms.note)
        self._pseudonyms.totals = totals
        return text

    def _mask_slabs(self, fresh: list[str], known: dict[str, str], stale: dict[str, str]) -> dict[str, str]:
        """What the lines became, also where a name was learned since; ``known`` and ``stale`` are told it too."""
        before = self._told()
        made: dict[str, str] = {}
        for at in range(0, len(fresh), _SLAB):
            slab, learned = fresh[at : at + _SLAB], self.learned()
            if self._told() - before > MOST_TOLD:
                known.update(dict.fromkeys(fresh[at:], VALUE_TOKEN))
                return {**dict.fromkeys(fresh[at:], VALUE_TOKEN), **made}
            masked = self._mask_slab(slab)
            made.update(zip(slab, masked, strict=True))
            if self.learned() != learned:
                stale.update(known)
                known.clear()
            known.update(zip(slab, masked, strict=True))
        return made

    def _told(self) -> int:
        """How many different people, machines and secrets were replaced."""
        return sum(number for cls, number in self._pseudonyms.distinct().items() if cls not in _MANY)

    def _mask_slab(self, fresh: list[str]) -> list[str]:
        learned = self.learned()
        many = len(fresh) >= _MANY_LINES
        light = self._addressed.among(self._known_gone("\n".join(fresh))) if many else NO_LINES
        masked = self.masked_lines(fresh, light)
        again = [at for at, line in enumerate(masked) if line != fresh[at] and (_OWN in line or _CUT.search(line))]
        for _ in range(_MOST_PASSES):
            if not again:
                break
            more = self.masked_lines([masked[at] for at in again])
            changed = [(at, line) for at, line in zip(again, more, strict=True) if masked[at] != line]
            for at, line in changed:
                masked[at] = line
            again = [at for at, _ in changed]
        if len(self._lines) > _MOST_LINES or self.learned() != learned:
            self._lines.clear()  # what was masked before may hold what is known only now
        self._lines.update(zip(fresh, masked, strict=True))
        self._lines.update(zip(masked, masked, strict=True))  # masking it again changes nothing
        self._of_lines = self.learned()
        self._numbered.update(numbered_lines("\n".join(masked)))
        return masked

    def masked_lines(self, fresh: list[str], light: frozenset[int] = NO_LINES) -> list[str]:
        """The lines after each step for single lines was taken once; in ``light`` ones only addresses can change."""
        text = "\n".join([line for at, line in enumerate(fresh) if at not in light] if light else fresh)
        present = self._tables.words_in(text.lower())
        text = mask_secrets(text, self._tables, self._note, present)
        text = mask_coded(text, self._tables, self._pseudonyms.note)
        text = mask_spelled(text, self._tables, self._note)
        text = self._values.mask(text, self._pseudonyms.note)
        text = mask_ids(text, self._pseudonyms)
        text = mask_emails(text, self._pseudonyms)
        text = self._names.mask(text, present)
        if light:
            text = woven(text, self._values.mask(kept_lines(fresh, light), self._pseudonyms.note), light)
        masked = mask_net(self._names.mask_plain(text), self._pseudonyms).split("\n")
        return masked if len(masked) == len(fresh) else [VALUE_TOKEN] * len(fresh)  # should a rule take a line's end

    def teaching_nothing(self, lines: list[str]) -> list[bool]:
        """For each line whether masking it teaches no name and no value; the masker must know nothing yet.

        What was learned is blamed on each line that holds it, also in a list that is written short; where it stands in
        none, on all that were changed.
        """
        masked = self.masked_lines(lines)
        told = [*self._names.known(), *self._values.known()]
        low = [" ".join((line, *listed_names(line))).lower() for line in lines]
        sure = len(told) < KnownValues.MOST and all(any(one in line for line in low) for one in told)
        return [
            made == line or (sure and not (_OWN in made or _CUT.search(made) or any(one in lowered for one in told)))
            for line, lowered, made in zip(lines, low, masked, strict=True)
        ]

    def learned(self) -> int:
        """Grows with each name and value that is masked wherever it stands from then on."""
        return self._names.generation + self._grown

    def _note(self, cls: str, value: str) -> None:
        """Counts a secret, and remembers it where its form leaves no doubt."""
        self._pseudonyms.note(cls, value)
        self._learn_value(value)

    def _learn_value(self, value: str, sure: bool = False) -> None:
        self._grown += self._values.learn(value, sure)

    def _env_value(self, name: str, value: str) -> str:
        kind = self._tables.env_kind(name)
        with self._lock:
            if not value or value == DROPPED:
                return value
            if secret_name(name) and not placeholder(value):
                self._learn_value(value, sure=True)
            if kind == "dropped":
                self._pseudonyms.note("variable", name)
                return DROPPED
            if secret_name(name) and not placeholder(value) and value != VALUE_TOKEN:
                self._pseudonyms.note("secret-value", value)
                return VALUE_TOKEN
            if kind == "host":
                value = self._names.host_value(value)
            elif kind == "proxy" and "://" not in value:
                value = self._names.proxy_value(value)
            elif kind == "user":
                value = self._names.user_value(value)
            return mask_seen(value, lambda part: self._mask(part, ""))


def _unchanged_lines(lines: list[str]) -> list[bool]:
    """Which lines a masker leaves as they are that knows nothing."""
    return [line == made for line, made in zip(lines, Masker().masked_lines(lines), strict=True)]


def _teaching_nothing(lines: list[str]) -> list[bool]:
    """Which lines teach nothing to a masker that knows nothing."""
    return Masker().teaching_nothing(lines)
