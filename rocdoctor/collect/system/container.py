"""What encloses us: a container of some kind, or none, which takes complete evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.host.base import Answer, Host
from rocdoctor.model.evidence import Fact, Known, Source, Unknown
from rocdoctor.model.facts import Container, Environment
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.system.mounts import Mount, mount_at, parse_mounts
from rocdoctor.parsers.system.os_release import (
    container_from_cgroup,
    container_from_containerenv,
    container_from_environment,
    container_from_release,
)

_FILES = (
    "read /.dockerenv",
    "read /run/.containerenv",
    "read /run/systemd/container",
    "read /proc/1/cgroup",
    "read /proc/self/mountinfo",
    "read /proc/self/uid_map",
)
# Where container managers keep the layers of a root file system.
_LAYERS = (
    ("/var/lib/docker", "docker"),
    ("/docker/overlay2", "docker"),
    ("containers/storage", "podman"),
    ("containerd", "containerd"),
    ("/kubelet", "kubernetes"),
)
_ALL_IDS = 4_294_967_295


def prefetch(host: Host) -> None:
    """Start on what is always asked."""
    host.prefetch(_FILES)


def collect_container(
    host: Host,
    environment: Environment,
    release: Fact[str],
    machine: Fact[str | None],
) -> Container:
    """The kind of container, whether it runs without root's rights, and the virtual machine below it."""
    signs = list(_signs(host, environment, release))
    kind: Fact[str]
    if signs:
        # Kubernetes runs its containers by containerd, Docker or CRI-O: the outermost manager is what people know.
        kind = next((fact for fact, _ in signs if fact.value == "kubernetes"), signs[0][0])
    else:
        kind = _none(host, environment, release)
    return Container(kind, _rootless(host, [rootless for _, rootless in signs]), machine)


def _signs(host: Host, environment: Environment, release: Fact[str]) -> Iterator[tuple[Known[str], bool | None]]:
    """(kind, rootless) of each sign, the plainest first."""
    if isinstance(release, Known) and container_from_release(release.value) is not None:
        yield Known("wsl", release.source), None
    values = {name: variable.value for name, variable in environment.variables.items()}
    told = container_from_environment(values)
    if told is not None:
        variable = environment.variables.get(told.sign.removeprefix("$"))
        yield Known(told.kind, Source(variable.source, variable.line) if variable else Source("env")), told.rootless
    answer = host.ask("read /run/.containerenv")
    if answer.ok:
        sign = container_from_containerenv(answer.text)
        yield Known(sign.kind, answer.source()), sign.rootless
    answer = host.ask("read /.dockerenv")
    if answer.ok:
        yield Known("docker", answer.source()), None
    answer = host.ask("read /run/systemd/container")
    if answer.ok and answer.text.strip():
        yield Known(answer.text.strip()[:40], answer.source(1)), None
    answer = host.ask("read /proc/1/cgroup")
    found = container_from_cgroup(answer.text) if answer.ok else None
    if found is not None:
        yield Known(found.kind, answer.source()), None
    answer = host.ask("read /proc/self/mountinfo")
    for mount in parse_mounts(answer.text) if answer.ok else ():
        by_mount = _kind_of_mount(mount)
        if by_mount is not None:
            yield Known(by_mount, answer.source(mount.line)), None
            return


def _kind_of_mount(mount: Mount) -> str | None:
    if mount.kind == "fuse.lxcfs":
        return "lxc" if mount.mount_point.startswith("/proc/") else None  # on a host it is mounted under /var/lib
    if mount.mount_point == "/" and "overlay" in mount.kind:
        layers = f"{mount.option('lowerdir') or ''} {mount.option('upperdir') or ''}"
        return next((kind for words, kind in _LAYERS if words in layers), None)
    return None


def _none(host: Host, environment: Environment, release: Fact[str]) -> Fact[str]:
    """The word "none" when every place that would show a container was looked at and shows none."""
    for question in _FILES[:4]:
        answer = host.ask(question)
        if not (answer.complete and (answer.ok or answer.status == "absent")):
            return answer.unknown() if not answer.ok else Unknown("the evidence may not be whole", "not-asked")
    if not environment.complete:
        return Unknown("the environment, which may show a container, is not known", "not-asked")
    if isinstance(release, Unknown):
        return release
    answer = host.ask("read /proc/self/mountinfo")
    if not answer.ok or not answer.complete:
        return answer.unknown()
    root = mount_at(parse_mounts(answer.text), "/")
    if root is None or "overlay" in root.kind or root.kind == "aufs":
        why = "the root file system is layered, as in a container, but nothing names one"
        return Unknown(why, "unparsable", answer.source(root.line if root else None))
    return Known("none", answer.source(root.line))


def _rootless(host: Host, told: Sequence[bool | None]) -> Fact[bool]:
    """By what the manager wrote, else by the map of user ids: root's own id maps to itself unless without rights."""
    if True in told:
        return Known(True, Source("read /run/.containerenv"))
    answer: Answer = host.ask("read /proc/self/uid_map")
    rows = [line.split() for line in answer.lines()] if answer.ok else []
    if not rows or any(len(row) != 3 or None in map(whole_number, row) for row in rows):
        return answer.unknown()
    first = [int(one) for one in rows[0]]
    return Known(not ((first[:2] == [0, 0] and first[2] >= 65536) or first[2] == _ALL_IDS), answer.source(1))
