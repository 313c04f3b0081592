"""Whether this user may open the GPU: groups on a machine, devices and group numbers in a container."""

from __future__ import annotations

from collections.abc import Sequence

from rocdoctor.insight.gpus.access import KFD, node_at, opens, render_nodes
from rocdoctor.judging.check import cite
from rocdoctor.knowledge import install
from rocdoctor.model.evidence import Known, Unknown, value_or
from rocdoctor.model.finding import Evidence, Finding
from rocdoctor.model.lazy_re import regex
from rocdoctor.repair.setup.plan import Action, Layer, Step, Verify
from rocdoctor.repair.setup.situation import Situation, safe_word
from rocdoctor.repair.setup.step_parts import SELINUX_NOTE, actions_of, by_hand, changes_of, sentence, sources_of

LAYER: Layer = "access"

_ID = "device-access"
_TITLE = "Access to the GPU for this user"
_CHECK = "device-node-denied"
_VERIFY = Verify(_CHECK)
_RED_HAT_KERNEL = regex(r"\.(?:fc|el)\d")
_ELSEWHERE = (
    "If usermod says that the user does not exist, the account comes from a directory (SSSD, LDAP). Then use AMD's "
    "udev rule to open the nodes: /etc/udev/rules.d/70-amdgpu.rules, on AMD's page of prerequisites."
)


def steps(situation: Situation) -> Sequence[Step]:
    """One step; nothing without an AMD GPU that could compute, or under WSL."""
    denied = situation.finding("device-node-denied")
    if situation.wsl or not (situation.amd_able or (denied is not None and not situation.amd)):
        return ()
    missing = situation.finding("device-node-missing")
    if missing is not None:
        return (_outside(situation, missing),)
    if denied is None:
        return (_open(situation),)
    if situation.enclosed or (denied.fix is not None and not denied.fix.command):
        return (_outside(situation, denied),)
    late = situation.finding("group-not-active")
    if late is not None:
        return (
            Step(
                _ID,
                _TITLE,
                "waiting",
                sentence(late.message),
                late.evidence,
                effective="new-login",
                verify=_VERIFY,
                notes=("Log out completely (also tmux, screen and notebook servers) and in again.",),
            ),
        )
    if value_or(situation.machine.user.directory, False):
        return (_rule(situation, denied),)
    return (_join(situation, denied),)


def _open(situation: Situation) -> Step:
    machine = situation.machine
    nodes = [node for node in (node_at(machine, KFD), *render_nodes(machine, "amd")) if node is not None]
    opened = [node for node in nodes if opens(node)]
    if node_at(machine, KFD) in opened:
        evidence = tuple(cite(node.access, f"{node.path}: {value_or(node.access, '')}") for node in opened[:4])
        paths = f"/dev/kfd and {'the render nodes' if len(opened) > 2 else 'its render node'}"
        return Step(_ID, _TITLE, "done", f"This user can open {paths}.", evidence, verify=_VERIFY)
    verdict = next(iter(situation.verdicts("device-node-denied")), None)
    reason = verdict.why if verdict is not None and verdict.why else "nobody tried to open /dev/kfd"
    node = node_at(machine, KFD)
    if node is not None and isinstance(node.exists, Known) and not node.exists.value:
        return _ahead(situation, cite(node.exists, "no /dev/kfd"))
    return Step(
        _ID, _TITLE, "unknown", f"It is not known whether this user may open the GPU: {reason}.", verify=_VERIFY
    )


def _ahead(situation: Situation, gone: Evidence) -> Step:
    """The groups before the driver brings the nodes: one restart then serves both."""
    groups, user = situation.machine.user.login_groups, situation.user
    found = situation.distribution
    table = install.groups_step(user)
    wanted = table.run[0][3] if table.run and not table.missing else ""
    missing = [name for name in wanted.split(",") if isinstance(groups, Known) and name and name not in groups.value]
    away = value_or(situation.machine.user.directory, False)
    if situation.caretaker or found is None or away or not isinstance(groups, Known) or not missing:
        why = "There is no /dev/kfd yet: it comes with the driver, and then shows which group owns it."
        member = (cite(groups, f"member of {wanted}"),) if isinstance(groups, Known) and wanted and not missing else ()
        return Step(_ID, _TITLE, "waiting", why, (gone, *member), verify=_VERIFY, needs=("driver",))
    outside = " and ".join(missing)
    why = f"There is no /dev/kfd yet. It will belong to the render group, and this user is not in {outside}."
    return Step(
        _ID,
        _TITLE,
        "todo",
        why,
        (gone, cite(groups, f"at the next login: {', '.join(groups.value)}")),
        (Action(words=("usermod", "-a", "-G", ",".join(missing), user), root=True),),
        ("/etc/group",),
        "safe",
        "new-login",
        _VERIFY,
        tuple(Action(words=("gpasswd", "-d", user, name), root=True) for name in missing),
        notes=("It takes effect at the next login, for example after a restart.",),
        sources=table.sources,
        table=table.table,
        kind=table.kind,
    )


def _join(situation: Situation, denied: Finding) -> Step:
    """Membership in the groups that own the nodes, as the check names them."""
    joins = denied.fix.joins if denied.fix is not None else ()
    groups = ",".join(joins)
    user = situation.user
    text = denied.fix.text if denied.fix is not None else ""
    note = "It takes effect at the next login: log out completely (also tmux, screen and notebook servers)."
    own = situation.machine.user.directory
    more = (_ELSEWHERE,) if isinstance(own, Unknown) and own.source is not None else ()
    if not user or not joins or not all(map(safe_word, joins)):
        why = sentence(denied.message)
        notes = (sentence(text), note)
        return Step(
            _ID,
            _TITLE,
            "todo",
            why,
            denied.evidence,
            risk="manual",
            effective="new-login",
            verify=_VERIFY,
            notes=notes,
        )
    table = install.groups_step(user)
    words = ("usermod", "-a", "-G", groups, user)
    return Step(
        _ID,
        _TITLE,
        "todo",
        sentence(denied.message),
        denied.evidence,
        (Action(words=words, root=True),),
        ("/etc/group",),
        "safe",
        "new-login",
        _VERIFY,
        tuple(Action(words=("gpasswd", "-d", user, group), root=True) for group in joins),
        notes=(note, *more),
        sources=table.sources,
        table=table.table,
        kind=table.kind,
    )


def _rule(situation: Situation, denied: Finding) -> Step:
    """An account of a directory: no group of this machine takes it, so udev opens the nodes."""
    directory = situation.machine.user.directory
    do, undo, meaning = install.open_to_all()
    actions = actions_of(do)
    return Step(
        _ID,
        _TITLE,
        "todo",
        f"{sentence(denied.message)} This account comes from a directory (SSSD, LDAP), so usermod cannot add it to a "
        f"group "
        "of this machine.",
        (*denied.evidence, cite(directory, "the user's own group is not in it")),
        actions,
        changes_of(actions),
        "risky",  # it opens the nodes to every account
        "now",
        _VERIFY,
        actions_of(undo),
        notes=(
            meaning,
            "To open them only to some users, the directory's administrator can put these into a "
            "group with the number that render has here (getent group render), the same on all "
            "machines.",
        ),
        sources=sources_of(do),
        table="install_access",
        kind=install.weakest("install_access", sources_of(do)),
    )


def _outside(situation: Situation, found: Finding) -> Step:
    """What only a new start of the container, or a scheduler, can change."""
    fix = found.fix
    notes = [f"For example: {fix.command}"] if fix is not None and fix.command else []
    if situation.enclosed in ("podman", "docker") and _RED_HAT_KERNEL.search(situation.kernel):
        notes.append(SELINUX_NOTE)
    return by_hand(_ID, _TITLE, found, _CHECK, notes=notes)
