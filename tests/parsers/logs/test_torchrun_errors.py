"""What torchrun prints of failed workers: recorded from torch 2.13, shortened."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rocdoctor.parsers.logs.job_lines import job_lines, joined
from rocdoctor.parsers.logs.torchrun_errors import TorchrunErrors, torchrun_errors
from tests.run_kit import table

TEXT = table((0, -15, 19024), (1, -9, 19025), (2, -15, 19026), root=1)
ERROR_FILE = (
    '{"message": {"message": "ValueError: bad batch: labels", "extraInfo": {"py_callstack": "Traceback (most recent '
    'call last):\\n  File \\"/v/e/__init__.py\\", line 367, in wrapper\\n    return f()\\n  File \\"/job/t.py\\", line '
    '26, in main\\n    raise ValueError()\\nValueError: bad batch: labels\\n", "timestamp": "1795268411"}}}'
)


def parse_torchrun_errors(text: str) -> TorchrunErrors:
    lines = job_lines(text)
    return torchrun_errors(text, lines, joined(lines))


def test_the_table() -> None:
    found = parse_torchrun_errors(TEXT)
    assert [(one.rank, one.exit_code, one.pid, one.root) for one in found.failures] == [
        (0, -15, 19024, False), (2, -15, 19026, False), (1, -9, 19025, True),
    ]  # fmt: skip
    last = found.failures[-1]
    assert (last.local_rank, last.host, last.error_file) == (1, "localhost", None)
    assert TEXT.splitlines()[last.line - 1].strip().startswith("rank")
    (agent,) = found.exits
    assert (agent.line, agent.local_rank, agent.exit_code, agent.pid) == (1, 1, -9, 19025)
    assert agent.time_s == found.failures[0].time_s


def test_the_table_behind_prefixes_and_wrapped() -> None:
    labelled = "".join(f" 3: {line}\n" for line in TEXT.splitlines())
    stamped = "".join(f"2026-11-21T13:31:07.120Z {line}\n" for line in TEXT.splitlines())
    for text in (labelled, stamped, TEXT.replace("\n", "\r\n")):
        assert [one.rank for one in parse_torchrun_errors(text).failures] == [0, 2, 1]


def test_an_error_file() -> None:
    (found,) = parse_torchrun_errors("==> attempt_0/1/error.json <==\n" + ERROR_FILE).files
    assert (found.line, found.local_rank, found.timestamp) == (2, 1, 1795268411)
    assert (found.exception, found.message) == ("ValueError", "bad batch: labels")
    assert found.frame == ("/job/t.py", 26, "main")


def test_a_launcher_that_was_stopped_and_one_that_starts_again() -> None:
    text = (
        "W1121 13:31:06.957 19012 torch/distributed/elastic/agent/api.py:753] Received 15 death signal, shutting "
        "down workers\n"
        "I1121 13:31:09.000000 19012 torch/distributed/elastic/agent/server/api.py:940] [default] Worker group FAILED. "
        "2/3 attempts left; will restart worker group\n"
    )
    found = parse_torchrun_errors(text)
    assert (found.stopped_by, found.stopped_line, found.restarts) == ("15", 1, (2,))


def test_a_sound_job_has_none() -> None:
    found = parse_torchrun_errors("[rank0] step 10 loss 2.1\ndestroy_process_group() was not called\n")
    assert not found.failures and not found.exits and not found.files


HALVES = st.integers(0, len(TEXT)).map(lambda at: TEXT[at:]) | st.integers(0, 300).map(lambda at: ERROR_FILE[:at])


@given(st.text() | HALVES)
@settings(max_examples=150, deadline=None)
def test_any_text_never_raises(text: str) -> None:
    parse_torchrun_errors(text)
    parse_torchrun_errors(ERROR_FILE[: len(text)] + text)
