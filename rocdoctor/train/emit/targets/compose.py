"""A file for docker compose: one container with all GPUs of this machine.

Keys as in the Compose Specification (docker compose 2, docker-compose 1.28 and later).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import File, comment
from rocdoctor.train.emit.images import SHM_WHY, placeholder, shared_memory_gib
from rocdoctor.train.emit.launch import torchrun
from rocdoctor.train.emit.launcher import open_ports
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.torchrun import FRAMEWORKS, head
from rocdoctor.train.recommend.environment import VISIBILITY
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan

__all__ = ["FRAMEWORKS", "files", "refuses"]


def refuses(work: Work) -> str | None:
    """Why docker compose cannot express a configuration, or None."""
    if work.gpus > work.gpu.node_gpus:
        nodes = -(-work.gpus // work.gpu.node_gpus)
        return f"docker compose starts containers on one machine, and this needs {nodes}; nearest: slurm or kubernetes"
    return None


def files(plan: Plan, order: Order) -> Sequence[File]:
    """One file for ``docker compose up``; ValueError for a plan of several nodes."""
    if plan.fleet.nodes > 1:
        raise ValueError(f"docker compose starts containers on one machine, not on {plan.fleet.nodes}")
    return (File("compose.yaml", "\n".join([*head(plan, order), *open_ports(), *_service(plan, order)]) + "\n"),)


def _service(plan: Plan, order: Order) -> Iterator[str]:
    fleet = plan.fleet
    yield "services:"
    yield "  train:"
    if order.image is None:
        image, why = placeholder(fleet.vendor)
        yield from comment(why, indent="    ")
    else:
        image = order.image
    yield f"    image: {_quoted(image)}"
    yield "    command:"
    for one in torchrun(plan, order, "1", None, None):
        yield from comment(one.reason, indent="      ")
        for word in one.words:
            yield f"      - {_quoted(word)}"
    yield "    # the folder of this file, with the training program in it"
    yield "    working_dir: /work"
    yield "    volumes:"
    yield "      - .:/work"
    if plan.environment:
        yield "    environment:"
        for setting in plan.environment:
            yield from comment(setting.reason, indent="      ")
            yield f"      {setting.name}: {_quoted(setting.value)}"
    if fleet.vendor == "amd":
        yield from _amd()
    elif fleet.vendor == "nvidia":
        yield from _nvidia(plan)
    yield from comment(SHM_WHY, indent="    ")
    yield f"    shm_size: {_quoted(f'{shared_memory_gib(fleet)}gb')}"
    yield "    ulimits:"
    if fleet.vendor != "cpu":
        yield "      # no limit: buffers that GPUs and network cards access are locked in memory"
        yield "      memlock: -1"
    yield "      # 64 MiB for deep recursion, as in NVIDIA's commands for PyTorch containers; the usual size is 8 MiB"
    yield "      stack: 67108864"


def _amd() -> Iterator[str]:
    yield "    devices:"
    yield "      # the compute interface of the driver, shared by all GPUs"
    yield "      - /dev/kfd"
    yield "      # the render nodes of all GPUs"
    yield "      - /dev/dri"
    yield "    group_add:"
    yield from comment(
        "the group that owns these devices. If that is render, its number differs from host to host and images "
        "often lack its name: start with RENDER_GID=$(getent group render | cut -d: -f3) docker compose up",
        indent="      ",
    )
    yield '      - "${RENDER_GID:-video}"'


def _nvidia(plan: Plan) -> Iterator[str]:
    chosen = any(one.name in VISIBILITY for one in plan.environment)
    yield "    deploy:"
    yield "      resources:"
    yield "        reservations:"
    yield "          devices:"
    yield "            - driver: nvidia"
    if chosen:
        yield "              # all, because CUDA_VISIBLE_DEVICES above counts all of them"
        yield "              count: all"
    else:
        yield f"              count: {plan.fleet.per_node}"
    yield "              capabilities: [gpu]"


def _quoted(text: str) -> str:
    """A text as a YAML scalar; compose fills $NAME in, and twice the sign keeps it."""
    return json.dumps(text.replace("$", "$$"))
