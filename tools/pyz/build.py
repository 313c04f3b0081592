"""``python -m tools.pyz.build``: ``rocdoctor.pyz``, one file that needs a Python and nothing installed.

It holds rocdoctor and what it requires, as installed in the interpreter that builds, with their licences. What is
compiled is left out: PyYAML has a reader in Python, and of psutil, which has none, that of the system is used where
there is one.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
_START = Path(__file__).with_name("start.py")
_COMPILED_ONLY = ("psutil",)
_LEFT_OUT = re.compile(
    r"(^|/)(__pycache__|tests?)/|\.(pyc|pyd|so|pyi|exe)$|(^|/)(RECORD|INSTALLER|REQUESTED|direct_url\.json)$|^\.\."
)
_DAY = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip file can hold: the same content is the same file


def required(name: str = "rocdoctor") -> dict[str, Distribution]:
    """What a distribution requires, and what that requires; raises ``PackageNotFoundError`` where one is missing."""
    found: dict[str, Distribution] = {}
    waiting = [(name, frozenset({""}))]
    seen = set(waiting)
    while waiting:
        current, extras = waiting.pop()
        for line in distribution(current).requires or ():
            need = Requirement(line)
            # every supported Python: what only an older one than this requires comes along where it is installed
            here = need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras)
            older = (
                not here and need.marker is not None and need.marker.evaluate({"extra": "", "python_version": "3.10"})
            )
            if not (here or older) or need.name in _COMPILED_ONLY:
                continue
            found[need.name] = distribution(need.name)
            step = (need.name, frozenset({"", *need.extras}))
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return found


def _ours() -> Iterator[tuple[str, bytes]]:
    """The files of this checkout as a wheel has them."""
    for folder, kinds, inside in (
        ("rocdoctor", ("*.py", "*.yaml", "*.tcss", "py.typed"), "rocdoctor"),
        ("checks", ("*.py",), "rocdoctor/checks"),
        ("profiles", ("*.py", "*.yaml"), "rocdoctor/profiles"),
    ):
        for kind in kinds:
            for path in (ROOT / folder).rglob(kind):
                yield f"{inside}/{path.relative_to(ROOT / folder).as_posix()}", path.read_bytes()
    own = distribution("rocdoctor")
    # Its version is read from its metadata; a build of the wheel leaves some of the older form in the checkout.
    yield (
        f"rocdoctor-{own.version}.dist-info/METADATA",
        (own.read_text("METADATA") or own.read_text("PKG-INFO") or "").encode(),
    )


def _theirs(one: Distribution) -> Iterator[tuple[str, bytes]]:
    for file in one.files or ():
        name = file.as_posix()
        if not _LEFT_OUT.search(name):
            yield name, Path(str(file.locate())).read_bytes()


def contents() -> dict[str, bytes]:
    """All files by their names in the archive but ``__main__.py``."""
    found = dict(_ours())
    for one in required().values():
        found.update(_theirs(one))
    return found


def write(target: Path) -> int:
    """Write the archive and return its size in bytes."""
    files = contents()
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    start = _START.read_text(encoding="utf-8").replace('"DIGEST"', f'"{digest.hexdigest()[:16]}"')
    files["__main__.py"] = start.encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as beside:
        fresh = Path(beside, "rocdoctor.pyz")
        with fresh.open("wb") as stream:
            stream.write(b"#!/usr/bin/env python3\n")
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
                for name in sorted(files):
                    entry = zipfile.ZipInfo(name, _DAY)
                    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                    packed.writestr(entry, files[name])
        fresh.chmod(0o755)
        fresh.replace(target)
    return target.stat().st_size


def main() -> int:
    """Write the file; exit status 1 where something that it needs is not installed."""
    parser = argparse.ArgumentParser(prog="python -m tools.pyz.build", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist" / "rocdoctor.pyz", help="dist/rocdoctor.pyz")
    target: Path = parser.parse_args().output
    try:
        size = write(target)
    except PackageNotFoundError as error:
        sys.stderr.write(f"not installed here: {error}\n")
        return 1
    sys.stdout.write(f"{target}: {size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
