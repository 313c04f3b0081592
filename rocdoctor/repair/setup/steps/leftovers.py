"""What older guides left behind: override variables, search paths, masks of the driver, packages that are gone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from rocdoctor.insight.gpus.access import container_words
from rocdoctor.insight.gpus.presence import is_integrated
from rocdoctor.insight.software.rocm_roots import package_summary
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.knowledge.load import words
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.finding import Finding, Verdict
from rocdoctor.model.shell_command import CommandText, shell
from rocdoctor.parsers.amd.rocm_packages import of_driver_bundle
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation, safe_word
from rocdoctor.repair.setup.step_parts import (
    actions_of,
    changes_of,
    for_caretaker,
    packages_action,
    sentence,
    set_for_next_start,
    sources_of,
)

LAYER: Layer = "clean"

# Checks whose findings are cured by a variable that is set no more (or otherwise).
_VARIABLES = (
    "gfx-override-mismatch",
    "gfx-override-no-effect",
    "visible-devices-hides-all",
    "visible-devices-conflict",
    "ld-library-path-conflict",
    "rocm-path-missing",
    "rocm-mixed-installs",
    "env-wrong-value",
    "env-old-name",
    "env-unknown-name",
    "debug-variables-on",
)
# Checks whose findings are cured by a parameter of the amdgpu module that is given no more.
_PARAMETERS = ("ppfeaturemask-overdrive", "amdgpu-parameter-risky", "amdgpu-parameter-unknown", "gtt-larger-than-ttm")
# The size of the GTT domain, and how it is often misspelt. (Linux, amdgpu_drv.c: it calls the parameter deprecated.)
_GTT = ("gttsize", "gtt_size")
_GTT_STEPS = ("parameter-gttsize", "parameter-gtt-size")
_LEAVE, _TO_DRIVER = "Leave the amdgpu parameter ", " to the driver"
_GTT_TEXT = (
    "Remove it where it is set, and restart: on an integrated GPU the page limit of TTM (ttm.pages_limit) decides, "
    "and amdgpu calls its own gttsize deprecated."
)
# What lists the packages of AMDGPU-PRO, by package manager.
_PRO_LISTS: dict[str, CommandText] = {
    "apt": "dpkg-query -W 'amdgpu-pro*' '*-amdgpu-pro'",
    "pacman": "pacman -Qs amdgpu-pro",
}


def steps(situation: Situation) -> Sequence[Step]:
    """One step a variable, a parameter or a set of packages; none where no check found any."""
    parameters = _of_one_matter(situation, list(_parameters(situation)))
    return [
        *_variables(situation),
        *for_caretaker(situation, parameters),
        *_packages(situation),
        *for_caretaker(situation, list(_sources(situation))),
    ]


# -- variables


def _variables(situation: Situation) -> Iterator[Step]:
    seen: set[str] = set()
    for verdict, found in situation.findings(_VARIABLES):
        names = _names(found)
        if not names or seen & set(names):
            continue
        seen |= set(names)
        yield _variable(situation, verdict, found, names)


def _names(found: Finding) -> list[str]:
    """The variables that the fix of a finding unsets; none of a name that no variable of ours has."""
    unsets = found.fix.unsets if found.fix is not None else ()
    return [name for name in unsets if re.fullmatch(r"[A-Z][A-Z0-9_]{1,80}", name)]


def _variable(situation: Situation, verdict: Verdict, found: Finding, names: list[str]) -> Step:
    text = sentence(found.fix.text) if found.fix is not None else ""
    able = found.fix is not None and bool(found.fix.changes)
    where = f"rocdoctor fix {verdict.check} looks for the file and the line" + (
        "; with --apply it changes them, with a backup." if able else "."
    )
    if situation.enclosed:
        inside = container_words(situation.enclosed)
        where = f"In a {inside} the image or the command that starts it sets variables (-e, --env-file, ENV)."
    return Step(
        f"unset-{names[0].lower().replace('_', '-')}",
        f"Stop setting {' and '.join(names)}",
        "todo",
        sentence(found.message),
        found.evidence,
        risk="manual",
        effective="new-login",
        verify=Verify(verdict.check),
        notes=(text, where),
        optional=found.severity == "info",
    )


# -- parameters of the driver


def _parameters(situation: Situation) -> Iterator[Step]:
    given = value_or(situation.machine.kernel.parameters, {})
    seen: set[str] = set()
    for verdict, found in situation.findings(_PARAMETERS):
        name = _parameter_name(found)
        if name in seen:
            continue
        seen.add(name)
        value = given.get(f"amdgpu.{name}")
        word = None if value is None else f"amdgpu.{name}={value}" if value else f"amdgpu.{name}"
        yield _parameter(situation, verdict, found, name, word)


def _of_one_matter(situation: Situation, found: list[Step]) -> list[Step]:
    """The steps with one for all spellings of the GTT's size: whoever takes out one takes out the others as well."""
    mine = [step for step in found if step.id in _GTT_STEPS]
    if len(mine) < 2:
        return found
    # What a report begins with is proven by the check of the step that is about it.
    first, *others = sorted(mine, key=lambda step: (step.optional, step.id != _GTT_STEPS[0]))
    by_hand = any(not step.actions for step in mine)
    names = [step.title.removeprefix(_LEAVE).removesuffix(_TO_DRIVER) for step in (first, *others)]
    joined = replace(
        first,
        title=f"Leave the amdgpu parameters {' and '.join(names)} to the driver",
        why=" ".join(step.why for step in (first, *others)),
        evidence=tuple(dict.fromkeys(one for step in (first, *others) for one in step.evidence)),
        actions=() if by_hand else tuple(one for step in mine for one in step.actions),
        undo=() if by_hand else tuple(one for step in mine for one in step.undo),
        risk="manual" if by_hand else first.risk,
        notes=(_GTT_TEXT, *_where(situation, names), *_limit(situation)) if by_hand else first.notes,
    )
    return [joined if step is first else step for step in found if step is first or step not in mine]


def _limit(situation: Situation) -> tuple[str, ...]:
    """How the page limit is set, where no step of its own does that: memory and limit are not in the evidence."""
    memory = situation.machine.memory
    if isinstance(memory.total_bytes, Known) and isinstance(memory.ttm_pages_limit, Known):
        return ()
    if not any(value_or(gpu.gfx, "") in install.apu_targets() for gpu in situation.amd):
        return ()
    get, give, back = install.apu_tool("N")
    return (f"AMD's own tool sets that limit, N in GiB: {get}, then {give} and a restart (undone by {back}).",)


def _where(situation: Situation, names: Iterable[str]) -> tuple[str, ...]:
    words = " ".join(f"-e {name}" for name in names)
    disk = install.initramfs(situation.distribution)
    known = () if isinstance(disk, Unknown) else actions_of(disk)
    how = " && ".join(action.command for action in known) or "update-initramfs -u, dracut -f or mkinitcpio -P"
    return (
        f"To find it: grep -rns {words} /etc/modprobe.d /proc/cmdline",
        f"Files in /etc/modprobe.d may also be in the initial RAM disk: rebuild it after a change ({how}).",
    )


def _parameter_name(found: Finding) -> str:
    """The parameter that a finding speaks of; "" for one whose name is none that a module could have."""
    return found.about.parameter if re.fullmatch(r"[a-z][a-z0-9_]{1,80}", found.about.parameter) else ""


def _parameter(situation: Situation, verdict: Verdict, found: Finding, name: str, word: str | None) -> Step:
    step_id = f"parameter-{name.replace('_', '-') or verdict.check}"
    title = f"{_LEAVE}{name}{_TO_DRIVER}" if name else "Correct a parameter of amdgpu"
    change = (
        install.kernel_parameter(situation.distribution, word, remove=True)
        if word
        else Unknown("it is not on the command line, so a file in /etc/modprobe.d gives it")
    )
    optional = found.severity == "info"
    if isinstance(change, Unknown):
        why, text = sentence(found.message), sentence(found.fix.text) if found.fix is not None else ""
        more: tuple[str, ...] = ()
        if name in _GTT and any(is_integrated(gpu) for gpu in situation.amd):
            text, more = _GTT_TEXT, _limit(situation)  # not the right spelling of what is deprecated
            if verdict.check == "amdgpu-parameter-unknown":
                why = f"amdgpu does not know the parameter {name}, and ignored it."
        return Step(
            step_id,
            title,
            "todo",
            why,
            found.evidence,
            risk="manual",
            effective="reboot",
            verify=Verify(verdict.check),
            optional=optional,
            notes=(text, *_where(situation, [name or "amdgpu"]), *more),
        )
    do, undo = change
    actions = actions_of(do)
    step = Step(
        step_id,
        title,
        "todo",
        sentence(found.message),
        found.evidence,
        actions,
        changes_of(actions) or ("the kernel command line",),
        "reboots",
        "reboot",
        Verify(verdict.check),
        actions_of(undo),
        sources=sources_of(do),
        table="install_kernel",
        kind=install.weakest("install_kernel", sources_of(do)),
        optional=optional,
    )
    later = situation.boots_without(word or "")
    return step if later is None else set_for_next_start(step, cite(later, f"without {word}"))


# -- packages


def _packages(situation: Situation) -> Iterator[Step]:
    packages = situation.machine.rocm_packages
    found = situation.distribution
    if found is not None and isinstance(packages, Known):
        gone = [name for name in packages.value if name in install.gone_packages()]
        if gone:
            yield Step(
                "obsolete-packages",
                "Remove packages that no release contains any more",
                "todo",
                f"Installed from an older source: {', '.join(gone)}.",
                (cite(packages, ", ".join(gone)),),
                (packages_action(found.manager, "remove", *gone),),
                tuple(gone),
                "risky",
                "now",
                Verify("rocm-mixed-installs"),
                notes=(
                    "Before anything is removed, everything that goes with them is listed: read it.",
                    "They cannot be restored: no release has them any more.",
                ),
            )
        yield from _pro(situation, packages, found.manager)
    summary = package_summary(situation.machine)
    if summary is not None and {one.name for one in summary.outsiders} <= install.gone_packages():
        return  # without them the rest is of one release
    for verdict, mixed in situation.findings(["rocm-mixed-installs"]):
        if not _names(mixed) and mixed.fix is not None:
            yield Step(
                "mixed-rocm-packages",
                "Move all ROCm packages to one release",
                "todo",
                sentence(mixed.message),
                mixed.evidence,
                risk="manual",
                verify=Verify(verdict.check),
                notes=(sentence(mixed.fix.text),),
            )


def _pro(situation: Situation, packages: Known[Mapping[str, str]], manager: str) -> Iterator[Step]:
    """Packages of AMD's older driver bundle: a person knows whether some program uses them."""
    row = install.pro_packages()
    names = [name for name in packages.value if of_driver_bundle(name) and safe_word(name)]
    if names and not situation.enclosed:
        shown = ", ".join(f"{name} {packages.value[name]}" for name in names)
        remove = packages_action(manager, "remove", *names).command
        yield Step(
            "amdgpu-pro",
            "Packages of AMDGPU-PRO alongside ROCm",
            "todo",
            f"Installed: {', '.join(names)}. {row['text']}",
            (cite(packages, shown),),
            risk="manual",
            verify=Verify(command=_PRO_LISTS.get(manager, "rpm -qa '*amdgpu-pro*'"), shows="no package"),
            notes=(row["keep"].format(remove=f"sudo {remove}"),),
            sources=words(row["s"]),
            table="install_rocm",
            kind=install.weakest("install_rocm", words(row["s"])),
            optional=True,
        )


# -- lists of packages


def _sources(situation: Situation) -> Iterator[Step]:
    """Lists of AMD's packages that are made for another release of the distribution than this one.

    They are switched off in place, so that nothing of them is lost.
    """
    found = situation.distribution
    suite = found.values.get("suite") if found is not None else None
    others = install.suites() - {suite}
    wrong = [one for one in situation.machine.package_sources if value_or(one.suite, "") in others]
    if suite is None or not wrong:
        return
    paths = tuple(dict.fromkeys(one.path for one in wrong))
    named = ", ".join(f"{value_or(one.uri, '?')} {value_or(one.suite, '?')}" for one in wrong)
    off = [f"s/^deb \\(.* {value_or(one.suite, '')} \\)/# deb \\1/" for one in wrong]
    on = [f"s/^# deb \\(.* {value_or(one.suite, '')} \\)/deb \\1/" for one in wrong]
    actions = [Action(("sed", "-i", how, one.path), root=True) for how, one in zip(off, wrong, strict=True)]
    undo = [Action(("sed", "-i", how, one.path), root=True) for how, one in zip(on, wrong, strict=True)]
    yield Step(
        "package-sources",
        "Switch off package lists of another release",
        "todo",
        f"This is {situation.os_words}, whose AMD packages are those for {suite}, but these are listed too: {named}.",
        tuple(cite(one.suite) for one in wrong if isinstance(one.suite, Known)),
        tuple(dict.fromkeys(actions)),
        paths,
        "safe",
        "now",
        Verify(command=shell("grep -n ^deb {paths:path}", paths=paths), shows=f"{suite} in every line, or no line"),
        tuple(dict.fromkeys(undo)),
        notes=("Packages from them may conflict with those for this release.",),
    )
