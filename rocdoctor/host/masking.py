"""Masking at the host boundary: secrets and identities leave every answer before anything else sees it.

One ``Masker`` lives as long as one run. It replaces consistently (the same host is ``host-1`` in every answer) and
keeps form and relations, so that the parsers read masked text as they read the original. Masking is deterministic for
the same answers in the same order, and masking twice changes nothing. No input makes it raise.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping

from rocdoctor.host.masking_ids import Pseudonyms, mask_ids
from rocdoctor.host.masking_names import Names
from rocdoctor.host.masking_net import mask_net
from rocdoctor.host.masking_rules import load_tables
from rocdoctor.host.masking_secrets import DROPPED, VALUE_TOKEN, mask_secrets, placeholder, secret_name

_HOST_QUESTION = re.compile(r"(?:read /etc/hostname|read /proc/sys/kernel/hostname|run (?:hostname|uname -n)\b.*)\s*\Z")
_PASSWD_LINE = re.compile(r"(?P<name>[A-Za-z_][\w.-]{0,40}):[^:]*:(?P<uid>\d{1,10}):[^:]*:(?P<gecos>[^:]*):")
_FIRST_PERSON_UID = 1000
_NOBODY_UID = 65534


class Masker:
    """The consistent replacement of secrets and identities for one run; safe to use from several threads."""

    def __init__(self) -> None:
        self._tables = load_tables()
        self._pseudonyms = Pseudonyms()
        self._names = Names(self._tables.common_words, self._pseudonyms)
        self._lock = threading.Lock()

    def learn(
        self,
        hostname: str | None = None,
        user: str | None = None,
        home: str | None = None,
        domain: str | None = None,
        passwd: str | None = None,
        extra_users: Iterable[str] = (),
    ) -> None:
        """Primes identities, so that they are replaced from the first answer on.

        ``passwd`` is text in the format of /etc/passwd: accounts of people (uid 1000 and above) are learned.
        """
        with self._lock:
            self._names.learn_host(hostname)
            self._names.learn_domain(domain)
            self._names.learn_user(user, home)
            for name in extra_users:
                self._names.learn_user(name)
            for line in (passwd or "").splitlines()[:10000]:
                match = _PASSWD_LINE.match(line)
                if match and _FIRST_PERSON_UID <= int(match["uid"]) != _NOBODY_UID:
                    self._names.learn_user(match["name"])

    def mask_text(self, text: str, question: str = "") -> str:
        """The answer without secrets and identities; ``question`` helps where a file holds one bare value."""
        if not text:
            return text
        with self._lock:
            if question and _HOST_QUESTION.search(question):
                self._names.learn_host(text.strip().split("\n", 1)[0])
            return self._mask(text, question)

    def mask_env(self, pairs: Mapping[str, str]) -> dict[str, str]:
        """The environment with every name, and values only for listed names (others ``<dropped>``), masked."""
        return {name: self._env_value(name, value) for name, value in pairs.items()}

    def mask_question(self, question: str) -> str:
        """The question without identities (``read ~/.bashrc``); the part that names a device or file class stays."""
        return self.mask_text(question)

    def counts(self) -> dict[str, int]:
        """Class (``host``, ``user``, ``ip``, ``github-token``, ...) -> number of replacements made."""
        with self._lock:
            return dict(sorted(self._pseudonyms.totals.items()))

    def distinct(self) -> dict[str, int]:
        """Class -> number of different values that were replaced."""
        with self._lock:
            return dict(sorted(self._pseudonyms.distinct().items()))

    def _mask(self, text: str, question: str) -> str:
        text = mask_secrets(text, self._tables, self._pseudonyms.note)
        text = mask_ids(text, self._pseudonyms, question)
        text = self._names.mask(text)
        return mask_net(text, self._pseudonyms)

    def _env_value(self, name: str, value: str) -> str:
        kind = self._tables.env_kind(name)
        with self._lock:
            if not value or value == DROPPED:
                return value
            if kind == "dropped":
                self._pseudonyms.note("variable", name)
                return DROPPED
            if secret_name(name) and not placeholder(value) and value != VALUE_TOKEN:
                self._pseudonyms.note("secret-value", value)
                return VALUE_TOKEN
            if kind == "host":
                value = self._names.host_value(value)
            elif kind == "user":
                value = self._names.user_value(value)
            return self._mask(value, "")
