"""Rendezvous that fail. The texts are constructed from the formats of torch and glibc."""

from __future__ import annotations

from tests.kit import environment, judge, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "rendezvous-name-message"


def test_a_name_that_nobody_knows() -> None:
    text = "[W socket.cpp:601] [c10d] The IPv6 network addresses of (gpu-a, 29500) cannot be retrieved (gai error: -2)."
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "error" and found.confidence == "certain"
    assert "gpu-a" in found.message and "/etc/hosts" in words_of(found) and "MASTER_ADDR" in words_of(found)


def test_the_lookup_of_the_client_alone_is_no_fault() -> None:
    # Sound jobs print it too, where no name server knows the addresses of the nodes.
    text = "[W socket.cpp:663] [c10d] The hostname of the client socket cannot be retrieved. err=-3"
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "info"


def test_an_endpoint_that_cannot_be_reached_is_named() -> None:
    text = (
        "[W socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved. err=-3\n"
        "[W socket.cpp:764] [c10d] The client socket has failed to connect to [b410:0:3b11:0:7ffd::]:12305 "
        "(errno: 113 - No route to host).\n"
        "[E socket.cpp:818] [c10d] The client socket has failed to connect to any network address of "
        "(192.0.2.1, 29509)."
    )
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "error"
    assert "192.0.2.1:29509" in found.message and "cannot be reached" in found.message


def test_nobody_listens() -> None:
    text = "RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details."
    found = finding_of(CHECK, text, environment=environment({"MASTER_ADDR": "localhost"}))
    assert found is not None and found.confidence == "likely" and "own address" in found.message


def test_pip_without_network_is_not_a_rendezvous() -> None:
    text = "pip: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution"
    assert states(judge(CHECK, pasted(text))) == ["not-applicable"]


def test_words_about_a_rendezvous_are_possible_only() -> None:
    found = finding_of(CHECK, "Our rendezvous always times out with two nodes (--rdzv_endpoint=head:29400).")
    assert found is not None and (found.severity, found.confidence) == ("warning", "possible")
    assert "rdzv_endpoint" in words_of(found) and "hostname" in words_of(found)
