"""How a container was started: command lines of docker and podman, compose files, Kubernetes manifests."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import to_bytes
from rocdoctor.paste.clean_text import Clean
from rocdoctor.paste.passage_roles import role_of_block
from rocdoctor.paste.statements import Said

_COMMAND = regex(r"(?:^|[\s`'\"])(docker|podman|nerdctl|nvidia-docker)(?:\s+container)?\s+(?:run|create)\s")
_COMPOSE = regex(
    r"\s{0,40}(devices|group_add|security_opt|shm_size|ipc|privileged|runtime|pid|network_mode):\s{0,10}(.{0,200})\Z"
)
_ITEM = regex(r"\s{0,40}-\s{1,4}['\"]?([^'\"#]{1,200}?)['\"]?\s{0,60}(?:#.*)?\Z")
_RESOURCE = regex(r"\s{0,40}['\"]?((?:amd|nvidia|gpu\.intel)\.com/[\w.-]{1,40})['\"]?:\s{0,4}['\"]?(\d{1,3})")
# Options with one value; the rest of what docker takes does not bear on GPUs.
_OPTIONS = frozenset(
    {
        "--device",
        "--group-add",
        "--shm-size",
        "--ipc",
        "--gpus",
        "--runtime",
        "--security-opt",
        "--ulimit",
        "--cap-add",
        "--network",
        "--net",
        "--pid",
        "--user",
        "-u",
        "--cpuset-cpus",
        "--memory",
        "-m",
        "--userns",
    }
)
_FLAGS = frozenset({"--privileged", "--rm", "-it", "-ti", "-d", "-i", "-t", "--init"})
_OTHER_VALUES = frozenset(
    {
        "-e",
        "--env",
        "-v",
        "--volume",
        "--name",
        "-w",
        "--workdir",
        "-p",
        "--mount",
        "--entrypoint",
        "--env-file",
        "--hostname",
        "-h",
    }
)
_MAX_COMMANDS = 200


def launches(clean: Clean) -> Iterator[Said]:
    """The kind of container, its options ("launch": "device=/dev/kfd") and the size of its /dev/shm."""
    text = clean.shapes
    if "docker" in text or "podman" in text or "nerdctl" in text:
        count = 0
        for at, line in enumerate(clean.lines):
            match = _COMMAND.search(line) if " run" in line or " create" in line else None
            if match:
                yield from _command(clean, at, match)
                count += 1
                if count >= _MAX_COMMANDS:
                    break
    if "services:" in text or "devices:" in text or "shm_size" in text:
        yield from _compose(clean)
    if ".com/gpu" in text:
        for at, line in enumerate(clean.lines):
            resource = _RESOURCE.match(line)
            if resource:
                yield Said("container", "kubernetes", at, "now", sure=True)
                yield Said("launch", f"resource={resource[1]}:{resource[2]}", at, "now", sure=True)


def _command(clean: Clean, at: int, match: re.Match[str]) -> Iterator[Said]:
    text = clean.lines[at][match.start(1) :]
    step = at + 1
    # A command goes on after a backslash, and over the edge of a terminal.
    while step < min(len(clean.lines), at + 40) and (text.rstrip().endswith("\\") or _wrapped(clean, step)):
        text = text.rstrip().rstrip("\\") + " " + clean.lines[step].strip()
        step += 1
    role = role_of_block(clean, at, step - 1, setting=True)
    try:
        words = shlex.split(text[:8000], comments=True)
    except ValueError:
        words = text[:8000].split()
    kind = "docker" if match[1] == "nvidia-docker" else match[1]
    yield Said("container", kind, at, role, sure=True)
    found = list(_options(words))
    for name, value in found:
        yield Said("launch", f"{name}={value}", at, role, sure=True)
    shm = next((value for name, value in found if name == "shm-size"), None)
    size = to_bytes(shm) if shm else None
    if size:
        yield Said("shm_bytes", str(size), at, role, sure=True)


def _wrapped(clean: Clean, step: int) -> bool:
    """Whether a line begins with an option and the one before it is as long as a terminal is wide."""
    return len(clean.lines[step - 1]) >= 72 and re.match(r"\s{0,24}-{1,2}\w", clean.lines[step]) is not None


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    waiting = ""
    for word in words[2:]:
        if waiting:
            if waiting in _OPTIONS:
                yield waiting.lstrip("-"), word
            waiting = ""
            continue
        name, equals, value = word.partition("=")
        if name in _OPTIONS or name in _OTHER_VALUES:
            if not equals:
                waiting = name
            elif name in _OPTIONS:
                yield name.lstrip("-"), value
        elif word == "--privileged":
            yield "privileged", "true"
        elif not word.startswith("-"):
            yield "image", word
            return


def _compose(clean: Clean) -> Iterator[Said]:
    open_key, indent = "", 0
    compose = re.search(r"(?m)^\s{0,8}services:\s*$", clean.text) is not None
    for at, line in enumerate(clean.lines):
        pair = _COMPOSE.match(line) if ":" in line[:60] else None
        if pair:
            value = pair[2].split(" #")[0].strip().strip("'\"")
            open_key, indent = ("" if value else pair[1]), len(line) - len(line.lstrip())
            if value and (compose or pair[1] == "shm_size"):
                role = role_of_block(clean, at, at, setting=True)
                yield Said("launch", f"{pair[1].replace('_', '-')}={value}", at, role, sure=True)
                size = to_bytes(value) if pair[1] == "shm_size" else None
                if size:
                    yield Said("shm_bytes", str(size), at, role, sure=True)
            continue
        item = _ITEM.match(line) if open_key else None
        if item and len(line) - len(line.lstrip()) >= indent:
            name = {"devices": "device", "group_add": "group-add", "security_opt": "security-opt"}.get(
                open_key, open_key
            )
            role = role_of_block(clean, at, at, setting=True)
            yield Said(
                "launch", f"{name}={item[1].split(':')[0] if name == 'device' else item[1]}", at, role, sure=True
            )
            yield Said("container", "docker", at, role, sure=True)
        elif line.strip():
            open_key = ""
