"""An environment of one's own for torch: packages of the system's interpreter are never replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocdoctor.insight.software.torch_command import pythons
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Unknown, value_or
from rocdoctor.model.shell_command import shell
from rocdoctor.repair.setup.installed_torch import judged
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.required_torch import RequiredTorch, pythons_for, wanted
from rocdoctor.repair.setup.situation import Situation
from rocdoctor.repair.setup.step_parts import actions_of, changes_of, sentence, sources_of, with_fresh_lists
from rocdoctor.repair.setup.torch_environment import NEW, Interpreter, fresh, under_test

LAYER: Layer = "python"

_ID = "python-environment"
_TITLE = "Python environment"
_VERSION = shell("{python:path} --version", python=f"{NEW}/bin/python")


def steps(situation: Situation) -> Sequence[Step]:
    """The interpreter that torch goes into; nothing where the goal needs no torch here."""
    if not concerns_torch(situation):
        return ()
    here, want = under_test(situation), wanted(situation)
    if isinstance(here, Unknown):
        why = f"{sentence(here.why)} rocdoctor --python PATH names the interpreter of the job."
        return (Step(_ID, _TITLE, "unknown", why, verify=Verify(command="python3 --version")),)
    if isinstance(want, RequiredTorch) and judged(situation, want).state == "good":
        why = f"{here.path} is {here.words} with Python {here.series}, and has the torch that this machine needs."
        return (Step(_ID, _TITLE, "done", why, here.evidence),)
    if situation.nixos:
        return ()  # torch comes with an interpreter of its own (nixpkgs.py)
    fits = pythons_for(situation, want) if isinstance(want, RequiredTorch) else pythons()
    if here.own and (here.series in fits or not fits):
        return (Step(_ID, _TITLE, "done", f"{here.path} is {here.words} with Python {here.series}.", here.evidence),)
    if situation.arch not in install.wheel_processors():
        return ()  # no torch of the tables goes into it
    return (_new(situation, here, fits),)


def concerns_torch(situation: Situation) -> bool:
    """Whether the goal needs torch in this place: on the machine of a container goal the image brings it."""
    if situation.goal == "rocm":
        return False
    return situation.goal != "container" or situation.enclosed is not None


def place(situation: Situation, fits: Sequence[str]) -> Interpreter | None:
    """Where torch goes: the environment that is there, else the one that this step makes."""
    here = under_test(situation)
    if isinstance(here, Interpreter) and here.own and (here.series in fits or not fits):
        return here
    made = fresh(situation, fits)
    return made if made is not None and (made.series in fits or not fits) else None


def _new(situation: Situation, here: Interpreter, fits: Sequence[str]) -> Step:
    why = _reason(here, fits)
    found, made, maker = situation.distribution, fresh(situation, fits), situation.choice.maker
    if made is None or (fits and made.series not in fits):
        which = f"Python {fits[-1]} or older" if fits else "another Python"
        gap = f"The tables have no wheel for Python {made.series}." if made is not None and fits else ""
        more = (
            f"An environment with {which} is needed; it is not known which package of {situation.os_words} provides it."
        )
        return Step(
            _ID,
            "Make a Python environment",
            "unknown",
            " ".join(one for one in (why, gap, more) if one),
            here.evidence,
            verify=Verify(command=_VERSION, shows=which),
            notes=("uv and conda install their own Python: rocdoctor setup --with uv",),
        )
    ways = list(install.environment_steps(found, NEW)) if found is not None and maker == "venv" else []
    if maker != "venv":
        ways = list(install.environment_by(maker, NEW, made.series))
    actions = with_fresh_lists(actions_of(ways)) or (Action(words=("python3", "-m", "venv", NEW)),)
    notes = [
        f"If no other environment is active, rocdoctor uses this one. To use it in a shell, run . {NEW}/bin/activate"
    ]
    if maker != "venv":
        notes.append(f"It needs {maker} on your PATH.")
    if situation.in_job:
        asked = ", ".join(one.command for one in actions if one.root and "update" not in one.words)
        actions = tuple(one for one in actions if not one.root)
        notes += [f"If that fails, ask {situation.caretaker} for: {asked}."] if asked else []
    elif value_or(situation.machine.user.uid, 1) == 0 and situation.enclosed:
        actions = tuple(replace(one, root=False) for one in actions)
    packages = changes_of(actions)
    about = ways[:1] if packages or maker != "venv" else []
    sources, table = sources_of(about), about[0].table if about else ""
    return Step(
        _ID,
        f"Make a virtual environment with Python {made.series}" + (f" ({maker})" if maker != "venv" else ""),
        "todo",
        why,
        here.evidence,
        actions,
        (*packages, NEW),
        "safe",
        "now",
        Verify(
            command=_VERSION,
            shows=f"Python {made.series}",
            expects=f"^Python {made.series.replace('.', '[.]')}([.]|$)",
        ),
        (Action(words=("rm", "-r", NEW)),),
        notes=tuple(notes),
        sources=sources,
        table=table,
        kind=install.weakest(table, sources) if table else "primary",
        proof=(f"{NEW}/bin/python", "--version"),
    )


def _reason(here: Interpreter, fits: Sequence[str]) -> str:
    """Why the interpreter that was examined is not the place."""
    if here.own:
        return f"{here.path} is Python {here.series}, and the tables have wheels for {', '.join(fits)}."
    managed = " and pip refuses to change it (PEP 668)" if here.managed else ""
    return (
        f"{here.path} is {here.words}{managed}: torch belongs in a separate environment, where it cannot break other "
        "programs."
    )
