"""``python -m tools.packaging.build deb rpm``: packages that need the system's Python and nothing from PyPI.

They hold what ``rocdoctor.pyz`` holds, since no release of a distribution has all libraries as new as they are needed:
the modules lie in ``/usr/share/rocdoctor``, where nothing else imports them. ``dpkg-buildpackage`` and ``rpmbuild`` do
the rest by the metadata beside this file.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

from rocdoctor import __version__
from tools import shell_files
from tools.packaging import licences
from tools.pyz import build as pyz

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
_SHARE = Path("usr/share")
MODULES = _SHARE / "rocdoctor"


def version() -> str:
    """The release where its tag is on this commit, else what comes before it: ``0.1.0~dev12.g0123abc``."""
    if f"v{__version__}" in _git("tag", "--points-at", "HEAD").split():
        return __version__
    count, commit = _git("rev-list", "--count", "HEAD"), _git("rev-parse", "--short=10", "HEAD")
    return f"{__version__}~dev{count}.g{commit}" if commit else f"{__version__}~dev"


def _git(*words: str) -> str:
    """What git says; nothing where there is no git, or no repository."""
    if shutil.which("git") is None:
        return ""
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _seconds() -> int:
    """When the commit was made."""
    return int(_git("log", "-1", "--format=%ct") or 0)


def files() -> Iterator[tuple[Path, bytes]]:
    """Each file of a package by its place below the root of the system."""
    yield Path("usr/bin/rocdoctor"), HERE.joinpath("launcher.py").read_bytes()
    for name, content in pyz.contents().items():
        # A first line that names an interpreter is for files that are run.
        yield MODULES / name, content.replace(b"#!", b"#", 1) if content.startswith(b"#!") else content
    yield MODULES / "after_install.py", HERE.joinpath("after_install.py").read_bytes()
    for place, text in shell_files.files():
        yield _SHARE / place, text.encode()


def stage(folder: Path, *, docs: bool) -> None:
    """Write the files below a folder; with ``docs`` also what a packager of Debian puts in place by himself."""
    made = dict(files())
    if docs:
        for name in ("README.md", "CHANGELOG.md"):
            made[_SHARE / "doc" / "rocdoctor" / name] = (ROOT / name).read_bytes()
        made[_SHARE / "licenses" / "rocdoctor" / "LICENSE"] = (ROOT / "LICENSE").read_bytes()
    for place, content in made.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if place.parts[1] == "bin" else 0o644)


def deb(target: Path, work: Path) -> Path:
    """Build the package for Debian into a folder; raises ``CalledProcessError`` with what was printed."""
    tree = work / "rocdoctor"
    stage(tree / "files", docs=False)
    shutil.copytree(HERE / "debian", tree / "debian")
    day = formatdate(_seconds())
    maintainer = next(
        line.partition(": ")[2]
        for line in (tree / "debian" / "control").read_text().splitlines()
        if line.startswith("Maintainer")
    )
    (tree / "debian" / "changelog").write_text(
        f"rocdoctor ({version()}) unstable; urgency=medium\n\n  * What is new: NEWS.md.\n\n -- {maintainer}  {day}\n"
    )
    (tree / "debian" / "copyright").write_text(licences.copyright_file(pyz.required()))
    for name, called in (("README.md", "README.md"), ("CHANGELOG.md", "NEWS.md")):
        shutil.copy(ROOT / name, tree / called)
    _run(["dpkg-buildpackage", "-us", "-uc", "-b", "-d"], tree)
    return _moved(work, "*.deb", target)


def rpm(target: Path, work: Path) -> Path:
    """Build the package for Fedora, RHEL and openSUSE into a folder; raises as ``deb`` does."""
    stage(work / "files", docs=True)
    day = time.strftime("%a %b %d %Y", time.gmtime(_seconds()))
    given = {"_topdir": work / "rpm", "version": version(), "files": work / "files", "day": day}
    defined = [
        word
        for name, value in given.items()
        for word in ("--define", f"{name if name.startswith('_') else f'rocdoctor_{name}'} {value}")
    ]
    _run(["rpmbuild", "-bb", *defined, str(HERE / "rocdoctor.spec")], work)
    return _moved(work / "rpm", "*.rpm", target)


def _run(words: list[str], folder: Path) -> None:
    """No setting of the builder's shell changes a package; its dates are those of the commit."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    subprocess.run(
        words,
        cwd=folder,
        env=kept | {"SOURCE_DATE_EPOCH": str(_seconds()), "LC_ALL": "C.UTF-8"},
        check=True,
        capture_output=True,
        text=True,
    )


def _moved(folder: Path, pattern: str, target: Path) -> Path:
    (made,) = folder.rglob(pattern)
    target.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(made, target))


KINDS = {"deb": deb, "rpm": rpm}


def main() -> int:
    """Build what was named; exit status 1 where a program is missing or fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.packaging.build", description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=KINDS, help="what to build")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="dist")
    options = parser.parse_args()
    for kind in options.kinds:
        with tempfile.TemporaryDirectory() as work:
            try:
                made = KINDS[kind](options.output, Path(work))
            except FileNotFoundError as problem:
                sys.stderr.write(f"{problem.filename} is not installed\n")
                return 1
            except subprocess.CalledProcessError as problem:
                sys.stderr.write(f"{problem.stdout}{problem.stderr}{problem.cmd[0]} failed\n")
                return 1
            sys.stdout.write(f"{made}  {made.stat().st_size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
