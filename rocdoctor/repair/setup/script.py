"""A plan as a shell script: the same steps, each skipped where it is done, stopping at a restart or a new login.

The script remembers nothing but a file below /run, which a restart removes. It asks nothing: its standard input is
closed, ``sudo`` is called with ``-n``, and package managers get the option that says yes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rocdoctor.repair.setup.command_lines import is_ready, quoted, typed
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step
from rocdoctor.repair.setup.script_functions import FUNCTIONS
from rocdoctor.repair.setup.script_guards import (
    done_test,
    ends_session,
    is_by_hand,
    is_neutral,
    is_rebuild,
    is_refresh,
    joined_groups,
    of_kernel,
    overwritten,
    replaced,
    unattended,
)
from rocdoctor.repair.setup.words import (
    EFFECT_WORDS,
    GOAL_WORDS,
    RISK_WORDS,
    number,
    proof_words,
    sources,
    verify_words,
)
from rocdoctor.train.emit.files import comment, plain

_INDENT = "    "


def render(plan: SetupPlan, subject: str, root: bool, foreign: str = "") -> str:
    """The script. ``subject``: what the plan was made from, in words; ``root``: it was made for the user root.

    ``foreign``: the interpreter of the evidence, in whose place the script starts the one that PYTHON names.
    """
    body = [line for step in plan.steps for line in _step(plan, step)]
    used = "\n".join(body)
    lines = [*_head(plan, subject, root, used), *_interpreter(foreign), *_LEAVE]
    functions = [text for name, text in FUNCTIONS.items() if f"{name} " in used]
    lines += ["", *functions] if functions else []
    lines += body if '"$first"' in used else [': "$first"']
    lines += _end(plan)
    return "\n".join(lines) + "\n"


def _head(plan: SetupPlan, subject: str, root: bool, used: str) -> Iterator[str]:
    switches = {name: f'"${name}"' in used for name in ("risky", "optional")}
    yield "#!/usr/bin/env bash"
    yield from comment(f"Setup for {GOAL_WORDS[plan.goal]}, from {subject}; written by rocdoctor.")
    yield "# Read it before you run it."
    yield "#"
    yield from comment(
        f"{_USAGE} It asks nothing; if it needs privileges it calls sudo -n, so run sudo -v first where sudo asks "
        "for a password."
        if not root
        else f"{_USAGE} It asks nothing. It was made for the user root."
    )
    yield from comment(
        "Each step is verified before the next begins. A file that it overwrites or edits is first copied in its "
        "own folder (FILE.rocdoctor.bak)."
    )
    yield from comment(
        "Exit status: 0 all done, 1 something failed or is left to you, 10 restart first, 11 log in again first, "
        "2 wrong usage or user."
    )
    yield from (f"# Note: {line.removeprefix('# ')}" for note in plan.notes for line in comment(note, width=92))
    yield "set -Eeu"
    yield from ("exec </dev/null", "")
    yield from (f"{name}=no" for name, wanted in switches.items() if wanted)
    yield "first=1"
    yield 'for word in "$@"; do'
    yield '    case "$word" in'
    for name, wanted in switches.items():
        yield f"        --with-{name}) {f'{name}=yes ' if wanted else ''};;"
    yield "        '' | *[!0-9]*) echo \"usage: bash $0 [--with-optional] [--with-risky] [FIRST]\" >&2; exit 2 ;;"
    yield "        *) first=$word ;;"
    yield "    esac"
    yield "done"
    if root:
        yield 'if [ "$(id -u)" -ne 0 ]; then echo "This script was made for the user root." >&2; exit 2; fi'
    else:
        yield 'if [ "$(id -u)" -eq 0 ]; then'
        yield '    echo "Run it as the user who will train, without sudo: it calls sudo itself." >&2'
        yield from ("    exit 2", "fi")
    yield ': "${USER:=$(id -un)}" "${HOME:?}"'
    yield "run=${ROCDOCTOR_RUN:-/run}  # a restart empties it"
    yield "pending=''"
    yield "left=0"
    yield "at='the start'"
    yield ""
    yield from _FRAME
    if "as_root" in used:
        yield from (['as_root() { "$@"; }'] if root else _SUDO)


# A script is often read and run in /tmp.
_LEAVE = ("cd /  # Python looks for the module of -m in the current folder first, which may be anybody's",)

_USAGE = (
    "Usage: bash FILE [--with-optional] [--with-risky] [FIRST], FIRST being the number of the step to begin with. "
    "Steps that are done are skipped. --with-optional also runs what the goal does not need, --with-risky what is "
    "risky."
)

_LEFT_OUT = """if [ "$optional" != yes ]; then say '  not needed for the goal; --with-optional does it'; else"""

_FRAME = (
    "say() { printf '%s\\n' \"$*\"; }",
    "# It says in words what stopped it, in addition to what the failed program printed.",
    """trap 'say "Stopped: $at failed (see above). Fix that, then run: bash $0" >&2' ERR""",
    'fail() { say "$*" >&2; exit 1; }',
    "# wait_for WHAT NUMBER: stops where a step before needs a restart or a login; NUMBER is the step to continue "
    "with.",
    "wait_for() {",
    '    again="Then run: bash $0"',
    '    [ "$2" -eq 0 ] || again="$again $2"',
    '    [ "$left" -eq 0 ] || again="Before that do what is left to you above. $again"',
    '    case "$1:$pending" in',
    '        restart:*restart*) say "Restart the machine now. $again"; exit 10 ;;',
    '        login:*login*) say "Log out completely and in again. $again"; exit 11 ;;',
    "    esac",
    "}",
    'if [ -e "$run/rocdoctor-restart" ]; then',
    '    fail "The machine has not been restarted since an earlier run of this script: restart it first."',
    "fi",
)

_SUDO = (
    "as_root() {",
    "    if ! sudo -n true 2>/dev/null; then",
    '        say "This needs privileges: run sudo -v first, then this script again." >&2',
    "        return 1  # which ends the script, unless the goal does not need the step",
    "    fi",
    '    sudo -n -- "$@"',
    "}",
)


def _interpreter(foreign: str) -> Iterator[str]:
    """Refuses to start without the reader's own interpreter, where the evidence names one."""
    if not foreign:
        return
    yield from comment(f"The evidence names the interpreter {foreign}, which may be anybody's: it is not started.")
    say = f"Name your interpreter, where the evidence has {plain(foreign)}: PYTHON=PATH bash FILE"
    yield f'if [ -z "${{PYTHON:-}}" ]; then echo {quoted(say)} >&2; exit 2; fi'
    yield 'case "$PYTHON" in /*) ;; */*) PYTHON=$PWD/$PYTHON ;; esac'


def _step(plan: SetupPlan, step: Step) -> Iterator[str]:
    place = number(plan, step)
    title = plain(step.title)
    yield ""
    yield from comment(f"Step {place} of {len(plan.steps)}: {title}")
    if step.state == "done":
        shown = "; ".join(plain(one.value) for one in step.evidence[:3])
        yield from comment(f"Already done when this was written{': ' + shown if shown else ''}.")
        return
    yield from comment(step.why)
    if step.support:
        yield from comment(f"Support: {step.support}")
    yield from comment(f"Risk: {RISK_WORDS[step.risk]}.")
    for told, kind in sources(step):
        yield from comment(f"Source{f' ({kind})' if kind else ''}: {told}")
    for command in typed(step.undo, sudo=False):
        yield from comment(f"Undo: {command}")
    waits = [f"wait_for {what} {place}" for what in _waits(plan, step)]
    yield from waits if not step.optional else ()
    yield f'if [ "$first" -le {place} ]; then'
    inside = list(_inside(plan, step, place, title))
    if step.optional:
        yield f"{_INDENT}{inside[0]}"
        yield f"{_INDENT}{_LEFT_OUT}"
        yield from (f"{_INDENT * 2}{line}" for line in [*waits, *inside[1:]])
        yield f"{_INDENT}fi"
    else:
        yield from (f"{_INDENT}{line}" for line in inside)
    yield "fi"


def _waits(plan: SetupPlan, step: Step) -> list[str]:
    """What has to happen before a step if one that it needs was changed: a restart, a login."""
    if _is_restart(step):
        return []
    before = plan.steps[: plan.steps.index(step)]
    needed = [one for one in before if {one.id, one.layer} & set(step.needs) and one.state in ("todo", "waiting")]
    asked = {one.effective for one in needed}
    return [what for effect, what in (("reboot", "restart"), ("new-login", "login")) if effect in asked]


def _is_restart(step: Step) -> bool:
    return bool(step.actions) and all(ends_session(one) for one in step.actions)


def _inside(plan: SetupPlan, step: Step, place: int, title: str) -> Iterator[str]:
    yield f"at='step {place}'; say {quoted(f'[{place}/{len(plan.steps)}] {title}')}"
    if _is_restart(step):
        if step.state == "todo":
            yield from _effect(step)
        yield f"wait_for restart {place + 1 if place < len(plan.steps) else 0}"
        return
    if step.state == "impossible":
        yield f"{'say' if step.optional else 'fail'} {quoted('No source describes a way: ' + plain(step.why))}"
        return
    by_hand = step.risk == "manual" or not all(is_ready(one) and not is_by_hand(one) for one in step.actions)
    if by_hand or not step.actions or step.state == "unknown":
        yield from _told(step)
        return
    before = [one for one in plan.steps[: place - 1] if one.state in ("todo", "waiting") and not one.optional]
    if before and all(one.words[:1] == ("rocdoctor",) for one in step.actions):
        # It looks at the interpreter of the session, which is not yet the one that was made.
        yield from _told(replace(step, state="waiting"))
        return
    stop = f"Step {place} is risky and was left alone: read it, then add --with-risky."
    if step.optional:
        tried = list(_tried(step))
        if step.risk == "risky":
            front = f'if [ "$risky" != yes ]; then say {quoted("  " + stop)}; else'
            tried = [front, *(f"{_INDENT}{line}" for line in tried), "fi"]
        yield from tried
        return
    if step.risk == "risky":
        yield f'if [ "$risky" != yes ]; then say {quoted("  " + stop)}; left=1; else'
        yield from (f"{_INDENT}{line}" for line in _required(step, place))
        yield "fi"
        return
    yield from _required(step, place)


def _required(step: Step, place: int) -> Iterator[str]:
    """The commands of a step that the goal needs, left out where they are done, and what proves it."""
    actions = [one for one in step.actions if not ends_session(one)]
    tests = _done_tests(actions) or _proof_test(step)
    marked = actions[-1] if actions and actions[-1].words and actions[-1].root and _restarts(step) else None
    doing = [line for one in actions for line in _action(one, marked=one is marked)]
    doing += ['pending="$pending restart"'] if marked is not None else _effect(step)
    if tests:
        yield f"if {' && '.join(tests)}; then"
        yield f"{_INDENT}say '  done already'"
        for one in actions:
            if is_refresh(one) or is_rebuild(one):
                # Who lacks privileges needs no fresh lists where nothing is to be installed.
                may_fail = " || say '  the package lists stay unchanged'" if is_refresh(one) else ""
                yield from (f"{_INDENT}{line}{may_fail}" for line in _action(one))
        yield "else"
        yield from (f"{_INDENT}{line}" for line in doing)
        yield "fi"
    else:
        yield from doing
    yield from _login_test(step)
    yield from _verified(step)


def _verified(step: Step) -> Iterator[str]:
    """Runs what verifies a step and ends where it fails; a command that only shows something is told."""
    command, about = verify_words(step)
    if step.verify is None or not command:
        return
    words, expects = proof_words(step)
    if words:
        front = f"shown {quoted(expects)}" if expects else "verified"
        yield f"{front} {' '.join(quoted(one) for one in words)}"
        return
    about = f"   ({plain(about)})" if about else ""
    yield f"say {quoted(f'  to verify: {plain(command)}{about}')}"


def _told(step: Step) -> Iterator[str]:
    """A step that is left to the person: its reason and its commands in words; one that waits is judged anew later."""
    if step.state == "waiting":
        yield f"say {quoted('  after the steps before it, see: rocdoctor setup')}"
        return
    yield f"say {quoted('  left to you: ' + plain(step.why))}"
    yield from (
        f"say {quoted('    ' + plain(note))}" for note in step.notes if not step.actions or step.risk == "manual"
    )
    for line in typed(step.actions, sudo=True):
        yield f"say {quoted('    ' + plain(line))}"
    if not step.optional:
        yield "left=1"


def _tried(step: Step) -> Iterator[str]:
    """A step that the goal does not need: that it fails is said, and ends nothing."""
    tests = _done_tests(step.actions)
    yield f"if {' && '.join(tests)}; then say '  done already'; elif ! {{" if tests else "if ! {"
    yield from (f"{_INDENT}{line} &&" for one in step.actions for line in _action(one))
    yield f"{_INDENT}true"
    after = EFFECT_WORDS[step.effective]
    told = f"; else say {quoted('  it takes effect ' + after)}" if after else ""
    yield f"}}; then say '  it failed; the goal does not need it'{told}; fi"


def _done_tests(actions: Sequence[Action]) -> list[str]:
    """What tells that all of the actions are done already; nothing where that of one cannot be told."""
    telling = [one for at, one in enumerate(actions) if not replaced(one, actions[at + 1 :])]
    tests = [done_test(one) for one in telling if not is_neutral(one) and not is_refresh(one)]
    return tests if all(tests) else []


def _proof_test(step: Step) -> list[str]:
    """What proves a step as the test that it is done, where nothing tells it of its actions: else it would ask for
    the restart again and again."""
    words, expects = proof_words(step)
    if not expects or not _restarts(step):
        return []
    return [f"shows {quoted(expects)} {' '.join(quoted(one) for one in words)}"]


def _restarts(step: Step) -> bool:
    return step.effective == "reboot" or any(ends_session(one) for one in step.actions)


def _effect(step: Step) -> Iterator[str]:
    if _restarts(step):
        yield 'as_root touch "$run/rocdoctor-restart"'
        yield 'pending="$pending restart"'
    elif step.effective == "new-login":
        yield 'pending="$pending login"'


def _login_test(step: Step) -> Iterator[str]:
    """Groups are a matter of the session: joined before, they still need a login."""
    for action in step.actions:
        joins = joined_groups(action)
        if joins is not None:
            yield f'entered {" ".join(quoted(one) for one in joins[1])} || pending="$pending login"'


def _action(action: Action, *, marked: bool = False) -> Iterator[str]:
    front = "as_root_until_restart " if marked else "as_root " if action.root else ""
    if kept := overwritten(action):
        # What is as it shall be already was written by an earlier run, or needs no copy.
        yield f"{done_test(action)} || keep {'as_root' if action.root else 'command'} {quoted(kept)}"
    if action.words:
        words = unattended(action.words)
        if words[0] == "rm" and not any(one.startswith("-") and "f" in one for one in words[1:]):
            words = (words[0], "-f", *words[1:])
        if any(of_kernel(word) for word in words):
            apart = [word for word in words if word.startswith("linux-modules-extra-")]
            named = [of_kernel(word) or quoted(word) for word in words if word not in apart]
            if apart:
                yield "mapfile -t extra < <( extra_modules )"
                named.append('"${extra[@]}"')
            if any(word.startswith("linux-headers-") for word in words):
                yield "mapfile -t newest < <( newest_headers )"
                named.append('"${newest[@]}"')
            yield front + " ".join(named)
            return
        yield front + " ".join(quoted(word) for word in words)
        return
    file = quoted(action.file)
    if not action.append:
        told = " ".join(quoted(line) for line in action.lines)
        yield f"printf '%s\\n' {told} | {front}tee {file} >/dev/null"
        return
    for line in action.lines:
        text = quoted(line)
        yield f"{front}grep -qsxF -- {text} {file} || printf '%s\\n' {text} | {front}tee -a {file} >/dev/null"


def _end(plan: SetupPlan) -> Iterator[str]:
    yield ""
    yield "wait_for restart 0"
    yield "wait_for login 0"
    again = f"rocdoctor setup --goal {plan.goal}"
    yield '[ "$left" -eq 0 ] || fail "Some steps are left to you: see above."'
    yield f"say {quoted(f'All that this script can do is done. What is left, if anything: {again}')}"
