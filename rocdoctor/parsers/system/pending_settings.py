"""Settings that take effect at the next start or login: the command line that GRUB writes, limits of sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import lines_of

_SETTING = regex(
    r"[ \t]*(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)(\+?)="
    r"(?:\"(?P<double>[^\"\n]{0,4000})\"|'(?P<single>[^'\n]{0,4000})'|(?P<bare>[^\s\"'#]{0,400}))[ \t]*(?:#[^\n]*)?\Z"
)
_NAME = regex(r"\$\{?(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)\}?")
_LIMIT = regex(r"[ \t]*([^\s#]{1,64})[ \t]+(soft|hard|-)[ \t]+([a-z]{1,16})[ \t]+(\S{1,24})[ \t]*(?:#[^\n]*)?\Z")


def grub_words(texts: Iterable[str]) -> tuple[str, ...] | None:
    """The words that the files of GRUB's settings put on the command line, later files over earlier ones.

    None where no file sets any. What a file computes (``$(...)``) is left as it stands.
    """
    values: dict[str, str] = {}
    for text in texts:
        for line in lines_of(text):
            found = _SETTING.match(line)
            if found is None:
                continue
            single = found["single"]
            text_of = found["double"] or found["bare"] or ""
            value = single if single is not None else _NAME.sub(lambda one: values.get(one[1], ""), text_of)
            values[found[1]] = f"{values.get(found[1], '')} {value}" if found[2] else value
    if not values:
        return None
    return tuple(
        " ".join(values.get(name, "") for name in ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT")).split()
    )


def limits_for_all(texts: Iterable[str]) -> Mapping[str, str]:
    """The soft limits of everybody (domain ``*``) in files of limits.conf, later files over earlier ones."""
    found: dict[str, str] = {}
    for text in texts:
        for line in lines_of(text):
            row = _LIMIT.match(line)
            if row is not None and row[1] == "*" and row[2] in ("soft", "-"):
                found[row[3]] = row[4]
    return found
