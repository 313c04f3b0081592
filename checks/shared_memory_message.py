"""A process ran out of shared memory (/dev/shm).

Why
  Data loader workers and the collectives between processes of one machine use /dev/shm, which containers get with
  64 MiB by default. When it is full, workers die with "Bus error", or segments cannot be created.

Fix
  Start the container with --shm-size=8g (or --ipc=host); in Kubernetes, mount a memory-backed emptyDir at /dev/shm. On
  a bare machine, enlarge /dev/shm or remove what crashed jobs left there. Using fewer loader workers also helps.

References
  https://docs.docker.com/reference/cli/docker/container/run/
  https://docs.pytorch.org/docs/stable/multiprocessing.html
"""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import first_value, in_container, said, shown, when_said
from rocdoctor.judging.check import Fix, Outcome, check, error
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Machine
from rocdoctor.model.units import binary_size


@check(when_said("shared-memory-exhausted"), cause="shm-too-small")
def shared_memory_message(machine: Machine) -> Outcome:
    messages = said(machine, "shared-memory-exhausted")
    who = first_value(messages, "who") or "a process"
    size = machine.memory.shm_bytes
    holds = f" ({binary_size(size.value)})" if isinstance(size, Known) else ""
    inside = in_container(machine)
    default = "; containers get 64 MiB by default" if inside and not holds else ""
    return error(
        f"The shared memory /dev/shm is too small{holds}: {who} could not get what it needs{default}.",
        evidence=shown(messages),
        fix=Fix(
            "Start the container with --shm-size=8g or more, or with --ipc=host (Kubernetes: a memory-backed "
            "emptyDir at "
            "/dev/shm; compose: shm_size). Outside a container enlarge it (mount -o remount,size=8G /dev/shm). Fewer "
            "loader workers (num_workers) lower the need",
            command="docker run --shm-size=8g ..." if inside else "df -h /dev/shm",
            safety="safe",
            verify="df -h /dev/shm",
        ),
        confidence="certain",
    )
