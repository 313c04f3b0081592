"""Lines about processes of a job; constructed after proc_pid_stat(5), in the form of Linux 6.12."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocdoctor.parsers.system.process_stat import parse_ranks, parse_stats, parse_threads

# Fields 4 to 52: parent 90, 12 threads, started at tick 123456; the last is the exit code.
_FIELDS = "90 100 100 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 12 0 123456 1000 50 " + "0 " * 27


def test_a_name_may_hold_blanks_and_brackets() -> None:
    (one,) = parse_stats(f"100 (python3 (a) b) S {_FIELDS}0")
    assert (one.pid, one.name, one.state, one.parent_pid) == (100, "python3 (a) b", "S", 90)
    assert (one.started_s, one.line) == (1234.56, 1)
    assert one.exit_signal is None
    assert one.exit_status is None


def test_the_end_of_a_zombie_is_its_signal_or_its_status() -> None:
    killed, failed, unknown = parse_stats(f"1 (a) Z {_FIELDS}9\n2 (b) Z {_FIELDS}256\n3 (c) Z {_FIELDS}0")
    assert (killed.exit_signal, killed.exit_status) == (9, None)
    assert (failed.exit_signal, failed.exit_status) == (None, 1)
    assert (unknown.exit_signal, unknown.exit_status) == (None, None)


def test_a_dumped_core_does_not_change_the_signal() -> None:
    (one,) = parse_stats(f"1 (a) Z {_FIELDS}{0x80 | 11}")
    assert one.exit_signal == 11


def test_the_code_of_a_living_process_says_nothing() -> None:
    (one,) = parse_stats(f"1 (a) S {_FIELDS}17")
    assert one.exit_signal is None


def test_threads_with_and_without_a_function() -> None:
    first, second = parse_threads("100 D 2931 amdgpu_fence_wait_any python3\n101 S 7 - pt_autograd 0\nnonsense")
    assert (first.tid, first.state, first.switches, first.wchan) == (100, "D", 2931, "amdgpu_fence_wait_any")
    assert (second.wchan, second.name, second.line) == (None, "pt_autograd 0", 2)


def test_variables_of_ranks() -> None:
    rank, plain, hidden = parse_ranks("100 RANK=0 LOCAL_WORLD_SIZE=4\n101\n102 denied")
    assert rank.values == {"RANK": "0", "LOCAL_WORLD_SIZE": "4"}
    assert (plain.values, plain.denied) == ({}, False)
    assert hidden.denied is True


@given(st.text(alphabet=st.sampled_from("01 9()ZSD-=A_\n\x00é"), max_size=200) | st.text(max_size=100))
def test_no_text_raises(text: str) -> None:
    for form in (text, f"100 (a) S {_FIELDS}{text}", f"1 D 3 {text}", f"5 {text}"):
        parse_stats(form)
        parse_threads(form)
        parse_ranks(form)
