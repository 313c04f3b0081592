"""A file system made of text, and a host over it that answers exactly as a live machine would."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rocdoctor.host.base import Answer, Kind, normalise
from rocdoctor.host.evidence.folder import TreeHost, resolve, split


@dataclass(slots=True)
class Node:
    """A device node: what ``stat`` and ``open`` say of it."""

    mode: str
    gid: int
    number: str
    access: str = "read-write"
    uid: int = 0


@dataclass(slots=True)
class Program:
    """What a program prints, and how it ends."""

    output: str
    exit_code: int = 0


@dataclass(slots=True)
class Files:
    """Files, links, device nodes, programs and the environment of one machine."""

    name: str
    description: str
    texts: dict[tuple[str, ...], bytes] = field(default_factory=dict)
    links: dict[tuple[str, ...], str] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    refused: set[tuple[str, ...]] = field(default_factory=set)
    children: dict[tuple[str, ...], set[str]] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    spaces: dict[str, str] = field(default_factory=dict)

    def folder(self, path: str) -> None:
        """A folder with all above it."""
        parts = split(path)
        self.children.setdefault(parts, set())
        for depth in range(len(parts)):
            self.children.setdefault(parts[:depth], set()).add(parts[depth])

    def put(self, path: str, text: str | bytes) -> None:
        """A regular file; its text ends with a line end as files of the kernel do, which no host returns."""
        parts = split(path)
        self.folder("/".join(parts[:-1]))
        self.children[parts[:-1]].add(parts[-1])
        self.texts[parts] = text.encode() if isinstance(text, str) else text

    def put_all(self, folder: str, texts: dict[str, str | int]) -> None:
        """Several files of one folder."""
        for name, text in texts.items():
            self.put(f"{folder}/{name}", str(text))

    def refuse(self, path: str) -> None:
        """A file that this user may not read."""
        self.put(path, "")
        self.refused.add(split(path))

    def link(self, path: str, target: str) -> None:
        """A symbolic link."""
        parts = split(path)
        self.folder("/".join(parts[:-1]))
        self.children[parts[:-1]].add(parts[-1])
        self.links[parts] = target

    def node(self, path: str, node: Node) -> None:
        """A device node."""
        self.put(path, "")
        self.nodes[path] = node

    def remove(self, path: str) -> None:
        """Take a file, link or folder away."""
        parts = split(path)
        self.children.get(parts[:-1], set()).discard(parts[-1])
        for store in (self.texts, self.links, self.children):
            for key in [key for key in store if key[: len(parts)] == parts]:
                del store[key]

    # -- the tree that a host walks

    def kind(self, parts: tuple[str, ...]) -> str:
        if parts in self.links:
            return "link"
        if parts in self.texts:
            return "file"
        return "dir" if parts in self.children or not parts else ""

    def target(self, parts: tuple[str, ...]) -> str:
        return self.links.get(parts, "")

    def names(self, parts: tuple[str, ...]) -> list[str]:
        return sorted(self.children.get(parts, ()))

    def data(self, parts: tuple[str, ...]) -> bytes:
        return self.texts[parts]


class MachineHost(TreeHost):
    """Answers as ``LiveHost`` would on such a machine: everything may be asked, and what is not there is absent."""

    kind: Kind = "live"

    def __init__(self, files: Files) -> None:
        self.files = files
        super().__init__(files, "this machine")

    def available(self) -> tuple[str, ...]:
        return ()

    def prefetch(self, questions: Iterable[str]) -> None:
        pass

    def ask(self, question: str) -> Answer:
        verb, _, rest = question.partition(" ")
        if verb in ("run", "python"):
            program = self.files.programs.get(question)
            if program is None:
                return Answer(question, "absent")
            return Answer(question, "ok", normalise(program.output.encode()), program.exit_code)
        if verb == "env":
            lines = "\n".join(f"{name}={value}" for name, value in sorted(self.files.env.items()))
            return Answer(question, "ok", lines.encode())
        if verb == "space":
            text = self.files.spaces.get(rest)
            return Answer(question, "absent") if text is None else Answer(question, "ok", text.encode())
        if verb == "list":
            return Answer(question, "ok", "\n".join(self._glob(rest)).encode())
        parts = resolve(self.files, (), rest)
        if parts is None:
            return Answer(question, "absent")
        return self._at(question, verb, rest, parts)

    def _at(self, question: str, verb: str, path: str, parts: tuple[str, ...]) -> Answer:
        node = self.files.nodes.get(path)
        if verb == "link":
            return Answer(question, "ok", ("/" + "/".join(parts)).encode())
        if verb == "stat" and node is not None:
            return Answer(question, "ok", f"char {node.mode} {node.uid} {node.gid} {node.number}".encode())
        if verb == "open" and node is not None:
            return Answer(question, "ok", node.access.encode())
        if verb == "read" and parts in self.files.refused:
            return Answer(question, "denied")
        if verb == "read" and parts in self.files.texts and node is None:
            return Answer(question, "ok", normalise(self.files.texts[parts]))
        return Answer(question, "failed", note="not a regular file")
