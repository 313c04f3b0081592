"""Advice that shell, container, job, requirement and configuration files follow, found in their parts.

``match.files`` of a row is a list of patterns; any of them is enough. A pattern has one of the keys ``option`` (of a
command), ``key`` (of a configuration), ``setting`` (a variable), ``package``, ``system_package``, ``image``,
``parameter`` (of a module), ``module`` (run by Python), ``write`` (to a file), ``clone`` (of a repository), or ``rule``
(a function below, for what takes more than one part). ``value`` and the like are regular expressions for the whole
text. Conditions: ``from`` (command or list: a package that comes from the
usual index), ``place`` (permanent: profiles and images; host: no container), ``gpu: amd`` (the file speaks of AMD
GPUs and of no others), ``rocm_from`` and ``rocm_before`` (the release that the file names), ``without`` (a word of the
file). ``possible: true``: what decides is not in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from rocdoctor.knowledge.load import numbers, words
from rocdoctor.knowledge.messages.advice import advice_for
from rocdoctor.lint.advice.file_parts import Parts, read_parts
from rocdoctor.lint.advice.findings import Hit
from rocdoctor.lint.advice.install_rules import RULES as INSTALL_RULES
from rocdoctor.lint.advice.job_rules import RULES as JOB_RULES
from rocdoctor.lint.advice.machine_hints import Place, options, rocm_of, vendors_of
from rocdoctor.lint.advice.package_requests import system_packages
from rocdoctor.lint.config.trees import walk
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.shell.lexer import OPEN
from rocdoctor.parsers.shell.settings import ShellSetting

_PERMANENT = regex(r"(?:\A|/)\.?(?:bashrc|zshrc|profile|bash_profile|zshenv|bash\.bashrc|environment)\Z|/profile\.d/")
_RULES: Mapping[str, Callable[[Parts], Iterable[Place]]] = {**INSTALL_RULES, **JOB_RULES}
MAX_HITS = 200


def hits(path: str, text: str) -> list[Hit]:
    """The advice that a file follows, in the order of the table; [] for a file of another kind."""
    parts = read_parts(path, text)
    return hits_of(parts) if parts is not None else []


def hits_of(parts: Parts) -> list[Hit]:
    """The advice that the parts of a file follow."""
    found: list[Hit] = []
    vendors: frozenset[str] | None = None
    for advice in advice_for("files"):
        for pattern in advice.match["files"]:
            places = list(_SEEN[_kind(pattern)](parts, pattern))
            if not places:
                continue
            if vendors is None:
                vendors = vendors_of(parts)
            if not _holds(parts, pattern, vendors):
                continue
            possible = bool(pattern.get("possible"))
            found += [Hit(advice, one.line, one.value, possible or one.possible) for one in places[:MAX_HITS]]
    return found


def _kind(pattern: Mapping[str, Any]) -> str:
    return next(key for key in _SEEN if key in pattern)


def _holds(parts: Parts, pattern: Mapping[str, Any], vendors: frozenset[str]) -> bool:
    """Whether the conditions of a pattern hold in the file."""
    if pattern.get("gpu") == "amd" and vendors != {"amd"}:
        return False
    if pattern.get("gpu") == "any" and not vendors:
        return False
    if pattern.get("gpu") == "not-other" and vendors & {"habana", "ascend"}:
        return False
    rocm = rocm_of(parts) if "rocm_from" in pattern or "rocm_before" in pattern else None
    if "rocm_from" in pattern and (rocm is None or rocm < numbers(str(pattern["rocm_from"]))):
        return False
    if "rocm_before" in pattern and (rocm is None or rocm >= numbers(str(pattern["rocm_before"]))):
        return False
    if "without" in pattern:
        unwanted = _compiled(str(pattern["without"]))
        return not any(unwanted.search(word.text) for one in parts.commands for word in one.words)
    return True


@cache
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _whole(pattern: Mapping[str, Any], key: str, text: str) -> bool:
    wanted = pattern.get(key)
    return wanted is None or _compiled(str(wanted)).fullmatch(text) is not None


def _option(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    names = words(pattern["option"])
    for told in parts.told():
        if told.is_text or not told.dashed:
            continue
        for name, value, line in options(told.one.words, names):
            if OPEN not in value and _whole(pattern, "value", value):
                yield Place(line, f"--{name} {value}")


def _key(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    names = words(pattern["key"])
    for tree in parts.trees:
        for path, one in walk(tree):
            if one.text is None or not path or path[-1] not in names or not _whole(pattern, "value", one.text):
                continue
            if _whole(pattern, "under", ".".join(path[:-1])):
                yield Place(one.line, f"{path[-1]}: {one.text}")


def _setting(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    place = pattern.get("place")
    permanent = parts.kind == "dockerfile" or _PERMANENT.search(parts.path.replace("\\", "/")) is not None
    if (place == "permanent" and not permanent) or (
        place == "host" and parts.kind not in ("shell", "slurm", "env", "unit")
    ):
        return
    name = _compiled(str(pattern["setting"]))
    for one in _last(parts.settings):
        value = one.value
        if name.fullmatch(one.name) and value and OPEN not in value and _whole(pattern, "value", value):
            yield Place(one.line, f"{one.name}={value}")


def _last(settings: Iterable[ShellSetting]) -> list[ShellSetting]:
    """What holds at the end of each scope."""
    return list({(one.name, one.scope): one for one in settings}.values())


def _package(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    names = words(pattern["package"])
    for install in parts.installs:
        origin = pattern.get("from")
        if origin is not None and (install.how == "conda" or install.indexes or parts.own_index):
            continue
        if origin is not None and (install.how == "list") != (origin == "list"):
            continue
        for one in install.requirements:
            if one.name in names and _whole(pattern, "limits", one.limits):
                yield Place(one.line, one.name + one.limits)


def _system_package(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    names = words(pattern["system_package"])
    for told in parts.told():
        yield from (Place(line, name) for name, line in system_packages(told.words) if name in names)


def _image(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    for one in parts.images:
        if _whole(pattern, "image", one.repository) and _whole(pattern, "tag", one.tag):
            yield Place(one.line, f"{one.repository}:{one.tag}" if one.tag else one.repository)


def _parameter(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    unless = words(pattern.get("unless"))
    if any(f"{one.module}.{one.name}" in unless for one in parts.parameters):
        return
    for one in parts.parameters:
        if f"{one.module}.{one.name}" == pattern["parameter"] and _whole(pattern, "value", one.value.lower()):
            yield Place(one.line, f"{one.module}.{one.name}={one.value}")


def _module(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    for told in parts.told():
        texts = [word.text for word in told.one.words] if told.dashed and not told.is_text else []
        for at, text in enumerate(texts[1:], 1):
            if text == pattern["module"] and texts[at - 1] == "-m":
                yield Place(told.one.words[at].line, f"python -m {text}")


def _write(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    commands = parts.told()
    for place, told in enumerate(commands):
        if told.head == "tee" and told.one.piped and place:
            source = commands[place - 1].words
            targets = [word.text for word in told.words[1:]]
        else:
            source, targets = told.words, list(told.one.targets)
        if not source or source[0].text not in ("echo", "printf"):
            continue
        if not any(_compiled(str(pattern["write"])).search(target) for target in targets):
            continue
        value = " ".join(word.text for word in source[1:] if not word.text.startswith("-")).replace("\\n", "").strip()
        if value and OPEN not in value and _whole(pattern, "value", value):
            yield Place(source[0].line, value)


def _clone(parts: Parts, pattern: Mapping[str, Any]) -> Iterator[Place]:
    for told in parts.told():
        words = told.words
        if told.head != "git" or len(words) < 3 or "clone" not in (words[1].text, words[2].text):
            continue
        yield from (Place(word.line, word.text) for word in words if _compiled(str(pattern["clone"])).search(word.text))


def _rule(parts: Parts, pattern: Mapping[str, Any]) -> Iterable[Place]:
    return _RULES[pattern["rule"]](parts)


_SEEN: Mapping[str, Callable[[Parts, Mapping[str, Any]], Iterable[Place]]] = {
    "option": _option,
    "key": _key,
    "setting": _setting,
    "package": _package,
    "system_package": _system_package,
    "image": _image,
    "parameter": _parameter,
    "module": _module,
    "write": _write,
    "clone": _clone,
    "rule": _rule,
}
