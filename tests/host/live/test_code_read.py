"""Which files a program that root starts reads as code: each kind with real files, one of them another user's."""

from __future__ import annotations

import glob
import os
import random
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocdoctor.host.live import code_read
from rocdoctor.host.live.code_read import CodeReader
from rocdoctor.host.live.libraries import Libraries, cached_folders, linked
from tests.host.live.kit import elf_file, program_file
from tests.kit import ROOT

NOBODY = 65534
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away"),
]


@dataclass(frozen=True, slots=True)
class Box:
    """A prefix of root's with a folder of programs and one of libraries."""

    root: Path

    @property
    def tool(self) -> Path:
        return self.root / "bin" / "tool"

    def ours(self, name: str, text: str = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def theirs(self, name: str, text: str = "") -> Path:
        path = self.ours(name, text)
        path.chmod(0o755)
        os.chown(path, NOBODY, NOBODY)
        return path

    def script(self, text: str, reader: str = "/bin/sh", name: str = "bin/tool") -> Path:
        program_file(self.ours(name), text, reader)
        return self.root / name

    def elf(self, names: Sequence[str] = (), folders: str = "", name: str = "bin/tool") -> Path:
        elf_file(self.ours(name), names, folders)
        return self.root / name

    def link(self, name: str, target: str) -> Path:
        path = self.ours(name)
        path.unlink()
        path.symlink_to(target)
        return path

    def python(self) -> str:
        """A Python of root's, which is looked at and never run."""
        self.ours("py/lib/python3.11/os.py")
        program_file(self.ours("py/bin/python3"), "")
        return str(self.root / "py/bin/python3")

    def weak(self) -> list[str]:
        reader = CodeReader((str(self.root / "bin"), "/usr/bin", "/bin"))
        return [str(one.path) for one in reader.weak(str(self.tool))]


# kind -> what makes the program, and which file of others (named last) makes it weak
_KINDS: dict[str, tuple[Callable[[Box], object], str]] = {
    "library by $ORIGIN": (lambda box: box.elf(["libx.so.1"], "$ORIGIN/../lib"), "lib/libx.so.1"),
    "library by ${ORIGIN}": (lambda box: box.elf(["libx.so.1"], "/no:${ORIGIN}/lib"), "bin/lib/libx.so.1"),
    "library that is loaded later": (lambda box: box.elf([], f"{box.root}/lib"), "lib/plugin.so"),
    "library for this kind of CPU": (
        lambda box: box.elf(["libx.so.1"], f"{box.root}/lib:{box.root}/lib/glibc-hwcaps/x86-64-v3"),
        "lib/glibc-hwcaps/x86-64-v3/libx.so.1",
    ),
    "library of a library": (
        lambda box: (
            box.elf(["liba.so"], "$ORIGIN/../lib"),
            box.elf(["libb.so"], "$ORIGIN/deep", "lib/liba.so"),
        ),
        "lib/deep/libb.so",
    ),
    "module beside a script": (lambda box: box.script("import json", box.python()), "bin/json.py"),
    "byte code beside a script": (lambda box: box.script("", box.python()), "bin/__pycache__/json.pyc"),
    "package beside a script": (lambda box: box.script("import tools.x", box.python()), "bin/tools/deep/x.py"),
    "module behind the link to a script": (
        lambda box: (box.script("", box.python(), "libexec/cli.py"), box.link("bin/tool", "../libexec/cli.py")),
        "libexec/rsmi.py",
    ),
    "package of the reader": (
        lambda box: box.script("import amdsmi", box.python()),
        "py/lib/python3.11/site-packages/amdsmi/__init__.py",
    ),
    "package by env": (
        lambda box: (
            box.python(),
            box.link("bin/python3", "../py/bin/python3"),
            box.script("", "/usr/bin/env python3"),
        ),
        "py/lib/python3.11/site-packages/six.py",
    ),
    "path that Python adds": (
        lambda box: box.script("sys.path.append(here + '/../share/amd_smi/amdsmi.py')", box.python()),
        "share/amd_smi/amdsmi.py",
    ),
    "file that is sourced": (lambda box: box.script(f". {box.root}/etc/x.conf\n"), "etc/x.conf"),
    "file that is sourced from here": (lambda box: box.script('. "$(dirname "$0")/../lib/x.sh"\n'), "lib/x.sh"),
    "file beside a plain variable": (lambda box: box.script("source $ROCM/lib/x.sh\n"), "lib/x.sh"),
    "file beside a variable": (lambda box: box.script('source "${ROCM}/lib/x.sh"\n'), "lib/x.sh"),
    "program by its path": (lambda box: box.script(f'exec {box.root}/libexec/real "$@"\n'), "libexec/real"),
    "program by name": (lambda box: box.script("if helper --all; then echo; fi\n"), "bin/helper"),
    "program by name in Python": (lambda box: box.script("run(['helper', '-x'])", box.python()), "bin/helper"),
    "program after a pipe": (lambda box: box.script("cat /etc/passwd | helper\n"), "bin/helper"),
    "program behind a variable that is set for it": (lambda box: box.script("LC_ALL=C helper -x\n"), "bin/helper"),
    "program that another one is told to start": (lambda box: box.script("timeout -k 1 5 helper\n"), "bin/helper"),
    "program of a list": (lambda box: box.script("for x in no helper; do $x; done\n"), "bin/helper"),
    "program of a case": (lambda box: box.script("case $1 in\n  -x) helper a;;\nesac\n"), "bin/helper"),
    "program behind a text with #": (lambda box: box.script("echo 'a # b'; helper\n"), "bin/helper"),
    "file that is sourced by name": (lambda box: box.script(". x.conf\n"), "bin/x.conf"),
    "file below a variable": (lambda box: box.script(f'D={box.root}/etc\n. "${{D}}/x.conf"\n'), "etc/x.conf"),
    "file below a default": (lambda box: box.script(f". ${{D:-{box.root}/etc}}/x.conf\n"), "etc/x.conf"),
    "files of a folder": (
        lambda box: (box.ours("etc/a.conf"), box.script(f"for f in {box.root}/etc/*.sh; do . $f; done\n")),
        "etc/x.sh",
    ),
    "module in a folder that Python is told": (
        lambda box: (box.ours("share/a"), box.script(f"sys.path.append('{box.root}/share')", box.python())),
        "share/amdsmi.py",
    ),
    "package in a folder that Python is told": (
        lambda box: (
            box.ours("share/amdsmi/__init__.py"),
            box.script(f"sys.path.append('{box.root}/share')", box.python()),
        ),
        "share/amdsmi/main.py",
    ),
    "module beside a script of two languages": (
        lambda box: box.script(f'exec {box.python()} "$0"\n'),
        "bin/json.py",
    ),
    "program of a program": (
        lambda box: (box.script("second\n"), box.script("echo $(helper)\n", name="bin/second")),
        "bin/helper",
    ),
    "reader of a reader": (
        lambda box: (box.script("", f"{box.root}/bin/second"), box.script("", f"{box.root}/lib/third", "bin/second")),
        "lib/third",
    ),
    "one of several Pythons": (
        lambda box: (
            box.ours("env/versions/3.11/lib/python3.11/os.py"),
            box.script("", name="env/bin/python3"),
            box.script("", f"{box.root}/env/bin/python3"),
        ),
        "env/versions/3.11/lib/python3.11/site-packages/x.py",
    ),
}


def test_each_kind_of_file_that_a_program_reads_counts(shared: Path) -> None:
    wrong = []
    for number, (kind, (make, theirs)) in enumerate(_KINDS.items()):
        box = Box(shared / str(number))
        (box.root / "bin").mkdir(parents=True)
        (box.root / "lib").mkdir()
        make(box)
        before = box.weak()
        path = box.theirs(theirs)
        if before or box.weak() != [str(path)]:
            wrong.append((kind, before, box.weak()))
    assert not wrong, "\n".join(map(str, wrong))


def test_what_a_program_does_not_read_does_not_count(shared: Path) -> None:
    wrong = []
    for number, (text, theirs) in enumerate(
        (
            ("# see helper, or\n#helper\necho\n", "bin/helper"),
            ("echo no helper there\n", "bin/helper"),
            ("echo x > /tmp/made; cat /proc/1/stat /dev/null\n", "bin/other"),
            ("echo\n", "bin/json.py"),
            ("echo a # LC_ALL=C helper\n", "bin/helper"),
            ("ls /usr/share/x; cp a helper b\n", "bin/helper"),
            ("echo\n", "lib/libx.so"),
        )
    ):
        box = Box(shared / str(number))
        box.script(text)
        box.theirs(theirs)
        wrong += [(text, box.weak())] if box.weak() else []
    assert wrong == []


def test_a_folder_of_libraries_that_others_can_make_counts(shared: Path) -> None:
    box = Box(shared / "box")
    (box.root / "open").mkdir(parents=True)
    (box.root / "open").chmod(0o1777)
    (box.root / "bin").mkdir()
    elf_file(box.tool, ["libx.so.1"], f"{box.root}/open/built/lib")
    assert box.weak() == [f"{box.root}/open/built"]


def test_who_reads_a_script_must_be_known(shared: Path) -> None:
    box = Box(shared / "box")
    box.script("puts 1\n", f"{box.root}/bin/ruby")
    elf_file(box.ours("bin/ruby"))
    with pytest.raises(OSError, match=f"read by {box.root}/bin/ruby, and what that reads is not known"):
        box.weak()
    box.script("x\n" * 2_000_000)
    with pytest.raises(OSError, match="too long"):
        box.weak()


def test_a_script_that_grows_without_measure_is_not_looked_through(shared: Path) -> None:
    """A long folder that is named often, or folders of folders."""
    box = Box(shared / "box")
    nested = "".join(f"{two}=" + f"${one}/" * 200 + "\n" for one, two in ("AB", "BC", "CD"))
    for text in ("A=/" + "a" * 100_000 + "\n" + "cat $A/b\n" * 2_000, "A=/a\n" + nested):
        box.script(text)
        with pytest.raises(OSError, match="too long"):
            box.weak()
    box.script("A=/a\n" + "cat $A/b\n" * 10_000)
    assert box.weak() == []


def test_a_script_that_others_can_write_is_not_looked_through(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box(shared / "box")
    path = box.theirs("bin/tool", "#!/bin/sh\nhelper\n")
    box.theirs("bin/helper")
    monkeypatch.setattr(code_read, "text_of", lambda path: pytest.fail(f"{path} was read"))
    assert box.weak() == [str(path)]


def test_a_shell_sources_nothing_that_everybody_can_make(shared: Path) -> None:
    box = Box(shared / "box")
    for place in ("/tmp/rocdoctor-not-there.sh", "/dev/shm/rocdoctor-not-there.sh"):
        box.script(f"[ -r {place} ] && . {place}\n")
        assert box.weak() == [place]
        box.script(f"echo x > {place}\n")
        assert box.weak() == []


def test_a_first_line_that_env_takes_apart_otherwise_is_not_guessed_at(shared: Path) -> None:
    box = Box(shared / "box")
    for words in ('-S "helper"', "-S ${HELPER}", "-S hel\\_per"):
        box.script("", f"/usr/bin/env {words}")
        with pytest.raises(OSError, match="first line cannot be read"):
            box.weak()


def test_what_was_asked_before_hides_nothing(shared: Path) -> None:
    box = Box(shared / "box")
    weak = str(box.theirs("bin/weak", "#!/bin/sh\n"))
    names = [f"{box.root}/bin/tool{at}" for at in range(6)]
    for at in range(6):  # each starts the next one, and what stands before it
        box.script(f"{names[at + 1] if at < 5 else weak}\n{names[max(0, at - 1)]}\n", name=f"bin/tool{at}")
    for first in names:
        reader = CodeReader()
        reader.weak(first)
        for name in names:
            assert {*reader.weak(name)} >= {*CodeReader().weak(name)}, (first, name)
    assert [one.path for one in CodeReader().weak(names[5])] == [weak]


def test_configuration_that_is_code_counts(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box(shared / "box")
    box.script("")
    monkeypatch.setitem(code_read._ALSO, "tool", (f"{box.root}/etc/*.conf",))
    monkeypatch.setattr(code_read, "_PERL_MODULES", (f"{box.root}/share/perl*",))
    assert box.weak() == []
    conf = box.theirs("etc/x.conf")
    assert box.weak() == [str(conf)]
    conf.unlink()
    box.script("", "/usr/bin/perl")
    module = box.theirs("share/perl5/Deep/Module.pm")
    assert box.weak() == ([str(module)] if os.path.exists("/usr/bin/perl") else [])


@pytest.mark.parametrize(
    ("program", "setting"),
    [
        ("ansible-playbook", "etc/ansible/ansible.cfg"),
        ("ansible-playbook", "usr/share/ansible/plugins/callback/x.py"),
        ("ansible-playbook", "etc/ansible/group_vars/all/x.yml"),
        ("clush", "etc/clustershell/groups.conf.d/x.conf"),
        ("pdsh", "etc/ssh/ssh_config.d/x.conf"),
        ("srun", "etc/slurm/plugstack.conf"),
        ("ssh", "etc/ssh/ssh_config"),
        ("pdsh", "root/.ssh/config"),
        ("clush", "root/.config/clustershell/groups.conf"),
        ("ansible-playbook", "root/.ansible.cfg"),
    ],
)
def test_settings_of_what_reaches_nodes_count(
    program: str, setting: str, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Box(shared / "box")
    path = str(box.script("", name=f"bin/{program}"))
    monkeypatch.setattr(code_read, "matching", lambda pattern: glob.glob(f"{box.root}{pattern}"))
    monkeypatch.setattr(os.path, "expanduser", lambda path: path.replace("~root/", "/root/"))
    box.ours(setting)
    assert CodeReader().weak(path) == []
    conf = box.theirs(setting)
    assert [one.path for one in CodeReader().weak(path)] == [str(conf)]


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("ansible-playbook", "[defaults]\ncallback_plugins = {}\n"),
        ("ssh", "Host *\n  ProxyCommand {}/x.py %h %p\n"),
        ("clush", "[local]\nmap: {}/x.py $GROUP\n"),
    ],
)
def test_what_the_settings_name_counts(program: str, text: str, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Box(shared / "box")
    path = str(box.script("", name=f"bin/{program}"))
    plugins = box.theirs("elsewhere/plugins/x.py").parent
    os.chown(plugins, NOBODY, NOBODY)
    conf = box.ours("settings", text.format(plugins))
    monkeypatch.setitem(code_read._ALSO, program, (str(conf),))
    assert str(plugins) in [one.path for one in CodeReader().weak(path)]


def test_what_a_named_program_reads_counts_also_behind_an_include(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Box(shared / "box")
    path = str(box.script("", name="bin/ssh"))
    theirs = box.theirs("elsewhere/x.sh")
    proxy = box.script(f". {theirs}\n", name="bin/proxy")
    more = box.ours("more.conf", f"ProxyCommand {proxy} %h\n")
    monkeypatch.setitem(code_read._ALSO, "ssh", (str(box.ours("settings", f"Include {more}\n")),))
    assert [one.path for one in CodeReader().weak(path)] == [str(theirs)]


def _cache(path: Path, *libraries: Path) -> str:
    """The loader's cache of these libraries, behind a table of the older kind."""
    texts, rows = b"", b""
    head = len(b"glibc-ld.so.cache1.1") + 28 + 24 * len(libraries)
    for one in libraries:
        rows += struct.pack("=iIIIQ", 0x303, head + len(texts), head + len(texts) + len(one.name) + 1, 0, 0)
        texts += os.fsencode(one.name) + b"\0" + os.fsencode(one) + b"\0"
    table = struct.pack("=II20x", len(libraries), len(texts))
    path.write_bytes(b"ld.so-1.7.0\0" + struct.pack("=I", 0) + b"glibc-ld.so.cache1.1" + table + rows + texts)
    return str(path)


def test_of_the_folders_of_all_programs_what_this_one_names_counts(shared: Path) -> None:
    box = Box(shared / "box")
    mine, other = box.theirs("far/libmine.so.1"), box.theirs("far/libother.so.1")
    cache = _cache(box.ours("cache"), mine, other)
    assert cached_folders(cache) == [f"{box.root}/far"]
    (box.root / "bin").mkdir()

    def weak(names: list[str], also: bytes = b"") -> list[str]:
        elf_file(box.tool, names, "", also)
        return [one.path for one in Libraries(cache).weak_of(str(box.tool))]

    assert weak(["libmine.so.1"]) == [str(mine)]
    assert weak([], b"\0libother.so.1") == [str(other)]
    assert weak([], b"x" * (1 << 20) + b"/far/libother.so.1") == [str(other)], "across two blocks"
    assert weak(["libnone.so"]) == []
    os.chown(box.root / "far", NOBODY, NOBODY)  # any of them can be exchanged
    os.chown(mine, 0, 0)
    assert weak(["libmine.so.1"]) == [f"{box.root}/far"]
    assert weak(["libnone.so"]) == []


def test_what_a_real_program_is_linked_to() -> None:
    real = os.path.realpath(sys.executable)
    found = linked(real)
    if found is None:
        pytest.skip("this Python is no ELF file")
    assert any(one.startswith("libc.") for one in found.names)
    told = subprocess.run(["ldd", real], capture_output=True, text=True, check=False).stdout
    files, _ = Libraries()._closure(real)
    loaded = [os.path.realpath(line.split("=> ")[1].split(" (")[0]) for line in told.splitlines() if "=> /" in line]
    assert set(loaded) <= set(files)


def test_damaged_files_are_no_programs_and_no_cache(shared: Path) -> None:
    elf_file(shared / "x", ["liba.so", "libb.so"], "$ORIGIN/x")
    found = linked(str(shared / "x"))
    assert found is not None and found.names == ("liba.so", "libb.so")
    assert found.folders == (f"{shared}/x",)
    whole = (shared / "x").read_bytes()
    cache = Path(_cache(shared / "cache", shared / "liba.so")).read_bytes()
    chance = random.Random(1)
    for _ in range(300):
        for data in (bytearray(whole), bytearray(cache)):
            for _ in range(chance.randrange(1, 9)):
                data[chance.randrange(len(data))] = chance.choice((0, 1, 127, 128, 255))
            (shared / "y").write_bytes(data[: chance.randrange(len(data) + 1)])
            linked(str(shared / "y"))
            cached_folders(str(shared / "y"))
    os.mkfifo(shared / "fifo")
    assert linked(str(shared / "fifo")) is None
    assert cached_folders(str(shared / "fifo")) == []


def test_our_own_process_starts_nothing_by_a_name(shared: Path) -> None:
    """What a library starts by PATH (as ctypes does ldconfig, gcc and ld) would be a program of others."""
    program_file(shared / "any", f"echo $0 >> {shared}/ran\nexit 1\n")
    for name in ("ldconfig", "gcc", "cc", "ld", "objdump", "uname", "lsb_release", "ifconfig", "ip", "arp", "file"):
        (shared / name).symlink_to("any")
    os.chown(shared, NOBODY, NOBODY)
    for words in (["check"], ["facts"], ["bundle", "-o", "/dev/null"], ["setup"], ["list"], ["read", "/dev/null"]):
        subprocess.run(
            [sys.executable, "-m", "rocdoctor", *words],
            env={"PATH": f"{shared}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(shared)},
            capture_output=True,
            check=False,
            timeout=120,
            cwd="/",
        )
    assert not (shared / "ran").exists()
