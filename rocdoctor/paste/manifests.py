"""Services of compose files, pods of Kubernetes and the heads of Slurm scripts, in the form of command lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.yaml_text import parse_yaml
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.command_options import parsed
from rocdoctor.paste.passage_roles import Role, role_of_block
from rocdoctor.paste.word_index import WordIndex, ascending

_HINTS = ("services:", "containers:", "#sbatch", "lxc.mount.entry", ": /dev/", "--extra-index-url", "--index-url")
# A file of requirements: an option of pip alone on its line, and packages alone on theirs.
_INDEX = regex(r"\s{0,12}--(?P<option>extra-index-url|index-url)[ =](?P<url>\S{8,200})\s{0,4}\Z")
_PACKAGE = regex(
    r"\s{0,12}(?P<package>[A-Za-z][\w.-]{1,40}(?:\[[\w,-]{1,40}\])?"
    r"(?:\s?(?:==|>=|<=|~=|!=|<|>)\s?[\w.*+!-]{1,40}(?:,\s?(?:==|>=|<=|~=|!=|<|>)\s?[\w.*+!-]{1,40}){0,2})?)"
    r"(?:\s{0,4};.{0,80})?(?:\s{1,4}#.{0,120})?\s{0,4}\Z"
)
_TOP = regex(
    r"\s{0,12}(?:services|apiVersion|kind|metadata|spec|version|volumes|name|networks|x-[\w-]{1,40}):(?:\s|\Z)"
)
_YAML = regex(r"\s{0,80}(?:#.*|-(?:\s.*)?|[\w.\"'/@ -]{1,100}:(?:\s.*)?|---|[\"'\]\[{}].*|\S.{0,200})?\Z")
_BATCH = regex(r"\s{0,8}#SBATCH\s{1,8}(.{1,300})\Z")
_GID = regex(r",gid=(\d{1,9})(?!\d)")
# Devices of an LXC container, as Proxmox and lxc write them.
_LXC = regex(
    r"\s{0,8}(?:dev\d{1,2}: (?P<node>/dev/[\w/]{1,60})(?P<with>,\S{0,80})?"
    r"|lxc\.mount\.entry\s?[:=]\s?(?P<mount>/dev/[\w/]{1,60})\s.{0,120})\Z"
)
_MOST_LINES, _MOST_TEXTS, _MOST_HINTS = 400, 20, 20_000
_KEYS = ("devices", "group_add", "security_opt")


def manifests(clean: Clean, index: WordIndex) -> Iterator[tuple[int, Role, dict[str, Any]]]:
    """(line, role, fields of the row) of each service, container of a pod, and batch head."""
    done, count = -1, 0
    for at in islice(ascending(index.lines(_HINTS)), _MOST_HINTS):
        if at <= done or count >= _MOST_TEXTS:
            continue
        count += 1
        if _LXC.match(clean.lines[at]):
            done, told = _lxc(clean, at)
            yield at, role_of_block(clean, at, done, setting=True), told
            continue
        if ": /dev/" in clean.lines[at] or "lxc.mount" in clean.lines[at]:
            count -= 1
            continue
        if _BATCH.match(clean.lines[at]):
            done, told = _batch(clean, at)
            yield at, role_of_block(clean, at, done, setting=True), told
            continue
        if "index-url" in clean.lines[at]:
            if (requirements := _requirements(clean, at)) is None:
                count -= 1
                continue
            done, told = requirements
            yield at, role_of_block(clean, at, done, setting=True), told
            continue
        first, done = _extent(clean, at)
        role = role_of_block(clean, first, done, setting=True)
        for line, told in _of_yaml(clean, first, done):
            yield line, role, told


def _extent(clean: Clean, at: int) -> tuple[int, int]:
    """The lines of the YAML text around a line: its code block, else what is indented below and labelled above."""
    if block := clean.blocks[at]:
        first = clean.starts.get(block, at)
        last = at
        while last + 1 < min(len(clean.lines), first + _MOST_LINES) and clean.blocks[last + 1] == block:
            last += 1
        return first, last
    first = at
    while first > max(0, at - 60) and clean.lines[first - 1].strip() and _YAML.match(clean.lines[first - 1]):
        if not clean.lines[first - 1].startswith(" ") and not _TOP.match(clean.lines[first - 1]):
            break
        first -= 1
    last = at
    while last + 1 < min(len(clean.lines), at + _MOST_LINES):
        line = clean.lines[last + 1]
        if line.strip() and not line.startswith((" ", "- ")) and not _TOP.match(line):
            break
        last += 1
    return first, last


def _of_yaml(clean: Clean, first: int, last: int) -> Iterator[tuple[int, dict[str, Any]]]:
    text = "\n".join(clean.lines[first : last + 1])
    for part in re.split(r"(?m)^---\s*$", text)[:10]:
        value = parse_yaml(part).value
        if not isinstance(value, dict):
            continue
        services = value.get("services")
        for name, service in list(services.items())[:12] if isinstance(services, dict) else ():
            if isinstance(service, dict) and "image" in service:
                yield _line(clean, first, last, str(service["image"])), _service(str(name), service)
        for holder in _pods(value):
            for one in holder["containers"][:8]:
                if isinstance(one, dict) and "image" in one:
                    yield _line(clean, first, last, str(one["image"])), _container(holder, one)


def _line(clean: Clean, first: int, last: int, image: str) -> int:
    return next((at for at in range(first, last + 1) if image in clean.lines[at]), first)


def _row(program: str, image: str, options: dict[str, list[str]], environment: dict[str, str | None]) -> dict[str, Any]:
    return {
        "program": program,
        "verb": "run",
        "text": f"image: {image}"[:240],
        "options": options,
        "words": [image[:160]],
        "environment": environment,
        "inside": "",
        "complete": True,
    }


def _texts(value: Any) -> list[str]:
    """A value of YAML as texts: a list's entries, or the value itself."""
    if isinstance(value, list):
        return [str(one)[:160] for one in value[:24] if isinstance(one, str | int)]
    return [str(value)[:160].lower() if isinstance(value, bool) else str(value)[:160]] if value is not None else []


def _service(name: str, service: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, list[str]] = {"service": [name[:60]]}
    for key in (
        "devices",
        "group_add",
        "security_opt",
        "shm_size",
        "ipc",
        "privileged",
        "runtime",
        "gpus",
        "network_mode",
    ):
        if told := _texts(service.get(key)):
            options[
                {"devices": "device", "group_add": "group-add", "security_opt": "security-opt"}.get(
                    key, key.replace("_", "-")
                )
            ] = told
    wanted = _at(service, "deploy", "resources", "reservations", "devices")
    if isinstance(wanted, list) and any(isinstance(one, dict) for one in wanted):
        options["gpus"] = [str(one.get("driver", "gpu"))[:40] for one in wanted[:4] if isinstance(one, dict)]
    if isinstance(service.get("extends"), dict | str) or "<<" in service:
        options["extends"] = [""]
    environment: dict[str, str | None] = {}
    given = service.get("environment")
    if isinstance(given, dict):
        environment = {str(key)[:80]: str(one)[:160] for key, one in list(given.items())[:24]}
    for text in _texts(given) if isinstance(given, list) else ():
        key, equals, one = text.partition("=")
        environment[key[:80]] = one if equals else None
    return _row("compose", str(service["image"]), options, environment)


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _pods(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The mappings that hold a list of containers."""
    if depth > 12 or not isinstance(value, dict):
        return
    if isinstance(value.get("containers"), list):
        yield value
        return
    for one in list(value.values())[:40]:
        for inner in one[:10] if isinstance(one, list) else [one]:
            yield from _pods(inner, depth + 1)


def _container(pod: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, list[str]] = {}
    for key in ("limits", "requests"):
        told = _at(one, "resources", key)
        for name, value in list(told.items())[:20] if isinstance(told, dict) else ():
            options.setdefault("resource", []).append(f"{name}={value}"[:80])
    if _at(one, "securityContext", "privileged") is True:
        options["privileged"] = ["true"]
    if runtime := _at(pod, "runtimeClassName"):
        options["runtime"] = [str(runtime)[:60]]
    for volume in pod["volumes"][:20] if isinstance(pod.get("volumes"), list) else ():
        path = _at(volume, "hostPath", "path")
        if isinstance(path, str) and path.startswith("/dev"):
            options.setdefault("device", []).append(path[:80])
        if _at(volume, "emptyDir", "medium") == "Memory":
            options["shm-size"] = [str(_at(volume, "emptyDir", "sizeLimit") or "memory")[:40]]
    if pod.get("resourceClaims"):
        options["claims"] = [""]
    environment: dict[str, str | None] = {}
    for pair in one["env"][:24] if isinstance(one.get("env"), list) else ():
        if isinstance(pair, dict) and isinstance(pair.get("name"), str):
            value = pair.get("value")
            environment[pair["name"][:80]] = str(value)[:160] if value is not None else None
    return _row("kubernetes", str(one["image"]), options, environment)


def _lxc(clean: Clean, at: int) -> tuple[int, dict[str, Any]]:
    """The devices of a container's configuration: (its last line, the row)."""
    last, devices, groups = at, list[str](), list[str]()
    for step in range(at, min(at + 40, len(clean.lines))):
        line = clean.lines[step].rstrip()
        if match := _LXC.match(line):
            last = step
            devices.append(match["node"] or match["mount"])
            if gid := _GID.search(match["with"] or ""):
                groups.append(f"{devices[-1]}={gid[1]}")
        elif not line.strip().startswith(("lxc.", "dev", "#")):
            break
    row = _row("lxc", "", {"device": devices[:16], **({"gid": groups[:16]} if groups else {})}, {})
    return last, {**row, "verb": "config", "text": clean.lines[at].strip()[:240], "words": []}


def _requirements(clean: Clean, at: int) -> tuple[int, dict[str, Any]] | None:
    """The lines of a requirements file around an index: (its last line, the row); None where it is something else."""
    if not _INDEX.match(clean.lines[at]):
        return None
    options: dict[str, list[str]] = {}
    packages: list[str] = []
    first = last = at
    while first > max(0, at - 20) and _PACKAGE.match(clean.lines[first - 1]):
        first -= 1
    for step in range(first, min(at + 40, len(clean.lines))):
        line = clean.lines[step]
        if index := _INDEX.match(line):
            options.setdefault(index["option"], []).append(index["url"])
        elif package := _PACKAGE.match(line):
            packages.append(package["package"].replace(" ", ""))
        elif line.strip() and not line.lstrip().startswith("#"):
            break
        else:
            continue
        last = step
    if not packages:
        return None
    row = _row("pip", "", options, {})
    return last, {**row, "verb": "install", "text": clean.lines[at].strip()[:240], "words": packages[:40]}


def _batch(clean: Clean, at: int) -> tuple[int, dict[str, Any]]:
    """The head of a batch script: (its last line, the row)."""
    last, words = at, ["sbatch"]
    for step in range(at, min(at + 60, len(clean.lines))):
        match = _BATCH.match(clean.lines[step])
        if match:
            last = step
            words += match[1].split(" #")[0].split()
        elif clean.lines[step].strip() and not clean.lines[step].lstrip().startswith("#"):
            break
    found = parsed(words)
    options = found.options if found is not None else {}
    return last, {
        "program": "sbatch",
        "verb": "",
        "text": clean.lines[at].strip()[:240],
        "options": options,
        "words": [],
        "environment": {},
        "inside": "",
        "complete": True,
    }
