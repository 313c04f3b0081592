"""rocdoctor.pyz: one file that runs where nothing is installed, unpacked where nobody else can write."""

from __future__ import annotations

import ast
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rocdoctor import __version__
from rocdoctor.host.live import trust
from rocdoctor.host.live.user_mounts import UserMounts
from tests.waiting import until
from tools.pyz import build, start

_BARE = (sys.executable, "-I", "-S")  # no site-packages and no variables of Python's


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pyz") / "rocdoctor.pyz"
    assert build.write(path) == path.stat().st_size
    return path


@pytest.fixture(scope="module")
def small(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `--version` loads of it, for tests of where it is unpacked: it has two thousand files."""
    folder = tmp_path_factory.mktemp("small")
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "TMPDIR": "/nowhere"}
    words = [*_BARE, "-X", "importtime", str(archive), "--version"]
    told = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stderr
    loaded = {line.rpartition("|")[2].strip().replace(".", "/") for line in told.splitlines()}
    path = folder / "rocdoctor.pyz"
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(path, "w") as part:
        for name in whole.namelist():
            if name == "__main__.py" or name.removesuffix(".py").removesuffix("/__init__") in loaded:
                part.writestr(name, whole.read(name))
    return path


def _run(archive: Path, cache: Path, *words: str, folder: str = "/nowhere") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "TMPDIR": folder}
    return subprocess.run([*_BARE, str(archive), *words], env=environment, capture_output=True, text=True, timeout=100)


def test_it_says_what_the_installed_program_says_and_unpacks_once(archive: Path, tmp_path: Path) -> None:
    machine = str(next(Path("fixtures").glob("*mi300x*")))
    installed = subprocess.run(
        [sys.executable, "-m", "rocdoctor", "check", "--from", machine], capture_output=True, text=True
    )
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    for _ in range(2):
        result = _run(archive, cache, "check", "--from", machine)
        assert (result.returncode, result.stdout, result.stderr) == (
            installed.returncode,
            installed.stdout,
            installed.stderr,
        )
        assert len(os.listdir(cache / "rocdoctor")) == 1


def test_everything_that_is_required_can_be_imported_from_it(archive: Path) -> None:
    names = "textual.app, rich.text, yaml, distro, pyudev, rocdoctor.tui.app"
    program = f"import sys; sys.path.insert(0, sys.argv[1]); import {names}"
    subprocess.run([*_BARE, "-c", program, str(archive)], check=True)


@pytest.mark.parametrize("way", ["others write", "no folder", "a file", "another's"])
def test_where_no_safe_place_is_a_folder_of_this_run_is_used_and_goes(small: Path, tmp_path: Path, way: str) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    if way == "others write":
        cache.mkdir()
        cache.chmod(0o777)
    elif way == "a file":
        cache.write_text("")
    elif way == "another's":
        if os.geteuid():
            pytest.skip("only root can give a folder away")
        cache.mkdir(mode=0o700)
        os.chown(cache, 65534, 65534)
    else:
        cache = tmp_path / "none" / "cache"
    result = _run(small, cache, "--version", folder=str(temporary))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("rocdoctor ")
    assert not cache.is_dir() or not os.listdir(cache)
    assert until(lambda: not os.listdir(temporary))  # removed when the last of the run has ended


def test_a_root_without_devices_has_room_too(small: Path, tmp_path: Path) -> None:
    """A bare root may have nothing in /dev."""
    program = (
        f"import os, runpy, sys; os.devnull = '/nowhere'; sys.argv = [{str(small)!r}, '--version']; "
        f"runpy.run_path({str(small)!r}, run_name='__main__')"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "none" / "none"), "TMPDIR": str(tmp_path)}
    done = subprocess.run([*_BARE, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("rocdoctor ")
    assert until(lambda: not os.listdir(tmp_path))


def test_a_folder_for_temporary_files_of_another_is_not_used(archive: Path, tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    theirs.chmod(0o555)
    (tmp_path / "link").symlink_to(theirs)
    program = (
        f"import sys; sys.path.insert(0, {str(build.ROOT)!r}); from tools.pyz import start; print(start._shared())"
    )
    for folder, expected in ((theirs, "/tmp"), (tmp_path / "link", "/tmp"), (tmp_path, str(tmp_path))):
        environment = {**os.environ, "TMPDIR": str(folder)}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == os.path.realpath(expected), folder


def test_what_another_put_there_is_not_run(small: Path, tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    (tmp_path / "temporary").mkdir()
    assert _run(small, cache, "--version").returncode == 0
    (unpacked,) = (cache / "rocdoctor").iterdir()
    (unpacked / "rocdoctor" / "__main__.py").write_text("def main(): print('planted')")
    assert "planted" in _run(small, cache, "--version").stdout  # our own folder, so whoever wrote there is us
    os.chown(unpacked, 65534, 65534)
    assert "planted" not in _run(small, cache, "--version", folder=str(tmp_path / "temporary")).stdout


@pytest.mark.parametrize(
    "mounted",
    [
        "/m rw,nosuid - fuse.x x rw,user_id=4711,allow_other",
        "/run/media/bea/disk rw,nosuid,nodev - ext4 /dev/sdb1 rw",
    ],
)
def test_what_users_mounted_is_no_safe_place(mounted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may claim that all in it is root's: the one rule for that is asked, as it stands in the archive."""
    if os.geteuid():
        pytest.skip("a disk of one's own is as good as a home")
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    told, number = tmp_path / "mountinfo", folder.stat().st_dev
    for device, expected in ((number + 1, True), (number, False)):
        told.write_text(f"21 1 0:9999 / / rw - ext4 a rw\n40 21 {os.major(device)}:{os.minor(device)} / {mounted}\n")
        monkeypatch.setattr(trust, "_mounts", UserMounts(str(told)))
        assert start._trusted(str(folder)) is expected


def test_a_file_and_a_link_are_no_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("/")
    assert [start._trusted(str(tmp_path / name)) for name in ("file", "link", "gone")] == [False] * 3


def test_nothing_that_judges_stays_from_the_archive(small: Path, tmp_path: Path) -> None:
    """Tables are found beside the modules."""
    program = (
        "import runpy, sys; sys.argv[1:] = ['--version']\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "found = [one.__file__ for name, one in sys.modules.items() if name.startswith('rocdoctor')]\n"
        "print(*{'.pyz' in one for one in found})"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": "/nowhere"}
    words = [*_BARE, "-c", f"import sys; sys.argv = [{str(small)!r}]; sys.path.insert(0, ''); {program}"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert done.stdout.split()[-1:] == ["False"], done.stdout + done.stderr


def test_no_room_is_told_in_a_sentence(archive: Path, tmp_path: Path) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    words = [*_BARE, str(archive), "--version"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    result = subprocess.run(words, env=environment, capture_output=True, text=True, preexec_fn=no_room)
    assert result.returncode == 1
    assert "TMPDIR" in result.stderr and "Traceback" not in result.stderr


def test_an_old_python_can_read_the_beginning() -> None:
    ast.parse(Path("tools/pyz/start.py").read_text(), feature_version=(3, 6))


def test_its_metadata_are_found_beside_what_a_build_of_the_wheel_leaves(tmp_path: Path) -> None:
    left = tmp_path / "rocdoctor.egg-info"
    left.mkdir()
    (left / "PKG-INFO").write_text(f"Name: rocdoctor\nVersion: {__version__}\nSummary: left\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from tools.pyz import build\n"
        f"print(dict(build._ours())['rocdoctor-{__version__}.dist-info/METADATA'].decode())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=build.ROOT)
    assert "Summary: left" in done.stdout


def test_the_same_content_is_the_same_file_and_licences_come_along(archive: Path, tmp_path: Path) -> None:
    build.write(tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == archive.read_bytes()
    names = zipfile.ZipFile(archive).namelist()
    for one in build.required():
        folder = one.lower().replace("-", "_")
        assert any(n.lower().replace("-", "_").startswith(folder) and ".dist-info/" in n for n in names), one
        assert any(
            "licen" in n.lower() or "copying" in n.lower()
            for n in names
            if n.lower().replace("-", "_").startswith(folder)
        ), one
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
