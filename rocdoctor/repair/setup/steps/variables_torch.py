"""Variables without which torch does not run on the GPU to train on: an override of the target, the hidden iGPU."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus import gfx_override
from rocdoctor.insight.gpus.access import container_words
from rocdoctor.insight.gpus.presence import VISIBLE_AMD, chosen_by
from rocdoctor.judging.check import cite, quote
from rocdoctor.knowledge.gpus.gfx import override_gfx_name, same_isa_group
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.model.finding import Evidence
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, pythons_for, wanted, wheel_for
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.steps.python_environment import concerns_torch, place
from rocdoctor.repair.setup.torch_environment import Interpreter

LAYER: Layer = "torch"

_IGPU = "igpu-in-front"


def steps(situation: Situation) -> Sequence[Step]:
    """Only what these GPUs need; most machines need none of it."""
    if not concerns_torch(situation):
        return ()
    want = wanted(situation)
    if isinstance(want, Unknown) or want.backend != "rocm":
        return ()
    found = (_override(situation, want), _hidden(situation, want))
    return tuple(step for step in found if step is not None)


def _override(situation: Situation, want: RequiredTorch) -> Step | None:
    """The target whose code a GPU runs that no wheel has code for."""
    into = place(situation, pythons_for(situation, want))
    wheel = wheel_for(situation, want, into.series) if into is not None else None
    value = (wheel.environment or {}).get(gfx_override.NAME) if wheel is not None else None
    if into is None or wheel is None or value is None or not want.gpus:
        return None
    if situation.wsl:
        return None  # there it hides the GPU (install_wsl.yaml)
    gfx, stand_in, name = want.gfx[0], override_gfx_name(value) or value, f"{gfx_override.NAME}={value}"
    title, support = f"Run {gfx} as {stand_in}", wheel.risk or ""
    set_now = gfx_override.override_of(situation.machine, want.gpus[0])
    if isinstance(set_now, Known) and set_now.value is not None:
        variable, target = set_now.value.variable, set_now.value.target
        if target is not None and same_isa_group(gfx, target):
            shown = quote(variable.source, f"{variable.name}={variable.value}", variable.line)
            return Step(
                "gfx-override", title, "done", f"{variable.name}={variable.value} is set.", (shown,), support=support
            )
    elif not situation.machine.environment.complete:
        why = f"Whether {gfx_override.NAME} is set is not in this evidence; the wheel needs {name} on {gfx}."
        return Step("gfx-override", title, "unknown", why, verify=Verify("torch-wheel-lacks-gfx"), support=support)
    why = f"No wheel has code for {gfx}, and that of {stand_in} has the same instructions: {name} selects it."
    evidence = tuple(cite(gpu.gfx, gfx) for gpu in want.gpus[:1])
    return _variable(
        situation,
        "gfx-override",
        title,
        why,
        evidence,
        name,
        into,
        "torch-wheel-lacks-gfx",
        support,
        risky=True,
        note="A CPU build of torch avoids that risk.",
    )


def _hidden(situation: Situation, want: RequiredTorch) -> Step | None:
    """The integrated GPU beside a discrete one: hidden where it stands in front."""
    title = "Hide the integrated GPU from torch"
    found = situation.finding(_IGPU)
    into = place(situation, pythons_for(situation, want))
    if found is not None and found.fix is not None and into is not None:
        if found.fix.sets is None:
            note = f"{found.fix.text}."
            return Step(
                "hide-igpu",
                title,
                "todo",
                found.message,
                found.evidence,
                risk="manual",
                effective="new-login",
                verify=Verify(_IGPU),
                notes=(note,),
                needs=("torch",),
            )
        note = "The firmware setup (BIOS) can switch it off instead, if no display is connected to it."
        setting = "=".join(found.fix.sets)
        return _variable(
            situation,
            "hide-igpu",
            title,
            found.message,
            found.evidence,
            setting,
            into,
            _IGPU,
            "",
            risky=False,
            note=note,
        )
    if not situation.passed(_IGPU):
        return None
    name = chosen_by(situation.machine, VISIBLE_AMD)
    variable = situation.machine.environment.variables.get(name or "")
    if variable is None:
        why = "The discrete card is HIP device 0, so nothing needs to be hidden."
        place_of = next((gpu.kfd_node for gpu in want.gpus if isinstance(gpu.kfd_node, Known)), None)
        shown = (cite(place_of, f"compute node {place_of.value}"),) if place_of is not None else ()
        return Step("hide-igpu", title, "done", why, shown, verify=Verify(_IGPU))
    setting = f"{variable.name}={variable.value}"
    why = f"{setting} leaves torch the discrete card."
    set_by = (quote(variable.source, setting, variable.line),)
    return Step("hide-igpu", title, "done", why, set_by, verify=Verify(_IGPU))


def _variable(
    situation: Situation,
    step_id: str,
    title: str,
    why: str,
    evidence: tuple[Evidence, ...],
    setting: str,
    into: Interpreter,
    check: str,
    support: str,
    *,
    risky: bool,
    note: str,
) -> Step:
    """A variable that is set where the environment is activated, else at every start of the shell."""
    if situation.enclosed:
        inside = container_words(situation.enclosed)
        return Step(
            step_id,
            title,
            "todo",
            why,
            evidence,
            risk="manual",
            effective="new-login",
            verify=Verify(check),
            support=support,
            notes=(f"Start the {inside} with -e {setting}.", note),
            needs=("torch",),
        )
    file = into.path.rpartition("/")[0] + "/activate" if into.kind == "venv" else "~/.bashrc"
    line = f"export {setting}"
    pattern = line.replace(".", r"\.")
    undo = Action(words=("sed", "-i", f"/^{pattern}$/d", file))
    when = "Activate the environment again" if into.kind == "venv" else "Open a new shell"
    alone = f"A command that is started without it (cron, srun, {into.path} FILE) needs env {setting} before it."
    return Step(
        step_id,
        title,
        "todo",
        why,
        evidence,
        (Action(file=file, lines=(line,), append=True),),
        (file,),
        "risky" if risky else "safe",
        "new-login",
        Verify(check),
        (undo,),
        support,
        (f"{when}, so that it takes effect.", alone, note),
        needs=("torch",),
    )
