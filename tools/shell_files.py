"""``python -m tools.shell_files``: completion for bash, zsh and fish, and the manual page.

Both are made from the arguments that the commands declare. They are laid out as below ``/usr/share``, so that a package
takes them as they are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from rocdoctor import __version__
from rocdoctor.cli.commands import COMMANDS, command
from rocdoctor.cli.main import DESCRIPTION
from rocdoctor.judging.loading import check_files, checks_folder, name_of
from rocdoctor.train.emit.targets import TARGETS
from rocdoctor.train.recommend.model.models import presets
from rocdoctor.train.smoke.worker.mode import all_modes

ROOT = Path(__file__).resolve().parents[1]
_COMPLETIONS = {
    "bash": "bash-completion/completions/rocdoctor",
    "zsh": "zsh/site-functions/_rocdoctor",
    "fish": "fish/vendor_completions.d/rocdoctor.fish",
}
_MANUAL = "man/man1/rocdoctor.1"
_DESCRIPTION = "diagnose GPU machines for training"
_FILES = ("FILE", "PATH", "SPEC.yaml", "config.json")


def parser(names: bool = True) -> argparse.ArgumentParser:
    """All commands with their arguments; ``names``: what can be counted up (checks, modes, ...) as choices."""
    top = argparse.ArgumentParser("rocdoctor", description=DESCRIPTION)
    top.add_argument("--version", action="version", version=f"rocdoctor {__version__}", help="print the version")
    commands = top.add_subparsers(metavar="COMMAND", title="commands")
    for name, line in COMMANDS.items():
        one = commands.add_parser(name, help=line.help, description=f"{line.help[0].upper()}{line.help[1:]}.")
        command(name).arguments(one)
        for action in one._actions if names else ():
            _complete(name, action)
    return top


def _complete(name: str, action: argparse.Action) -> None:
    """What completes an argument: files and folders by its placeholder, else the names that it takes."""
    words = action.metavar.split("|") if isinstance(action.metavar, str) else []
    known = _names(name, action.dest)
    if known:
        action.choices = list(known)
    elif any(word in _FILES for word in words):
        action.complete = shtab.FILE  # type: ignore[attr-defined]
    elif "DIR" in words:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]


def _names(name: str, argument: str) -> Sequence[str]:
    if argument in ("only", "skip") or (name, argument) in (("check", "names"), ("explain", "name")):
        return [name_of(path) for path in check_files(checks_folder())]
    if (name, argument) == ("smoke", "modes"):
        return [mode.name for mode in all_modes()]
    if (name, argument) == ("emit", "targets"):
        return list(TARGETS)
    return list(presets()) if argument == "model" else ()


def files() -> Iterator[tuple[str, str]]:
    """Each file by its place below ``share``."""
    for shell, place in _COMPLETIONS.items():
        yield place, shtab.complete(parser(), shell) + "\n"
    page = Manpage(
        parser(names=False), {"manual_title": "rocdoctor", "version": __version__, "description": _DESCRIPTION}
    )
    yield _MANUAL, str(page)


def main() -> int:
    """Write the files below a folder."""
    options = argparse.ArgumentParser(prog="python -m tools.shell_files", description=__doc__)
    options.add_argument("-o", "--output", type=Path, default=ROOT / "dist" / "share", help="dist/share")
    folder: Path = options.parse_args().output
    for place, text in files():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
