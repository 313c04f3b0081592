"""The running kernel: whether it can compute on these GPUs, and another one where the vendor asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.presence import has_node, is_driven
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.gpus.gfx import gfx_target, kernel_knows
from rocdoctor.knowledge.load import numbers
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.repair.setup.listed_support import listed_kernel_step, lists_judgement, support_said
from rocdoctor.repair.setup.plan import Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import (
    VENDOR_PAGE,
    actions_of,
    changes_of,
    for_caretaker,
    packages_action,
    sentence,
    set_for_next_start,
    sources_of,
    upgrades_all,
    with_fresh_lists,
)

LAYER: Layer = "kernel"

_ID = "kernel"
_TITLE = "A kernel that can compute on this GPU"
_VERIFY = Verify("kernel-too-old-for-gpu")
_RUNNING = ("uname", "-r")


def steps(situation: Situation) -> Sequence[Step]:
    """The kernel; nothing where AMD's driver package brings the missing part to the kernel that runs."""
    if not situation.amd_able or situation.wsl:
        return ()
    step = _step(situation)
    if step is None:
        return ()
    listed = _listed(situation) if step.state == "done" else None
    return for_caretaker(situation, (step,) if listed is None else (step, listed))


def _after_undo(situation: Situation) -> tuple[str, ...]:
    """What taking the package of a newer kernel away leaves behind."""
    return (
        "The undo removes the package that keeps the newer kernel up to date, but not the kernel itself, which "
        "still starts by default. "
        f"Start {f'Linux {situation.kernel}' if situation.kernel else 'the kernel before'} from the boot menu "
        "(advanced options), then remove the newer linux-image package too.",
    )


def _listed(situation: Situation) -> Step | None:
    """The kernel with which AMD lists the card, where the one that runs serves it as well."""
    found = listed_kernel_step(situation)
    if found is None:
        return None
    system, steps = found
    release = situation.machine.kernel.release
    actions = with_fresh_lists(actions_of(steps))
    packages = changes_of(actions)
    step = Step(
        "kernel-listed",
        "Install the kernel that AMD lists",
        "todo",
        f"AMD lists this card on {system.name} with {system.kernel_words}; "
        f"Linux {situation.kernel} is running, and works.",
        (cite(release),) if isinstance(release, Known) else (),
        actions,
        packages,
        "reboots",
        "reboot",
        _begins(system.kernel),
        undo=tuple(packages_action(situation.manager, "remove", package) for package in packages),
        notes=_after_undo(situation) if packages else (),
        sources=sources_of(steps),
        table="install",
        kind=install.weakest("install", sources_of(steps)),
        optional=True,
        proof=_RUNNING,
    )
    return _unless_there(situation, step, system.kernel)


def _begins(line: str) -> Verify:
    """That a kernel of this line runs."""
    return Verify(
        command="uname -r", shows=f"a release that begins with {line}", expects=f"^{line.replace('.', '[.]')}[.]"
    )


def _step(situation: Situation) -> Step | None:
    release, route = situation.machine.kernel.release, situation.driver
    evidence = (cite(release),) if isinstance(release, Known) else ()
    works = all(has_node(gpu) for gpu in situation.amd_able)
    if isinstance(route, install.DriverRoute) and route.kind == "newer-kernel":
        return _newer(situation, route, works)
    missing = situation.finding("kfd-missing", "warning")
    if missing is not None and missing.fix is not None and missing.about.option:
        return Step(
            _ID,
            _TITLE,
            "todo",
            sentence(missing.message),
            missing.evidence,
            risk="manual",
            effective="reboot",
            verify=Verify("kfd-missing"),
            notes=(sentence(missing.fix.text),),
        )
    if works:
        nodes = tuple(
            cite(gpu.kfd_node, f"compute node {gpu.kfd_node.value}")
            for gpu in situation.amd_able[:1]
            if isinstance(gpu.kfd_node, Known)
        )
        risk = support_said(situation, "kernel")
        answer = lists_judgement(situation)
        refused = answer is not None and any(one.refused for one in answer.of("kernel"))
        if refused and not situation.caretaker and (step := _asked(situation, risk)) is not None:
            return step
        why = f"Linux {situation.kernel or '(release unknown)'} offers the GPU for compute."
        return Step(_ID, _TITLE, "done", why, (*evidence, *nodes), verify=_VERIFY, support=risk)
    if isinstance(route, install.DriverRoute):
        return None  # the driver's own step: it is loaded or installed for the kernel that runs
    told = situation.finding("kernel-too-old-for-gpu") is not None
    if not told and all(is_driven(gpu) is not False for gpu in situation.amd_able):
        return None  # a driver is bound, or nobody knows: nothing points to the kernel
    too_old = [gfx for gfx in situation.gfx if kernel_knows(gfx, situation.kernel) is False]
    if not too_old or not isinstance(route, Unknown):
        return None
    return Step(
        _ID,
        _TITLE,
        "unknown",
        f"{sentence(route.why)} {_wanted(too_old)}",
        evidence,
        verify=_VERIFY,
        notes=(f"AMD's page: {VENDOR_PAGE}",),
    )


def _wanted(targets: Sequence[str]) -> str:
    """Which upstream kernel has the compute path of the youngest of these targets."""
    first = [target.kernel_present for gfx in targets if (target := gfx_target(gfx)) and target.kernel_present]
    newest = max(first, key=numbers, default=None)
    if newest is None:
        return "Which kernel has it is not in the tables."
    return f"Linux {newest} has it: a newer release of the distribution, or its newer kernel, would do."


def _newer(situation: Situation, route: install.DriverRoute, works: bool) -> Step:
    """The distribution's newer kernel; optional where the one that runs serves the GPU and AMD does not refuse it."""
    actions = with_fresh_lists(actions_of(route.steps))
    release = situation.machine.kernel.release
    packages = changes_of(actions)
    why = f"{sentence(route.why)} Linux {situation.kernel} is running" + (
        " and offers the GPU for compute." if works else "."
    )
    line = route.kernel_line
    step = Step(
        _ID,
        "Install the kernel that AMD lists",
        "todo",
        why,
        (cite(release),) if isinstance(release, Known) else (),
        actions,
        packages,
        "reboots",
        "reboot",
        _begins(line),
        undo=tuple(packages_action(situation.manager, "remove", package) for package in packages),
        notes=_after_undo(situation) if packages else (),
        support=route.risk or "",
        sources=(*route.sources, *sources_of(route.steps)),
        table=route.table,
        kind=install.weakest(route.table, route.sources),
        optional=works and not route.risk,
        proof=_RUNNING,
    )
    return _unless_there(situation, step, line)


def _unless_there(situation: Situation, step: Step, line: str) -> Step:
    """The step, as one whose kernel the next start takes where it is installed."""
    kernels = situation.machine.later.kernels
    there = [one for one in value_or(kernels, ()) if one.startswith(f"{line}.") and one != situation.kernel]
    return set_for_next_start(step, cite(kernels, ", ".join(there))) if there else step


def _asked(situation: Situation, said: str) -> Step | None:
    """The distribution's own newer kernel, where AMD asks for one with this GPU and lists none for the system."""
    found = situation.distribution
    update = install.kernel_update(found, situation.kernel) if found is not None else None
    if update is None:
        return None
    release = situation.machine.kernel.release
    actions = with_fresh_lists(actions_of(update.steps))
    os = situation.machine.os
    least = install.kernel_least(
        situation.gfx[0], value_or(os.id, "").lower(), value_or(os.version_id, ""), situation.kernel
    )
    whole = any(map(upgrades_all, actions))
    step = Step(
        _ID,
        "Install a kernel that AMD supports with this GPU",
        "todo",
        f"{said} {update.why}",
        (cite(release),) if isinstance(release, Known) else (),
        actions,
        changes_of(actions),
        "risky" if whole else "reboots",
        "reboot",
        Verify(
            command="uname -r",
            shows="the kernel that AMD requires, or a newer one",
            expects=install.at_least(least) if least else "",
        ),
        actions_of(update.undo),
        notes=("Only a copy of the disk can undo an upgrade of the whole system.",) if whole else (),
        sources=(*update.sources, *sources_of(update.steps)),
        table="install",
        kind=install.weakest("install", update.sources),
        support=said,
        proof=_RUNNING if least else (),
    )
    newer = [
        one
        for one in value_or(situation.machine.later.kernels, ())
        if one != situation.kernel and numbers(one)[:3] > numbers(situation.kernel)[:3]
    ]
    kernels = situation.machine.later.kernels
    return set_for_next_start(step, cite(kernels, ", ".join(newer))) if newer else step
