"""Containers; the texts are constructed."""

from __future__ import annotations

from rocdoctor.collect.system.container import collect_container
from rocdoctor.collect.system.user import collect_environment
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import NOT_ASKED, Fact, Known, Source, Unknown
from rocdoctor.model.facts import Container
from tests.collect.hosts import excerpt, whole

_PLAIN: Fact[str] = Known("6.8.0-45-generic", Source("read /proc/sys/kernel/osrelease"))
_HOST = {
    "env": "HOME=~",
    "read /proc/1/cgroup": "0::/init.scope",
    "read /proc/self/mountinfo": "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
    "read /proc/self/uid_map": "         0          0 4294967295",
}
_OVERLAY = "22 1 0:55 / / rw - overlay overlay rw,lowerdir={}/l/A:x,upperdir=y"


def _container(host: Host, release: Fact[str] = _PLAIN) -> Container:
    return collect_container(host, collect_environment(host), release, NOT_ASKED)


def test_none_takes_complete_evidence() -> None:
    container = _container(whole(_HOST))
    assert isinstance(container.kind, Known) and container.kind.value == "none"
    assert isinstance(container.rootless, Known) and container.rootless.value is False
    assert isinstance(_container(excerpt(_HOST)).kind, Unknown)
    assert isinstance(_container(excerpt({})).kind, Unknown)
    for question in ("env", "read /proc/1/cgroup", "read /proc/self/mountinfo"):
        assert isinstance(_container(whole(_HOST, {question: "denied"})).kind, Unknown), question
    assert isinstance(_container(whole(_HOST), NOT_ASKED).kind, Unknown)


def test_kinds_by_their_signs() -> None:
    wsl: Fact[str] = Known("5.15.167.4-microsoft-standard-WSL2", Source("read /proc/sys/kernel/osrelease"))
    layers = "read /proc/self/mountinfo"
    for texts, release, expected in (
        ({"read /.dockerenv": ""}, _PLAIN, "docker"),
        ({"read /run/.containerenv": 'engine="podman-4.3.1"\nrootless=1\n'}, _PLAIN, "podman"),
        ({"read /proc/1/cgroup": "0::/system.slice/docker-0123456789abcdef.scope"}, _PLAIN, "docker"),
        ({"read /.dockerenv": "", "env": "KUBERNETES_SERVICE_HOST=ip-1"}, _PLAIN, "kubernetes"),
        ({"env": "APPTAINER_CONTAINER=/x.sif"}, _PLAIN, "singularity"),
        ({"read /run/systemd/container": "lxc"}, _PLAIN, "lxc"),
        ({layers: _OVERLAY.format("/var/lib/docker/overlay2")}, _PLAIN, "docker"),
        ({}, wsl, "wsl"),
    ):
        container = _container(whole(_HOST | texts), release)
        assert isinstance(container.kind, Known) and container.kind.value == expected, texts


def test_a_layered_root_alone_is_neither_none_nor_a_kind() -> None:
    kind = _container(whole(_HOST | {"read /proc/self/mountinfo": _OVERLAY.format("/cow")})).kind
    assert isinstance(kind, Unknown)


def test_rootless_by_the_map_of_user_ids() -> None:
    for text, expected in (("0 1000 1\n1 100000 65536", True), ("1000 1000 1", True), ("0 0 4294967295", False)):
        rootless = _container(whole(_HOST | {"read /proc/self/uid_map": text})).rootless
        assert isinstance(rootless, Known) and rootless.value is expected, text
