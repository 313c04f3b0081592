"""Documents that people write or hand on, whole, and the commands that read them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_MACHINE = ROOT / "fixtures/mi300x-8gpu.capture"
_SCRIPT = b"""#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=8
export HSA_OVERRIDE_GFX_VERSION=10.3.0 NCCL_P2P_DISABLE=1
pip install torch --index-url https://download.pytorch.org/whl/rocm6.2
docker run --device=/dev/kfd --device=/dev/dri rocm/pytorch torchrun --nproc-per-node 8 train.py
"""
_SPECIFICATION = b"""model: llama-3.1-8b
gpu: mi300x
gpus_per_node: 8
seq: 4096
micro_batch: 2
framework: fsdp
"""
FORMS = ("pasted", "script", "specification", "plan", "model", "profile", "record")


def document(form: str, source: random.Random) -> bytes:
    """A sound document of one of ``FORMS``."""
    if form == "pasted":
        return source.choice(sorted((ROOT / "tests/texts").rglob("*.txt"))).read_bytes()
    if form == "script":
        return _SCRIPT
    return _SPECIFICATION if form == "specification" else _made(form)


@cache
def _made(form: str) -> bytes:
    """What the tool itself writes of a machine."""
    if form == "model":
        sizes = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336}
        return json.dumps({"model_type": "llama", "vocab_size": 128256, **sizes}, indent=1).encode()
    with tempfile.TemporaryDirectory() as folder:
        argv = {
            "plan": ["recommend", "--json", "--from", str(_MACHINE), "--model", "llama-3.1-8b"],
            "profile": ["emit", "profile", "--from", str(_MACHINE), "--model", "llama-3.1-8b", "-o", folder],
            "record": ["record", "--from", str(_MACHINE), "--node", "n1", "--out", "-"],
        }[form]
        command = [sys.executable, "-m", "rocdoctor", *argv]
        printed = subprocess.run(command, capture_output=True, cwd=ROOT, check=False).stdout
        return (Path(folder) / "profile.yaml").read_bytes() if form == "profile" else printed


def arguments(form: str, path: Path, source: random.Random) -> tuple[str, ...]:
    """A command that reads a document of this form."""
    name = str(path)
    return {
        "pasted": ("read", name, *source.choice(((), ("--format", "json"), ("--format", "markdown")))),
        "script": ("lint", name, *source.choice(((), ("--format", "json"), ("--format", "sarif")))),
        "specification": ("estimate", name),
        "plan": ("estimate", name),
        "model": ("recommend", "--model", name, "--gpus", "8xMI300X"),
        "profile": ("check", "--from", str(_MACHINE), "--profile", name),
        "record": ("fleet", "tick", f"{name}-store", name),
    }[form]
