"""NixOS: torch of nixpkgs in place of a wheel."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.knowledge import install
from rocdoctor.knowledge.load import load_table, words
from rocdoctor.model.shell_command import ShellCommand
from rocdoctor.repair.setup.installed_torch import judged
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, wanted
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import sentence
from rocdoctor.repair.setup.steps.python_environment import concerns_torch

LAYER: Layer = "torch"

_TABLE = "install_nix"
_SEE = ShellCommand('python3 -c "import torch; print(torch.__version__, torch.cuda.is_available())"')


def steps(situation: Situation) -> Sequence[Step]:
    """One step, on NixOS alone, while the torch that serves this machine is missing."""
    want = wanted(situation)
    if not situation.nixos or not concerns_torch(situation) or not isinstance(want, RequiredTorch):
        return ()
    told = judged(situation, want)
    if told.state in ("good", "unknown"):
        return ()
    table = load_table(_TABLE)
    package = table["packages"][want.backend]
    notes = [one for one in table["notes"] if "torchWithCuda" not in one or want.backend == "cuda"]
    notes = [one for one in notes if "rocmPackages" not in one or want.backend == "rocm"]
    expression = f"python3.withPackages (ps: [ ps.{package} ])"
    sources = words(table["s"])
    return (
        Step(
            "torch-nixpkgs",
            f"Use torch from nixpkgs ({package})",
            "todo",
            f"{sentence(told.why)} {table['why']}",
            told.evidence,
            (Action(words=("nix-shell", "-p", expression)),),
            (),
            "safe",
            "now",
            Verify(
                command=_SEE, shows="a version, and True if a GPU is usable" if want.backend != "cpu" else "a version"
            ),
            notes=(
                "It opens a shell whose python3 has torch; run the check and the training there.",
                *notes,
            ),
            sources=sources,
            table=_TABLE,
            kind=install.weakest(_TABLE, sources),
        ),
    )
