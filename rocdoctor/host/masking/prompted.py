"""What a command or an expression at a prompt printed below itself, where its own words tell what that is.

``cat /run/secrets/db_password``, ``echo $HF_TOKEN``, ``gh auth token``, ``>>> os.environ["WANDB_API_KEY"]``. Pure: text
in, text out; every line stays at its place. Names and serial numbers are replaced everywhere, secrets here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from rocdoctor.host.masking.chosen import harmless, looks_chosen
from rocdoctor.host.masking.rules import VALUE_TOKEN, load_tables
from rocdoctor.host.masking.telling import looks_random, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex

Replace = Callable[[str], str]

_PROMPT = regex(
    r"[ \t]{0,8}(?:\([\w.-]{1,40}\)[ \t])?(?:(?:\[[^\]\n]{1,80}\][ \t]?|[\w.-]{1,40}@[\w.-]{1,80}[^$#%\n]{0,80})?"
    r"[$#%\u276f]|(?P<py>>>>|In \[\d{1,6}\]:)|PS [^>\n]{0,120}>|\+{1,3})(?:[ \t]{1,4}|\Z)(?P<c>[^\n]{0,400})"
)
# A file of secrets that something else is told to show: docker exec x cat /run/secrets/db.
_HELD_FILE = regex(r"\bcat[ \t]{1,4}(?P<f>(?:/var)?/run/secrets/[^\s\"'|;&<>*]{1,200})")
_LONGEST_COMMAND = 300
_OUT = regex(r"Out\[\d{1,6}\]:[ \t]{0,4}")
_SUDO = regex(r"sudo[ \t]{1,4}(?:-[nEH]{1,3}[ \t]{1,4}){0,2}")
_PIPE = r"[ \t]{0,4}(?:2>\S{1,20}[ \t]{0,4})?\Z"
_VARIABLE = regex(
    r"(?:(?:echo|Write-Output|Write-Host)[ \t]{1,4}(?:-[neE]{1,3}[ \t]{1,4})?\"?\$(?:\{|env:)?(?P<v>\w{1,80})\}?\"?|"
    rf"printenv[ \t]{{1,4}}(?P<w>\w{{1,80}})|\$env:(?P<x>\w{{1,80}})){_PIPE}",
    re.IGNORECASE,
)
_FILE = regex(
    rf"(?:cat|head(?:[ \t]-\S{{1,6}}){{0,1}}|tail(?:[ \t]-\S{{1,6}}){{0,1}}|less|more|type|Get-Content|gc)[ \t]{{1,4}}"
    rf"[\"']?(?P<f>[^\s\"'|;&<>*]{{1,200}})[\"']?{_PIPE}"
)
_EXPRESSION = regex(
    r"(?:print\()?(?:(?:os\.)?environ(?:\.get\(|\[)[\"'](?P<a>\w{1,80})[\"'][^\n]{0,40}[\])]|"
    r"(?:os\.)?getenv\([\"'](?P<b>\w{1,80})[\"'][^\n]{0,40}\)|"
    r"(?P<d>[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,3}))\)?[ \t]{0,4}"
)
_SERIAL_FILE = regex(r"(?:product|board|chassis)_(?:serial|uuid)|unique_id|serial(?:_number)?|machine-id|boot_id")
_KEY_FILE = regex(r"id_(?:rsa|dsa|ecdsa|ed25519)|[\w.-]{1,80}\.(?:key|p8|ppk)|\.pgpass|\.git-credentials")
_NETRC = regex(r"[._]netrc|\.authinfo")
_HELD = regex(r"[\w.-]{0,60}\.(?:py|c|h|cc|cpp|rs|go|js|ts|sh|md|rst|json|ya?ml|log|lock|ipynb|html?|service|pub|conf)")
_USERS = frozenset(("USER", "LOGNAME", "USERNAME", "SUDO_USER"))
_HOSTS = frozenset(("HOSTNAME", "HOST", "COMPUTERNAME"))
# What a program says in place of what it was asked for.
_SAYS = regex(
    r"(?:ba|z|da)?sh: .{0,300}|(?:cat|head|tail|less|sudo|error|fatal|warning|traceback|ERROR)\b.{0,400}|"
    r"\w{1,40}Error\b.{0,300}|<.{0,200}>|[\d.,]{1,12}|(?:tensor|array)\(.{0,400}|"
    r".{0,300}(?:No such file|denied|not found|not defined).{0,200}",
    re.IGNORECASE,
)
_WORDS = (
    "$",
    "cat ",
    "printenv",
    "token",
    "aws configure",
    "git config",
    "dmidecode",
    "hostnamectl",
    ">>>",
    "In [",
    "head ",
    "tail ",
    "less ",
    "more ",
    "type ",
    "Get-Content",
)
_MOST_KEY_LINES = 200
_MOST_BLANK = 2


def mask_prompted(
    text: str, secret: Replace, user: Replace, host: Replace, number: Replace, found_host: Replace
) -> str:
    """The text with what is printed below telling commands replaced; ``secret`` is told each secret.

    ``found_host``: what a host becomes that may be one that everybody knows.
    """
    if "\n" not in text or not any(word in text for word in _WORDS):
        return text
    replaced = {"secret": secret, "all": secret, "user": user, "host": host, "serial": number}
    lines = text.split("\n")
    for at, line in enumerate(lines[:-1]):
        prompt = _PROMPT.match(line) if len(line) < 600 else None
        kind = _asks(prompt["c"].strip(), prompt["py"] is not None) if prompt else ""
        if kind == "netrc":
            last = ""
            for below in _printed(lines, at + 1, True):
                lines[below], last = _netrc(lines[below], last, secret, user, found_host)
            continue
        if kind in ("chosen", "token") and line.lstrip().startswith("#"):
            continue  # a comment
        if not kind:
            continue
        for below in _printed(lines, at + 1, kind == "all"):
            out = _OUT.match(lines[below])
            lead = out.end() if out else len(lines[below]) - len(lines[below].lstrip())
            value = lines[below][lead:].rstrip()
            quote = value[:1] if len(value) > 2 and value[:1] in "\"'" and value[-1] == value[0] else ""
            value = value.strip(quote) if quote else value
            if not value or placeholder(value) or "masked-" in value or _SAYS.fullmatch(value):
                continue
            if kind in _JUDGED and (len(value.split()) > 1 or _NAMED.match(value) or not _JUDGED[kind](value)):
                continue
            told = replaced["secret" if kind in _JUDGED else kind](value)
            lines[below] = f"{lines[below][:lead]}{quote}{told}{quote}"
    return "\n".join(lines)


_LEAST_TOKEN = 16
_NAMED = regex(r"[A-Za-z_][\w.-]{0,60}[=:]")  # what has a name of its own is judged by it
_NAME_OF_FILE = regex(
    r"[^\s]{0,200}\.[A-Za-z]\w{0,5}|(?:[0-9a-f]{7,12}|[0-9a-f]{40}|[0-9a-f]{64})(?:  -)?|[\w.-]{1,80}[/:][^\s]{0,200}"
)
# What one word alone has to look like to be a secret, by how much its command tells.
_JUDGED: dict[str, Callable[[str], bool]] = {
    "word": lambda value: not harmless(value),
    "chosen": lambda value: looks_chosen(value, True) and not _NAME_OF_FILE.fullmatch(value),
    "random": looks_random,
    "token": lambda value: len(value) >= _LEAST_TOKEN and looks_random(value) and not _NAME_OF_FILE.fullmatch(value),
}
# Commands that name what they look for, and print where it is.
_LOOKS = frozenset(
    (
        *("ls", "ll", "find", "grep", "egrep", "zgrep", "rg", "ag", "git", "which", "whereis", "locate", "stat"),
        *("file", "du", "wc", "cp", "mv", "rm", "mkdir", "touch", "chmod", "chown", "ln", "cd", "basename", "dirname"),
        *("realpath", "readlink", "sha256sum", "md5sum", "diff", "man", "pip", "apt", "history", "ps", "pgrep"),
    )
)


_NETRC_WORDS = frozenset(("machine", "default", "login", "user", "password", "passwd", "account", "macdef", "port"))
_WORD = regex(r"[^\s]+")


def _netrc(line: str, last: str, secret: Replace, user: Replace, host: Replace) -> tuple[str, str]:
    """A line of a .netrc with its values replaced, and the word that waits for its value at its end.

    The words of the format and ports stay; what is no word of it is taken for a secret.
    """

    def one(match: re.Match[str]) -> str:
        nonlocal last
        word, awaits = match.group(), last
        if word in _NETRC_WORDS and awaits in ("", "default"):
            last = "" if word == "default" else word
            return word
        last = ""
        if awaits == "port" or word.startswith(("masked-", "user-", "host-", "#")) or placeholder(word):
            return word
        return host(word) if awaits == "machine" else user(word) if awaits in ("login", "user") else secret(word)

    return _WORD.sub(one, line), last


def _printed(lines: list[str], at: int, all_of_it: bool) -> Iterator[int]:
    """The lines below up to the next prompt: the first that is not empty, or each."""
    blank = 0
    for below in range(at, min(len(lines), at + (_MOST_KEY_LINES if all_of_it else 1 + _MOST_BLANK))):
        if not lines[below].strip():
            blank += 1
            if blank > _MOST_BLANK:
                return
            continue
        if _PROMPT.match(lines[below]):
            return
        yield below
        if not all_of_it:
            return


def _asks(command: str, python: bool) -> str:
    """What the output is: secret, all, user, host, serial, one of _JUDGED, or ""."""
    if python:
        found = _EXPRESSION.fullmatch(command)
        if found is None:
            return ""
        name = found["a"] or found["b"]
        if name:
            return _of_variable(name)
        kind = _of_name(found["d"].rpartition(".")[2])
        return "random" if kind in ("medium", "weak") else "secret" if kind else ""
    sudo = _SUDO.match(command)
    command = command[sudo.end() :] if sudo else command
    if told := _prints(command.split()):
        return told
    variable = _VARIABLE.fullmatch(command)
    if variable is not None:
        return _of_variable(variable["v"] or variable["w"] or variable["x"])
    file = _FILE.fullmatch(command)
    return _of_file(file["f"]) if file is not None else _of_words(command)


def _of_words(command: str) -> str:
    """What the words of any other command tell of the one word that it prints."""
    held = _HELD_FILE.search(command)
    if held is not None:
        return _of_file(held["f"])
    if command.split(" ", 1)[0].rpartition("/")[2] in _LOOKS or len(command) > _LONGEST_COMMAND:
        return ""
    if load_tables().stem.search(command.lower()) is None:
        return ""
    kind = strongest_kind(command, load_tables())
    return "chosen" if kind == "strong" else "token" if kind == "medium" else ""


@lru_cache(maxsize=1)
def _programs() -> dict[str, list[tuple[frozenset[str], str]]]:
    """By each word what commands that begin with it print."""
    found: dict[str, list[tuple[frozenset[str], str]]] = {}
    for named, what in load_tables().prints:
        for word in named:
            found.setdefault(word, []).append((named, what))
    return found


def _prints(words: list[str]) -> str:
    rows = _programs().get(words[0]) if words else None
    if rows is None:
        return ""
    said = {*words, *(word.rpartition(".")[2] for word in words)}
    return next((what for named, what in rows if named <= said), "")


def _of_variable(name: str) -> str:
    if name in _USERS:
        return "user"
    if name in _HOSTS:
        return "host"
    kind = _of_name(name)
    return "random" if kind == "weak" else "secret" if kind and name not in ("PWD", "OLDPWD") else ""


def _of_file(path: str) -> str:
    folder, _, name = path.replace("\\", "/").rpartition("/")
    if path in ("/etc/hostname", "/proc/sys/kernel/hostname"):
        return "host"
    if _SERIAL_FILE.fullmatch(name):
        return "serial"
    if _KEY_FILE.fullmatch(name):
        return "all"
    if _NETRC.fullmatch(name):
        return "netrc"
    if _HELD.fullmatch(name) and not folder.endswith("/run/secrets"):
        return ""
    if folder.endswith(("/run/secrets", "/etc/secrets", "secrets/kubernetes.io/serviceaccount")) and name == "token":
        return "secret"
    if name in ("passwd", "shadow", "group", "gshadow"):
        return ""
    kind = _of_name(name.removesuffix(".txt"))
    return "secret" if kind in ("strong", "medium") or folder.endswith("/run/secrets") else ""


def _of_name(name: str) -> str:
    return strongest_kind(name, load_tables(), 3) or ""


def masked_secret(note: Callable[[str, str], None]) -> Replace:
    """What a secret becomes, told to ``note``."""

    def one(value: str) -> str:
        note("secret-value", value)
        return VALUE_TOKEN

    return one
