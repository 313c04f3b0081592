"""Network identities: MAC, IPv6, IPv4 and e-mail addresses, told apart from versions, times and PCI addresses.

A version of four parts looks like an IPv4 address: the words beside it decide, and without any word only numbers that
no version has (first part 32 or more, private ranges) are addresses. IPv6 becomes the documentation prefix of RFC 3849.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from rocdoctor.host.masking.ids import Pseudonyms, id64
from rocdoctor.host.masking.rules import sub_lines
from rocdoctor.model.lazy_re import regex

_MAC = regex(
    r"(?<![0-9A-Za-z:-])(?P<s>[0-9a-fA-F]{2}(?P<c>[:-])(?:[0-9a-fA-F]{2}(?P=c)){4}[0-9a-fA-F]{2})(?![0-9A-Za-z:-])"
)
# The head of a frame, as the kernel logs it: to whom, from whom, and what it carries (Linux,
# net/netfilter/nf_log_syslog.c, dump_mac_header).
_MAC_FRAME = regex(
    r"(?<![0-9A-Za-z:-])(?P<d>[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}):(?P<s>[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5})"
    r"(?P<t>:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})(?![0-9A-Za-z:-])"
)
# As Cisco writes it, and without any separator where a word says what it is.
_MAC_DOTS = regex(
    r"(?<![0-9A-Za-z.])(?=[0-9.]{0,14}[a-fA-F])(?P<s>[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4})"
    r"(?![0-9A-Za-z]|\.[0-9A-Za-z])"
)
_DOTTED = regex(r"\.[0-9a-f]{4}\.[0-9a-f]{4}")
_MAC_BARE = regex(
    r"(?P<k>(?i:(?<![A-Za-z])(?:mac(?:[ _-]?addr(?:ess)?)?|hwaddr|ether|bssid|lladdr|physical address))[\"']?"
    r"[ \t]{0,4}[:=]?[ \t\"']{0,20})(?P<s>(?=[0-9]{0,11}[A-Fa-f])[0-9a-fA-F]{12})(?![0-9A-Za-z])"
)
_ENX = regex(r"(?<![0-9A-Za-z])(?P<k>enx|wlx|wwx)(?P<s>[0-9a-f]{12})(?![0-9A-Za-z])")
# Those that are replaced begin with 2 or 3, f (link-local, private), or zeros (IPv4 in a GID).
_IPV6 = regex(r"(?<![0-9A-Za-z:.])(?=[023fF:])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![0-9A-Za-z:])")
_IPV4 = regex(r"(?<![\w.+~])\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w+~]|\.\w|-\w)")
_VERSION_BEFORE = regex(
    r"(?:version|release|\brev\b|revision|firmware|\bfw|vbios|bios|driver|cuda|rocm|\bhip|nccl|rccl|cudnn|cublas|"
    r"curand|cufft|cusolver|cusparse|cusparselt|nvjitlink|nvtx|cupti|\bpip|torch|python|package|[=<>~!]=|@|\bver\b|"
    r"(?:lib|nvidia-|amd|python3?-)[\w.-]{1,40}[ \t=(]{1,40})[^\n;,]{0,24}\Z|[-_/v^]\Z|[A-Za-z]\w{0,20}\s?\(\Z|>=\s*\Z",
    re.IGNORECASE,
)
_ADDRESS_BEFORE = regex(
    r"(?:\binet6?|addr|address|nameserver|host|peer|gateway|\bvia|\bfrom|\bsrc|\bdst|\bip|listen|connect\w{0,48}|bind|server|"
    r"endpoint|remote|client|broadcast|\bbrd|netmask|route|://|ssh|ping|proxy|resolver|dns|NET/\w{1,10}|\bto)"
    r"[\s\w=:\"'<>\[(-]{0,24}\Z|[@\[]\Z|\\?[\"']\Z",
    re.IGNORECASE,
)
_ADDRESS_JUST_BEFORE = regex(
    r"://[^\s/]{0,80}\Z|[@\[]\Z|\bhost-\d{1,6}(?:\.domain-\d{1,6})?/\Z|(?:inet6?|addr|address|addresses|nameserver|endpoint|_ip|\bip|gateway|host(?:name)?|server)"
    r"[\"']?[ \t]{0,4}[=: \t][ \t\"']{0,4}\Z",
    re.IGNORECASE,
)
_ADDRESS_AFTER = regex(
    r":\d{2,5}(?![\d.:])|/\d{1,2}(?![\d.\w])|<\d{2,5}>|@(?:tcp|o\dib|kfi|gni)\d{0,3}\b"
    r"|[ \t]+(?:dev|proto|port|netmask|scope)\b"
)
_ADDRESS_LINE = regex(
    r"[ \t]*\d{1,3}(?:\.\d{1,3}){3}(?:[ \t]+\d{1,3}(?:\.\d{1,3}){3})+[ \t]*|\s*\d{1,3}(?:\.\d{1,3}){3}[ \t]+[a-zA-Z].*"
)
_PACKAGE_LINE = regex(r"[ \t]*[A-Za-z][\w.+-]*[ \t]+\Z")
_EMAIL = regex(
    r"(?<![A-Za-z0-9._%+-])(?P<l>[A-Za-z0-9_%+-][A-Za-z0-9._%+-]{0,63})@(?P<d>(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24})"
    r"(?![A-Za-z0-9@-]|\.[A-Za-z0-9])"
)
# With letters of any script, the wide signs of an input method, and with a quoted first part.
_EMAIL_WIDE = regex(
    r"(?:(?<![\w.%+-])(?P<l>[\w%+-][\w.%+-]{0,63})|(?P<q>\"[^\"\n@]{1,60}\"))[@\uff20\ufe6b]"
    r"(?P<d>(?:[^\W_][\w-]{0,62}[.\uff0e]){1,6}[^\W\d_]{2,24})(?![\w@-]|\.\w)"
)
# As people write them for people, and in URLs.
_EMAIL_SAID = regex(
    r"(?<![A-Za-z0-9._%+-])(?P<l>[A-Za-z0-9][A-Za-z0-9._+-]{0,63})(?: ?[(\[]at[)\]] ?|%40)"
    r"(?P<d>(?:[A-Za-z0-9-]{1,63}(?:\.| ?[(\[]dot[)\]] ?)){1,6}[A-Za-z]{2,24})(?![A-Za-z0-9@-]|\.[A-Za-z0-9])"
)
_AT = ("@", "\uff20", "\ufe6b")
_SAID_DOT = regex(r" ?[(\[]dot[)\]] ?| dot |\uff0e")
_DOCUMENTED = ((192, 0, 2), (198, 51, 100), (203, 0, 113))  # RFC 5737
_UNITS = ("service", "socket", "target", "mount", "timer", "slice", "device", "scope", "path", "swap", "conf", "so")
_BUILD_USERS = {"buildd", "mockbuild", "builduser", "git", "debian-kernel", "noreply", "geeko", "hg", "svn"}


# As people spell them out, so that programs do not find them: "at" and "dot" as words, or a capital AT and a domain.
_TOP = "(?i:com|org|net|edu|gov|de|fr|ch|nl|eu|uk|se|es|it|pl|jp|cn|ai)"
_EMAIL_SPELT = regex(
    r"(?<![A-Za-z0-9._%+-])(?P<l>[A-Za-z0-9][A-Za-z0-9._+-]{0,63}(?: (?:DOT|dot) [A-Za-z0-9_-]{1,40}){0,3})"
    r" (?:AT|at) (?P<d>[A-Za-z0-9-]{1,63}(?: (?:DOT|dot) [A-Za-z0-9-]{1,63}){0,4}"
    rf" (?:DOT|dot) {_TOP})(?![A-Za-z0-9@-])"
)
_EMAIL_AT = regex(
    r"(?<![A-Za-z0-9._%+-])(?P<l>[A-Za-z0-9][A-Za-z0-9.+-]{0,63})(?: AT |_at_)(?P<d>(?:[A-Za-z0-9-]{1,63}\.){1,5}"
    rf"{_TOP})(?![A-Za-z0-9@-]|\.[A-Za-z0-9])"
)


def mask_emails(text: str, pseudonyms: Pseudonyms) -> str:
    """The text with e-mail addresses replaced: whole, so before the names of hosts and domains in them are."""
    if "%40" in text or "(at)" in text or "[at]" in text:
        text = _EMAIL_SAID.sub(lambda m: _email(m, pseudonyms), text)
    if " dot " in text or " DOT " in text:
        text = _EMAIL_SPELT.sub(lambda m: _email(m, pseudonyms), text)
    if " AT " in text or "_at_" in text:
        text = _EMAIL_AT.sub(lambda m: _email(m, pseudonyms), text)
    if "@" in text:
        text = _EMAIL.sub(lambda m: _email(m, pseudonyms), text)
    if '"@' in text or (not text.isascii() and any(sign in text for sign in _AT)):
        text = _EMAIL_WIDE.sub(lambda m: _email(m, pseudonyms), text)
    return text


def mask_net(text: str, pseudonyms: Pseudonyms) -> str:
    """The text with MAC and IP addresses replaced; relations (same network) and kinds (loopback) survive."""
    text = _MAC.sub(lambda m: mac(m["s"], m["c"], pseudonyms), text)
    if "MAC" in text:
        text = _MAC_FRAME.sub(lambda m: f"{mac(m['d'], ':', pseudonyms)}:{mac(m['s'], ':', pseudonyms)}{m['t']}", text)
    if dotted := {match.group() for match in _DOTTED.finditer(text.lower())}:
        text = sub_lines(_MAC_DOTS, lambda m: mac(m["s"], ".", pseudonyms, 4), text, dotted)
    low = text.lower()
    if any(word in low for word in ("mac", "hwaddr", "ether", "bssid", "lladdr", "physical addr")):
        text = _MAC_BARE.sub(lambda m: m["k"] + mac(m["s"], "", pseudonyms), text)
    if "enx" in text or "wlx" in text or "wwx" in text:
        text = _ENX.sub(lambda m: m["k"] + mac(m["s"], "", pseudonyms), text)
    text = _IPV6.sub(lambda m: _ipv6(m.group(), pseudonyms), text)
    return _IPV4.sub(lambda m: _ipv4(m, pseudonyms), text)


def mac(value: str, separator: str, pseudonyms: Pseudonyms, step: int = 2) -> str:
    """The address of a network card, replaced by one of the same form."""
    digits = value.replace(separator, "").lower() if separator else value.lower()
    if digits.startswith("025eed") or len(set(digits)) == 1:
        return value
    new = f"025eed{pseudonyms.number('mac', digits):06x}"
    if any(char in "ABCDEF" for char in value):
        new = new.upper()
    return separator.join(new[at : at + step] for at in range(0, 12, step))


@lru_cache(maxsize=4096)
def _ipv6_number(value: str) -> int | None:
    try:
        return int(ipaddress.IPv6Address(value))
    except ValueError:
        return None


def _ipv6(value: str, pseudonyms: Pseudonyms) -> str:
    if "::" not in value and value.count(":") < 6:  # a time, as a rule
        return value
    address = _ipv6_number(value)
    if address is None:
        return value
    high, low = address >> 64, address & ((1 << 64) - 1)
    first = address >> 112
    expanded = "::" not in value and len(value) == 39
    if high == 0 and low >> 32 == 0xFFFF:
        # An IPv4 address in a RoCE GID: the kind must survive, since it decides the GID index.
        if low & 0xFFFFFFFF in (0,) or (low & 0xFFFFFFFF) >> 16 == 0x5EED:
            return value
        number = pseudonyms.number("ip-in-gid", str(low))
        return value[: value.lower().rindex("ffff") + 4] + f":5eed:{number:04x}"
    if first >> 6 == 0xFE80 >> 6:
        new = int(id64(f"{low:016x}", pseudonyms), 16)
        address = (high << 64) | new
        if new == low:
            return value
    elif (0x2000 <= first <= 0x3FFF or first >> 9 == 0xFC >> 1) and address >> 96 != 0x20010DB8:
        network = pseudonyms.number("ipv6-network", str(high), count=False)
        number = pseudonyms.number("ipv6", str(address))
        address = (0x20010DB8 << 96) | (network << 64) | number
    else:
        return value
    made = ipaddress.IPv6Address(address)
    return made.exploded if expanded else made.compressed


def _ipv4(match: re.Match[str], pseudonyms: Pseudonyms) -> str:
    value = match.group()
    parts = value.split(".")
    numbers = list(map(int, parts))
    if max(numbers) > 255 or any(len(part) > 1 and part[0] == "0" for part in parts):
        return value
    first, second = numbers[0], numbers[1]
    kept = first in (0, 127, 255) or (first == 169 and second == 254) or 224 <= first < 240
    if kept or tuple(numbers[:3]) in _DOCUMENTED or not _is_address(match, numbers):
        return value
    network = pseudonyms.number("network", ".".join(parts[:3]), count=False)
    pseudonyms.note("ip", value)
    if parts[3] in ("0", "255"):
        return f"ip-{network}.{parts[3]}"
    return f"ip-{network}.{pseudonyms.number(f'network-{network}', parts[3], count=False)}"


def _is_address(match: re.Match[str], numbers: list[int]) -> bool:
    text, start, end = match.string, match.start(), match.end()
    line_start = max(text.rfind("\n", 0, start) + 1, start - 48)
    return _judge_address(text[line_start:start], match.group(), text[end : end + 100].partition("\n")[0], *numbers[:2])


def _judge_address(before: str, value: str, after: str, first: int, second: int) -> bool:
    """Whether four numbers between these words of a line are an address and not a version."""
    low = before.lower()
    if not any(word in low for word in _NUMBERED):  # logs repeat what is beside but for the digits
        before = before.translate(_NO_DIGITS)
    said = "address" if _ADDRESS_AFTER.match(after) else _beside(before)
    if said in ("package", "perhaps") and _ADDRESS_LINE.fullmatch(before + value + after):
        said = "address"
    private = first == 192 and second == 168
    private = private or (first == 172 and 16 <= second < 32) or (first == 100 and 64 <= second < 128)
    if said == "perhaps":
        return private or first == 10 or first >= 32
    return said == "address" or (private and said != "version")


# Digits that are part of a word of the expressions.
_NUMBERED = ("inet6", "python3")
_NO_DIGITS = str.maketrans("123456789", "000000000")
# What may stand before a version, or an address: without any of these words only the sign right before tells.
_VERSION_WORDS = (
    *("version", "release", "rev", "firmware", "fw", "bios", "driver", "cuda", "rocm", "hip", "nccl", "rccl", "cudnn"),
    *("cublas", "curand", "cufft", "cusolver", "cusparse", "nvjitlink", "nvtx", "cupti", "pip", "torch", "python"),
    *("package", "==", "!=", "<=", ">=", "~=", "@", "ver", "lib", "nvidia-", "amd"),
)
_SIGN_BEFORE = regex(r"(?:[-_/v^(]|>=\s*)\Z", re.IGNORECASE)


@lru_cache(maxsize=16384)
def _beside(before: str) -> str:
    """What the words before four numbers make of them; ``private``: an address only where no version looks so."""
    if _ADDRESS_JUST_BEFORE.search(before):
        return "address"
    low = before.lower()
    worded = any(word in low for word in _VERSION_WORDS) or _SIGN_BEFORE.search(before[-4:])
    if worded and _VERSION_BEFORE.search(before):
        return "private" if _ADDRESS_BEFORE.search(before) else "version"
    if _ADDRESS_BEFORE.search(before):
        return "address"
    return "package" if _PACKAGE_LINE.fullmatch(before) else "perhaps"


def _email(match: re.Match[str], pseudonyms: Pseudonyms) -> str:
    local, domain = (match["l"] or match.group().partition("@")[0]).lower(), _SAID_DOT.sub(".", match["d"].lower())
    top = domain.rsplit(".", 1)[1]
    if top in _UNITS or local in _BUILD_USERS or domain.startswith("lists.") or domain == "vger.kernel.org":
        return match.group()
    if local.startswith("masked-"):
        return match.group()
    return f"email-{pseudonyms.number('email', f'{local}@{domain}')}"
