"""``check``, the overview, ``setup`` and ``fix`` name the same thing first, on every machine that we have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rocdoctor.model.finding import Diagnosis
from rocdoctor.repair.fixes.offers import offers
from rocdoctor.repair.setup.plan import Goal, SetupPlan
from rocdoctor.repair.setup.planner import plan
from rocdoctor.repair.setup.words import headline
from rocdoctor.service.evidence import open_evidence
from tests.golden.replay import FIXTURES, judged
from tests.repair.setup.world.catalogue import CASES, FRESH
from tests.repair.setup.world.judge import files_of
from tests.repair.setup.world.judge import judged as judged_files
from tests.repair.setup.world.routes import ROUTES

# Which steps repair what a check finds; the step of any other finding is made of it.
_STEPS = {
    "device-node-denied": {"device-access"},
    "device-node-missing": {"device-access"},
    "driver-module-blacklisted": {"driver-unblock"},
    "driver-module-not-loaded": {"driver-amd", "driver-nvidia"},
    "driver-probe-failed": {"driver-amd"},
    "gfx-override-mismatch": {"unset-hsa-override-gfx-version"},
    "gtt-larger-than-ttm": {"parameter-gttsize"},
    "igpu-in-front": {"hide-igpu"},
    "kernel-too-old-for-gpu": {"driver-amd", "kernel"},
    "pcie-atomics-missing": {"driver-amd"},
    "rocm-gpu-support-window": {"rocm"},
    "torch-cpu-only-build": {"torch"},
    "torch-wrong-vendor-build": {"torch"},
    "wrong-kernel-driver": {"driver-nvidia", "driver-unblock"},
}
_INDEX = re.compile(r"--index-url (\S+)")


def _machines() -> Iterator[tuple[str, Diagnosis, Goal]]:
    for path in sorted(Path(FIXTURES).rglob("*.capture")):
        yield path.stem, judged(open_evidence(str(path))), "pytorch"
    for case in (*CASES, *FRESH, *ROUTES):
        yield case.name, judged_files(files_of(case)), case.goal


def _differ(diagnosis: Diagnosis, made: SetupPlan) -> Iterator[str]:
    """What the commands say differently of one machine."""
    main = diagnosis.causes[0] if diagnosis.causes else None
    first = headline(made).step or made.next
    if main is not None and main.severity != "info":
        wanted = _STEPS.get(main.check, {f"found-{main.check}"})
        mine = [step for step in made.steps if step.id in wanted]
        before = {name for step in mine for name in step.needs}  # the environment that torch goes into
        if first is None or not {first.id, first.layer} & {*wanted, *before}:
            yield f"check says {main.check}, setup says {first.id if first else 'nothing'}"
        offered = offers(diagnosis)
        if main.finding is not None and main.finding.fix is not None and offered[0].check != main.check:
            yield f"check says {main.check}, fix says {offered[0].check}"
    torch = next((step for step in made.steps if step.id == "torch"), None)
    ours = {url for one in torch.actions for url in _INDEX.findall(" ".join(one.words))} if torch else set()
    for verdict in diagnosis.verdicts:
        fix = verdict.finding.fix if verdict.finding is not None else None
        theirs = set(_INDEX.findall(fix.command)) if fix is not None else set()
        if ours and theirs and not verdict.check.endswith("message") and ours != theirs:
            yield f"{verdict.check} says {theirs}, setup says {ours}"


def test_every_command_names_the_same_thing_first_and_the_same_index() -> None:
    wrong = {}
    for name, diagnosis, goal in _machines():
        if said := list(_differ(diagnosis, plan(diagnosis, goal))):
            wrong[name] = said
    assert not wrong
