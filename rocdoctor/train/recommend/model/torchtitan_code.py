"""Which models torchtitan 0.3.0 has a configuration of: it takes no sizes, only the name of one in its registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from rocdoctor.train.recommend.model.models import read_model
from rocdoctor.train.recommend.model.shapes import Model, counted_parameters

VERSION = "0.3.0"


@dataclass(frozen=True, slots=True)
class Flavour:
    """A configuration of torchtitan's registry: its module, its name, and the longest sequence of its rotations."""

    module: str
    config: str
    longest: int


# Preset -> registry (torchtitan/models/*/config_registry.py, lengths in */__init__.py). Other sizes have code there
# (llama3 1B, 3B, 405B; qwen3 4B, 8B, 235B-A22B; deepseek_v3 236B) but no configuration for pretraining in bf16.
FLAVOURS: Mapping[str, Flavour] = {
    "llama-3.1-8b": Flavour("llama3", "llama3_8b", 131_072),
    "llama-3.1-70b": Flavour("llama3", "llama3_70b", 131_072),
    "qwen3-0.6b": Flavour("qwen3", "qwen3_0_6b", 40_960),
    "qwen3-1.7b": Flavour("qwen3", "qwen3_1_7b", 40_960),
    "qwen3-14b": Flavour("qwen3", "qwen3_14b", 40_960),
    "qwen3-32b": Flavour("qwen3", "qwen3_32b", 40_960),
    "qwen3-30b-a3b": Flavour("qwen3", "qwen3_30b_a3b", 40_960),
    "deepseek-v2-lite": Flavour("deepseek_v3", "deepseek_v3_16b", 16_384),
    "deepseek-v3": Flavour("deepseek_v3", "deepseek_v3_671b", 16_384),
    "gpt-oss-20b": Flavour("gpt_oss", "gpt_oss_20b", 131_072),
    "gpt-oss-120b": Flavour("gpt_oss", "gpt_oss_120b", 131_072),
}


def _sizes(model: Model) -> Model:
    return replace(model, name="", given_parameters=None, positions=None)


@cache
def _known() -> Mapping[str, Model]:
    return {name: _sizes(read_model(name, [])) for name in FLAVOURS}


def preset_of(model: Model) -> str | None:
    """The preset whose sizes a model has, whatever it is called."""
    sizes = _sizes(model)
    return next((name for name, known in _known().items() if known == sizes), None)


def without_code(model: Model) -> str | None:
    """That torchtitan has no 16-bit configuration of a model's sizes, with the nearest; None where it has one."""
    if preset_of(model) is not None:
        return None
    count = counted_parameters(model)
    near = min(FLAVOURS, key=lambda one: abs(counted_parameters(_known()[one]) - count))
    return f"torchtitan {VERSION} has no 16-bit configuration with the sizes of {model.name}; nearest: {near}"
