"""The matrix of links that ``nvidia-smi topo -m`` shows; ``gpus/links.py`` makes links of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocdoctor.collect.gpus.tool import Tool
from rocdoctor.host.base import Answer

if TYPE_CHECKING:
    from rocdoctor.parsers.nvidia.nvidia_links import NvidiaTopology


def _parse(answer: Answer) -> NvidiaTopology:
    from rocdoctor.parsers.nvidia.nvidia_links import parse_topo

    return parse_topo(answer.text)


TOOL = Tool(
    130,
    _parse,
    "nvidia-smi",
    subcommand=lambda arguments: arguments[:1] == ["topo"],
    vendor="nvidia",
    live=("run nvidia-smi topo -m",),
)
