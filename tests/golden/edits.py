"""Edits that break a healthy machine: each changes answers of a fixture, nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import CaptureHost
from tests.golden.replay import host_of

NODES = "/sys/class/kfd/kfd/topology/nodes"


class Broken:
    """A fixture with some answers replaced; every edit gives the same object back."""

    def __init__(self, fixture: str) -> None:
        self.inner = host_of(fixture)
        self.answers: dict[str, Answer] = {}

    @property
    def host(self) -> CaptureHost:
        """The machine as edited so far, as a bundle made on it would show it."""
        capture = self.inner.capture
        return CaptureHost(replace(capture, answers={**capture.answers, **self.answers}), self.inner.origin)

    def text(self, question: str) -> str:
        """The answer that stands now; a question without one makes the edit pointless, so it fails."""
        answer = self.host.ask(question)
        assert answer.ok, f"the fixture does not answer '{question}'"
        return answer.text

    def set(self, question: str, text: str, exit_code: int | None = None) -> Broken:
        """Another answer."""
        self.answers[question] = Answer(question, "ok", text.encode(), exit_code)
        return self

    def replace(self, question: str, old: str, new: str) -> Broken:
        """Another word in an answer."""
        text = self.text(question)
        assert old in text, f"'{old}' is not in the answer to '{question}'"
        return self.set(question, text.replace(old, new), self.host.ask(question).exit_code)

    def remove(self, question: str) -> Broken:
        """There is no such file or program."""
        self.answers[question] = Answer(question, "absent")
        return self

    def deny(self, question: str) -> Broken:
        """The question is refused."""
        self.answers[question] = Answer(question, "denied")
        return self

    def hang(self, question: str) -> Broken:
        """No answer in time."""
        self.answers[question] = Answer(question, "timeout", note="5s", complete=False)
        return self

    def without_lines(self, question: str, *ends: str) -> Broken:
        """A listing without the paths that end so."""
        kept = [line for line in self.text(question).splitlines() if not line.endswith(ends)]
        return self.set(question, "\n".join(kept))

    def env(self, **values: str) -> Broken:
        """Variables set."""
        lines = [line for line in self.text("env").splitlines() if line.partition("=")[0] not in values]
        return self.set("env", "\n".join(sorted([*lines, *(f"{name}={value}" for name, value in values.items())])))

    def log(self, *lines: str) -> Broken:
        """A kernel log that may be read, from the start of the machine on."""
        release = self.text("read /proc/sys/kernel/osrelease")
        head = f"[    0.000000] Linux version {release} (builder@host) #1 SMP"
        return self.set("run dmesg", "\n".join([head, *lines]), 0)

    def unbind(self, bdf: str, card: str, node: int) -> Broken:
        """No driver on a GPU: its DRM card, its compute node and its place in the tools are gone too."""
        question = f"read /sys/bus/pci/devices/{bdf}/uevent"
        self.set(question, re.sub(r"DRIVER=\w+\n", "", self.text(question)))
        minor = int(card.removeprefix("card")) + 127
        self.without_lines("list /sys/class/drm/card*", f"/{card}")
        self.without_lines("list /dev/dri/renderD*", f"/renderD{minor}")
        self.without_lines(f"list {NODES}/*", f"/{node}")
        for tool in ("run rocminfo", "run amd-smi static --json", "run amd-smi metric --json"):
            self.remove(tool)
        return self

    def unlink(self, a: int, b: int) -> Broken:
        """No XGMI link between two compute nodes, seen from both."""
        for here, there in ((a, b), (b, a)):
            paths = self.text(f"list {NODES}/{here}/io_links/*").splitlines()
            ends = [path for path in paths if f"node_to {there}\n" in self.text(f"read {path}/properties") + "\n"]
            assert len(ends) == 1
            self.without_lines(f"list {NODES}/{here}/io_links/*", ends[0])
        return self
