"""Signs in a text that programs on the GPU fail, which make a cause of a state that is harmless on most machines."""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import said
from rocdoctor.model.facts import Machine, Message

_CRASHES = (
    "program-crashed",
    "no-kernel-image",
    "gpu-memory-fault",
    "gpu-hang",
    "wrong-isa-kernel",
    "queue-exception",
    "queue-generic-error",
    "crash-in-hip",
    "people-tell-of-crash",
)
# A release of the program, or an assertion of its own kernel, is to blame.
_OF_THE_PROGRAM = ("release-broke-it", "device-assert")


def crashes(machine: Machine) -> tuple[Message, ...]:
    """What tells that programs on the GPU crash, hang or fault; () where the text blames the program."""
    blamed = any(message.kind in _OF_THE_PROGRAM for message in machine.messages)  # in whatever voice
    return () if blamed else said(machine, *_CRASHES)


def slowness(machine: Machine) -> tuple[Message, ...]:
    """What tells that work on the GPU is slow."""
    return said(machine, "people-tell-of-slowness")


def failures(machine: Machine) -> tuple[Message, ...]:
    """What tells that a program does not work, in the words of people."""
    return said(machine, "people-tell-of-failure")
