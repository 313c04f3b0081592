"""Rules, thresholds and module parameters with their basis, so that nothing unverified becomes an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from rocdoctor.knowledge.load import load_table, words

Basis = Literal["tested", "source-read", "derived", "secondary", "general-knowledge", "not-verified"]
# What may carry more than a note.
FIRM: tuple[Basis, ...] = ("tested", "source-read", "derived")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its thresholds (names carry the unit); ``severity`` is the most that a violation may be called."""

    id: str
    subject: str
    severity: str
    basis: Basis
    threshold: Mapping[str, Any]
    healthy_when: tuple[str, ...]
    text: str
    sources: tuple[str, ...]

    def number(self, name: str) -> float:
        """A threshold; ``KeyError`` when the rule has none of this name."""
        return float(self.threshold[name])


@dataclass(frozen=True, slots=True)
class ModuleParameter:
    """A kernel module parameter that matters; ``severity`` (info or warning) is for values other than the default."""

    module: str
    name: str
    default: str
    effect: str
    severity: str
    values: tuple[str, ...]
    basis: Basis
    gone_in: str | None
    text: str
    sources: tuple[str, ...]


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by id."""
    return {
        raw["id"]: Rule(
            raw["id"],
            raw["subject"],
            raw["severity"],
            raw["basis"],
            raw.get("threshold", {}),
            words(raw.get("healthy_when")),
            raw["text"],
            words(raw["s"]),
        )
        for raw in load_table("rules")["rules"]
    }


def rule(rule_id: str) -> Rule | None:
    """The rule with this id."""
    return rules().get(rule_id)


def pcie_gb_s(speed_gt_s: float, width: int) -> float | None:
    """GB/s (10^9) in one direction of a PCIe link, or None for a speed that is no PCIe generation."""
    for row in load_table("rules")["pcie_rates"]:
        if row["speed_gt_s"] == speed_gt_s:
            return float(row["gb_s_per_lane"]) * width
    return None


@cache
def module_parameters() -> Mapping[tuple[str, str], ModuleParameter]:
    """Parameters with a judgement, by module and name."""
    return {
        (raw["module"], raw["name"]): ModuleParameter(
            raw["module"],
            raw["name"],
            raw["default"],
            raw["effect"],
            raw["severity"],
            words(raw.get("values")),
            raw["basis"],
            raw.get("gone_in"),
            raw["text"],
            words(raw["s"]),
        )
        for raw in load_table("module_parameters")["parameters"]
    }


def module_parameter(module: str, name: str) -> ModuleParameter | None:
    """The judgement on a module parameter, or None when there is none."""
    return module_parameters().get((module, name))


@cache
def amdgpu_parameter_names() -> Mapping[str, tuple[str, ...]]:
    """Names of the in-tree amdgpu module and the kernels that have them; the packaged driver may have more."""
    return {raw["name"]: words(raw["in"]) for raw in load_table("module_parameters")["names"]}
