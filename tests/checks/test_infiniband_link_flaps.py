"""InfiniBand links that come and go; the lines are constructed from drivers/infiniband/core/cache.c."""

from __future__ import annotations

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import Capture, CaptureHost
from rocdoctor.model.evidence import Known
from rocdoctor.model.facts import Kernel, KernelLog, LogEvent, Machine
from tests.kit import judge, k, machine, severities, states

NAME = "infiniband-link-flaps"


def of(*events: LogEvent, complete: bool = True) -> Machine:
    return machine(kernel=Kernel(log=k(KernelLog("run dmesg", complete, events))))


def state(
    word: str, time_s: float, device: str = "mlx5_0", age_s: float = 3600.0, during_resume: bool = False
) -> LogEvent:
    values: dict[str, str | int | float] = {"device": device, "port": 1, "state": word}
    return LogEvent("infiniband-port-state", 1, word, None, time_s, age_s, during_resume=during_resume, values=values)


def test_repeated_drops_of_a_running_link_warn() -> None:
    events = [state("ACTIVE", 50), state("DOWN", 9000), state("ACTIVE", 9009), state("DOWN", 9900)]
    (verdict,) = judge(NAME, of(*events))
    assert verdict.finding is not None
    assert (verdict.finding.severity, verdict.finding.confidence) == ("warning", "possible")
    assert "mlx5_0/1 went down twice while running" in verdict.finding.message


def test_one_drop_or_old_ones_are_a_note() -> None:
    assert severities(judge(NAME, of(state("ACTIVE", 50), state("DOWN", 9000)))) == ["info"]
    often = ((400, "DOWN"), (409, "ACTIVE"), (500, "DOWN"))
    old = [state(word, at, age_s=400_000.0) for at, word in ((50, "ACTIVE"), *often)]
    assert severities(judge(NAME, of(*old))) == ["info"]


def test_each_port_counts_by_itself() -> None:
    both = [state(word, at, device) for at, word in ((50, "ACTIVE"), (9000, "DOWN")) for device in ("mlx5_0", "mlx5_1")]
    assert severities(judge(NAME, of(*both))) == ["info", "info"]


def test_the_boot_a_resume_and_a_port_that_never_was_up_pass() -> None:
    assert states(judge(NAME, of(state("ACTIVE", 20), state("DOWN", 30), state("ACTIVE", 40)))) == ["pass"]
    assert states(judge(NAME, of(state("ACTIVE", 20), state("DOWN", 9000, during_resume=True)))) == ["pass"]
    assert states(judge(NAME, of(state("DOWN", 9000), state("DOWN", 9900)))) == ["pass"]


def test_a_log_that_begins_later_cannot_say_that_there_were_none() -> None:
    assert states(judge(NAME, of(complete=False))) == ["unknown"]


def test_lines_of_a_syslog_in_a_folder_are_read() -> None:
    lines = [
        "Jan  5 10:00:00 n1 kernel: [ 4000.100000] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link ACTIVE",
        "Jan  5 11:00:00 n1 kernel: [ 7600.100000] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link DOWN",
        "Jan  5 11:00:09 n1 sshd[71]: Accepted publickey for root",
        "Jan  5 11:00:10 n1 kernel: [ 7610.100000] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link ACTIVE",
        "Jan  5 11:20:00 n1 kernel: [ 8800.100000] mlx5_core 0000:1a:00.0 mlx5_0: Port: 1 Link DOWN",
    ]
    question = "read /var/log/syslog"
    answer = Answer(question, "ok", "\n".join(lines).encode(), complete=False)
    found = collect(CaptureHost(Capture({}, "", {question: answer}), "a test"))
    assert isinstance(found.kernel.log, Known)
    assert severities(judge(NAME, found)) == ["warning"]
