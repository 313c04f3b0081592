"""The packages: what is in them, whose it is, and that they build, pass lint and run where only they are installed."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from rocdoctor import __version__
from tests.kit import ROOT
from tools.packaging import build, launcher, licences, release
from tools.pyz import build as pyz

_HERE = ROOT / "tools" / "packaging"
_MACHINE = ROOT / "fixtures" / "mi300x-8gpu.capture"


@pytest.fixture(scope="module")
def files() -> Mapping[str, bytes]:
    return {place.as_posix(): content for place, content in build.files()}


def test_a_package_has_the_program_its_libraries_and_what_shells_read(files: Mapping[str, bytes]) -> None:
    modules = {name.removeprefix("usr/share/rocdoctor/") for name in files if name.startswith("usr/share/rocdoctor/")}
    assert set(pyz.contents()) == modules - {"after_install.py"}
    outside = {name for name in files if not name.startswith("usr/share/rocdoctor/")}
    assert "usr/bin/rocdoctor" in outside and "usr/share/man/man1/rocdoctor.1" in outside
    spec = (_HERE / "rocdoctor.spec").read_text()
    assert [name for name in outside if name not in spec] == []
    assert [name for name in files if files[name].startswith(b"#!")] == ["usr/bin/rocdoctor"]


def test_each_library_in_a_package_is_named_with_its_licence() -> None:
    shipped = pyz.required()
    text = licences.copyright_file(shipped)
    names = {"Apache-2.0"} | {licences.licence(one) for one in shipped.values()}
    for one in shipped.values():
        place = one.name.lower().replace("-", "_")
        assert re.search(rf"files/usr/share/rocdoctor/{place}-\S+\.dist-info/\*", text, re.IGNORECASE), one.name
    assert set(re.findall(r"^License: (\S+)$", text, re.MULTILINE)) == names
    (line,) = re.findall(r"^License: +(.+)$", (_HERE / "rocdoctor.spec").read_text(), re.MULTILINE)
    assert set(line.split(" AND ")) == names
    holders = re.findall(r"^Copyright: *(.*)$", text, re.MULTILINE)
    assert all(holders) and "Sebastian Wiesner" in text, holders
    assert "Free Software Foundation" not in text and ".so/" not in text


@pytest.mark.parametrize(
    ("tags", "expected"),
    [(f"v{__version__}", __version__), ("v0.0.9\nother", f"{__version__}~dev12.g0123abcdef"), ("", None)],
)
def test_the_version_is_that_of_the_tag_or_comes_before_it(
    tags: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"tag": tags, "rev-list": "12", "rev-parse": "0123abcdef"} if expected else {}
    monkeypatch.setattr(build, "_git", lambda *words: answers.get(words[0], ""))
    assert build.version() == (expected or f"{__version__}~dev")


def test_a_tag_that_is_not_the_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rocdoctor").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "rocdoctor" / "__init__.py").write_text('__version__ = "1.2.0"\n')
    log = tmp_path / "CHANGELOG.md"
    log.write_text("# Changelog\n\n## 1.2.0 (2027-01-15)\n\n- New.\n\n## 1.1.0 (2026-12-01)\n\n- Old.\n")
    assert release.notes("v1.2.0", tmp_path) == "- New.\n"
    for tag, why in (("v1.1.0", "pyproject.toml has version 1.2.0"), ("1.2.0", "the tag is 1.2.0")):
        with pytest.raises(ValueError, match=why):
            release.notes(tag, tmp_path)
    log.write_text("# Changelog\n\n## 1.2.0 (unreleased)\n\n- New.\n")
    with pytest.raises(ValueError, match="unreleased"):
        release.notes("v1.2.0", tmp_path)


def test_the_changelog_is_one_of_releases() -> None:
    titles = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((unreleased|20\d\d-\d\d-\d\d)\)", title) for title in titles]
    assert all(found), titles
    numbers = [tuple(int(one[part]) for part in (1, 2, 3)) for one in found if one]
    assert numbers == sorted(numbers, reverse=True)
    assert ".".join(map(str, numbers[0])) == __version__
    assert not any("unreleased" in title for title in titles[1:])
    unreleased = all("unreleased" in title for title in titles)
    assert ("no release on PyPI yet" in (ROOT / "docs" / "install.md").read_text()) == unreleased


def test_an_old_python_can_read_the_launcher() -> None:
    ast.parse((_HERE / "launcher.py").read_text(), feature_version=(3, 6))


def test_an_old_python_gives_way_to_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Started(Exception):
        pass

    def start(program: str, words: list[str]) -> NoReturn:
        raise Started(program, words)

    old = SimpleNamespace(version_info=(3, 9, 18), argv=["/usr/bin/rocdoctor", "check"], exit=sys.exit)
    monkeypatch.setattr(launcher, "sys", old)
    for there, expected in (("/usr/bin/python3.12", True), ("/usr/bin/python3.8", False)):
        system = SimpleNamespace(X_OK=os.X_OK, execv=start, access=lambda path, mode, there=there: path == there)
        monkeypatch.setattr(launcher, "os", system)
        with pytest.raises(Started if expected else SystemExit) as ended:
            launcher.main()
        if expected:
            assert ended.value.args == (there, [there, "-I", "/usr/bin/rocdoctor", "check"])
        else:
            assert "needs Python 3.10" in str(ended.value)


def test_the_image_takes_the_package_that_is_built() -> None:
    text = (_HERE / "Containerfile").read_text()
    (pattern,) = re.findall(r"^COPY (\S+) /tmp/rocdoctor\.deb$", text, re.MULTILINE)
    assert Path(f"rocdoctor_{build.version()}_all.deb").match(pattern)
    assert 'ENTRYPOINT ["/usr/bin/rocdoctor"]' in text and re.search(r"^USER \d+:\d+$", text, re.MULTILINE)


def _built(kind: str, folder: Path, *programs: str) -> Path:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    (folder / "work").mkdir()
    return build.KINDS[kind](folder / "dist", folder / "work")


def _run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run([str(one) for one in words], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def _try(root: Path) -> None:
    """Run the unpacked files where the system has them, as root after the installation, then as another user."""
    if os.geteuid() or not Path("/usr/bin/python3").exists():
        pytest.skip("needs root and the system's python3")
    script = """
        set -eu
        mount --bind "$1/usr/share" /usr/share
        python3 -I /usr/share/rocdoctor/after_install.py
        cp "$1/usr/bin/rocdoctor" "$2" /run/
        cd /
        setpriv --reuid 65534 --regid 65534 --clear-groups /run/rocdoctor check --from "/run/${2##*/}"
        setpriv --reuid 65534 --regid 65534 --clear-groups /run/rocdoctor --version
    """
    named = "mount -t tmpfs tmpfs /run;" + script
    done = _run("unshare", "-m", "sh", "-c", named, "sh", root, _MACHINE)
    usual = _run(sys.executable, "-m", "rocdoctor", "check", "--from", _MACHINE)
    assert done.stdout == f"{usual.stdout}rocdoctor {__version__}\n"
    modules = root / "usr" / "share" / "rocdoctor"
    assert list(modules.glob("rocdoctor/knowledge/tables/__pycache__/*.table"))
    assert list(modules.glob("textual/__pycache__/*.pyc"))


@pytest.mark.reader
def test_the_package_for_debian_builds_passes_lint_and_runs(tmp_path: Path) -> None:
    made = _built("deb", tmp_path, "dpkg-buildpackage", "dh", "lintian")
    _run("lintian", "--allow-root", "--fail-on", "warning", made)
    _run("dpkg-deb", "-x", made, tmp_path / "root")
    assert (tmp_path / "root" / "usr" / "share" / "zsh" / "vendor-completions" / "_rocdoctor").exists()
    _try(tmp_path / "root")


@pytest.mark.reader
def test_the_package_for_fedora_builds_passes_lint_and_runs(tmp_path: Path) -> None:
    made = _built("rpm", tmp_path, "rpmbuild", "rpmlint")
    said = _run("rpmlint", "-c", _HERE / "rpmlint.toml", made).stdout
    assert re.search(r"0 errors, 0 warnings", said), said
    _run("rpm", "--root", tmp_path / "root", "-i", "--nodeps", "--noscripts", made)
    listed = _run("rpm", "-qp", "--requires", made).stdout
    assert "python3 >= 3.10" in listed and "python3.12" in listed
    _try(tmp_path / "root")
