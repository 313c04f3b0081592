"""The screens, in the order of their keys. A screen is loaded when it is first shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import Screen


@dataclass(frozen=True, slots=True)
class Area:
    """A screen: its folder (whose ``screen`` has the class ``<Name>Page``), its name, a short one, and what it is."""

    module: str
    name: str
    short: str
    about: str


AREAS = (
    Area("overview", "Overview", "Overview", "the machine, and what to do first"),
    Area("findings", "Findings", "Findings", "what is wrong, the evidence, and the fix"),
    Area("topology", "Topology", "Topo", "NUMA nodes, PCIe tree, links between GPUs"),
    Area("thermals", "Thermals", "Thermals", "temperatures, power, clocks and use, live"),
    Area("smoke", "Smoke", "Smoke", "prove that distributed training computes correctly"),
    Area("recommend", "Plan", "Plan", "a training configuration for this machine"),
    Area("setup", "Setup", "Setup", "steps from here to a machine that trains"),
    Area("bundle", "Bundle", "Bundle", "record the evidence in a file that is safe to post"),
    Area("paste", "Paste", "Paste", "diagnose a bug report or a log"),
    Area("compare", "Compare", "Diff", "what differs from another machine, or from earlier"),
)
# The keys of the screens, in their order: digits, and function keys for those that may come yet.
KEYS = (*"1234567890", "f2", "f3", "f4")


# What the screens import when they draw or work, since they must not wait for it to be seen.
_DRAWING = (
    "tui.topology.gpu_details",
    "tui.topology.drawing",
    "tui.bundle.drawing",
    "tui.bundle.contents",
    "tui.draw.verification",
    "tui.help.screen",
    "tui.palette",
    "report.setup.setup_document",
    "report.plan.recommend_document",
    "train.recommend.plan",
    "train.recommend.advise",
    "train.recommend.fleet.cpu_fleet",
    "train.recommend.fleet.machine_fleet",
    "train.recommend.model.workload",
    "train.emit.recipe",
    "service.emitting",
    "service.plan_trials",
    "service.planning",
    "train.recommend.fleet.described_fleet",
    "train.recommend.fleet.measured",
    *(f"train.emit.targets.{one}" for one in ("accelerate", "axolotl", "deepspeed", "llamafactory", "megatron")),
    *(f"train.emit.targets.{one}" for one in ("torchtitan", "trainer", "trl")),
    "host.masking.masker",
    "service.bundles",
)


def read_in(stopped: Callable[[], bool]) -> None:
    """Import all screens, so that the key which opens one is not held up by that."""
    for name in (*(f"tui.{area.module}.screen" for area in AREAS), *_DRAWING):
        if stopped():
            return
        import_module(f"rocdoctor.{name}")
    from rocdoctor.tui.recommend.plan_form_values import models

    models()


def load(module: str) -> Screen[None]:
    """A new screen of an area."""
    loaded = import_module(f"rocdoctor.tui.{module}.screen")
    page: Screen[None] = getattr(loaded, f"{module.title()}Page")()
    return page
