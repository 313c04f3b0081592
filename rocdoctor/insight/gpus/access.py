"""What this process is let to use: device nodes, groups, enclosing container, GPUs left to it.

Every function answers from evidence alone; None means that the evidence does not decide. Access is what an attempt to
open a node gave (``read-write``, ``denied``, ``not permitted ...`` for a rule of a device cgroup, ``error ...``), never
a guess from group lists: access lists and root make those wrong.
"""

from __future__ import annotations

from rocdoctor.insight.gpus.visibility import runtime_vendors, scheduler, visible
from rocdoctor.model.evidence import Known, value_or
from rocdoctor.model.facts import DeviceNode, Gpu, Machine, User
from rocdoctor.model.shell_command import fits
from rocdoctor.parsers.formats.text import whole_number

KFD = "/dev/kfd"
RENDER = "/dev/dri/renderD"
# Names and number of the group that an unmapped group shows as in a user namespace (user_namespaces(7)).
OVERFLOW = ("nogroup", "nobody", "65534")
# Who is in one of these is as good as root, or reads what others type and store: nobody joins them for a GPU. From
# Debian's base-passwd (users-and-groups, read 2026-11-23); the groups of daemons and administrators are our judgement.
_MIGHTY = frozenset(
    (
        "root",
        "0",
        "wheel",
        "sudo",
        "admin",
        "adm",
        "docker",
        "lxd",
        "incus",
        "incus-admin",
        "libvirt",
        "qemu",
        "disk",
        "shadow",
        "kmem",
        "mem",
        "sys",
        "bin",
        "daemon",
        "input",
        "tty",
        "staff",
        "systemd-journal",
    )
)


def joinable(group: str) -> bool:
    """Whether a person may be told to join the group that owns a node: a plain name, and not one with more power."""
    return fits(group, "group") and group not in _MIGHTY and group not in OVERFLOW


def node_at(machine: Machine, path: str) -> DeviceNode | None:
    """The node with this path, where the evidence speaks of it."""
    return next((node for node in machine.nodes if node.path == path), None)


def is_there(node: DeviceNode | None) -> bool | None:
    """Whether a node exists; None where that is not known."""
    return node.exists.value if node is not None and isinstance(node.exists, Known) else None


def opens(node: DeviceNode | None) -> bool | None:
    """Whether this user opened the node; None where nobody tried or the attempt failed for another reason."""
    if node is None or not isinstance(node.access, Known):
        return None
    said = node.access.value
    if said == "read-write":
        return True
    return False if said.startswith(("denied", "not permitted")) else None


def allowed_by_mode(node: DeviceNode, user: User) -> bool | None:
    """Whether mode and group let this user in; False in a user namespace that does not map the group."""
    group, uid = value_or(node.group, None), value_or(user.uid, None)
    if group in OVERFLOW:
        return False
    mode = value_or(node.mode, "")
    if mode and set(mode) <= set("01234567") and len(mode) <= 6:
        if int(mode[-1]) & 6 == 6:
            return True
        if int(mode[-2:-1] or "6") & 6 != 6:
            return uid == 0 if uid is not None else None
    if uid == 0:
        return True
    if group is None or not isinstance(user.groups, Known):
        return None
    return group in user.groups.value


def ruled_out(node: DeviceNode, user: User) -> bool:
    """A device rule (cgroup) keeps the process out, not the permissions of the file."""
    if opens(node) is not False:
        return False
    return value_or(node.access, "").startswith("not permitted") or allowed_by_mode(node, user) is True


def given_by_seat(node: DeviceNode) -> bool | None:
    """Whether udev lets whoever is active at the seat open the node; None where there is no record of it."""
    return "uaccess" in node.udev.tags.value if isinstance(node.udev.tags, Known) else None


def session_seat(machine: Machine) -> str | None:
    """The seat of this session, "" for one that has none (ssh, a service); None where the variables do not tell.

    pam_systemd sets XDG_SEAT for sessions at a seat (update_environment in pam_systemd.c of systemd).
    """
    variables = machine.environment.variables
    if any(name in variables for name in ("SSH_CONNECTION", "SSH_TTY")):
        return ""
    if "XDG_SEAT" in variables:
        return variables["XDG_SEAT"].value
    return "" if machine.environment.complete and "XDG_SESSION_TYPE" in variables else None


def render_minors(gpu: Gpu) -> set[int]:
    """The numbers of a GPU's render nodes, those of its partitions included."""
    facts = [gpu.render_minor, *(one.render_minor for one in gpu.compute_nodes)]
    return {fact.value for fact in facts if isinstance(fact, Known)}


def render_nodes(machine: Machine, vendor: str) -> list[DeviceNode]:
    """The render nodes of a vendor's GPUs; all of them where only that vendor can own them."""
    found = [node for node in machine.nodes if node.path.startswith(RENDER)]
    own = [gpu for gpu in machine.gpus if gpu.vendor == vendor]
    minors = {minor for gpu in own for minor in render_minors(gpu)}
    addresses = {gpu.bdf.value for gpu in own if isinstance(gpu.bdf, Known)}
    mapped = [
        node
        for node in found
        if value_or(node.bdf, None) in addresses or any(node.path == f"{RENDER}{minor}" for minor in minors)
    ]
    if mapped:
        return mapped
    return found if all(gpu.vendor == vendor for gpu in machine.gpus) else []


def enclosure(machine: Machine) -> str | None:
    """The kind of container around us; None for none, for WSL and where it is not known."""
    kind = value_or(machine.container.kind, None)
    return None if kind in (None, "none", "wsl") else kind


def container_words(kind: str) -> str:
    """A kind of container in words: ``docker container``."""
    return "container" if kind == "container" else f"{kind} container"


def is_wsl(machine: Machine) -> bool:
    """Known to be the Windows Subsystem for Linux."""
    return value_or(machine.container.kind, None) == "wsl"


def is_rootless(machine: Machine) -> bool:
    """A user namespace without the host's groups, as rootless podman and docker make it."""
    return value_or(machine.container.rootless, False) or value_or(machine.user.overflow_groups, False)


def rootless_words(machine: Machine, kind: str | None) -> str:
    """What such a container is called: ``rootless ``, of system containers ``unprivileged ``; "" where it is none."""
    if not is_rootless(machine):
        return ""
    return "unprivileged " if kind in ("lxc", "systemd-nspawn") else "rootless "


def in_job(machine: Machine) -> bool:
    """A batch scheduler or Kubernetes gave this process its share of the machine."""
    return scheduler(machine.environment) is not None or enclosure(machine) == "kubernetes"


def usable_gpus(machine: Machine) -> int | None:
    """How many GPUs this process can use: those that open, less those that visibility variables hide."""
    counts: list[int] = []
    for vendor in runtime_vendors(machine):
        chain = visible(machine, vendor)
        count = len(chain.steps[-1].kept) if chain.steps else chain.count
        opened = [opens(node) for node in render_nodes(machine, vendor)] if vendor == "amd" else []
        if False in opened and None not in opened:
            count = min(count, opened.count(True)) if count is not None else opened.count(True)
        if count is None:
            return None
        counts.append(count)
    return sum(counts) if counts else None


def local_ranks(machine: Machine) -> int | None:
    """How many processes train on this machine: as the launcher says, else one per usable GPU."""
    stated = machine.environment.variables.get("LOCAL_WORLD_SIZE")
    count = whole_number(stated.value, 9_999) if stated is not None else None
    return count or usable_gpus(machine)


def several_nodes(machine: Machine) -> bool | None:
    """Whether the job runs on more than one machine, by what launchers and schedulers set; None where none did."""
    variables = machine.environment.variables

    def number(*names: str) -> int | None:
        found = [variables[name].value for name in names if name in variables]
        return next((one for text in found if (one := whole_number(text, 9_999_999)) is not None), None)

    nodes = number("NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "GROUP_WORLD_SIZE")
    if nodes is not None:
        return nodes > 1
    world, local = number("WORLD_SIZE"), number("LOCAL_WORLD_SIZE")
    if world is not None and (local is not None or world == 1):
        return local is not None and world > local
    return None
