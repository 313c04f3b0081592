"""Another user says how long and how many the things are that root looks at: each has a measure, whatever it is."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from rocdoctor.host.live import (
    folder_names,
    gpu_holders,
    interpreter,
    libraries,
    process_root_questions,
    run_program,
)
from rocdoctor.host.live.code_read import CodeReader
from rocdoctor.host.live.libraries import Libraries, linked
from rocdoctor.host.live.process_root import listed
from rocdoctor.host.live.processes import QUICK, open_nodes
from rocdoctor.host.live.programs import interpreter_environment
from rocdoctor.host.live.python_code import read_by_python
from rocdoctor.host.live.quick_questions import look
from rocdoctor.host.live.run_program import Loading, run_bounded
from rocdoctor.host.live.trust import Weakness
from rocdoctor.host.live.trusted_content import entries
from rocdoctor.host.live.user_mounts import UserMounts
from rocdoctor.host.probe.interpreter import elf_sections
from rocdoctor.model.lazy_re import regex
from tests.host.live.kit import elf_file, program_file

pytestmark = pytest.mark.live
_MOST_BYTES = 64 << 20  # of memory, for any one of these
_FOLDERS, _LIBRARY = 29, 1


def _elf_of_one_text(path: Path, tag: int, text: bytes, times: int) -> str:
    """An ELF file all of whose tags lead to places in the same text."""
    start = 64 + 2 * 56
    rows = [(tag, at % 7) for at in range(times)]
    dynamic = b"".join(struct.pack("<QQ", *row) for row in [(5, start), (10, len(text)), *rows, (0, 0)])
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    whole = start + len(text) + len(dynamic)
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, whole, whole, 4096)
    place = start + len(text)
    segments += struct.pack("<IIQQQQQQ", 2, 6, place, place, place, len(dynamic), len(dynamic), 8)
    path.write_bytes(head + segments + text + dynamic)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("tag", [_FOLDERS, _LIBRARY])
def test_a_program_that_names_one_long_text_again_and_again_is_refused(tmp_path: Path, tag: int) -> None:
    """4,000 tags and a megabyte of folders are thousands of millions of folders."""
    program = _elf_of_one_text(tmp_path / "python", tag, b":a" * 500_000 + b"\0", 40)
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="more libraries than can be looked for"):
            list(Libraries(str(tmp_path / "no-cache")).weak_of(program))
        assert tracemalloc.get_traced_memory()[1] < _MOST_BYTES
    finally:
        tracemalloc.stop()


def test_names_far_behind_in_the_table_of_texts_are_read(tmp_path: Path) -> None:
    """The names of symbols stand in the same table, and large libraries have megabytes of them."""
    symbols = b"symbol\0" * 300_000
    start = 64 + 2 * 56
    text = b"\0" + symbols + b"libfar.so\0"
    rows = [(5, start), (10, len(text)), (1, 1 + len(symbols)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *row) for row in rows)
    whole, place = start + len(text) + len(dynamic), start + len(text)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    segments = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, whole, whole, 4096)
    segments += struct.pack("<IIQQQQQQ", 2, 6, place, place, place, len(dynamic), len(dynamic), 8)
    (tmp_path / "large").write_bytes(head + segments + text + dynamic)
    found = linked(str(tmp_path / "large"))
    assert found is not None
    assert found.names == ("libfar.so",)


def test_names_times_folders_have_an_end(tmp_path: Path) -> None:
    folders = ":".join(f"/nowhere/{number}" for number in range(2000))
    elf_file(tmp_path / "python", [f"lib{number}.so" for number in range(2000)], folders)
    with pytest.raises(OSError, match="more libraries than can be looked for"):
        list(Libraries(str(tmp_path / "no-cache")).weak_of(str(tmp_path / "python")))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_does_not_look_up_what_a_users_program_names(shared: Path) -> None:
    program = _elf_of_one_text(shared / "program", _FOLDERS, b":a" * 500_000 + b"\0", 40)
    os.chown(program, 65534, 65534)
    assert [one.uid for one in CodeReader(("/usr/bin",)).weak(program)] == [65534]


def _environment(folder: Path) -> Path:
    packages = folder / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    program_file(folder / "bin/python", "")
    return packages


@pytest.mark.parametrize("case", ["lines", "imports", "files", "mapped", "homes"])
def test_what_an_environment_names_has_an_end(tmp_path: Path, case: str) -> None:
    """Ten such files of a megabyte take gigabytes, and hours."""
    packages = _environment(tmp_path)
    if case == "lines":
        (packages / "x.pth").write_text("".join(f"{number}\n" for number in range(100_000)))
    elif case == "imports":
        (packages / "x.pth").write_text("import " + ",".join(f"a{number}" for number in range(100_000)))
    elif case == "files":
        for number in range(1500):
            (packages / f"{number}.pth").write_text("")
    elif case == "mapped":
        mapping = ",".join(f"'/x/{number}'" for number in range(20_000))
        (packages / "__editable___x_finder.py").write_text(f"M = [{mapping}]\n")
    else:
        homes = "".join(f"home = /x/{number}/bin\n" for number in range(20_000))
        (tmp_path / "pyvenv.cfg").write_text(f"{homes}include-system-site-packages = false\n")
    tracemalloc.start()
    try:
        with pytest.raises(OSError) as caught:
            list(read_by_python(str(tmp_path / "bin/python"), "import"))
        assert caught.value.errno == errno.E2BIG
        assert tracemalloc.get_traced_memory()[1] < _MOST_BYTES
    finally:
        tracemalloc.stop()


def test_a_line_that_stands_a_hundred_thousand_times_is_one_folder(tmp_path: Path) -> None:
    packages = _environment(tmp_path)
    (packages / "x.pth").write_text("/opt/mine\n" * 100_000)
    assert list(read_by_python(str(tmp_path / "bin/python"), "start")).count("/opt/mine") < 3


def test_whoever_has_many_files_open_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may have millions open, and it takes minutes to look at them: nobody else is kept waiting for it."""
    monkeypatch.setattr(gpu_holders, "_GPU_NODE", regex(r"/dev/full\Z"))
    monkeypatch.setattr("rocdoctor.host.live.processes._COMMON", regex(r"/dev/null\Z"))
    monkeypatch.setattr(gpu_holders, "_FIRST_FILES", 4)
    order: list[tuple[Path, int]] = []

    def nodes(folder: Path, most: int) -> dict[str, list[str]]:
        order.append((folder, most))
        return open_nodes(folder, most)

    monkeypatch.setattr(gpu_holders, "open_nodes", nodes)
    monkeypatch.setattr(gpu_holders, "_ALL_WALKS_S", 60.0)
    gpu_holders.answer_holders("holders gpu")
    sizes = [most for _, most in order]
    assert sizes == sorted(sizes)
    assert 4 in sizes

    monkeypatch.setattr(gpu_holders, "_ALL_WALKS_S", -1.0)
    order.clear()
    answer = gpu_holders.answer_holders("holders gpu")
    assert order == []
    assert answer.text.startswith("hidden ")  # nobody knows who else has one


def test_files_of_a_container_are_read_to_a_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sign is looked at for names and secrets, which takes a second for a megabyte."""
    monkeypatch.setattr(process_root_questions, "_MOST_BYTES", 3)
    monkeypatch.setattr(process_root_questions, "_MOST_ALL_BYTES", 8)
    process_root_questions._read_bytes.clear()
    question = f"read /proc/{os.getpid()}/root/etc/passwd"
    told = [look(question) for _ in range(3)]
    assert [(len(one.data), one.truncated) for one in told] == [(3, True), (3, True), (0, True)]


def test_a_folder_of_a_container_is_listed_to_a_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr("rocdoctor.host.live.process_root._MAX_NAMES", 5)
    assert len(listed(f"/proc/{os.getpid()}/root{tmp_path}/*")) == 5


def test_an_interpreter_that_floods_is_cut_to_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_program, "_MAX_PROBE_BYTES", 200_000)
    program_file(tmp_path / "python", "while :; do echo 0123456789012345678901234567890123456789; done\n")
    tool = run_bounded("run x", [str(tmp_path / "python")], 30.0)
    asked = run_bounded("python x", [str(tmp_path / "python")], 30.0, loading=Loading(30.0))
    for one, most in ((tool, 256 << 10), (asked, 200_000)):
        assert one.truncated
        assert 100_000 < len(one.data) <= most


def test_places_of_ranks_are_found_among_many_variables() -> None:
    # Of a name given twice the first counts, as getenv has it.
    code = (
        "import os; os.execve('/bin/sleep', ['sleep', '60'], {'X_RANK': '7', 'RANK': '3', 'LOCAL_RANK': '1', 'A': ''})"
    )
    # The pipe is closed at the moment of execve.
    done, open_till_then = os.pipe()
    os.set_inheritable(open_till_then, True)
    keep = "import fcntl, os, sys; fcntl.fcntl(int(sys.argv[1]), fcntl.F_SETFD, fcntl.FD_CLOEXEC); "
    child = subprocess.Popen([sys.executable, "-c", keep + code, str(open_till_then)], pass_fds=[open_till_then])
    os.close(open_till_then)
    try:
        os.read(done, 1)
        os.close(done)
        rows = QUICK["ranks"](f"ranks /proc/{child.pid}").text.splitlines()
        assert f"{child.pid} RANK=3 LOCAL_RANK=1" in rows
    finally:
        child.kill()
        child.wait(30)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_relative_path_counts_from_where_children_start(shared: Path) -> None:
    """They start in the root folder: ``tmp/x/cc`` is a compiler in a folder that everybody can make there."""
    os.chown(shared, 65534, 65534)
    values = {"CC": f"{shared}/cc".removeprefix("/"), "CXX": "tools/cc", "PATH": "/usr/bin"}
    kept = interpreter_environment(values)
    assert "CC" not in kept
    assert kept["CXX"] == "tools/cc"


def test_an_interpreter_on_a_dead_server_is_no_reason_to_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(interpreter, "DEADLINE_S", 0.05)
    monkeypatch.setattr(interpreter, "find_interpreter", lambda which: ended.wait(30) and None)
    try:
        path, why = interpreter.interpreter_of_root("/dead/bin/python")
        assert not ended.is_set()
    finally:
        ended.set()
    assert path is None
    assert why.startswith("/dead/bin/python: no answer within")


def test_a_dead_folder_in_an_environment_is_no_reason_to_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(interpreter, "DEADLINE_S", 0.05)
    monkeypatch.setattr(interpreter, "privileged", lambda: True)
    monkeypatch.setattr(interpreter, "weak_interpreter", lambda *_, **__: ended.wait(30) and [])
    try:
        why = interpreter.refused_to_root("/env/bin/python")
        assert not ended.is_set()
    finally:
        ended.set()
    assert why.startswith("root does not run /env/bin/python: root runs only what nobody else can change, and one of")


def test_a_large_environment_is_looked_through_as_long_as_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each folder is an answer: it takes six times as long as one may."""
    asked = threading.Semaphore(0)
    monkeypatch.setattr(interpreter, "DEADLINE_S", 0.25)
    monkeypatch.setattr(interpreter, "privileged", lambda: True)

    def judged(*_: object, **__: object) -> list[object]:
        for _each in range(15):
            entries(str(tmp_path))
            asked.acquire(timeout=0.1)
        return []

    monkeypatch.setattr(interpreter, "weak_interpreter", judged)
    assert interpreter.refused_to_root("/env/bin/python") == ""


def test_a_folder_with_names_without_end_is_not_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(folder_names, "MOST_NAMES", 4)
    assert len(entries(str(tmp_path))) == 4
    told = iter(range(1000))
    monkeypatch.setattr(os, "scandir", lambda folder: contextlib.nullcontext(told))
    with pytest.raises(OSError, match="too many files"):
        entries(str(tmp_path))
    assert next(told) == 5


def test_libraries_longer_than_can_be_read_hold_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sparse library of a terabyte costs its owner nothing, and whoever reads it through an hour."""
    monkeypatch.setattr(libraries, "_MOST_SEARCHED", 1 << 20)
    sparse, short = tmp_path / "libsparse.so", tmp_path / "libshort.so"
    short.write_bytes(b"\0libone.so\0")
    with sparse.open("wb") as file:
        file.truncate(2 << 20)
    read: list[str] = []
    named_in = libraries._named_in

    def noted(path: str, names: Collection[str]) -> list[str]:
        read.append(path)
        return named_in(path, names)

    monkeypatch.setattr(libraries, "_named_in", noted)
    assert libraries._named_in_all([str(short)], {"libone.so", "libtwo.so"}) == {"libone.so"}
    assert libraries._named_in_all([str(short), str(sparse)], {"libone.so", "libtwo.so"}) == {"libone.so", "libtwo.so"}
    assert read == [str(short)] * 2


def test_enough_weaknesses_end_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.touch()
    read = iter(range(10_000))

    def places(*_: object) -> Iterator[Weakness]:
        return (Weakness(f"/env/{number}", 1000, "is theirs") for number in read)

    monkeypatch.setattr(CodeReader, "_read", places)
    monkeypatch.setattr("rocdoctor.host.live.code_read.weaknesses", lambda *_, **__: [])
    assert len(interpreter.weak_interpreter(str(program), most=100)) == 100
    assert next(read) == 100
    asked: list[float] = []
    monkeypatch.setattr(interpreter, "privileged", lambda: True)

    def judged(path: str, most: float) -> list[Weakness]:
        asked.append(most)
        return []

    monkeypatch.setattr(interpreter, "weak_interpreter", judged)
    interpreter.refused_to_root(str(program))
    assert asked == [100]


def test_a_table_of_sections_without_end_is_not_held(tmp_path: Path) -> None:
    """65,535 rows of 65,535 bytes are 4 GiB, and a sparse file has them."""
    path = tmp_path / "torch.so"
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 65535, 65535, 1)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(8 << 30)
    tracemalloc.start()
    try:
        elf_sections(str(path))
        assert tracemalloc.get_traced_memory()[1] < _MOST_BYTES
    finally:
        tracemalloc.stop()


def test_mounts_are_looked_up_by_their_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user may mount thousands, and each folder that is judged asks for those in it."""
    told = tmp_path / "mountinfo"
    rows = (f"{at} 1 0:{at} / /m/{at % 9}/{at} rw - fuse.x x rw,user_id=1000" for at in range(40, 540))
    told.write_text("".join(f"{row}\n" for row in rows))
    mounts = UserMounts(str(told), "/nonexistent", "/nonexistent")
    assert mounts.names_in("/m/4") == {str(at) for at in range(40, 540) if at % 9 == 4}
    asked: list[str] = []
    dirname = os.path.dirname

    def noted(path: str) -> str:
        asked.append(path)
        return dirname(path)

    monkeypatch.setattr(os.path, "dirname", noted)
    assert mounts.names_in("/m/5", again=False)
    assert len(asked) < 50, "not one for each mount"
