"""Ids, groups, limits, environment and device nodes; the texts are constructed in the kernel's form."""

from __future__ import annotations

import pytest

from rocdoctor.collect.system.user import collect_environment, collect_nodes, collect_user
from rocdoctor.host.base import Host
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.model.facts import User
from tests.collect.hosts import excerpt, tools, whole

_STATUS = "Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nGroups:\t27 1000 4242\n"
_GROUPS = "root:x:0:\nsudo:x:27:user-1\nrender:x:109:user-1\nuser-1:x:1000:\n"
_BASE = {"read /proc/self/status": _STATUS, "read /etc/group": _GROUPS, "env": "HIP_VISIBLE_DEVICES=0\nUSER=user-1"}
_DRM = "/sys/class/drm/renderD128/device"


def _user(host: Host) -> User:
    return collect_user(host, collect_environment(host))


def test_groups_by_name_now_and_at_the_next_login() -> None:
    user = _user(whole(_BASE))
    assert isinstance(user.uid, Known) and user.uid.value == 1000
    assert isinstance(user.groups, Known) and user.groups.value == ("user-1", "sudo", "4242")
    assert isinstance(user.login_groups, Known) and user.login_groups.value == ("user-1", "sudo", "render")
    assert isinstance(user.overflow_groups, Known) and user.overflow_groups.value is False


def test_a_user_whom_the_group_file_does_not_mention_is_unknown() -> None:
    stranger = _user(whole(_BASE | {"env": "USER=user-9"}))
    assert isinstance(stranger.login_groups, Unknown)
    assert isinstance(_user(whole(_BASE | {"env": "A=1"})).login_groups, Unknown)


def test_root_through_sudo_says_nothing_of_the_user() -> None:
    host = whole({"read /proc/self/status": _STATUS.replace("1000", "0")}, {"env": "failed"})
    user = _user(host)
    assert isinstance(user.uid, Unknown) and isinstance(user.groups, Unknown)
    assert collect_environment(host).complete is False


def test_unmapped_groups_and_unlimited_memory() -> None:
    limits = "Limit                     Soft Limit           Hard Limit           Units     \n"
    limits += "Max locked memory         unlimited            unlimited            bytes     \n"
    limits += "Max open files            1024                 4096                 files     \n"
    texts = {"read /proc/self/status": _STATUS.replace("4242", "65534"), "read /proc/self/limits": limits}
    user = _user(whole(_BASE | texts))
    assert isinstance(user.overflow_groups, Known) and user.overflow_groups.value is True
    assert isinstance(user.memlock_bytes, Known) and user.memlock_bytes.value is None
    assert isinstance(user.nofile, Known) and user.nofile.value == 1024
    assert isinstance(_user(excerpt({})).memlock_bytes, Unknown)


def test_the_environment_is_complete_only_as_a_whole() -> None:
    environment = collect_environment(whole(_BASE))
    assert environment.complete and environment.variables["HIP_VISIBLE_DEVICES"].value == "0"
    assert environment.variables["USER"].line == 2
    partly = collect_environment(excerpt({"run printenv": "A=1"}))
    assert "A" in partly.variables and partly.complete is False
    assert collect_environment(excerpt({})).complete is False


def test_nodes_with_mode_group_access_and_address() -> None:
    host = whole(
        _BASE
        | {
            "stat /dev/kfd": "char 0660 0 109 235:0",
            "open /dev/kfd": "denied",
            "list /dev/dri/renderD*": "/dev/dri/renderD128",
            "stat /dev/dri/renderD128": "char 0666 0 4242 226:128",
            "open /dev/dri/renderD128": "read-write",
            f"link {_DRM}": "/sys/devices/pci0000:00/0000:03:00.0",
        }
    )
    kfd, render = collect_nodes(host, tools(host))[:2]
    assert isinstance(kfd.exists, Known) and kfd.exists.value is True
    assert [getattr(kfd, name).value for name in ("access", "mode", "group")] == ["denied", "0660", "render"]
    assert [getattr(render, name).value for name in ("access", "group", "bdf")] == [
        "read-write",
        "4242",
        "0000:03:00.0",
    ]


_UDEV = (
    "P: /devices/pci0000:00/0000:03:00.0/drm/renderD128\nE: DEVNAME=/dev/dri/renderD128\nE: TAGS=:seat:uaccess:\n\n"
    "P: /devices/pci0000:00/0000:03:00.0\nE: DRIVER=amdgpu\nE: ID_PATH=pci-0000:03:00.0\nE: SUBSYSTEM=pci\n"
)


@pytest.mark.parametrize("question", ["udev /dev/dri/renderD128", "run udevadm info --export-db"])
def test_what_udev_knows_of_a_node(question: str) -> None:
    texts = {"list /dev/dri/renderD*": "/dev/dri/renderD128", "stat /dev/dri/renderD128": "char 0660 0 109 226:128"}
    host = whole(texts | {question: _UDEV})
    record = collect_nodes(host, tools(host))[1].udev
    assert isinstance(record.tags, Known) and record.tags.value == ("seat", "uaccess")
    assert str(record.tags.source) == f"{question}:3"
    values = [getattr(fact, "value", None) for fact in (record.seat, record.driver)]
    assert values == ["seat0", "amdgpu"]


def test_without_a_record_of_udev_nothing_is_known_of_the_seat() -> None:
    texts = {"stat /dev/kfd": "char 0660 0 109 235:0"}
    record = collect_nodes(whole(texts), tools(whole(texts)))[0].udev
    assert all(isinstance(fact, Unknown) for fact in (record.tags, record.seat, record.driver))


def test_a_sleeping_gpu_is_not_opened() -> None:
    texts = {"list /dev/dri/renderD*": "/dev/dri/renderD128", "stat /dev/dri/renderD128": "char 0666 0 109 226:128"}
    host = whole(texts | {"open /dev/dri/renderD128": "read-write", f"read {_DRM}/power/runtime_status": "suspended"})
    access = collect_nodes(host, tools(host))[1].access
    assert isinstance(access, Unknown) and access.reason == "suspended"


def test_missing_and_unseen_nodes_differ() -> None:
    missing, unseen = (collect_nodes(host, tools(host))[0] for host in (whole({}), excerpt({})))
    assert isinstance(missing.exists, Known) and missing.exists.value is False
    assert isinstance(unseen.exists, Unknown)


def test_rocminfo_tells_of_the_node_where_nothing_else_does() -> None:
    said = "ROCk module is loaded\nUnable to open /dev/kfd read-write: {}\n"
    for error, exists, access in (("Permission denied", True, "denied"), ("No such file or directory", False, None)):
        host = excerpt({"run rocminfo": said.format(error)})
        kfd = collect_nodes(host, tools(host))[0]
        assert isinstance(kfd.exists, Known) and kfd.exists.value is exists
        assert getattr(kfd.access, "value", None) == access


def test_an_account_whose_own_group_is_not_here_is_of_a_directory() -> None:
    away = _STATUS.replace("Gid:\t1000\t1000\t1000\t1000", "Gid:\t70513\t70513\t70513\t70513")
    found = _user(whole(_BASE | {"read /proc/self/status": away, "env": "USER=user-9"}))
    assert isinstance(found.directory, Known) and found.directory.value
    local = _user(whole(_BASE)).directory
    assert isinstance(local, Known) and not local.value


def test_a_directory_account_with_a_group_of_this_machine_may_be_either() -> None:
    shared = _STATUS.replace("Gid:\t1000\t1000\t1000\t1000", "Gid:\t27\t27\t27\t27")
    found = _user(whole(_BASE | {"read /proc/self/status": shared, "env": "USER=user-9"}))
    assert isinstance(found.directory, Unknown)
    assert isinstance(_user(excerpt({"read /proc/self/status": _STATUS})).directory, Unknown)
