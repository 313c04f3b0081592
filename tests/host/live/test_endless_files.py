"""What root reads to judge an interpreter is chosen by whoever owns it: it may have no end, or no writer."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from rocdoctor.host.live.code_read import CodeReader
from rocdoctor.host.live.python_code import read_by_python
from tests.host.live.kit import program_file

_MOST_BYTES = 64 << 20  # of memory for all that is read of one environment
_SPARSE_BYTES = 512 << 20
_FILES = (
    "pyvenv.cfg",
    "lib/python3.11/site-packages/x.pth",
    "lib/python3.11/site-packages/__editable___x_finder.py",
)
_NEVER = ("no end", "no writer", "huge")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    (tmp_path / "lib/python3.11/site-packages").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    return tmp_path


def _program(environment: Path) -> str:
    program_file(environment / "bin/python", "")
    return str(environment / "bin/python")


def _put(path: Path, what: str) -> None:
    path.unlink(missing_ok=True)
    if what == "no end":
        path.symlink_to("/dev/zero")
    elif what == "no writer":
        os.mkfifo(path)
    else:
        path.touch()
        os.truncate(path, _SPARSE_BYTES)


@pytest.mark.live
def test_a_file_without_measure_is_no_reason_to_wait_or_to_take_memory(environment: Path) -> None:
    """Read as a whole, the first takes all memory, the second never ends."""
    program = _program(environment)
    wrong: list[str] = []
    for name in _FILES:
        path = environment / name
        before = path.read_bytes() if path.exists() else None
        for what in _NEVER:
            _put(path, what)
            tracemalloc.start()
            try:
                list(read_by_python(program, "import"))
                wrong.append(f"{name} with {what} counts as read")
            except OSError as error:
                if str(error.filename) != str(path):
                    wrong.append(f"{name} with {what}: {error}")
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            if peak > _MOST_BYTES:
                wrong.append(f"{name} with {what}: {peak} bytes")
            path.unlink()
        if before is not None:
            path.write_bytes(before)
    assert wrong == []


@pytest.mark.live
def test_what_python_cannot_read_either_is_no_obstacle(environment: Path) -> None:
    packages = environment / "lib/python3.11/site-packages"
    (packages / "folder.pth").mkdir()
    (packages / "gone.pth").symlink_to("nowhere")
    (packages / "plain.pth").write_text("/opt/mine\nimport site\n")
    assert "/opt/mine" in list(read_by_python(_program(environment), "start"))


@pytest.mark.live
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_says_whose_an_endless_environment_is(shared: Path) -> None:
    (shared / "bin").mkdir()
    program = _program(shared)
    os.mkfifo(shared / "pyvenv.cfg")
    os.chown(program, 65534, 65534)
    assert [one.uid for one in CodeReader(("/usr/bin",)).weak(program, "import")] == [65534]
