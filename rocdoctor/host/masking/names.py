"""Names of people and machines: learned ones everywhere, others where the place says what they are.

A learned name that is also a word of the tools' output (``max``, ``render``) is replaced only in such places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from rocdoctor.host.masking.accounts import BUILDERS, KEPT_HOSTS, KEPT_USERS, USUAL, named
from rocdoctor.host.masking.columns import mask_columns, may_be_host
from rocdoctor.host.masking.ids import Pseudonyms, id64, serial
from rocdoctor.host.masking.name_lists import COMPRESSED, GLUED, any_of, numbers_of
from rocdoctor.host.masking.name_places import (
    BESIDE_HOSTS,
    HOST_PLACES,
    LEVEL,
    SSH,
    SSID,
    SYSLOG_HOST,
    USER_AT_HOST,
    USER_PLACES,
)
from rocdoctor.host.masking.network import mac
from rocdoctor.host.masking.paths import is_known, is_public, mask_hosts, mask_paths
from rocdoctor.host.masking.prompted import mask_prompted
from rocdoctor.host.masking.rules import VALUE_TOKEN, MaskingTables, PlaceRule, sub_lines
from rocdoctor.host.masking.shown import mask_shown
from rocdoctor.host.masking.signed import mask_signed
from rocdoctor.model.lazy_re import regex

# Names that the tools print for devices, models and versions: a machine that is called so is not masked everywhere.
_SHAPED = regex(
    r"gfx\w+|(?:mlx5|eth|ib|en|wl|card|renderd|node|cpu|gpu|nvidia|hfi1|bnxt|cxi|hsn|lo)[\d_]*|0x\w+|[\d._-]+|[a-f]+|"
    r"(?:mi|rx|rtx|gtx|w|v|a|h|b|gb|gh|t|l|p|k)\d+\w{0,4}|"
    r"(?:rocm|cuda|ubuntu|python|torch|debian|rhel|sles|amdgpu|epyc|xeon|radeon|instinct|navi|vega)[\w.]*"
)
_TOKEN = regex(r"(?:host|user|domain|ip|email|wwn|uuid|serial)-\d+(?:[.\[].*)?|masked-.*|<.*|~.*", re.IGNORECASE)

_MOST_NAMES = 2000
_MOST_PARTS = 3  # of the name of a person
_FEW_NAMES = 40
_WORD = regex(r"[a-z0-9]+")
_PLACED = regex(r"(?<![^+(])[A-Za-z][\w.-]{0,100}")  # hosts in "a/0*8+b/0*8", "(a:ncpus=8)+(b:ncpus=8)"
_HOST_WORD = regex(r"(?<![\w.-])[A-Za-z][\w.-]{0,100}")  # hosts in "a a b", "a 8 b 8"
_DOMAIN = regex(r"[A-Za-z0-9][\w-]{0,60}(?:\.[A-Za-z0-9][\w-]{0,60}){1,6}")
# What a machine is called where nothing but a weak word says that it is one: letters, then a number or parts.
_LISTED = regex(r"(?:(?<=^)|(?<=,))[A-Za-z][^,\s:\[\]]{0,200}(?:\[[\d,-]{1,200}\])?")
_FORMED = regex(r"(?=[a-z-]{0,60}\d)[a-z]{2}[a-z0-9]{0,60}(?:-[a-z0-9]{1,60}){0,6}")
_LETTERS = regex(r"[a-z]{2}")
# Sizes, versions and models in a name: h100-80gb, llama-13b, x86-64, p4d.
_MODEL = regex(
    r"(?<![a-z])\d{1,5}(?:gb|tb|mb|b|m|k|w|x|hz|ghz|bit|bits|th|nd|rd|st)(?![a-z0-9])|(?:(?<![a-z])v\d|v\d\Z)|"
    r"\A(?:roc|hip|nccl|rccl|miopen|cudnn|torch|nvcc|libfabric|kernel|http|tcp|udp|ipv|tls|ssl|utf)[a-z]{0,10}-?\d|"
    r"\A(?:aarch|arm|riscv|ppc|amd|i)\d{2,3}|"
    r"(?:fp|bf|int|uint|float|utf|sha|md|cu|py|cp|sm|rdna|cdna|gen|ddr|hbm|pcie|wsl|x)\d"
)
_INCLUDED = regex(r"(?:(?<=^)|(?<=@))[A-Za-z][\w.-]{0,80}")  # hosts in "a:0,1@b:2,3"


class Names:
    """What the run has learned about people and machines; not thread-safe on its own."""

    def __init__(self, tables: MaskingTables, pseudonyms: Pseudonyms) -> None:
        self._common = tables.common_words
        self._folders = tables.folders | tables.common_words
        self._columns = tables.columns
        self._beside = tables.beside
        self._public = tables.public_domains
        self._accounts = tables.public_accounts
        self._services = tables.services
        self._places = tables.places
        self._places_of = tables.places_of
        self._by_kind: dict[str, Callable[[str], str]] = {
            "user": self._found_user,
            "hosts": self._found_hosts,
            "words": self._words,
            "fullname": self._full_name,
            "person": lambda value: value if value.lower() in self._folders else self._found_user(value),
            "account": self._account,
            "placed": lambda value: _PLACED.sub(lambda match: self._found_host(match.group()), value),
            "proxy": self.proxy_value,
            "column": lambda value: self._in_column("user", value),
            "group": lambda value: value if value.lower() in tables.system_groups else self._found_user(value),
            "members": lambda value: ",".join(map(self._found_user, value.split(","))),
            "owner": self._owner,
            "fields": lambda value: "|".join(self._in_column("job", one) if one else one for one in value.split("|")),
            "hostwords": lambda value: _HOST_WORD.sub(lambda match: self._found_host(match.group()), value),
            "includes": lambda value: _INCLUDED.sub(lambda match: self._found_host(match.group()), value),
            "ssid": self._network,
            "serial": lambda value: serial(value, pseudonyms),
            "mac": lambda value: mac(value, value[2], pseudonyms),
            "said": lambda value: VALUE_TOKEN,
            "job": lambda value: self._in_column("job", value),
            "maybe": self._maybe_hosts,
            "machine": lambda value: value if self._usual(value) else self._found_hosts(value),
            "domains": lambda value: _DOMAIN.sub(lambda match: self._found_domain(match.group()), value),
            "guid": lambda value: id64(value, pseudonyms),
        }
        self._pseudonyms = pseudonyms
        self._bare: dict[str, str] = {}
        self._contested = False
        self.generation = 0  # grows with every name that is masked everywhere from then on
        self._home: re.Pattern[str] | None = None
        self._home_path = ""
        self._user_names: set[str] = set()

    def learn_host(self, name: str | None) -> None:
        """A host name, short or full; the domain of a full one is learned too."""
        if not name or not (name := name.strip().lower().rstrip(".")) or name in KEPT_HOSTS or _TOKEN.fullmatch(name):
            return
        short, _, domain = name.partition(".")
        if _SHAPED.fullmatch(name) or name.startswith("localhost"):
            return
        self._host_token(short, count=False)
        if self._is_bare(short):
            self._add(short, "host")
        self.learn_domain(domain)

    def learn_domain(self, name: str | None) -> None:
        if name and "." in name and not name.startswith(("localdomain", "(none)")) and not _TOKEN.fullmatch(name):
            low = name.strip().lower().strip(".")
            self._pseudonyms.number("domain", low, count=False)
            self._add(low, "domain")

    def learn_user(self, name: str | None, home: str | None = None) -> None:
        """A user name and, for the user of the run, the home directory that becomes ``~``."""
        name = (name or "").strip()
        if home and "\n" not in home and home.rstrip("/") not in ("", "/root", "/home", "~") and home.startswith("/"):
            self._home_path = home.rstrip("/")
            self._home = re.compile(rf"(?<![\w.~/-]){re.escape(home.rstrip('/'))}(?![\w.-])")
        if not name or name.lower() in KEPT_USERS or _TOKEN.fullmatch(name) or len(name) > 60:
            return
        self._user_names.add(name.lower())
        self._user_token(name, count=False)
        if self._is_bare(name.lower()):
            self._add(name.lower(), "user")

    def users(self) -> tuple[int, str]:
        """What is known of users: how many names, and the home folder; texts are masked otherwise once that grows."""
        return len(self._user_names), self._home_path

    def mask(self, text: str, present: Collection[str]) -> str:
        """The text with home paths, and names where places tell them; ``present``: words of places that may occur."""
        if self._home is not None and self._home_path in text:
            text = self._home.sub(self._home_token, text)
        low = text.lower()
        text = mask_paths(text, low, self._user_token, self._found_user, self._folders)
        if "user" in low or "/media/" in low or "logname" in low:
            for pattern, _ in USER_PLACES:
                text = pattern.sub(lambda m: named(m, self._found_user), text)
        if "ssid" in low:
            text = SSID.sub(self._ssid, text)
        text = mask_signed(text, low, self._full_name)
        if "@" in text:
            text = USER_AT_HOST.sub(self._at, text)
            text = SSH.sub(lambda m: f"{m['k']}{self._login(m['u'])}@{self._host_token(m['h'])}", text)
        for word, pattern in HOST_PLACES:
            if word in low:
                if word in BESIDE_HOSTS:
                    text = pattern.sub(self._placed_host, text)
                else:
                    text = sub_lines(pattern, self._placed_host, text, (word,))
        if ": " in text:
            text = sub_lines(SYSLOG_HOST, self._placed_host, text, (": ",))
        numbers = {number for word in present for number in self._places_of.get(word, ())}
        for number in sorted(numbers):
            place = self._places[number]
            text = self._mask_place(place, text, [word for word in place.words if word in present])
        return mask_hosts(text, low, self._found_host, self._public, self._common)

    def mask_prompted(self, text: str, secret: Callable[[str], str]) -> str:
        """The text with what telling commands printed below themselves replaced."""
        return mask_prompted(text, secret, self._words, self._sure_host, self._by_kind["serial"], self._found_host)

    def mask_columns(self, text: str) -> str:
        """The text with the people and machines of tables replaced whose first line tells what their columns hold."""
        text = mask_shown(text, self._found_user, self._sure_host, self._words, self._found_host)
        return mask_columns(text, self._columns, self._beside, self._folders, self._in_column)

    def _in_column(self, kind: str, value: str) -> str:
        name = value.rstrip("+*")
        low = name.lower()
        if kind == "hosts":
            return self._found_hosts(value)
        if kind == "serial":
            return serial(value, self._pseudonyms) if len(value) > 5 and any(map(str.isdigit, value)) else value
        if kind == "job":
            known = any(word in self._folders for word in re.findall(r"[a-z]+", low)) or low in USUAL
            return value if known or low in self._services or _SHAPED.fullmatch(low) else self._user_token(name)
        if value != name:  # cut off
            service = any(one.startswith(low) for one in self._services)
            return value if service or value[-1] == "*" else self._user_token(name) + "+"
        return self._found_user(value)

    def _mask_place(self, place: PlaceRule, text: str, words: list[str]) -> str:
        replaced = self._by_kind[place.kind]
        return sub_lines(place.pattern, lambda match: named(match, replaced), text, words, place.continued)

    def mask_plain(self, text: str) -> str:
        """The text with learned names and the home path replaced, where nothing else tells of a person or a host."""
        if self._home is not None and self._home_path in text:
            text = self._home.sub(self._home_token, text)
        return self.mask_bare(text)

    def host_value(self, value: str) -> str:
        """The value of a variable that names machines: a host, a list, or a compressed list such as n[01-04]."""
        return re.sub(r"(?:(?<=^)|(?<=[,\s]))[A-Za-z][^,\s:\[\]]{0,120}", lambda m: self._host_token(m.group()), value)

    def proxy_value(self, value: str) -> str:
        """The value of a proxy variable without a scheme: hosts and domains with ports, or a list of them."""
        return re.sub(
            r"(?:(?<=^)|(?<=[,\s]))(?:(?P<d>\*?\.)(?P<n>[A-Za-z][\w.-]{0,200})|(?P<h>[A-Za-z][\w.-]{0,200}))",
            lambda m: f"{m['d']}{self._domain_token(m['n'])}" if m["n"] else self._found_host(m["h"]),
            value,
        )

    def user_value(self, value: str) -> str:
        return self._found_user(value) if value else value

    def _is_bare(self, name: str) -> bool:
        return len(name) >= 3 and name not in self._common and not _SHAPED.fullmatch(name)

    def _add(self, name: str, cls: str) -> None:
        if name in self._bare:
            self._contested |= self._bare[name] != cls
            return
        if len(self._bare) < _MOST_NAMES and "\n" not in name:
            self._bare[name] = cls
            self.generation += 1

    def ordered(self) -> bool:
        """Whether what is known depends on what came first: there are too many names, or one is a user and a host."""
        return self._contested or len(self._bare) >= _MOST_NAMES

    def known(self) -> Collection[str]:
        """The names that are masked everywhere, in lower case."""
        return self._bare.keys()

    def adopt(self, other: Names) -> None:
        """Learns the names that another run masks everywhere."""
        for name, cls in other._bare.items():
            self._add(name, cls)

    def mask_bare(self, text: str) -> str:
        """The text with learned names replaced: only those that occur are looked for with an expression."""
        low = text.lower()
        if len(self._bare) > _FEW_NAMES:
            words = {*_WORD.findall(low), *_WORD.findall(GLUED.sub(" ", low))}
            present = [name for name in self._bare if (first := _WORD.match(name)) is None or first[0] in words]
        else:
            present = [name for name in self._bare if name in low]
        return any_of(frozenset(present)).sub(self._bare_token, text) if present else text

    def _bare_token(self, match: re.Match[str]) -> str:
        value = match.group()
        cls = self._bare.get(value.lower())
        if cls == "host":
            return self._host_token(value)
        if cls == "user":
            # An attribute or a module (torch.optim.adam) is no person.
            before = match.string[max(0, match.start() - 2) : match.start()]
            return value if before[1:] == "." and before[0].isalnum() else self._user_token(value)
        return f"domain-{self._pseudonyms.number('domain', value.lower())}"

    def _home_token(self, match: re.Match[str]) -> str:
        self._pseudonyms.note("home", match.group())
        return "~"

    def _user_token(self, value: str, count: bool = True) -> str:
        if value.lower() in KEPT_USERS or _TOKEN.fullmatch(value):
            return value
        return f"user-{self._pseudonyms.number('user', value.lower(), count)}"

    def _found_user(self, value: str) -> str:
        """A name that its place says is a person; unless it is a word of the tools, it is masked everywhere then."""
        low = value.lower()
        if low in self._services or value.isdigit():
            return value
        if len(low) >= 4 and low not in KEPT_USERS and not _TOKEN.fullmatch(value) and self._is_bare(low):
            self._add(low, "user")
        return self._user_token(value)

    def _found_hosts(self, value: str) -> str:
        """Hosts in a list, also a compressed one with counts: ``a:8,b:8``, ``n[01-04],fat7``."""
        for stem, ranges, rest in COMPRESSED.findall(value):
            if len(stem) > 2 and not _TOKEN.fullmatch(stem):
                for number in numbers_of(ranges):
                    self._found_host(f"{stem}{number}{rest}")
        return re.sub(r"(?:(?<=^)|(?<=,))[A-Za-z][^,\s:\[\]]{0,200}", lambda m: self._found_host(m.group()), value)

    def _usual(self, value: str) -> bool:
        """Whether a machine is called like a word of the tools and a number at most: ``gpu``, ``worker-0``."""
        return value.lower().rstrip("0123456789").rstrip("-_") in self._folders

    def _maybe_hosts(self, value: str) -> str:
        """A list of what may be hosts: only names that are formed like one, and like no device or product."""
        return _LISTED.sub(lambda match: self._maybe_host(match.group()), value)

    def _maybe_host(self, value: str) -> str:
        stem = value.partition("[")[0]
        short = stem.lower().partition(".")[0]
        known = short in self._bare or _TOKEN.fullmatch(value) is not None
        formed = _FORMED.fullmatch(short) is not None or (stem != value and _LETTERS.search(short) is not None)
        technical = _SHAPED.fullmatch(short) is not None or _MODEL.search(short) is not None
        if known or not formed or technical or not may_be_host(short, self._folders):
            return value
        return self._found_hosts(value)

    def _found_domain(self, value: str) -> str:
        """A name that its place says is a domain or a host of one; the domain is masked everywhere from here on."""
        low = value.lower().rstrip(".")
        if is_public(low, self._public) or _TOKEN.fullmatch(value) or low in KEPT_HOSTS:
            return value
        if low.count(".") > 1:
            return self._found_host(value)
        self._add(low, "domain")
        return f"domain-{self._pseudonyms.number('domain', low)}"

    def _owner(self, value: str) -> str:
        """Whose a folder is, unless it is called like what lies in it."""
        return value if is_known(value, self._folders) or _SHAPED.fullmatch(value.lower()) else self._found_user(value)

    def _words(self, value: str) -> str:
        """Words that are somebody's or something's name as a whole, spaces and all."""
        name = value.strip()
        if not name or _TOKEN.fullmatch(name) or name.lower() in KEPT_USERS or name.lower() in self._services:
            return value
        return value.replace(name, self._user_token(name))

    def _full_name(self, value: str) -> str:
        """The name that somebody goes by, as a whole; from here on it is masked wherever it stands."""
        parts = value.strip(" \t\"'").lower().split(" ")
        formed = 2 <= len(parts) <= _MOST_PARTS and all(len(one) > 1 and one.isalpha() for one in parts)
        if formed and not any(one in self._folders or one in self._accounts or one in self._services for one in parts):
            self._add(" ".join(parts), "user")
        return self._words(value)

    def _account(self, value: str) -> str:
        """An account of a public service, unless everybody knows it; it need not be a name of this machine."""
        return value if value.lower() in self._accounts or value.lower() in self._services else self._user_token(value)

    def _domain_token(self, value: str) -> str:
        if is_public(value.lower(), self._public) or _TOKEN.fullmatch(value) or value.lower() in KEPT_HOSTS:
            return value
        return f"domain-{self._pseudonyms.number('domain', value.lower())}"

    def _at(self, match: re.Match[str]) -> str:
        # A distributor's build account in the kernel version string stays, host and all.
        if match["u"] in BUILDERS:
            return match.group()
        return f"{self._found_user(match['u'])}@{self._sure_host(match['h'])}"

    def _found_host(self, value: str) -> str:
        """A name that its place says is a host; an unmistakable one is masked everywhere from here on."""
        if _TOKEN.fullmatch(value) or value.lower() in KEPT_HOSTS:
            return value
        short, _, domain = value.lower().partition(".")
        if is_public(value.lower(), self._public):
            return value
        if "." in domain and not domain.replace(".", "").isdigit() and not _TOKEN.fullmatch(domain):
            self._add(domain, "domain")
        telling = "-" in short or any(char.isdigit() for char in short)
        if len(short) >= 4 and telling and self._is_bare(short):
            self._add(short, "host")
        return self._host_token(value)

    def _placed_host(self, match: re.Match[str]) -> str:
        return named(match, self._found_host)

    def _sure_host(self, value: str) -> str:
        """The name of a machine beyond doubt: it is masked everywhere from here on, however it is formed."""
        if not LEVEL.fullmatch(value) and value.lower() not in self._folders:
            self.learn_host(value)
        return self._host_token(value)

    def _ssid(self, match: re.Match[str]) -> str:
        return f"{match['k']}{match['q']}{self._network(match['s'])}"

    def _network(self, value: str) -> str:
        """The name of a wireless network."""
        name = value.strip()
        if re.match(r"(?i)(?:ssid-\d+|masked-|(?:off/any|any|off|none|null|--|hidden|<.*|\d{1,2}|)\Z)", name):
            return value
        return f"ssid-{self._pseudonyms.number('ssid', name)}{value[len(value.rstrip()) :]}"

    def _login(self, value: str) -> str:
        return value if value == "git" else self._user_token(value)

    def _host_token(self, value: str, count: bool = True) -> str:
        low = value.lower().rstrip(".")
        if low in KEPT_HOSTS or _TOKEN.fullmatch(value) or re.fullmatch(r"[\d.:]+|lists\..*|localhost.*", low):
            return value
        short, _, domain = low.partition(".")
        token = f"host-{self._pseudonyms.number('host', short, count)}"
        if domain and not _TOKEN.fullmatch(domain):
            return f"{token}.domain-{self._pseudonyms.number('domain', domain, count)}"
        return f"{token}.{domain}" if domain else token
