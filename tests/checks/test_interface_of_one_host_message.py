"""One interface name for hosts that call theirs differently. The texts are constructed."""

from __future__ import annotations

import pytest

from tests.kit import judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "interface-of-one-host-message"
HOSTS = "Interfaces: server A has enp4s0, server B has enp6s0."


def test_the_name_of_one_host_is_given_to_both() -> None:
    found = finding_of(CHECK, f"mpirun -x NCCL_SOCKET_IFNAME=enp4s0 ./all_reduce_perf\n{HOSTS}")
    assert found is not None and found.severity == "error" and found.confidence == "likely"
    assert "enp4s0 and enp6s0" in found.message and "enp4s0,enp6s0" in words_of(found)


@pytest.mark.parametrize("value", ["enp4s0,enp6s0", "enp", "^docker0"])
def test_a_value_that_fits_both(value: str) -> None:
    assert finding_of(CHECK, f"mpirun -x NCCL_SOCKET_IFNAME={value} ./all_reduce_perf\n{HOSTS}") is None


def test_behind_an_equals_sign_names_are_whole() -> None:
    assert finding_of(CHECK, f"mpirun -x NCCL_SOCKET_IFNAME==enp4s0 ./all_reduce_perf\n{HOSTS}") is not None


def test_no_variable_or_no_difference() -> None:
    assert finding_of(CHECK, HOSTS) is None
    same = "server A has enp4s0, server B has enp4s0"
    assert finding_of(CHECK, f"NCCL_SOCKET_IFNAME=enp4s0\n{same}") is None


def test_not_applicable_without_such_words() -> None:
    assert states(judge(CHECK, pasted("all is well"))) == ["not-applicable"]
