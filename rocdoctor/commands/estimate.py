"""``rocdoctor estimate``: memory and speed of one training configuration."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rocdoctor.cli import UsageError
from rocdoctor.commands.common import print_json, wants, width
from rocdoctor.recommend.estimate import SpecError, estimate

# A specification is a page; more is no specification.
_MOST_BYTES = 4_000_000

_VERDICTS = {"yes": "It fits", "tight": "It is tight", "no": "It does not fit"}
_TERMS = (
    ("states", "weights, gradients, optimizer"),
    ("gathered", "whole weights in flight"),
    ("buffers", "reduction buffers"),
    ("activations", "activations"),
    ("logits", "logits and loss"),
    ("live_peak", "live at the peak (not all at once)"),
    ("reserved", "held by the allocator"),
)


def _read(path: Path) -> Any:
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError(f"{path}: larger than a specification can be")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _load(name: str) -> Any:
    """The specification, with a ``config.json`` that its model names read in (beside the specification)."""
    if name == "-":
        return yaml.safe_load(sys.stdin.read(_MOST_BYTES))
    spec = _read(Path(name))
    model = spec.get("model") if isinstance(spec, Mapping) else None
    config = model.get("config") if isinstance(model, Mapping) else model
    if not isinstance(config, str) or not config.endswith(".json"):
        return spec
    read = _read(Path(name).parent / config)
    if not isinstance(read, Mapping):
        raise UsageError(f"{config}: no configuration of a model")
    # A configuration has no name of its own; its folder often is the model's.
    named = {"name": Path(config).resolve().parent.name, **read}
    return {**spec, "model": {**named, **(model if isinstance(model, Mapping) else {})}}


def _lines(answer: Mapping[str, Any]) -> list[str]:
    """The answer for people: the verdict, the terms, the reasons."""
    memory, columns = answer["memory_gib"], width()
    limit = 0.92 * memory["usable"]
    out = [
        f"{_VERDICTS[answer['fits']]}: {memory['low']:.1f} to {memory['high']:.1f} GiB a GPU, "
        f"{limit:.1f} GiB to plan with ({memory['usable']:.1f} usable)"
    ]
    rate = answer["tokens_per_s_per_gpu"]
    if rate is None:
        out.append("Speed is not known for this GPU")
    else:
        out.append(f"About {rate:.0f} tokens/s a GPU, MFU {100 * answer['mfu']:.1f} %, bound by {answer['bound_by']}")
    out += ["", "Memory of one GPU", *(f"  {memory[key]:8.2f} GiB  {words}" for key, words in _TERMS), "", "Why"]
    for reason in answer["why"]:
        out += textwrap.wrap(reason, columns - 2, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return out


def run(options: argparse.Namespace) -> int:
    """Read the specification, print the answer."""
    try:
        answer = estimate(_load(options.spec))
    except OSError as error:
        raise UsageError(f"{error.filename or options.spec}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        first = (str(error).splitlines() or ["too deeply nested"])[0]
        raise UsageError(f"{options.spec}: not readable as YAML: {first}") from None
    except SpecError as error:
        raise UsageError(f"{options.spec}: {error}") from None
    except ValueError as error:
        # PyYAML raises plain value errors for dates and numbers that cannot be.
        raise UsageError(f"{options.spec}: not readable as YAML: {error}") from None
    if wants(options) == "json":
        print_json(answer)
        return 0
    sys.stdout.write("\n".join(_lines(answer)) + "\n")
    return 0
