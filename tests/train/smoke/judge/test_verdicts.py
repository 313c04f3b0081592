"""Who is named: from records of ranks alone, without running any."""

from __future__ import annotations

import signal

import pytest

from rocdoctor.train.smoke.judge.verdicts import judge
from rocdoctor.train.smoke.nodes.local_ranks import ended_early
from rocdoctor.train.smoke.nodes.node_place import NodePlace
from rocdoctor.train.smoke.run.pool import ModeRecord, RankRecord
from tests.train.smoke.judge import records


def _named(*ranks: RankRecord) -> tuple[int, ...]:
    return judge(ModeRecord("mode", 1.0, ranks)).named


def test_who_sent_what_all_others_got_wrong_is_named() -> None:
    assert _named(records.wrong(0, [1]), records.wrong(1, [1]), records.wrong(2, [1]), records.wrong(3, [1])) == (1,)
    assert _named(records.wrong(0, [1]), records.right(1), records.wrong(2, [1]), records.wrong(3, [1])) == (1,)


def test_both_ends_are_named_where_only_one_rank_got_it_wrong() -> None:
    assert _named(records.wrong(0, [1]), records.right(1), records.right(2)) == (0, 1)


def test_who_got_wrong_what_several_sent_is_named_alone() -> None:
    assert _named(records.wrong(0, [1, 2]), records.right(1), records.right(2)) == (0,)
    assert _named(records.wrong(0, [0]), records.right(1)) == (0,)


def _crossed(rank: int, *others: int) -> RankRecord:
    """A rank whose copies to these came back wrong."""
    one = records.wrong(rank)
    assert one.result is not None
    one.result["faults"] = [{**one.result["faults"][0], "between": [rank, other]} for other in others]
    return one


@pytest.mark.parametrize(
    ("ranks", "named", "words"),
    [
        ((_crossed(0, 1), records.right(1)), (), "between ranks 0, 1; it is not clear at which end"),
        ((_crossed(0, 1), records.right(1), records.right(2)), (0, 1), "between ranks 0, 1"),
        ((_crossed(0, 1), _crossed(1, 2), records.right(2)), (1,), "rank 1 is in all 2 pairs"),
        # The second of eight is broken: each pair is copied between by one rank alone.
        (
            (
                _crossed(0, 1),
                _crossed(1, 2, 3, 4, 5),
                *map(records.right, (2, 3, 4, 5)),
                _crossed(6, 1),
                _crossed(7, 1),
            ),
            (1,),
            "rank 1 is in all 7 pairs",
        ),
        ((_crossed(0, 1), records.right(1), _crossed(2, 3), records.right(3)), (), "between 2 pairs of GPUs"),
        ((_crossed(0, 1), _crossed(1, 2), _crossed(2, 0)), (), "between 3 pairs of GPUs"),
        ((_crossed(0, 9), records.right(1)), (0,), "differs"),  # there is no such rank
    ],
)
def test_of_copies_between_gpus_the_end_of_all_wrong_pairs_is_named_or_both(
    ranks: tuple[RankRecord, ...], named: tuple[int, ...], words: str
) -> None:
    found = judge(ModeRecord("copies", 1.0, ranks))
    assert (found.state, found.named) == ("fail", named), found.message
    assert words in found.message


def test_where_not_all_ranks_know_who_sent_it_nobody_is_accused_of_it() -> None:
    both = records.wrong(1)
    (both.result or {})["faults"][0]["words"] = "differs otherwise"
    assert _named(records.wrong(0, [1]), both, records.right(2)) == (0, 1)
    (both.result or {})["faults"][0]["origins"] = [0]
    assert _named(records.wrong(0, [1]), both, records.right(2)) == (0, 1)


def test_what_breaks_alike_on_all_ranks_is_no_device() -> None:
    one = judge(ModeRecord("mode", 1.0, (records.wrong(0, layer="device"), records.right(1))))
    every = judge(ModeRecord("mode", 1.0, (records.wrong(0, layer="device"), records.wrong(1, layer="device"))))
    assert (one.layer, every.layer) == ("device", "framework")


def _ended(number: int) -> RankRecord:
    return RankRecord(1, exit_signal=number, ended_at=1.0)


def test_a_signal_from_outside_accuses_no_layer() -> None:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
        found = judge(ModeRecord("mode", 1.0, (_stuck(0, "all_reduce float32[2]"), _ended(number))))
        assert (found.named, found.layer) == ((1,), "")
        assert f"was ended by signal {int(number)} ({number.name}) from outside: by " in found.message
        assert ("when memory ran out (sudo dmesg" in found.message) == (number is signal.SIGKILL)
        assert "somebody, a batch system or a service manager" in found.message
    for number, layer in ((signal.SIGSEGV, "framework"), (signal.SIGBUS, "configuration")):
        found = judge(ModeRecord("mode", 1.0, (_stuck(0, "all_reduce float32[2]"), _ended(number))))
        assert (found.layer, "outside" in found.message) == (layer, False)


def _failed(rank: int, kind: str, message: str) -> RankRecord:
    return RankRecord(rank, result={"state": "crashed", "kind": kind, "message": message}, at=1.0)


def test_a_node_that_falls_silent_is_no_link_between_gpus() -> None:
    words = "Node 1 at 10.0.0.2 has not been heard of for 5 s"
    lost = _failed(1, "lost-node", words)
    lost.node = 1
    found = judge(ModeRecord("mode", 1.0, (_stuck(0, "all_reduce float32[2]"), lost)))
    assert (found.named, found.layer) == ((1,), "")
    assert words in found.message


def test_a_connection_that_was_cut_although_no_rank_ended_accuses_no_library() -> None:
    reset = [_failed(rank, "victim", "RuntimeError: [gloo] Connection reset by peer [10.0.0.1]:1") for rank in (0, 1)]
    found = judge(ModeRecord("start", 1.0, tuple(reset)))
    assert found.layer == ""
    assert (
        "no rank had ended, so a firewall, or another program that reached its port, may have cut it" in found.message
    )
    late = [_failed(rank, "victim", "RuntimeError: Timed out waiting 1000ms for recv") for rank in (0, 1)]
    assert judge(ModeRecord("start", 1.0, tuple(late))).layer == "collectives"
    assert "firewall" not in judge(ModeRecord("start", 1.0, (*reset, _ended(9)))).message


def test_without_the_process_that_starts_them_no_rank_is_accused() -> None:
    silent = tuple(RankRecord(rank, silent=True) for rank in range(2))
    found = judge(ModeRecord("mode", 1.0, silent, True, "is stopped (a signal or a debugger)"))
    assert (found.state, found.named, found.layer) == ("crashed", (), "")
    assert found.message == "the process that starts the ranks and speaks with them is stopped (a signal or a debugger)"


_TORCHRUN = (
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
    "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
)
_OLD_TORCHRUN = "[c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."


@pytest.mark.parametrize("log", [_TORCHRUN, _OLD_TORCHRUN, f"RuntimeError: x\n{_OLD_TORCHRUN}\nmore"])
def test_a_port_that_was_taken_after_the_meeting_is_named(log: str) -> None:
    told = ended_early(log.splitlines()[0], log, NodePlace(0, 2, "10.0.0.1", 29500))
    assert told["kind"] == "port"
    assert told["message"].startswith("port 29500 of node 0, that of --rdzv, was taken by another program")
    found = judge(ModeRecord("start", 1.0, (_failed(0, **told), _stuck(1, ""))))
    assert (found.layer, found.named) == ("configuration", (0,))
    for place in (NodePlace(0, 2, "10.0.0.1", 29501), NodePlace(1, 2, "10.0.0.1", 29500)):
        assert ended_early("words", log, place) == {
            "kind": "error",
            "message": "torchrun ended before its ranks had begun: words",
        }


def _stuck(rank: int, call: str) -> RankRecord:
    return RankRecord(rank, silent=True, note={"seq": 3, "call": call, "mark": "step 0"})


def test_a_collective_of_another_size_is_found() -> None:
    calls = ["all_gather_single float32[8] float32[2]"] * 3 + ["all_gather_single bfloat16[8] bfloat16[2]"]
    found = judge(ModeRecord("mode", 1.0, tuple(_stuck(rank, call) for rank, call in enumerate(calls))))
    assert (found.named, found.layer) == ((3,), "framework")
    assert "entered different collectives" in found.message


def test_groups_may_differ_in_what_they_do() -> None:
    calls = ["all_reduce float32[2] among 0,1"] * 2 + ["all_reduce float32[9] among 2,3"] * 2
    found = judge(ModeRecord("mode", 1.0, tuple(_stuck(rank, call) for rank, call in enumerate(calls))))
    assert "entered different collectives" not in found.message
    calls[3] = "broadcast float32[9] among 2,3"
    found = judge(ModeRecord("mode", 1.0, tuple(_stuck(rank, call) for rank, call in enumerate(calls))))
    assert "rank 3 entered broadcast" in found.message
    assert 0 not in found.named and 1 not in found.named


@pytest.mark.parametrize("bad", (0, 1))
def test_of_a_sum_that_one_rank_alone_holds_any_share_may_be_wrong(bad: int) -> None:
    ranks = [records.right(rank) for rank in range(3)]
    ranks[bad] = records.wrong(bad, stage="grad")
    assert _named(*ranks) == (bad,)
    (ranks[bad].result or {})["faults"][0]["summed"] = True
    assert _named(*ranks) == ()


def test_a_message_of_another_size_may_be_wrong_at_either_end() -> None:
    log = "terminate called after throwing an instance of 'gloo::EnforceNotMet'\n  what():  [enforce fail at "
    log += "pair.cc:456] op.preamble.length <= op.nbytes. 4096 vs 64"
    ended = RankRecord(0, exit_signal=signal.SIGABRT, ended_at=1.0, log=log)
    found = judge(ModeRecord("ddp", 1.0, (ended, _failed(1, "victim", "Connection closed by peer"))))
    assert (found.state, found.named) == ("crashed", ())
    assert "rank 0 got a message of a different size than it expected" in found.message


@pytest.mark.parametrize(
    ("marks", "named"),
    [
        (("backward", "mean", "backward"), (1,)),
        (("mean", "mean", "backward"), ()),  # another one had gone on as well
        (("mean", "mean", "mean"), ()),
        (("backward", "mean"), ()),
    ],
)
def test_who_alone_went_on_before_a_message_of_another_size_left_something_out(
    marks: tuple[str, ...], named: tuple[int, ...]
) -> None:
    log = "  what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 4096 vs 64"
    found = judge(
        ModeRecord("ddp", 1.0, tuple(records.at(rank, mark, log * (rank == 1)) for rank, mark in enumerate(marks)))
    )
    assert (found.state, found.named, found.layer) == ("crashed", named, "framework"), found.message
    assert ("it left something out" in found.message) == (len(named) == 1)


@pytest.mark.parametrize(
    ("number", "layer", "words"),
    [
        (signal.SIGUSR1, "", "from outside: by somebody, a batch system"),
        (signal.SIGXCPU, "configuration", "its limit of CPU time does this (ulimit -t)"),
        (signal.SIGXFSZ, "configuration", "its limit of file size does this (ulimit -f)"),
        (signal.SIGSYS, "configuration", "a filter of system calls"),
        (signal.SIGALRM, "framework", "was ended by signal 14 (SIGALRM)"),
    ],
)
def test_what_a_signal_tells_of_who_sent_it(number: signal.Signals, layer: str, words: str) -> None:
    result = judge(ModeRecord("mode", 1.0, (records.right(0), RankRecord(1, exit_signal=number, ended_at=1.0))))
    assert (result.named, result.layer) == ((1,), layer), result.message
    assert words in result.message


@pytest.mark.parametrize(
    ("mark", "layer"), [("forming the process group", "configuration"), ("all_reduce", "collectives")]
)
@pytest.mark.parametrize("many", (1, 2))
def test_ranks_that_do_not_meet_have_other_addresses_or_settings(mark: str, layer: str, many: int) -> None:
    stack = '  File "/torch/distributed/distributed_c10d.py", line 9 in init_process_group'
    waiting = [
        RankRecord(rank, silent=True, process_state="S", stack=stack, note={"mark": mark, "seq": 1})
        for rank in range(many)
    ]
    gone = [] if many == 2 else [RankRecord(1, result={"state": "crashed", "kind": "victim", "message": "closed"})]
    result = judge(ModeRecord("start", 1.0, (*waiting, *gone)))
    assert (result.state, result.layer) == ("crashed", layer), result.message


@pytest.mark.parametrize(
    ("function", "named", "layer"), [("new_group", (), "framework"), ("all_reduce", (0, 1), "collectives")]
)
def test_ranks_that_wait_for_a_new_group_are_not_to_blame_for_it(
    function: str, named: tuple[int, ...], layer: str
) -> None:
    file = '  File "/torch/distributed/distributed_c10d.py", line 9 in'
    stack = f"{file} _new_process_group_helper\n{file} {function}"
    waiting = [RankRecord(rank, silent=True, process_state="S", stack=stack, note={"seq": 3}) for rank in (0, 1)]
    other = RankRecord(2, silent=True, process_state="S", note={"seq": 5}, stack=f"{file} all_reduce")
    result = judge(ModeRecord("subgroups", 1.0, (*waiting, other)))
    assert (result.named, result.layer) == (named, layer), result.message


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        (
            ("mean, all_reduce float32[]", "all_reduce float32[]"),
            ("mean, all_reduce float32[]", "broadcast int64[2]"),
            (1,),
        ),
        # It did what it announced, but had left out what the other still does.
        (("mean, all_reduce float32[]", "all_reduce float32[]"), ("backward", "all_gather float32[8]"), ()),
    ],
)
def test_what_was_announced_decides_between_two_ranks_at_the_same_step(
    one: tuple[str, str], other: tuple[str, str], named: tuple[int, ...]
) -> None:
    found = judge(ModeRecord("fsdp2", 1.0, (records.entered(0, *one), records.entered(1, *other))))
    assert (found.state, found.named) == ("crashed", named), found.message
    assert "entered different collectives" in found.message


def test_who_went_on_after_an_exchange_with_one_rank_has_left_nothing_out() -> None:
    log = "  what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 4096 vs 64"
    ahead = records.at(1, "reduce", log)
    others = [records.at(rank, "broadcast") for rank in (0, 2)]
    others[0].note["call"] = "broadcast float32[4]"
    found = judge(ModeRecord("one-to-all", 1.0, (others[0], ahead, others[1])))
    assert found.named == (), found.message
    assert "left something out" not in found.message
    assert "it is not clear" in found.message


def test_of_two_ranks_in_different_collectives_the_words_say_that_it_cannot_be_told() -> None:
    ranks = (
        records.entered(0, "mean", "all_reduce float32[]"),
        records.entered(1, "backward", "all_gather float32[8]"),
    )
    found = judge(ModeRecord("fsdp2", 1.0, ranks))
    assert found.named == ()
    assert "it is not clear which of them is wrong" in found.message


def test_a_limit_of_the_machine_is_told_with_the_rank_that_met_it() -> None:
    met = _failed(1, "limit", "OSError: [Errno 24] Too many open files")
    ranks = (_failed(0, "victim", "OtherRankFailed: rank 1 failed"), met)
    found = judge(ModeRecord("checkpoint", 1.0, ranks, machine="no more files could be opened"))
    assert (found.named, found.layer) == ((1,), "configuration"), found.message
    assert "no more files could be opened; rank 1: OSError" in found.message
    assert judge(ModeRecord("checkpoint", 1.0, (met, met), machine="no more files")).named == ()


def test_without_trouble_of_the_machine_a_limit_is_configuration_and_its_rank_named() -> None:
    ranks = (
        _failed(0, "victim", "Connection closed by peer"),
        _failed(1, "limit", "RuntimeError: can't start new thread"),
    )
    found = judge(ModeRecord("ddp", 1.0, ranks))
    assert (found.named, found.layer) == ((1,), "configuration"), found.message


def test_what_one_rank_alone_got_wrong_from_another_may_be_wrong_at_either_end() -> None:
    fault = {"stage": "value", "step": 0, "turn": 0, "name": "tokens", "words": "differ", "origins": [2]}
    bad = RankRecord(1, result={"state": "fail", "faults": [fault]})
    found = judge(ModeRecord("expert-parallel", 1.0, (records.right(0), bad, records.right(2))))
    assert found.named == (1, 2)
    assert "what rank 2 sent is wrong at rank 1; it is not clear at which end or on the way" in found.message
