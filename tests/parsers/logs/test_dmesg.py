"""The frame of a kernel log: prefixes, boots, loads, suspend. Lines transcribed and shortened from real logs."""

from __future__ import annotations

import pytest

from rocdoctor.knowledge.messages.kernel_log import kernel_signatures
from rocdoctor.parsers.logs import dmesg
from rocdoctor.parsers.logs.dmesg import KernelLogText


def parse(text: str) -> KernelLogText:
    return dmesg.parse(text, kernel_signatures())


RESET = "amdgpu 0000:dd:00.0: amdgpu: GPU reset begin!"


@pytest.mark.parametrize(
    ("line", "time_s", "wall"),
    [
        (f"[   12.345678] {RESET}", 12.345678, None),
        (f"[   12.345678][  T123] {RESET}", 12.345678, None),
        (f"[   12.345678 <    0.000120>] {RESET}", 12.345678, None),
        (f"<3>[   12.345678] {RESET}", 12.345678, None),
        (f"kern  :err   : [   12.345678] {RESET}", 12.345678, None),
        (f"> [   12.345678] {RESET}", 12.345678, None),
        (f"    > > [   12.345678] {RESET}\r", 12.345678, None),
        (f"17:[   12.345678] {RESET}", 12.345678, None),
        (f"\x1b[32m[   12.345678] \x1b[0m\x1b[31m{RESET}\x1b[0m", 12.345678, None),
        (f"[Fri Nov 20 10:00:00 2026] {RESET}", None, "Fri Nov 20 10:00:00 2026"),
        (f"[Nov20 10:00] {RESET}", None, "Nov20 10:00"),
        (f"2026-11-20T10:00:00,123456+00:00 {RESET}", None, "2026-11-20T10:00:00,123456+00:00"),
        (f"Nov 20 10:00:00 node7 kernel: {RESET}", None, "Nov 20 10:00:00"),
        (f"Nov 20 10:00:00.123456 node7.example.org kernel: {RESET}", None, "Nov 20 10:00:00.123456"),
        (f"2026-11-20T10:00:00+0100 node7 kernel: {RESET}", None, "2026-11-20T10:00:00+0100"),
        (f"Fri 2026-11-20 10:00:00 UTC node7 kernel: {RESET}", None, "Fri 2026-11-20 10:00:00 UTC"),
        (f"1795168800.123456 node7 kernel: {RESET}", None, "1795168800.123456"),
        (f"[   12.345678] node7 kernel: {RESET}", 12.345678, None),
        (f"Nov 20 10:00:00 node7 kernel: [   12.345678] {RESET}", 12.345678, "Nov 20 10:00:00"),
        (RESET, None, None),
    ],
)
def test_the_prefix_of_every_tool_is_taken_off(line: str, time_s: float | None, wall: str | None) -> None:
    log = parse(line + "\n")
    assert [event.text for event in log.events] == [RESET]
    event = log.events[0]
    assert (event.kind, event.bdf, event.line, event.time_s) == ("gpu-reset-begin", "0000:dd:00.0", 1, time_s)
    assert log.lines[0].subsystem == "amdgpu"


def test_human_readable_times_add_up() -> None:
    log = parse(f"[Nov20 10:00] ACPI: fine\n[  +1.500000] {RESET}\n[  +0.250000] usb 1-1: new\n")
    assert log.events[0].age_s == 0.25


def test_messages_of_services_in_a_journal_are_no_kernel_messages() -> None:
    log = parse(
        "Nov 20 10:00:00 node7 kernel: usb 1-1: new device\n"
        "Nov 20 10:00:01 node7 monitor[812]: saw GPU reset begin! in the log\n"
        "Nov 20 10:00:02 node7 kernel: python3[4242]: segfault at 0 ip 00007f1 sp 00007f2 error 4 in libfoo.so[7f+1]\n"
    )
    assert [(event.kind, event.line) for event in log.events] == [("process-segfault", 3)]


def test_a_command_that_was_typed_is_no_message() -> None:
    assert parse("$ sudo dmesg | grep 'GPU reset begin!'\nuser@box:~# dmesg | grep 'GPU reset begin!'\n").events == ()


@pytest.mark.parametrize(
    "text",
    [
        "dmesg: read kernel buffer failed: Operation not permitted\n",
        "No journal files were opened due to insufficient permissions.\n",
    ],
)
def test_a_refusal_is_said_and_is_not_an_empty_log(text: str) -> None:
    log = parse(text)
    assert log.refused == text.strip()
    assert (log.lines, log.complete) == ((), False)


def whole_boot(extra: str = "") -> str:
    filler = "".join(f"[    {n / 100:.6f}] pci_bus 0000:{n:02x}: resource 4\n" for n in range(150))
    return "[    0.000000] Linux version 6.8.0-50-generic (buildd@host) #51\n" + filler + extra


def test_only_a_log_from_the_first_words_on_is_complete() -> None:
    log = parse(whole_boot())
    assert (log.extent, log.complete) == ("boot", True)
    assert parse(whole_boot().partition("\n")[2]).extent == "tail"
    assert parse(whole_boot()[:300]).extent == "excerpt"
    assert not parse(whole_boot("[    9.0] ** 12 printk messages dropped **\n")).complete


def test_two_boots_in_one_file_are_told_apart() -> None:
    log = parse(whole_boot(f"[  100.000000] {RESET}\n") + whole_boot("[   50.000000] usb 1-1: new\n"))
    (event,) = log.of("gpu-reset-begin")
    assert (event.before_driver_load, event.age_s) == (True, None)


LOADS = f"""[    5.000000] [drm] amdgpu kernel modesetting enabled.
[    5.001000] amdgpu: Virtual CRAT table created for CPU
[  100.000000] {RESET}
[  200.000000] amdgpu: unknown parameter 'gtt_size' ignored
[  200.001000] [drm] amdgpu kernel modesetting enabled.
[  200.002000] [drm] amdgpu version: 6.10.5
[  200.003000] amdgpu: Virtual CRAT table created for CPU
[  230.000000] amdgpu 0000:1b:00.0: amdgpu: Fatal error during GPU init
"""


def test_what_stands_before_the_last_driver_load_is_marked() -> None:
    log = parse(LOADS)
    marked = {event.line: event.before_driver_load for event in log.events}
    assert marked == {1: True, 2: True, 3: True, 4: False, 5: False, 6: False, 7: False, 8: False}
    assert [event.age_s for event in log.of("gpu-reset-begin")] == [130.0]


def test_the_load_of_another_driver_makes_nothing_old() -> None:
    log = parse(
        "[  5.000000] [drm] amdgpu kernel modesetting enabled.\n"
        "[  6.000000] amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n"
        "[  9.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  565.57.01  Thu Oct 10 2024\n"
    )
    assert [event.before_driver_load for event in log.events] == [False, False, False]


def test_messages_during_resume_are_marked() -> None:
    log = parse(
        "[  10.000000] PM: suspend entry (deep)\n[  11.000000] amdgpu 0000:03:00.0: amdgpu: MODE1 reset\n"
        "[  12.000000] PM: suspend exit\n[  13.000000] amdgpu 0000:03:00.0: amdgpu: MODE1 reset\n"
    )
    assert [event.during_resume for event in log.events] == [True, False]


def test_links_that_go_down_after_they_were_up_are_counted() -> None:
    port = "mlx5_core 0000:9e:00.0 ens1np0: Link "
    log = parse(
        "".join(f"[ {n}.000000] {port}{word}\n" for n, word in enumerate(("down", "up", "down", "up", "down"), 1))
    )
    assert log.link_flaps() == {"ens1np0": 2}


def test_a_storm_is_counted_but_not_kept() -> None:
    log = parse(f"[ 1.000000] {RESET}\n" * 5000)
    assert len(log.events) == dmesg.MAX_EVENTS_OF_A_KIND


def test_control_characters_never_reach_the_text() -> None:
    (event,) = parse("[ 1.000000] amdgpu 0000:03:00.0: GPU \x08reset be\x1b]0;evil\x07gin!\x9b31m\n").events
    assert event.text == "amdgpu 0000:03:00.0: GPU reset begin!31m"


@pytest.mark.parametrize(
    "line", ["[99999999999999.1] x", "0000-99-99T99:99:99 x", "Feb 31 25:61:61 h kernel: x", "[Foo99 99:99] x"]
)
def test_impossible_times_give_no_time(line: str) -> None:
    log = parse(f"{line}\n[  +1.000000] {RESET}\n")
    assert [event.age_s for event in log.events] == [None]
