"""ROCm without packages of the system: its libraries, headers and compilers as wheels, in the environment of torch."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.model.shell_command import shell
from rocdoctor.repair.setup.pip_actions import uninstall, with_pip
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, pythons_for, wanted, wheel_for
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.steps.python_environment import concerns_torch, place
from rocdoctor.repair.setup.torch_environment import Interpreter

LAYER: Layer = "torch"

_ID = "rocm-wheels"
_TITLE = "ROCm from wheels"


def steps(situation: Situation) -> Sequence[Step]:
    """The wheels, where somebody chose them and an AMD GPU would train."""
    if not situation.choice.wheels or not concerns_torch(situation):
        return ()
    want = wanted(situation)
    if isinstance(want, Unknown) or want.backend != "rocm":
        return ()
    into = place(situation, pythons_for(situation, want))
    wheel = wheel_for(situation, want, into.series) if into is not None else None
    if into is None or wheel is None:
        why = f"AMD's index is not known to have wheels for {', '.join(want.gfx)} and this Python."
        return (Step(_ID, _TITLE, "unknown", why, verify=Verify(command="rocm-sdk targets")),)
    return (_install(situation, want, into, wheel),)


def _install(situation: Situation, want: RequiredTorch, into: Interpreter, wheel: install.WheelIndex) -> Step:
    args, sources = install.rocm_wheel_args(want.gfx, wheel)
    tool, packages = f"{into.folder}/bin/rocm-sdk", situation.machine.torch.packages
    here = value.get("rocm", "") if isinstance(packages, Known) and (value := packages.value) else ""
    verify = Verify(command=shell("{tool:path} targets", tool=tool), shows=", ".join(want.gfx))
    series = wheel.flavour.removeprefix("rocm")
    if here.startswith(f"{series}."):
        return Step(
            _ID, _TITLE, "done", f"ROCm {here} is in {into.folder}.", (cite(packages, f"rocm {here}"),), verify=verify
        )
    actions = (
        *with_pip(into, situation.machine.torch, bool(into.evidence)),
        Action(words=(*into.pip, "install", *args)),
    )
    return Step(
        _ID,
        f"Install ROCm {series} from wheels",
        "todo",
        f"Wheels for {', '.join(want.gfx)} install libraries, headers and compilers into {into.folder}, without root.",
        tuple(cite(gpu.gfx) for gpu in want.gpus[:1]),
        actions,
        (f"rocm, rocm-sdk-* in {into.folder}",),
        "safe",
        "now",
        verify,
        (uninstall(into, ("rocm", "rocm-sdk-core", "rocm-sdk-devel")),),
        wheel.risk or "",
        ("The environment then has tools (hipcc, rocminfo); pip list shows what else was installed.",),
        sources,
        "install_torch",
        install.weakest("install_torch", sources),
        needs=("python-environment",),
        proof=(tool, "targets"),
    )
