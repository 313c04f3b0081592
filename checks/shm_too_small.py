"""Shared memory (/dev/shm) is small.

Why
  Data loader workers hand batches to the trainer through /dev/shm, and NCCL and RCCL use it between the processes of
  one machine. Containers get 64 MiB by default. When it is full, workers die with "Bus error" or collectives fail
  with "No space left on device" or "unhandled system error", often only at the first large batch.

Fix
  Start the container with `--shm-size=8g` or more, or with `--ipc=host`. In Kubernetes, mount a memory-backed emptyDir
  at /dev/shm. If a machine's own /dev/shm is full, remove what crashed jobs left there.

References
  https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
  https://docs.docker.com/reference/cli/docker/container/run/
  https://docs.pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from rocdoctor.insight.gpus.access import container_words, enclosure, local_ranks
from rocdoctor.judging.check import Fix, Outcome, Severity, check, cite, finding, info, machine_with_gpus
from rocdoctor.knowledge.lookup import rule
from rocdoctor.model.change import Command
from rocdoctor.model.evidence import Known, known
from rocdoctor.model.facts import Machine
from rocdoctor.model.shell_command import shell
from rocdoctor.model.units import binary_size

_MIB = 1 << 20
# Space below which one NCCL channel buffer set or one batch of a loader may not fit any more.
_ALMOST_FULL = 32 * _MIB


@check(machine_with_gpus, cause="shm-too-small")
def shm_too_small(machine: Machine) -> Outcome:
    size = known(machine.memory.shm_bytes)
    limits = rule("shm-size")
    enough = int(limits.number("low_gib") * 1024 * _MIB) if limits is not None else 1024 * _MIB
    inside = enclosure(machine)
    free = machine.memory.shm_free_bytes
    if size >= enough:
        if isinstance(free, Known) and free.value < _ALMOST_FULL:
            return info(
                f"/dev/shm is almost full: {binary_size(free.value)} of {binary_size(size)} are free.",
                evidence=(cite(free, binary_size(free.value)), cite(machine.memory.shm_bytes, binary_size(size))),
                fix=Fix(
                    "Look for files that crashed jobs left behind, and remove those that no process uses",
                    command="ls -lS /dev/shm | head; fuser -v /dev/shm/*",
                    verify="df -h /dev/shm",
                ),
            )
        return None
    several = (local_ranks(machine) or 0) > 1
    severity: Severity = "warning" if several and inside and size <= 64 * _MIB else "info"
    where = f"In this {container_words(inside)} " if inside else ""
    who = "data loader workers and the collectives of several GPUs" if several else "data loader workers"
    return finding(
        severity,
        f"{where}/dev/shm has only {binary_size(size)}: {who} may fail with bus errors or 'no space left'.",
        evidence=(cite(machine.memory.shm_bytes, binary_size(size)),),
        fix=_fix(inside, size),
    )


def _fix(inside: str | None, size: int) -> Fix:
    verify = "df -h /dev/shm"
    if inside == "kubernetes":
        return Fix(
            "Mount an emptyDir with medium: Memory and a sizeLimit at /dev/shm (it counts against the pod's memory)",
            verify=verify,
        )
    if inside is None:
        remount = ("mount", "-o", "remount,size={}", "/dev/shm")
        larger, before = (tuple(word.format(value) for word in remount) for value in ("8G", size))
        return Fix(
            "Enlarge /dev/shm",
            command="sudo mount -o remount,size=8G /dev/shm",
            safety="safe",
            verify=verify,
            changes=(Command(larger, (before,)),),
        )
    program = "podman" if inside == "podman" else "docker"
    return Fix(
        "Start the container with more shared memory, or with --ipc=host",
        command=shell("{program} run --shm-size=8g ...", program=program),
        safety="safe",
        verify=verify,
    )
