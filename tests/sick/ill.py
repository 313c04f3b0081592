"""``python ill.py WORD... -- COMMAND``: makes this process ill as the words say, then becomes the command.

==========================  =====================================================================================
``bind=FOLDER:PATH``        PATH shows FOLDER (this and the next four in a mount namespace of its own)
``fixed=PATH``              nothing below PATH can be written
``small=PATH:BYTES``        an empty file system of this size at PATH; one of 0 bytes cannot be written
``full=PATH``               a file system at PATH that has no byte left
``fuse=PATH:KIND``          what is asked of PATH is ``stuck``, ``eio``, ``denied`` or ``gone``
``limit=NAME:NUMBER``       a resource limit (``NOFILE``, ``STACK``, ``AS``, ``FSIZE``, ``NPROC``)
``refuse=NAME:NUMBER,...``  these system calls (``syscalls`` below) end with that error number
``close=N,...``             these standard streams are closed
==========================  =====================================================================================

``mark=NAME:VALUE`` sets a variable for the command alone. ``ends=N`` comes first where ``fuse`` is used: the number of
a pipe; when its other end is closed, all waits end.
Exit status 77 says that this system or this user cannot do that, and why.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys
from pathlib import Path

CANNOT = 77
_NEWNS, _NEWUSER = 0x20000, 0x10000000
_RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_MOUNTING = ("bind", "fixed", "small", "full", "fuse")
# Numbers of arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (arm64).
SYSCALLS = {
    "x86_64": {
        "clone3": 435,
        "close_range": 436,
        "openat2": 437,
        "faccessat2": 439,
        "statx": 332,
        "prctl": 157,
        "socket": 41,
        "sched_setaffinity": 203,
        "sched_getaffinity": 204,
        "pidfd_open": 434,
        "vfork": 58,
        "setpgid": 109,
        "getrandom": 318,
        "rseq": 334,
        "membarrier": 324,
        "rt_sigtimedwait": 128,
        "statfs": 137,
        "mlock": 149,
    },
    "aarch64": {
        "clone3": 435,
        "close_range": 436,
        "openat2": 437,
        "faccessat2": 439,
        "statx": 291,
        "prctl": 167,
        "socket": 198,
        "sched_setaffinity": 122,
        "sched_getaffinity": 123,
        "pidfd_open": 434,
        "setpgid": 154,
        "getrandom": 278,
        "rseq": 293,
        "membarrier": 283,
        "rt_sigtimedwait": 137,
        "statfs": 43,
        "mlock": 228,
    },
}
_libc = ctypes.CDLL(None, use_errno=True)


def _cannot(what: str) -> None:
    print(f"cannot be ill this way: {what}", file=sys.stderr)
    sys.exit(CANNOT)


def _did(result: int, what: str) -> None:
    if result != 0:
        _cannot(f"{what}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    done = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _did(done, f"mount {target}")


def _own_namespace() -> None:
    uid, gid = os.getuid(), os.getgid()
    if uid != 0:
        _did(_libc.unshare(_NEWUSER | _NEWNS), "user namespace")
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        except OSError as error:
            _cannot(f"user namespace: {error}")
    else:
        _did(_libc.unshare(_NEWNS), "mount namespace")
    _mount("none", "/", "none", _REC | _PRIVATE)


def _fuse(path: str, kind: str, ends: int) -> None:
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        _cannot(f"/dev/fuse: {error.strerror}")
        return
    folder = os.path.isdir(path)
    mode = "40000" if folder else "100000"
    _mount("sick", path, "fuse", 0, f"fd={device},rootmode={mode},user_id={os.getuid()},group_id={os.getgid()}")
    if os.fork() == 0:
        from fuse import serve  # type: ignore[import-not-found]  # beside this file

        os.setsid()
        for number in range(3):
            os.close(number)
        serve(device, ends, kind, folder)
        os._exit(0)
    os.close(device)


def _refuse(names: str, number: int) -> None:
    """A seccomp filter: load the call's number; refuse those named; allow the rest."""
    table = SYSCALLS.get(platform.machine())
    if table is None:
        _cannot(f"system calls of {platform.machine()}")
        return
    calls = [table[name] for name in names.split(",") if name in table]
    program = struct.pack("HBBI", 0x20, 0, 0, 0)
    for at, call in enumerate(calls):
        program += struct.pack("HBBI", 0x15, len(calls) - at, 0, call)
    program += struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000) + struct.pack("HBBI", 0x06, 0, 0, 0x50000 | number)
    buffer = ctypes.create_string_buffer(program, len(program))
    packed = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    _did(_libc.prctl(38, 1, 0, 0, 0), "no_new_privs")
    _did(_libc.prctl(22, 2, ctypes.c_char_p(packed), 0, 0), "seccomp")


def main(words: list[str]) -> None:
    """Apply each word in turn, then start the command."""
    at = words.index("--")
    words, command = words[:at], words[at + 1 :]
    if any(word.split("=")[0] in _MOUNTING for word in words):
        _own_namespace()
    ends = -1
    for word in words:
        name, _, rest = word.partition("=")
        first, _, last = rest.rpartition(":")
        if name == "ends":
            ends = int(rest)
        elif name == "mark":
            os.environ[first] = last
        elif name == "bind":
            _mount(first, last, "none", _BIND | _REC)
        elif name == "fixed":
            _mount(rest, rest, "none", _BIND)
            _mount("none", rest, "none", _BIND | _REMOUNT | _RDONLY)
        elif name == "small":
            _mount("none", first, "tmpfs", 0 if int(last) else _RDONLY, f"size={max(4096, int(last))},mode=777")
        elif name == "full":
            _mount("none", rest, "tmpfs", 0, "size=16384,mode=777")
            _fill(rest)
        elif name == "fuse":
            _fuse(first, last, ends)
        elif name == "limit":
            kind, number = getattr(resource, f"RLIMIT_{first}"), int(last)
            resource.setrlimit(kind, (number, number))
        elif name == "close":
            for one in rest.split(","):
                os.close(int(one))
        elif name == "refuse":
            _refuse(first, int(last))
    if ends >= 0:
        os.close(ends)
    try:
        os.execv(command[0], command)
    except OSError as error:  # an interpreter in a home that this user enters by a capability alone
        _cannot(f"{command[0]}: {error.strerror}")


def _fill(path: str) -> None:
    try:
        Path(path, "filler").write_bytes(b"x" * 65536)
    except OSError:
        return
    _cannot(f"{path} does not fill")


if __name__ == "__main__":
    main(sys.argv[1:])
