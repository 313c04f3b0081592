from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from rocdoctor.host.evidence.archive import TarTree
from rocdoctor.host.evidence.folder import DiskTree, Links, TreeError, TreeHost, resolve, split


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MACHINE = {
    "files/etc/os-release": "ID=debian\n",
    "files/sys/class/drm/card0/device/vendor": "0x1002\n",
    "files/sys/bus/pci/devices/0000:03:00.0": "../../../class/drm/card0/device",
    "commands/lspci_-D_-nn": "0000:03:00.0 VGA\n",
    "commands/nvidia-smi_nvlink_--status.gpu0": "GPU 0\n",
    "commands/nvidia-smi_nvlink_--status.gpu1": "GPU 1\n",
}


def _tar(path: Path, files: dict[str, str], prefix: str = "") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.fixture(params=["folder", "archive", "archive with one folder"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> TreeHost:
    if request.param == "folder":
        _write(tmp_path, MACHINE)
        return TreeHost(DiskTree(tmp_path), "x")
    prefix = "sosreport-1/" if "one folder" in request.param else ""
    return TreeHost(TarTree(_tar(tmp_path / "x.tar.gz", MACHINE, prefix).open("rb")), "x")


def test_files_commands_and_flattened_links_answer(host: TreeHost) -> None:
    assert host.ask("read /etc/os-release").text == "ID=debian"
    assert host.ask("read /sys/bus/pci/devices/0000:03:00.0/vendor").text == "0x1002"
    assert host.ask("link /sys/bus/pci/devices/0000:03:00.0/vendor").text == "/sys/class/drm/card0/device/vendor"
    assert host.ask("run lspci -D -nn").text == "0000:03:00.0 VGA"
    assert host.ask("list /sys/class/drm/card*").lines() == ["/sys/class/drm/card0"]
    assert host.ask("run nvidia-smi nvlink --status").lines() == ["GPU 0", "GPU 1"]
    assert "run lspci -D -nn" in host.available()


def test_every_answer_is_an_excerpt_and_what_is_missing_is_unknown(host: TreeHost) -> None:
    assert not host.ask("read /etc/os-release").complete
    assert host.ask("read /proc/meminfo").status == "not-asked"
    listed = host.ask("list /dev/dri/*")
    assert (listed.status, listed.text, listed.complete) == ("ok", "", False)
    for question in ("env", "open /dev/kfd", "python default", "run rocm-smi"):
        assert host.ask(question).status == "not-asked"


def test_sos_reports_are_read_in_place(tmp_path: Path) -> None:
    _write(tmp_path, {"sos_commands/pci/lspci_-nnvv": "00:00.0 Host\n", "etc/os-release": "ID=rhel\n"})
    host = TreeHost(DiskTree(tmp_path), "x")
    assert host.ask("run lspci -nnvv").text == "00:00.0 Host"
    assert host.ask("read /etc/os-release").text == "ID=rhel"


def test_no_link_leads_out_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password")
    root = tmp_path / "bundle"
    _write(root, {"files/etc/os-release": "ID=x\n", "files/flat": "../../../secret"})
    os.symlink(tmp_path / "secret", root / "files" / "absolute")
    os.symlink("../../secret", root / "files" / "relative")
    os.symlink("loop", root / "files" / "loop")
    host = TreeHost(DiskTree(root), "x")
    for path in ("/absolute", "/relative", "/../../secret", "/loop", "/flat/x"):
        assert "password" not in host.ask(f"read {path}").text


def test_a_fifo_and_a_device_are_not_opened(tmp_path: Path) -> None:
    _write(tmp_path, {"files/etc/os-release": "ID=x\n"})
    os.mkfifo(tmp_path / "files" / "etc" / "fifo")
    assert TreeHost(DiskTree(tmp_path), "x").ask("read /etc/fifo").status == "not-asked"


def test_members_that_point_outside_an_archive_are_ignored(tmp_path: Path) -> None:
    path = _tar(tmp_path / "x.tar.gz", {"etc/os-release": "ID=x\n", "../../evil": "x"})
    with tarfile.open(tmp_path / "y.tar", "w") as archive:
        for name, target in (("etc/passwd", "/etc/passwd"), ("etc/up", "../../../../etc/passwd")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    assert TreeHost(TarTree(path.open("rb")), "x").ask("read /../../evil").status == "not-asked"
    host = TreeHost(TarTree((tmp_path / "y.tar").open("rb")), "y")
    assert host.ask("read /etc/passwd").status == "not-asked"
    assert host.ask("read /etc/up").status == "not-asked"


def test_what_is_no_evidence_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="no sys, proc"):
        TreeHost(DiskTree(tmp_path), "x")
    bad = tmp_path / "bad.tar"
    bad.write_bytes(b"nothing")
    with pytest.raises(TreeError, match="not a readable tar"):
        TarTree(bad.open("rb"))


def _member(archive: tarfile.TarFile, name: str, data: bytes = b"", **fields: object) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def test_hard_links_mean_an_earlier_member_and_devices_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        _member(archive, "proc/version", b"Linux version 6.8")
        _member(archive, "proc/same", type=tarfile.LNKTYPE, linkname="proc/version")
        _member(archive, "proc/self", type=tarfile.LNKTYPE, linkname="proc/self")
        _member(archive, "proc/out", type=tarfile.LNKTYPE, linkname="../../etc/passwd")
        _member(archive, "dev/null", type=tarfile.CHRTYPE)
        _member(archive, "dev/fifo", type=tarfile.FIFOTYPE)
    host = TreeHost(TarTree(path.open("rb")), "x")
    assert host.ask("read /proc/same").text == "Linux version 6.8"
    for name in ("/proc/self", "/proc/out", "/dev/null", "/dev/fifo"):
        assert host.ask(f"read {name}").status == "not-asked"


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.tar.xz", "x.tar.bz2"])
def test_a_cut_archive_gives_what_it_holds_and_says_so(tmp_path: Path, name: str) -> None:
    random = bytes((n * n * 31 + n * 7) % 251 for n in range(400_000))
    path = tmp_path / name
    with tarfile.open(path, f"w:{name[6:]}") as archive:  # type: ignore[call-overload]
        _member(archive, "proc/version", b"Linux version 6.8")
        for number in range(4):
            _member(archive, f"proc/{number}", random[number:])
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    try:
        tree = TarTree(path.open("rb"))
    except TreeError as error:  # bzip2 and xz give nothing of a block that is not whole
        assert "cut off" in str(error)
        return
    assert TreeHost(tree, "x").ask("read /proc/version").text == "Linux version 6.8"
    assert "cut off" in tree.notes[0]


def test_a_size_in_a_header_reserves_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as archive:
        _member(archive, "proc/version", b"Linux version 6.8")
    block = tarfile.TarInfo("huge")
    block.size, block.type = 1 << 40, tarfile.XHDTYPE
    path.write_bytes(path.read_bytes()[:1024] + block.tobuf(tarfile.GNU_FORMAT) + b"x" * 512)
    tree = TarTree(path.open("rb"))
    assert TreeHost(tree, "x").ask("read /proc/version").text == "Linux version 6.8"
    assert "a header of" in tree.notes[0]


def test_names_with_control_characters_are_left_out(tmp_path: Path) -> None:
    files = {**MACHINE, "commands/dmesg\n-- env --": "x", "files/sys/class/drm/card7\x1b[2J/x": "1"}
    _write(tmp_path, files)
    host = TreeHost(DiskTree(tmp_path), "x")
    assert all(question.isprintable() for question in host.available())
    assert all(path.isprintable() for path in host.ask("list /sys/class/drm/*").lines())


def test_a_pattern_over_links_to_one_folder_stays_bounded(tmp_path: Path) -> None:
    (tmp_path / "sys" / "a").mkdir(parents=True)
    for number in range(120):
        (tmp_path / "sys" / "a" / f"x{number}").symlink_to("/sys/a")
    listed = TreeHost(DiskTree(tmp_path), "x").ask("list /sys/*/*/*/*").lines()
    assert len(listed) == 10_000


def test_a_link_in_place_of_a_folder_of_outputs_shows_no_names_from_outside(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret_name").write_text("x")
    root = tmp_path / "evidence"
    _write(root, {"files/etc/os-release": "ID=x\n", "sos_commands/pci/lspci": "x"})
    (root / "commands").symlink_to(tmp_path / "outside")
    (root / "sos_commands" / "other").symlink_to(tmp_path / "outside")
    assert TreeHost(DiskTree(root), "x").available() == ("run lspci",)


def test_all_answers_of_a_folder_together_stay_bounded(tmp_path: Path) -> None:
    _write(tmp_path, {"proc/version": "Linux"})
    for number in range(5):  # files that take no room on the disk
        with (tmp_path / "proc" / f"sparse{number}").open("wb") as stream:
            stream.truncate(1 << 40)
    host = TreeHost(DiskTree(tmp_path), "x")
    answers = [host.ask(f"read /proc/sparse{number}") for number in range(5)]
    assert [answer.status for answer in answers] == ["ok", "ok", "failed", "failed", "failed"]
    assert "larger than 40 MiB" in answers[4].note
    assert host.ask("read /proc/sparse0").status == "ok"  # asked again it is no more
    assert host.ask("read /proc/version").status == "ok"  # small ones still have room


class _Counted:
    """A tree in memory that counts how often it is looked at. A text is a link when it begins with ``->``."""

    def __init__(self, entries: dict[str, str]) -> None:
        self.entries = {split(name): what for name, what in entries.items()}
        for parts in list(self.entries):
            for depth in range(len(parts)):
                self.entries.setdefault(parts[:depth], "dir")
        self.looks = 0

    def kind(self, parts: tuple[str, ...]) -> str:
        self.looks += 1
        what = self.entries.get(parts, "")
        return "link" if what.startswith("->") else what and ("dir" if what == "dir" else "file")

    def target(self, parts: tuple[str, ...]) -> str:
        return self.entries[parts][2:]

    def names(self, parts: tuple[str, ...]) -> list[str]:
        return sorted(one[-1] for one in self.entries if len(one) == len(parts) + 1 and one[:-1] == parts)

    def data(self, parts: tuple[str, ...]) -> bytes:
        return self.entries[parts].encode()


def _chain(links: int, target: str) -> dict[str, str]:
    """Links that lead to each other over many detours, and 200 entries that lead to the first."""
    entries = {f"sys/l{number}": f"->{target}l{number + 1}" for number in range(links)}
    entries |= {f"sys/dev/e{number}": "->../l0" for number in range(200)}
    return {**entries, "sys/d": "dir", f"sys/l{links}": "dir"}


def test_links_follow_as_the_kernel_follows_them() -> None:
    tree = _Counted(_chain(38, ""))
    assert resolve(tree, (), "sys/dev/e7") == ("sys", "l38")
    assert resolve(_Counted(_chain(40, "")), (), "sys/dev/e7") is None
    assert resolve(_Counted({"a": "->b", "b": "->a"}), (), "a") is None
    assert resolve(_Counted({"a": "->../../b", "b": "dir"}), (), "a") == ("b",)


def test_a_flattened_link_may_lead_to_another() -> None:
    tree = _Counted({"opt/rocm": "/etc/alternatives/rocm", "etc/alternatives/rocm": "/opt/rocm-6", "opt/rocm-6/v": "1"})
    assert resolve(tree, (), "opt/rocm/v") == ("opt", "rocm-6", "v")
    assert resolve(tree, (), "opt/rocm") == ("opt", "rocm")
    tree = _Counted({"opt/rocm": "->/alt", "alt": "/opt/rocm-6", "opt/rocm-6/v": "1"})
    assert resolve(tree, (), "opt/rocm/v") == ("opt", "rocm-6", "v")
    assert resolve(tree, (), "opt/rocm") == ("alt",)


@pytest.mark.parametrize("detour", ["d/../" * 790, "d/../" * 60, "l0/../" * 3])
def test_what_links_lead_over_is_walked_once(detour: str) -> None:
    tree = _Counted(_chain(36, detour))
    host = TreeHost(tree, "made")
    host.ask("list /sys/dev/*/x")
    for number in range(200):
        host.ask(f"link /sys/dev/e{number}")
    assert tree.looks < 40_000


def test_the_order_of_questions_decides_nothing() -> None:
    for links in (20, 38, 39, 40, 45):
        entries = _chain(links, "d/../")
        known: Links = {}
        tree = _Counted(entries)
        paths = [f"sys/l{number}" for number in range(links)] + ["sys/dev/e3"]
        alone = [resolve(tree, (), path) for path in paths]
        assert [resolve(tree, (), path, known) for path in paths] == alone
        assert [resolve(tree, (), path, known) for path in reversed(paths)] == alone[::-1]


@pytest.mark.parametrize("moment", ["kind", "names", "target"])
def test_a_folder_that_is_exchanged_under_way_leads_nowhere(tmp_path: Path, moment: str) -> None:
    """What was a folder at the first look is a link out of the tree at the next."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "os-release").write_text("NAME=outside")
    root = tmp_path / "tree"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "os-release").write_text("NAME=inside")
    (root / "sys").mkdir()
    tree = DiskTree(root)
    look = getattr(tree, moment)

    def exchanged(parts: tuple[str, ...]) -> object:
        seen = look(parts)
        if parts == ("etc",) and not (root / "etc").is_symlink():
            (root / "etc").rename(root / "was")
            (root / "etc").symlink_to(tmp_path / "outside")
        return seen

    setattr(tree, moment, exchanged)
    host = TreeHost(tree, "x")
    exchanged(("etc",))
    assert "outside" not in host.ask("read /etc/os-release").text
    assert "outside" not in host.ask("list /etc/*").text
    with pytest.raises(OSError):
        tree.data(("etc", "os-release"))
    assert tree.names(("etc",)) == []


def test_folders_of_a_deep_tree_are_closed_again(tmp_path: Path) -> None:
    parts = tuple(f"d{number}" for number in range(120))
    (tmp_path / "sys").mkdir()
    tmp_path.joinpath(*parts).mkdir(parents=True)
    tmp_path.joinpath(*parts, "file").write_text("deep")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    tree = DiskTree(tmp_path)
    for _ in range(3):
        assert tree.data((*parts, "file")) == b"deep"
        assert tree.kind((*parts[:3], "none")) == ""
    del tree
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before
