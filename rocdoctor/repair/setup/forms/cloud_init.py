"""A plan as user data of cloud-init: a new machine of this kind runs the script of the plan until nothing is left.

The script lies below ``/var/lib/cloud/scripts/per-boot``, which cloud-init runs at each start, so it goes on after the
restart that it asks for; ``power_state`` restarts where its mark says that one is due. Keys as in the schema of
cloud-init 22.4 and its modules write_files, scripts_per_boot and power_state_change (read 2026-11-24).
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rocdoctor.repair.setup.forms.parts import (
    CannotExpress,
    PlanOrigin,
    fate,
    left_to_a_person,
    what_is_left,
)
from rocdoctor.repair.setup.plan import SetupPlan
from rocdoctor.repair.setup.script import render as script_of
from rocdoctor.repair.setup.words import GOAL_WORDS, number
from rocdoctor.train.emit.files import comment, plain

_SCRIPT = "/var/lib/rocdoctor/set-up.sh"
_EACH_START = "/var/lib/cloud/scripts/per-boot/rocdoctor-set-up"
_APT_WAITS = "/etc/apt/apt.conf.d/90rocdoctor-set-up"
_MARK = "/run/rocdoctor-restart"  # as in the script
# Amazon's limit of user data, the smallest that is known of; cloud-init unpacks what was packed with gzip.
_MOST_BYTES = 16_384


def render(plan: SetupPlan, made: PlanOrigin, enclosed: str) -> str:
    """The user data; raises CannotExpress where no start of a machine brings its user there.

    ``enclosed``: the kind of container or guest that the plan was made in, in words; "" for a machine.
    """
    if enclosed:
        raise CannotExpress(f"cloud-init sets up a machine when it starts, and this is {enclosed}; nearest: --script")
    runs = [step for step in plan.steps if fate(plan, step) == "run" and not step.optional]
    if not runs:
        left = "nothing is left to do" if plan.finished else "no program can do what is left to do"
        raise CannotExpress(f"{left} on this machine, so there is nothing to write; nearest: --format text")
    if made.foreign:
        raise CannotExpress(
            f"the plan uses the interpreter {plain(made.foreign)} of the evidence, which a new machine lacks; "
            "nearest: --script"
        )
    body = "\n".join(_body(plan, made)) + "\n"
    if len(body.encode()) > _MOST_BYTES:
        note = (
            f"# More than the {_MOST_BYTES} bytes that some clouds accept: pack it with gzip, which cloud-init reads."
        )
        body = body.replace("#cloud-config\n", f"#cloud-config\n{note}\n", 1)
    return body


def _body(plan: SetupPlan, made: PlanOrigin) -> Iterator[str]:
    yield "#cloud-config"
    told = ", ".join(one for one in (made.os_words, made.gpus) if one)
    yield from comment(f"Setup for {GOAL_WORDS[plan.goal]}, from {made.subject}; written by rocdoctor.")
    yield from comment(f"For new machines of this kind{f': {told}' if told else ''}. Read it before you use it.")
    done = [f"{number(plan, step)} ({plain(step.title)})" for step in plan.steps if step.state == "done"]
    if done:
        yield from comment(f"Done on that machine, so not in here; a new one may need it: step {', '.join(done)}.")
    for step in left_to_a_person(plan):
        yield from comment(f"Left to you: step {number(plan, step)}, {plain(step.title)}. {what_is_left(step)}")
    later = [step for step in plan.steps if step.optional and fate(plan, step) == "run"]
    if later:
        names = ", ".join(plain(step.title) for step in later)
        yield from comment(f"Not needed for the goal, see the script: {names}.")
    yield from comment("The log is in /var/log/cloud-init-output.log.")
    yield "write_files:"
    yield from _file(_SCRIPT, "0755", script_of(plan, made.subject, made.root))
    apt = any(one.words[:1] == ("apt",) for step in plan.steps for one in step.actions)
    yield from _file(_EACH_START, "0755", _starter(made.root, [_EACH_START, *([_APT_WAITS] if apt else [])]))
    if apt:
        # apt's configure-index lists it; its value is in seconds.
        told = "Other programs hold the package lock during the first start: apt waits for them."
        yield from comment(told, indent="  ")
        yield from _file(_APT_WAITS, "0644", 'DPkg::Lock::Timeout "600";\n')
    if any(fate(plan, step) == "restart" for step in plan.steps):
        yield from comment("It restarts where the script asks for it, and continues at the next start.")
        yield "power_state:"
        yield "  mode: reboot"
        yield f"  condition: [test, -e, {_MARK}]"


def _file(path: str, mode: str, content: str) -> Iterator[str]:
    yield f"  - path: {path}"
    yield "    owner: root:root"
    yield f"    permissions: '{mode}'"
    yield "    content: |"
    yield from textwrap.indent(content.rstrip("\n"), " " * 6).split("\n")


def _starter(root: bool, files: Sequence[str]) -> str:
    """What cloud-init runs at each start, until the script has nothing left to do."""
    if root:
        who, run = [], f"bash {_SCRIPT}"
    else:
        who = [
            "# The first personal account: cloud-init creates it, and it can use sudo.",
            "user=$(getent passwd 1000 | cut -d: -f1)",
            '[ -n "$user" ] || { echo "no user with the number 1000: which user will train?" >&2; exit 1; }',
        ]
        run = f"runuser -l \"$user\" -c 'exec bash {_SCRIPT}'"
    lines = [
        "#!/bin/sh",
        "# Runs rocdoctor's setup each time the machine starts, until it is done.",
        *who,
        f"{run}",
        "status=$?",
        "# 11: it joined groups, which a new session has.",
        f'[ "$status" -ne 11 ] || {{ {run}; status=$?; }}',
        "# 10: a restart is due, and this continues after it.",
        '[ "$status" -ne 10 ] || exit 0',
        f'[ "$status" -ne 0 ] || rm -f {" ".join(files)}',
        'exit "$status"',
    ]
    return "\n".join(lines) + "\n"
