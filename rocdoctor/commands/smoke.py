"""``rocdoctor smoke``: prove that distributed training computes right."""

from __future__ import annotations

import argparse
import sys

from rocdoctor.cli import EXIT_FINDINGS, UsageError, suggestion
from rocdoctor.commands.common import Progress, print_json, wants
from rocdoctor.smoke.runner import MODES, ModeResult, run_mode


def run(options: argparse.Namespace) -> int:
    """Run the modes and print a row each."""
    for mode in options.modes:
        if mode not in MODES:
            raise UsageError(f"no smoke mode '{mode}'{suggestion(mode, MODES)}; there are: {', '.join(MODES)}")
    if not 1 <= options.world <= 64:
        raise UsageError("--world takes 1 to 64 ranks")
    backend = "gloo" if options.backend == "auto" else options.backend
    progress = Progress(options.quiet)
    results: list[ModeResult] = []
    for mode in options.modes or MODES:
        progress.say(f"running {mode} on {options.world} ranks")
        results.append(run_mode(mode, options.world, backend, options.python))
    seconds = progress.done()
    if wants(options) == "json":
        print_json(_json(options, backend, results, seconds))
    else:
        for one in results:
            errors = ", ".join(f"{name} {value:.1e}" for name, value in one.max_error.items())
            sys.stdout.write(f"{one.state:<14} {one.mode:<12} {one.wall_s:5.1f} s  {errors or one.message}\n")
            if one.state in ("fail", "crashed") and errors:
                sys.stdout.write(f"  {one.message} (likely layer: {one.layer})\n")
        sys.stdout.write("Tested on the CPU with gloo; no GPU, no RCCL and no link between GPUs was tested.\n")
    return EXIT_FINDINGS if any(one.state in ("fail", "crashed") for one in results) else 0


def _json(options: argparse.Namespace, backend: str, results: list[ModeResult], seconds: float) -> dict[str, object]:
    modes = [
        {
            "mode": one.mode, "state": one.state, "wall_s": round(one.wall_s, 3), "message": one.message,
            "max_error": one.max_error, "tolerance": one.tolerance, "layer": one.layer or None,
            "ranks": list(one.ranks),
        }
        for one in results
    ]  # fmt: skip
    return {
        "schema": "rocdoctor.smoke/1", "world": options.world, "backend": backend, "device": "cpu",
        "torch": next((one.torch for one in results if one.torch), None), "wall_s": round(seconds, 3), "modes": modes,
        "figures": {},
    }  # fmt: skip
