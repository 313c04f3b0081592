"""Whose work the packages hold and under which licence, as Debian's machine-readable ``copyright`` file.

Its name is known by the beginning of its text: what libraries say of it in their metadata has no common form.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from importlib.metadata import Distribution
from pathlib import Path

_OURS = "2026 The rocdoctor authors"
# How a text begins -> its name.
_TEXTS = (
    (r"Apache License", "Apache-2.0"),
    (r"GNU LESSER GENERAL PUBLIC LICENSE\s+Version 2\.1", "LGPL-2.1-or-later"),
    (r"Permission is hereby granted, free of charge", "MIT"),
    (r"PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "PSF-2.0"),
    (r"Redistribution and use in source and binary forms", "BSD-2-Clause"),
)
# Texts that each Debian system has.
_COMMON = {"Apache-2.0": "Apache-2.0", "LGPL-2.1-or-later": "LGPL-2.1"}


def licence_text(one: Distribution) -> str:
    """The text of a distribution's licence, as it ships; raises ``ValueError`` where it ships none."""
    for file in one.files or ():
        if ".dist-info/" in str(file) and re.match(r"(?i)(licen[cs]e|copying)(\.(txt|md|rst))?$", file.name):
            return Path(str(file.locate())).read_text(encoding="utf-8")
    raise ValueError(f"{one.name} ships no licence")


def licence(one: Distribution) -> str:
    """The name of a distribution's licence; raises ``ValueError`` where it is none of those that are known."""
    text = licence_text(one)
    found = next((name for begins, name in _TEXTS if re.search(begins, text)), "")
    if not found:
        raise ValueError(f"{one.name}: unknown licence")
    return found


def _holders(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if re.match(r"\s*Copyright (\(c\)|©|20|19|\d)", line, re.I)]
    return "\n ".join(re.sub(r"(?i)^copyright (\(c\)|©)? *", "", line) for line in lines)


def copyright_file(shipped: Mapping[str, Distribution]) -> str:
    """The file, with a part for each distribution that the package holds."""
    parts = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: rocdoctor",
        f"Files: *\nCopyright: {_OURS}\nLicense: Apache-2.0",
    ]
    texts: dict[str, str] = {}
    for one in shipped.values():
        text, name = licence_text(one), licence(one)
        named = one.metadata.get_all("Author") or one.metadata.get_all("Author-email")
        author = named[0] if named else f"the authors of {one.name}"
        places = sorted({str(file).split("/")[0] for file in one.files or () if not str(file).startswith("..")})
        roots = [f"files/usr/share/rocdoctor/{place}{'' if place.endswith('.py') else '/*'}" for place in places]
        roots = [root for root in roots if not re.search(r"__pycache__|\.so/", root)]
        # The text of a common licence is somebody else's work than what is under it.
        holders = author if name in _COMMON else _holders(text) or author
        parts.append("Files: " + "\n ".join(roots) + f"\nCopyright: {holders}\nLicense: {name}")
        texts.setdefault(name, text)
    texts.setdefault("Apache-2.0", "")
    for name, text in texts.items():
        parts.append(f"License: {name}\n{_body(name, text)}")
    return "\n\n".join(parts) + "\n"


def _body(name: str, text: str) -> str:
    if name in _COMMON:
        return f" On Debian systems the whole text is in /usr/share/common-licenses/{_COMMON[name]}."
    # The holders stand above; the rest is the same for all.
    kept = re.sub(r"(?im)^\s*copyright (\(c\)|©|20|19).*$", "", text)
    return textwrap.indent(re.sub(r"\n{3,}", "\n\n", kept.strip()), " ", lambda line: True).replace("\n \n", "\n .\n")
