"""As whom the job would run: ids, groups, limits, environment, and the device nodes that this user may open."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocdoctor.collect.gpus.tool import Tools
from rocdoctor.collect.gpus.tools import rocminfo
from rocdoctor.collect.recorded_outputs import outputs, stated
from rocdoctor.collect.system.udev import collect_udev
from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Unknown
from rocdoctor.model.facts import DeviceNode, Environment, UdevRecord, User, Variable
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.listings.ls_long import parse_ls_long
from rocdoctor.parsers.system.env_text import parse_env
from rocdoctor.parsers.system.limits import parse_limits
from rocdoctor.parsers.system.network import bdf_of_link
from rocdoctor.parsers.system.process import group_names, groups_with_member, parse_id, parse_status

# What a user name space shows for ids that it does not map (Linux include/linux/highuid.h).
OVERFLOW_ID = 65534

_NVIDIA = ("/dev/nvidiactl", "/dev/nvidia-uvm")
_LISTS = ("list /dev/dri/renderD*", "list /dev/nvidia[0-9]*")


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch(["env", "read /proc/self/status", "read /etc/group", "read /proc/self/limits", *_LISTS])
    host.prefetch(f"stat {path}" for path in ("/dev/kfd", *_NVIDIA))


def collect_user(host: Host, environment: Environment) -> User:
    """Ids, groups and limits of this process, and the groups that a new login would have."""
    memlock, nofile = _limits(host)
    answer = host.ask("read /proc/self/status")
    status = parse_status(answer.text) if answer.ok else None
    if status is None or status.uid is None:
        return _listed_user(host, answer.unknown(), memlock, nofile)
    env = host.ask("env")
    if status.uid == 0 and env.status == "failed":
        gap = Unknown(env.unknown().why, "not-asked", env.source())
        return User(gap, gap, gap, gap, gap, gap, gap)
    listed: list[int] = [*([status.gid] if status.gid is not None else []), *(status.groups or ())]
    numbers = dict.fromkeys(listed)
    names = _group_names(host)
    source = answer.source(status.lines.get("groups", status.lines.get("gid")))
    missing = Unknown(f"{answer.question} does not list groups", "unparsable", answer.source())
    groups: Fact[tuple[str, ...]] = missing
    overflow: Fact[bool] = missing
    if status.groups is not None:
        groups = Known(tuple(names.get(number, str(number)) for number in numbers), source)
        overflow = Known(OVERFLOW_ID in numbers and status.uid != OVERFLOW_ID, source)
    uid = Known(status.uid, answer.source(status.lines.get("uid")))
    login_groups = _login_groups(host, environment, status.gid)
    return User(uid, groups, memlock, nofile, overflow, login_groups, _directory(host, status.gid, login_groups))


def _listed_user(host: Host, gap: Unknown, memlock: Fact[int | None], nofile: Fact[int | None]) -> User:
    """The same from an output of `id`."""
    for _, output in outputs(host, "id"):
        found = parse_id(output.text)
        if found is not None and found.uid is not None and found.groups:
            source = output.source(found.line)
            names = tuple(name or str(number) for number, name in found.groups.items())
            overflow = Known(OVERFLOW_ID in found.groups and found.uid != OVERFLOW_ID, source)
            return User(Known(found.uid, source), Known(names, source), memlock, nofile, overflow)
    for _, output in outputs(host, "groups"):
        names = _listed_groups(output.text)
        if names:
            return User(gap, Known(names, output.source(1)), memlock, nofile, gap)
    return User(gap, gap, memlock, nofile, gap)


def _listed_groups(text: str) -> tuple[str, ...]:
    """The names that `groups` prints, with or without the user's name in front."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    words = first.rpartition(" : ")[2].split()
    return tuple(words) if words and all(re.fullmatch(r"[A-Za-z_][\w.@$-]{0,63}", word) for word in words) else ()


def _group_names(host: Host) -> Mapping[int, str]:
    answer = host.ask("read /etc/group")
    return group_names(answer.text) if answer.ok else {}


def _login_groups(host: Host, environment: Environment, gid: int | None) -> Fact[tuple[str, ...]]:
    """The groups of the group file that list us, and our own. Groups of a directory service are not in that file."""
    answer = host.ask("read /etc/group")
    if not answer.ok:
        return answer.unknown()
    name = next((environment.variables[key].value for key in ("USER", "LOGNAME") if key in environment.variables), "")
    if not name or name.startswith("<"):
        return Unknown("the name of this user is not known", "not-asked", answer.source())
    own = group_names(answer.text).get(gid) if gid is not None else None
    listed = groups_with_member(answer.text, name)
    if not listed and own != name:  # a user of a directory service, or a name that was masked differently
        return Unknown("the group file does not mention this user", "not-asked", answer.source())
    named: list[str] = [*([own] if own else []), *listed]
    return Known(tuple(dict.fromkeys(named)), answer.source())


def _directory(host: Host, gid: int | None, login_groups: Fact[tuple[str, ...]]) -> Fact[bool]:
    """Whether this account is that of a directory: whoever has an account here has its own group here too.

    One whose group is here under another name may be either.
    """
    answer = host.ask("read /etc/group")
    if not answer.ok or gid is None:
        return answer.unknown() if not answer.ok else NOT_ASKED
    if answer.complete and not answer.truncated and gid not in group_names(answer.text):
        return Known(True, answer.source())
    if isinstance(login_groups, Known):
        return Known(False, answer.source())
    return Unknown("the group file does not say whose account this is", "not-asked", answer.source())


def _limits(host: Host) -> tuple[Fact[int | None], Fact[int | None]]:
    """(locked memory in bytes, open files): the soft limits, which are those that count."""
    own = host.ask("read /proc/self/limits")
    answers = [own] if own.ok else [output for _, output in outputs(host, "ulimit")]
    for answer in answers:
        limits = parse_limits(answer.text)
        found: list[Fact[int | None]] = []
        for name in ("memlock", "nofile"):
            entry = limits.get(name)
            if entry is None or entry.soft is None:
                found.append(Unknown(f"{answer.question} does not state it", "not-asked", answer.source()))
            else:
                found.append(Known(None if entry.soft.unlimited else entry.soft.value, answer.source(entry.line)))
        return found[0], found[1]
    return own.unknown(), own.unknown()


def collect_environment(host: Host) -> Environment:
    """The environment; complete only where the whole of it was asked for and answered."""
    answer = host.ask("env")
    if not answer.ok:
        listed = [output for name in ("env", "printenv") for _, output in outputs(host, name)]
        if not listed:
            return Environment()
        answer = listed[0]
    # The environment of another process is that of its start: what it set since does not show there.
    whole = answer.question == "env" and answer.complete and not answer.truncated
    found: dict[str, Variable] = {}
    for one in parse_env(answer.text):
        if one.value is not None:
            found.setdefault(one.name, Variable(one.name, one.value, answer.question, one.line))
    return Environment(found, whole)


def collect_nodes(host: Host, tools: Tools) -> tuple[DeviceNode, ...]:
    """Device nodes of GPUs. /dev/kfd is always among them; others that nothing is known of are left out."""
    listed = [host.ask(question) for question in _LISTS]
    render, nvidia = (answer.lines()[:512] if answer.ok else [] for answer in listed)
    host.prefetch(f"stat {path}" for path in (*render, *nvidia))
    names = _group_names(host)
    nodes = [_from_rocminfo(_node(host, "/dev/kfd", names, opened=True), tools)]
    nodes += [_node(host, path, names, opened=True) for path in render]
    if not render and listed[0].ok and listed[0].complete:
        nodes.append(DeviceNode("/dev/dri/renderD*", Known(False, listed[0].source())))
    nodes += [_node(host, path, names, opened=False) for path in nvidia]
    extra = [_node(host, path, names, opened=True) for path in _NVIDIA]
    return (*nodes, *(node for node in extra if isinstance(node.exists, Known)))


def _node(host: Host, path: str, names: Mapping[int, str], opened: bool) -> DeviceNode:
    bdf: Fact[str] = NOT_ASKED
    minor = re.search(r"/dri/(renderD\d{1,5})$", path)
    if minor:
        link = host.ask(f"link /sys/class/drm/{minor[1]}/device")
        bdf = stated(bdf_of_link(link.text) if link.ok else None, link, 1) if link.ok else link.unknown()
    answer = host.ask(f"stat {path}")
    words = answer.text.split() if answer.ok else []
    gid = whole_number(words[3]) if len(words) > 3 else None
    if gid is None:
        listed = _listed_node(host, path)
        if listed is not None:
            return listed
        absent = answer.status == "absent" and answer.complete
        exists: Fact[bool] = Known(False, answer.source()) if absent else answer.unknown()
        return DeviceNode(path, exists, answer.unknown(), answer.unknown(), answer.unknown(), bdf)
    return DeviceNode(
        path,
        Known(True, answer.source(1)),
        _access(host, path, minor[1] if minor else None) if opened else NOT_ASKED,
        Known(words[1], answer.source(1)),
        Known(names.get(gid, str(gid)), answer.source(1)),
        bdf,
        Known(gid, answer.source(1)),
        collect_udev(host, path) if opened else UdevRecord(),
    )


def _listed_node(host: Host, path: str) -> DeviceNode | None:
    """The node as an output of `ls -l` shows it."""
    for _, output in outputs(host, "ls"):
        for one in parse_ls_long(output.text):
            if one.path == path or path.endswith("/dri/" + one.path):
                source = output.source(one.line)
                mode, group = Known(one.mode, source), Known(one.group, source)
                return DeviceNode(path, Known(True, source), NOT_ASKED, mode, group)
    return None


def _access(host: Host, path: str, render: str | None) -> Fact[str]:
    """Whether this user can open the node. That would wake a sleeping GPU, which is left alone."""
    if render is not None:
        state = host.ask(f"read /sys/class/drm/{render}/device/power/runtime_status")
        if state.ok and state.text.strip() in ("suspended", "suspending"):
            return Unknown("the GPU is asleep and was left so", "suspended", state.source(1))
    answer = host.ask(f"open {path}")
    said = answer.text.strip() if answer.ok else ""
    return Known(said, answer.source(1)) if said else answer.unknown()


def _from_rocminfo(node: DeviceNode, tools: Tools) -> DeviceNode:
    """/dev/kfd as rocminfo met it, where the node itself is not in the evidence."""
    if isinstance(node.access, Known) or isinstance(node.exists, Known):
        return node
    for info, answer in tools.of(rocminfo.TOOL):
        source = Answer(answer.question, "ok").source(info.lines.get("kfd_error"))
        error = (info.kfd_error or "").lower()
        if "permission denied" in error:
            group: Fact[str] = node.group
            if info.missing_group and not isinstance(group, Known):
                group = Known(info.missing_group, answer.source(info.lines.get("missing_group")))
            return DeviceNode(node.path, Known(True, source), Known("denied", source), node.mode, group)
        if "no such file" in error:
            return DeviceNode(node.path, Known(False, source), node.access, node.mode, node.group)
        if info.gpus:
            opened = answer.source(info.gpus[0].line)
            return DeviceNode(node.path, Known(True, opened), Known("read-write", opened), node.mode, node.group)
    return node
