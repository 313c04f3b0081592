"""Interfaces that do not reach the other ranks. The texts are constructed from the formats of NCCL and gloo."""

from __future__ import annotations

from tests.kit import environment, judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "network-interface-message"


def test_an_address_of_docker() -> None:
    text = (
        "NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
        "NCCL WARN socketStartConnect: Connect to 172.17.0.1<41231> failed : Connection refused"
    )
    found = finding_of(CHECK, text)
    assert found is not None and "docker0" in found.message and "NCCL_SOCKET_IFNAME" in words_of(found)


def test_an_exclusion_that_leaves_loopback() -> None:
    text = "NCCL WARN Call to connect timeout : Connection refused"
    found = finding_of(CHECK, text, environment=environment({"NCCL_SOCKET_IFNAME": "^docker0"}, complete=False))
    assert found is not None and "loopback" in found.message


def test_no_interface_and_gloo() -> None:
    assert "no network interface" in words_of(finding_of(CHECK, "NCCL WARN Bootstrap : no socket interface found"))
    text = "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error"
    assert "GLOO_SOCKET_IFNAME" in words_of(finding_of(CHECK, text))


def test_an_interface_that_does_not_exist() -> None:
    text = "[enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to find address for: eth9"
    found = finding_of(CHECK, text)
    assert found is not None and "eth9" in found.message and "GLOO_SOCKET_IFNAME" in words_of(found)
    assert finding_of(CHECK, "browser: connect [::1]:8888: Connection refused") is None


def test_ordinary_info_lines_are_silent() -> None:
    text = "NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>\nNCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0>"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


def test_other_libraries_have_other_variables() -> None:
    text = "WARNING: Open MPI failed to TCP connect to a peer MPI process.  This\nshould not happen.\n\n"
    text += "  Error:      No route to host (113)"
    mpi = finding_of(CHECK, text)
    assert (
        mpi is not None and mpi.message.startswith("Open MPI could not connect") and "no route to host" in mpi.message
    )
    assert "OMPI_MCA_btl_tcp_if_include" in words_of(mpi)
    ucx = finding_of(CHECK, "UCX  ERROR no usable transports/devices (asked tcp on network:ib9)")
    assert ucx is not None and "UCX_NET_DEVICES" in words_of(ucx)


def test_a_refused_connection_leaves_two_causes() -> None:
    found = finding_of(CHECK, "NCCL WARN socketStartConnect: Connect to 10.0.0.3<43211> failed : Connection refused")
    assert found is not None and found.confidence == "possible" and "ended earlier" in found.message
    found = finding_of(CHECK, "NCCL WARN socketStartConnect: Connect to 10.0.0.3<43211> failed : No route to host")
    assert found is not None and found.confidence == "likely" and "ended earlier" not in found.message
