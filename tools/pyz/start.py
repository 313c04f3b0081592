"""What runs first in ``rocdoctor.pyz``: unpack once into a folder that nobody else can write to, then run from there.

Tables, checks and programs for other interpreters are read by path, so the archive is unpacked: into
``~/.cache/rocdoctor/pyz-DIGEST``, and where that is not to be had into a temporary folder that goes at the end. This
file is syntax of Python 3.6, so that an old interpreter gets a sentence.
"""

import contextlib
import os
import shutil
import signal
import stat
import sys
import tempfile
import zipfile
from typing import Any, Callable, Optional

_OLDEST = (3, 10)
_DIGEST = "DIGEST"  # the build writes the name of the folder here
_DONE = ".complete"


def _caches() -> str:
    """The user's folder for caches. Without the variable by the list of users: HOME may name that of another."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if named.startswith("/"):
        return os.path.realpath(named)
    try:
        import pwd

        return os.path.join(os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir), ".cache")
    except (ImportError, KeyError):
        return ""


def _trusted(folder: str, leaf: bool = True) -> bool:
    """Whether none but this user and root can put anything into a folder or in its place: the rule of rocdoctor.

    Without ``leaf`` others may put things beside ours, as in /tmp.
    """
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return False
        return not _judge()(folder, (0, os.geteuid()), sticky_ok=not leaf)
    except OSError:
        return False


def _judge() -> Callable[..., Any]:
    """``weaknesses`` as it stands in the archive; what is run later is imported anew, from what was unpacked."""
    from rocdoctor.host.live.trust import weaknesses

    return weaknesses


def _forget() -> None:
    """Drop what was imported from the archive: tables and checks are found beside the modules."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "rocdoctor"]:
        del sys.modules[name]


def _unpack(archive: str, folder: str) -> None:
    """Everything in the archive but this file; names that lead out of the folder are not ours."""
    with zipfile.ZipFile(archive) as packed:
        names = [name for name in packed.namelist() if name != "__main__.py"]
        if any(name.startswith("/") or ".." in name.split("/") for name in names):
            sys.exit("rocdoctor.pyz is damaged: get it again.")
        packed.extractall(folder, names)


def _kept(archive: str) -> Optional[str]:
    """The folder of an earlier run, or a new one that later runs find; None where there is no safe place."""
    try:
        cache = _caches()
        if not cache.startswith("/"):
            return None
        if not os.path.isdir(cache) and _trusted(os.path.dirname(cache)):
            os.mkdir(cache, 0o700)
        if not _trusted(cache):
            return None
        cache = os.path.join(cache, "rocdoctor")
        with contextlib.suppress(FileExistsError):
            os.mkdir(cache, 0o700)
        if not _trusted(cache):
            return None
        folder = os.path.join(cache, "pyz-" + _DIGEST)
        if _complete(folder):
            return folder
        fresh = tempfile.mkdtemp(prefix="pyz-", dir=cache)
        try:
            _unpack(archive, fresh)
            open(os.path.join(fresh, _DONE), "w").close()
            with contextlib.suppress(OSError):  # another run may have been faster
                os.rename(fresh, folder)
            return folder if _complete(folder) else None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError:  # no room, read-only, a home that does not exist
        return None


def _complete(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, _DONE)) and _trusted(folder)


def _remove_at_the_end(folder: str) -> None:
    """Remove a folder when this process and what it forked have ended, however that comes about."""
    wait, hold = os.pipe()  # its other end closes with the last of us
    child = os.fork()
    if child:
        os.close(wait)
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)  # the one that waits is then no child of ours, which would be ended with what tools leave behind
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.close(hold)
    for stream in (0, 1, 2):  # a root without /dev has nothing to put in their place
        with contextlib.suppress(OSError):
            os.close(stream)
    with contextlib.suppress(OSError):
        os.read(wait, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _shared() -> str:
    """The folder for temporary files; where TMPDIR is one of another user, who could exchange ours, a usual one."""
    usual = tempfile.gettempdir()
    named = [os.path.realpath(folder) for folder in (usual, "/tmp", "/var/tmp")]
    return next((folder for folder in named if _trusted(folder, leaf=False)), usual)  # none: a container without owners


def _temporary(archive: str) -> str:
    """A folder for this run alone."""
    try:
        folder = tempfile.mkdtemp(prefix="rocdoctor-", dir=_shared())
        _remove_at_the_end(folder)
        _unpack(archive, folder)
    except OSError as error:
        sys.exit(f"rocdoctor: nowhere to unpack ({error}). Set TMPDIR to a folder with 40 MB of room.")
    return folder


def main() -> None:
    """Run the command line from the unpacked files."""
    if sys.version_info < _OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        sys.exit(
            f"rocdoctor needs Python 3.10 or newer, and this is {found}. Start it with another one, for example "
            "python3.12 rocdoctor.pyz check"
        )
    archive = os.path.dirname(os.path.abspath(__file__))
    sys.path[0] = _kept(archive) or _temporary(archive)
    _forget()
    from rocdoctor.__main__ import main as run

    run()


if __name__ == "__main__":
    main()
