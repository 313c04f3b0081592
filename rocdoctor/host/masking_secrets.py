"""Secrets in text: known formats, private key blocks, and values of names, headers and arguments that say "secret".

Pure: text in, text out; every replacement is reported to ``note(class, value)``. Linear time: each regular expression
is bounded and each candidate is looked at once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable

from rocdoctor.host.masking_rules import MaskingTables, line_spans

Note = Callable[[str, str], None]

DROPPED = "<dropped>"
VALUE_TOKEN = "masked-value"
PRIVATE_KEY_TOKEN = "masked-private-key"
USERINFO_TOKEN = "masked-userinfo"
# A value is judged by its beginning, so that hostile text with a name at every step costs linear time.
_JUDGED = 256

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINE = re.compile(
    r"[\s>|#\"'+,\\nr]{0,40}(?:(?:Proc-Type|DEK-Info): .{0,200}|[A-Za-z0-9+/=\\]{16,})[\"'\\+,]{0,8}\s*"
)
_KEY_TAIL = re.compile(r"[\s>|#]{0,40}[A-Za-z0-9+/=]{1,80}\s*")

# Authority with userinfo; the second form has a slash in the password, which is not legal but happens.
_USERINFO = re.compile(r"://(?P<s>[^\s\"'<>/?#@]{1,300}(?:@[^\s\"'<>/?#@]{1,300}){0,4})@(?=[A-Za-z0-9\[_<$])")
_USERINFO_SLASH = re.compile(
    r"://(?P<s>[^\s\"'<>/?#@:]{1,100}:(?!\d{1,5}/)[^\s\"'<>@]{1,300})@(?=[A-Za-z0-9][\w.-]{0,200}[:/])"
)
_HARMLESS_USERINFO = {"git", "hg", "svn", "anonymous", USERINFO_TOKEN}

_KEYWORD = re.compile(
    r"(?P<strong>passw(?:or)?d|passphrase|passcode|secret|credential|pwd"
    r"|(?:api|access|private|account|auth|encryption|signing|client|license|master|storage|shared|deploy)[_.-]?key)"
    r"|(?P<medium>token|auth|jwt|cookie|webhook|(?<![a-z])pass|session[_-]?(?:id|key))"
    r"|(?P<weak>(?<![A-Za-z])key|(?<=[a-z])Key)",
    re.IGNORECASE | re.ASCII,
)
# One of these is part of each keyword.
_STEMS = ("pass", "secret", "credential", "pwd", "key", "token", "auth", "jwt", "cookie", "webhook", "session")
_LEFT = re.compile(r"[\w.\[\]-]{0,60}\Z", re.ASCII)
_KEY_REST = re.compile(r"[\w.-]{0,40}", re.ASCII)
_SEPARATOR = re.compile(r"(?:\\{0,3}[\"'])?\]?[ \t]{0,8}(?:=>|:=|={1,2}|:(?!:))[ \t]{0,8}")
_ARGUMENT_GAP = re.compile(r"[\"']?(?:[ \t]*,)?[ \t]{1,8}|[\"'],")
_IS_GAP = re.compile(r"[ \t]{1,4}is[ \t:]{1,4}")
_OPEN_QUOTE = re.compile(r"[urbf]{0,2}(\\{0,3}[\"'`])")
_BARE = re.compile(r"[^\s\"'`]+")
_ANGLE = re.compile(r"<[^<>\n]{0,60}>")
_CUT = re.compile(r"&(?=[\w.-]{1,60}=)|[;,](?=[\w. \"'-]{1,60}[=:])|</|\\[\"']")
_PLACEHOLDER = re.compile(
    r"(?:true|false|null|none|nil|yes|no|on|off|n/?a|unset|undefined|not|required|optional|enabled|disabled|redacted|"
    r"empty|missing|invalid|expired|str|string|bytes|\d{1,6}|[*x.-]+|\$.*|%\w+%|\{\{.*|\{|\[|\(|\||>|<.*>)[,;)\]}]*",
    re.IGNORECASE | re.DOTALL,
)
_XML = re.compile(
    r"<(?P<k>[\w:.-]{0,40}(?:password|passwd|secret|token|apikey|api_key|credential)[\w:.-]{0,20})>(?P<s>[^<\n]{1,4000})</",
    re.IGNORECASE,
)


def mask_secrets(text: str, tables: MaskingTables, note: Note) -> str:
    """The text without secrets: private keys, known formats, URL userinfo, values of secret-like names."""
    inert = {rule.token for rule in tables.secrets} | {VALUE_TOKEN, PRIVATE_KEY_TOKEN, USERINFO_TOKEN, DROPPED}
    if "PRIVATE KEY" in text:
        text = _private_keys(text, note)
    low = text.lower()
    for rule in tables.secrets:
        if any(literal in low for literal in rule.literals):
            text = _replace(rule.pattern, text, rule.id, rule.token, inert, note)
    if "://" in text and "@" in text:
        for pattern in (_USERINFO, _USERINFO_SLASH):
            text = _replace(pattern, text, "url-userinfo", USERINFO_TOKEN, inert | _HARMLESS_USERINFO, note)
    if "</" in text:
        text = _replace(_XML, text, "secret-value", VALUE_TOKEN, inert, note)
    return _named_values(text, inert, note)


def secret_name(name: str) -> bool:
    """True for a variable name whose value is a secret by its name alone (``HF_TOKEN``, ``DB_PASSWORD``)."""
    return any(
        _kind(match, _KEY_REST.match(name, match.end()), "=") in ("strong", "medium")
        for match in _KEYWORD.finditer(name)
        if name != "PWD" and name != "OLDPWD"
    )


def placeholder(value: str) -> bool:
    """True for a value that stands for no secret at all: empty, a flag, a small number, a variable reference."""
    return not value.strip() or _PLACEHOLDER.fullmatch(value.strip()) is not None


def _replace(pattern: re.Pattern[str], text: str, cls: str, token: str, inert: set[str], note: Note) -> str:
    group: str | int = "s" if "s" in pattern.groupindex else 0

    def one(match: re.Match[str]) -> str:
        value = match.group(group)
        if value in inert or value.split(":", 1)[0] in inert or (cls == "secret-value" and placeholder(value)):
            return match.group()
        if value.split(" ", 1)[0] in inert or value.partition("@")[0] in inert:
            return match.group()
        note(cls, value)
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match.group()[:start] + token + match.group()[end:]

    return pattern.sub(one, text)


def _private_keys(text: str, note: Note) -> str:
    out: list[str] = []
    position = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < position:
            continue
        out.append(_key_before_end(text[position : begin.start()], note))
        end = _END.search(text, begin.end(), begin.end() + 20000)
        following = _BEGIN.search(text, begin.end(), end.start()) if end else None
        stop = end.end() if end and not following else _truncated(text, begin.end())
        note("private-key", text[begin.start() : stop])
        out.append(PRIVATE_KEY_TOKEN + ("\n" if text[stop - 1 : stop] == "\n" else ""))
        position = stop
    out.append(_key_before_end(text[position:], note))
    return "".join(out)


def _truncated(text: str, start: int) -> int:
    """Where a block without an end line stops: after the last line that looks like base64."""
    stop = start
    first = True
    while stop < len(text):
        end = text.find("\n", stop) + 1 or len(text)
        line = text[stop:end]
        if line.strip() and not _KEY_LINE.fullmatch(line) and not (_KEY_TAIL.fullmatch(line) and not first):
            cut = re.match(r"[A-Za-z0-9+/=\\\s]{0,8000}", line)
            return stop + (cut.end() if cut and first else 0)
        first = first and not line.strip()
        stop = end
    return stop


def _key_before_end(text: str, note: Note) -> str:
    """Text with the lines before an end line that has no begin line (a key whose head was cut off) masked."""
    out: list[str] = []
    position = 0
    for end in _END.finditer(text):
        start = end.start()
        while start > position:
            previous = max(position, text.rfind("\n", position, start - 1) + 1)
            line = text[previous:start]
            if not (_KEY_LINE.fullmatch(line) or _KEY_TAIL.fullmatch(line)):
                break
            start = previous
        note("private-key", text[start : end.end()])
        out.append(text[position:start] + PRIVATE_KEY_TOKEN)
        position = end.end()
    out.append(text[position:])
    return "".join(out)


def _kind(match: re.Match[str], rest: re.Match[str] | None, separator: str) -> str | None:
    """How telling a name is: strong, medium, weak, or None when the word only starts like one (tokenizer, author)."""
    suffix = rest.group() if rest else ""
    kind = match.lastgroup
    if kind == "strong":
        return None if suffix[:2].lower() == "_p" and match.group().lower() == "pwd" else kind
    if suffix[:1].isalpha():
        if suffix.startswith(("Token", "Key", "Value", "String")):
            return kind
        return None
    if match.group().lower() == "token" and re.match(r"_?(?:id|ids|count|type|len|length|limit|per|drop)", suffix[1:]):
        return None
    return kind


def _named_values(text: str, inert: set[str], note: Note) -> str:
    out: list[str] = []
    position = 0
    matches = (m for start, end in line_spans(text, _STEMS) for m in _KEYWORD.finditer(text, start, end))
    for match in matches:
        if match.start() < position:
            continue
        rest = _KEY_REST.match(text, match.end())
        after = rest.end() if rest else match.end()
        left = _LEFT.search(text, max(position, match.start() - 60), match.start())
        key_start = left.start() if left else match.start()
        separator = _SEPARATOR.match(text, after)
        argument = text[key_start : key_start + 1] == "-"
        if separator is None and argument:
            separator = _ARGUMENT_GAP.match(text, after)
        if separator is None and match.lastgroup == "strong":
            separator = _IS_GAP.match(text, after)
        kind = _kind(match, rest, "")
        if separator is None or kind is None:
            continue
        whole_line = kind == "strong" and _at_line_start(text, key_start)
        span = _value(text, separator.end(), separator.end() + _JUDGED, whole_line)
        if span is None:
            continue
        value = text[span[0] : span[1]]
        if not _is_secret(kind, text[key_start:after], separator.group(), value, argument, inert):
            continue
        span = _value(text, separator.end(), len(text), whole_line) or span
        note("secret-value", text[span[0] : span[1]])
        out.append(text[position : span[0]] + VALUE_TOKEN)
        position = span[1]
    out.append(text[position:])
    return "".join(out)


def _at_line_start(text: str, start: int) -> bool:
    head = text[max(0, start - 60) : start].rpartition("\n")[2]
    return not head.strip(" \t-")


def _value(text: str, start: int, limit: int, whole_line: bool) -> tuple[int, int] | None:
    quote = _OPEN_QUOTE.match(text, start)
    if quote:
        begin = quote.end()
        close = quote.group(1)
        end = begin
        limit = min(len(text), limit)
        while True:
            end = text.find(close, end, limit)
            if end < 0:
                line = text.find("\n", begin, limit)
                return (begin, line if line >= 0 else limit) if (line if line >= 0 else limit) > begin else None
            if len(close) > 1 or (end - len(text[begin:end].rstrip("\\")) - begin) % 2 == 0:
                return (begin, end) if end > begin else None
            end += 1
    bare = _ANGLE.match(text, start, limit) or _BARE.match(text, start, limit)
    if bare is None:
        return None
    value = bare.group()
    cut = _CUT.search(value, 1)
    end = cut.start() if cut else len(value.rstrip(",;")) or len(value)
    if whole_line and not cut and text[start - 1 : start] in " \t":
        line = text.find("\n", start, limit)
        line_text = text[start : line if line >= 0 else limit]
        if not re.search(r"[\"'`=;|&]", line_text):
            return start, start + len(line_text.rstrip())
    return start, start + end


def _is_secret(kind: str, key: str, separator: str, value: str, argument: bool, inert: set[str]) -> bool:
    stripped = value.strip()
    if value.split(" ", 1)[0].rstrip(",;)]}") in inert or stripped.split(":", 1)[0] in inert:
        return False
    # Digits alone are a count for a "token" or a "pass", but they may well be a password.
    if placeholder(value) and not (kind == "strong" and stripped.isdigit() and len(stripped) > 1):
        return False
    if any(stripped.startswith(token) for token in inert):
        return False
    if key in ("PWD", "OLDPWD") or (key.lower().endswith("pwd") and stripped[:1] in "/~"):
        return False
    if kind == "strong":
        return True
    assigned = "=" in separator
    if kind == "medium" and (argument or (assigned and key.isupper() and len(key) > 4)):
        return not stripped.startswith(("/", "~", "tcp://", "http"))
    if kind == "weak" and not assigned and '"' not in separator and "'" not in separator:
        return False
    return looks_random(stripped)


def looks_random(value: str) -> bool:
    """True for a value that nobody would write by hand: letters mixed with digits, or long with high entropy."""
    if len(value) < 6 or " " in value or value[:1] in "/~<(" or value[:2] in ("0x", "./"):
        return False
    if re.fullmatch(r"[\d.:+-]+|v?\d+(?:\.\w+)+|[\d.]+[a-zA-Z%]{1,6}", value):
        return False
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    if letters and digits and re.fullmatch(r"[A-Za-z0-9+/=_.~!@#$%^&*-]+", value):
        return True
    counts = Counter(value)
    entropy = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return len(value) >= 20 and entropy >= 3.5
