"""What torchrun prints of failed workers: recorded from torch 2.13, shortened."""

from __future__ import annotations

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
    return torchrun_errors(text, joined(job_lines(text)))


def test_the_table() -> None:
    found = parse_torchrun_errors(TEXT)
    assert [(one.rank, one.exit_code, one.pid, one.root, one.final) for one in found.ends] == [
        (0, -15, 19024, False, True),
        (2, -15, 19026, False, True),
        (1, -9, 19025, True, True),
        (None, -9, 19025, False, False),
    ]
    last, agent = found.ends[2:]
    assert (last.local_rank, last.host) == (1, "localhost")
    assert TEXT.splitlines()[last.line - 1].strip().startswith("rank")
    assert (agent.line, agent.local_rank) == (1, 1)


def test_the_table_behind_prefixes_and_wrapped() -> None:
    labelled = "".join(f" 3: {line}\n" for line in TEXT.splitlines())
    stamped = "".join(f"2026-11-21T13:31:07.120Z {line}\n" for line in TEXT.splitlines())
    for text in (labelled, stamped, TEXT.replace("\n", "\r\n")):
        assert [one.rank for one in parse_torchrun_errors(text).ends if one.final] == [0, 2, 1]


def test_an_error_file() -> None:
    (found,) = parse_torchrun_errors("==> attempt_0/1/error.json <==\n" + ERROR_FILE).files
    assert (found.line, found.rank, found.local_rank) == (2, None, 1)
    assert (found.exception, found.message) == ("ValueError", "bad batch: labels")
    assert found.frame == ("/job/t.py", 26, "main") and not found.victim


def test_a_launcher_that_was_stopped() -> None:
    text = (
        "W1121 13:31:06.957 19012 torch/distributed/elastic/agent/api.py:753] Received 15 death signal, shutting "
        "down workers\n"
    )
    assert parse_torchrun_errors(text).stopped_by == "15"


def test_a_sound_job_has_none() -> None:
    found = parse_torchrun_errors("[rank0] step 10 loss 2.1\ndestroy_process_group() was not called\n")
    assert not found.ends and not found.files
