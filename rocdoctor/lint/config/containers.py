"""Containers as compose files, Kubernetes manifests and docker command lines describe them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rocdoctor.lint.config.trees import Tree, walk
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.shell.lexer import ScriptCommand, Token
from rocdoctor.parsers.shell.script import read_shell
from rocdoctor.parsers.shell.settings import Sheet

_PROGRAMS = frozenset(("docker", "podman", "nerdctl"))
# Options of "docker run" that stand alone; every other takes a value.
_ALONE = frozenset(
    (
        "-d",
        "--detach",
        "-i",
        "--interactive",
        "-t",
        "--tty",
        "-it",
        "-ti",
        "-itd",
        "-dit",
        "-td",
        "-id",
        "--rm",
        "--init",
        "--privileged",
        "-P",
        "--publish-all",
        "--read-only",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--sig-proxy",
        "--disable-content-trust",
        "-q",
        "--quiet",
        "--replace",
        "-tid",
        "-idt",
        "-dti",
    )
)
_GPU = regex(r"(?:(amd|nvidia)\.com/(?:gpu|mig)|gpu\.intel\.com/)")


@dataclass(slots=True)
class ManifestContainer:
    """A container. ``gpus``: how many it is given, where that is told; ``vendor``: by whose device plug-in.

    ``shared_memory``: whether more of it than by default is asked for. ``kind``: compose, docker or that of the
    Kubernetes object; ``tree`` is the object that it stands in.
    """

    kind: str
    line: int
    image: str = ""
    image_line: int = 0
    commands: list[ScriptCommand] = field(default_factory=list)
    environment: dict[str, tuple[str, int]] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    gpus: int | None = None
    vendor: str = ""
    vendor_line: int = 0
    shared_memory: bool = False
    tree: Tree | None = None


def exec_commands(words: Sequence[Token]) -> list[ScriptCommand]:
    """A list of words as a command; the text that a shell is given is taken apart."""
    found: list[ScriptCommand] = []
    if len(words) > 2 and words[0].text.rsplit("/", 1)[-1] in ("sh", "bash") and re.match(r"-\w*c", words[1].text):
        read_shell(Sheet("", "shell"), words[2].text, words[2].line, commands=found)
        return found
    return [ScriptCommand(tuple(words), (), True, False)] if words else []


def containers_of(tree: Tree) -> list[ManifestContainer]:
    """The containers of one YAML document."""
    if "services" in tree.mapping and "kind" not in tree.mapping:
        return [_service(one) for one in tree.get("services").mapping.values() if one.mapping]
    kind = tree.get("kind").text
    if kind is None or "apiVersion" not in tree.mapping:
        return []
    found: list[ManifestContainer] = []
    for path, one in walk(tree):
        if path and path[-1] == "containers" and one.items:
            pod = _above(tree, path)
            found += [_pod_container(kind, box, pod, tree) for box in one.items if box.mapping]
    return found


def _above(tree: Tree, path: tuple[str, ...]) -> Tree:
    # Lists on the way have no key of their own: the pod is then not found, and nothing is said of it.
    return tree.get(*path[:-1])


def _command(*rows: Tree) -> list[ScriptCommand]:
    if len(rows) == 1 and rows[0].text is not None:
        found: list[ScriptCommand] = []
        read_shell(Sheet("", "shell"), rows[0].text, rows[0].line, commands=found)
        return found
    return exec_commands([Token(text, line) for row in rows for text, line in row.words()])


def _service(box: Tree) -> ManifestContainer:
    image = box.get("image")
    one = ManifestContainer("compose", box.line, image.text or "", image.line, tree=box)
    for key in ("entrypoint", "command"):
        one.commands += _command(box.get(key))
    one.environment = dict(_environment(box.get("environment")))
    one.devices = [text.partition(":")[0] for text, _ in box.get("devices").words()]
    one.shared_memory = "shm_size" in box.mapping or box.get("ipc").text is not None or _mounts(box.get("volumes"))
    for device in box.get("deploy", "resources", "reservations", "devices").items:
        driver, count = device.get("driver"), device.get("count").text
        one.vendor, one.vendor_line = driver.text or one.vendor, driver.line
        ids = device.get("device_ids").items
        one.gpus = len(ids) if ids else whole_number(count)
    return one


def _mounts(rows: Tree) -> bool:
    texts = [text for text, _ in rows.words()] + [one.get("target").text or "" for one in rows.items]
    return any("/dev/shm" in text for text in texts)


def _environment(rows: Tree) -> Iterator[tuple[str, tuple[str, int]]]:
    for name, value in rows.mapping.items():
        yield name, (value.text or "", value.line)
    for row in rows.items:
        if row.text is not None:
            name, _, told = row.text.partition("=")
            yield name, (told, row.line)
        elif (key := row.get("name").text) is not None and row.get("value").text is not None:
            yield key, (row.get("value").text or "", row.get("value").line)


def _pod_container(kind: str, box: Tree, pod: Tree, tree: Tree) -> ManifestContainer:
    image = box.get("image")
    one = ManifestContainer(kind, box.line, image.text or "", image.line, tree=tree)
    one.commands = _command(box.get("command"), box.get("args"))
    one.environment = dict(_environment(box.get("env")))
    for limits in (box.get("resources", "limits"), box.get("resources", "requests")):
        for name, value in limits.mapping.items():
            match = _GPU.match(name)
            if match is not None:
                one.vendor, one.vendor_line = match[1] or "intel", value.line
                one.gpus = whole_number(value.text)
    mounts = [mount.get("mountPath").text for mount in box.get("volumeMounts").items]
    one.shared_memory = "/dev/shm" in mounts or pod.get("hostIPC").text == "true" or not pod.mapping
    return one


def started(words: Sequence[Token]) -> ManifestContainer | None:
    """The container that a docker command runs or pulls, or None."""
    if len(words) < 3 or words[0].text.rsplit("/", 1)[-1] not in (*_PROGRAMS, "singularity", "apptainer"):
        return None
    if words[0].text.rsplit("/", 1)[-1] not in _PROGRAMS:
        named = next((word for word in words if word.text.startswith("docker://")), None)
        return ManifestContainer("singularity", words[0].line, named.text, named.line) if named is not None else None
    at = 2 if words[1].text in ("container", "image") else 1
    if words[at].text not in ("run", "create", "pull"):
        return None
    one = ManifestContainer("docker" if words[at].text != "pull" else "pull", words[0].line)
    at += 1
    while at < len(words) and words[at].text.startswith("-"):
        name, equals, value = words[at].text.partition("=")
        if name not in _ALONE and not equals and not re.fullmatch(r"-[eup]\S+", words[at].text):
            at += 1
            value = words[at].text if at < len(words) else ""
        _option(one, name, value, words[min(at, len(words) - 1)].line)
        at += 1
    if at < len(words):
        one.image, one.image_line = words[at].text, words[at].line
        one.commands = exec_commands(words[at + 1 :])
    return one


def _option(one: ManifestContainer, name: str, value: str, line: int) -> None:
    if name == "--device":
        one.devices.append(value.partition(":")[0])
    elif name in ("-e", "--env"):
        key, _, told = value.partition("=")
        one.environment[key] = (told, line)
    elif name in ("--ipc", "--shm-size") or (name in ("-v", "--volume", "--mount", "--tmpfs") and "/dev/shm" in value):
        one.shared_memory = True
    elif name == "--gpus" or (name == "--runtime" and value == "nvidia"):
        one.vendor, one.vendor_line = "nvidia", line
