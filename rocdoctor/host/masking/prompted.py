"""What a command or an expression at a prompt printed below itself, where its own words tell what that is.

``cat /run/secrets/db_password``, ``echo $HF_TOKEN``, ``gh auth token``, ``>>> os.environ["WANDB_API_KEY"]``. Pure: text
in, text out; every line stays at its place. Names and serial numbers are replaced everywhere, secrets here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rocdoctor.host.masking.rules import VALUE_TOKEN, load_tables
from rocdoctor.host.masking.telling import looks_random, placeholder, strongest_kind
from rocdoctor.model.lazy_re import regex

Replace = Callable[[str], str]

_PROMPT = regex(
    r"[ \t]{0,8}(?:\([\w.-]{1,40}\)[ \t])?(?:(?:\[[^\]\n]{1,80}\][ \t]?|[\w.-]{1,40}@[\w.-]{1,80}[^$#%\n]{0,80})?"
    r"[$#%\u276f]|(?P<py>>>>|In \[\d{1,6}\]:)|PS [^>\n]{0,120}>|\+{1,3})(?:[ \t]{1,4}|\Z)(?P<c>[^\n]{0,400})"
)
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
_KEY_FILE = regex(
    r"id_(?:rsa|dsa|ecdsa|ed25519)|[\w.-]{1,80}\.(?:key|p8|ppk)|\.netrc|_netrc|\.pgpass|\.git-credentials"
)
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


def mask_prompted(text: str, secret: Replace, user: Replace, host: Replace, number: Replace) -> str:
    """The text with what is printed below telling commands replaced; ``secret`` is told each secret."""
    if "\n" not in text or not any(word in text for word in _WORDS):
        return text
    replaced = {"secret": secret, "all": secret, "user": user, "host": host, "serial": number}
    lines = text.split("\n")
    for at, line in enumerate(lines[:-1]):
        prompt = _PROMPT.match(line) if len(line) < 600 else None
        kind = _asks(prompt["c"].strip(), prompt["py"] is not None) if prompt else ""
        if not kind:
            continue
        for below in _printed(lines, at + 1, kind == "all"):
            out = _OUT.match(lines[below])
            lead = out.end() if out else len(lines[below]) - len(lines[below].lstrip())
            value = lines[below][lead:].rstrip()
            quote = value[:1] if len(value) > 2 and value[:1] in "\"'" and value[-1] == value[0] else ""
            value = value.strip(quote) if quote else value
            plain = kind == "random" and not looks_random(value)
            if not value or plain or placeholder(value) or "masked-" in value or _SAYS.fullmatch(value):
                continue
            told = replaced["secret" if kind == "random" else kind](value)
            lines[below] = f"{lines[below][:lead]}{quote}{told}{quote}"
    return "\n".join(lines)


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
    """What the output is: secret, random (if nobody would write it by hand), all, user, host, serial, or "" ."""
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
    return _of_file(file["f"]) if file is not None else ""


def _prints(words: list[str]) -> str:
    said = {*words, *(word.rpartition(".")[2] for word in words)}
    return next((what for named, what in load_tables().prints if named <= said and words[0] in named), "")


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
