from __future__ import annotations

from rocdoctor.model.facts import CommandLine
from tests.kit import judge, machine, states

NAME = "command-lxc-device-groups"


def _box(*groups: str) -> CommandLine:
    devices = ("/dev/dri/renderD128", "/dev/dri/card0", "/dev/kfd")
    return CommandLine("lxc", "config", 1, "dev0: /dev/dri/renderD128,gid=992", {"device": devices, "gid": groups})


def test_kfd_of_another_group_than_the_render_nodes() -> None:
    for groups in (("/dev/dri/renderD128=992", "/dev/kfd=44"), ("/dev/dri/renderD128=992", "/dev/dri/card0=44")):
        (verdict,) = judge(NAME, machine(commands=(_box(*groups),)))
        assert verdict.finding is not None
        assert verdict.finding.cause == "container-device-access"
        assert verdict.finding.fix is not None
        assert "gid=992" in verdict.finding.fix.text


def test_one_group_for_both_or_none_named_is_no_finding() -> None:
    for groups in (("/dev/dri/renderD128=992", "/dev/kfd=992", "/dev/dri/card0=44"), ()):
        assert states(judge(NAME, machine(commands=(_box(*groups),)))) == ["pass"]
    assert states(judge(NAME, machine())) == ["not-applicable"]
