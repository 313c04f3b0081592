"""Tells what the Python interpreter that runs it would give a training job: packages, the torch build, torch itself.

Run as ``PYTHON -B interpreter.py [--import | --not-imported REASON] [--script-dir DIR]...``, without -I, -E or -s:
PYTHONPATH, the user site and .pth files decide what the job imports, so they must decide here too. ``site`` and
sitecustomize then run once, as at every start of this interpreter; no other code of the user runs. The folder of this
file is taken off ``sys.path``, nothing is put in its place, and no byte code is written.

Standard library alone, Python 3.7 and later, one file. Prints one JSON object a line on the descriptor that was stdout
at the start; all other output goes to stderr. ``part`` tells the lines apart: ``static`` (no package is imported),
``device-code`` (architectures read from the files of torch), then with ``--import`` a ``begin`` and a ``step`` for each
question to torch, so that a crash or a hang leaves the name of its step behind; ``end`` closes. A GPU is only touched
with ``--import``. The deadline is the caller's. Formats of code object bundles: clang offload bundler documentation.
"""
# pathlib would cost a tenth of the time budget; words are easier to read than lists of quoted words.
# ruff: noqa: SIM905

from __future__ import annotations

import sys

AT_START = frozenset(sys.modules)  # what is loaded before a script starts cannot be shadowed by it any more
sys.dont_write_bytecode = True

import os  # noqa: E402

_HERE = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.realpath(sys.path[0] or ".") == os.path.realpath(_HERE):
    del sys.path[0]

import json  # noqa: E402
import re  # noqa: E402
import time  # noqa: E402

TYPE_CHECKING = False  # importing typing would take as long as reading the package metadata
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

SCHEMA = "rocdoctor.probe/1"
MAX_ENTRIES = 50_000  # of one folder
MAX_TEXT = 4_000  # characters of one message
METADATA_S = 0.05  # time for the metadata of packages that are not known to matter
DEVICE_CODE_S = 0.25  # time for code object headers of one library; a cold disk is slow

RELEVANT_NAMES = frozenset(
    """accelerate aiter apex bitsandbytes colossalai datasets deepspeed dpctl fairscale horovod hipblaslt lightning
    liger-kernel llamafactory megatron-core ml-dtypes mpi4py ninja numpy onnx optimum peft pip pynvml pytorch-lightning
    pytorch-triton pytorch-triton-rocm safetensors setuptools sglang tokenizers transformer-engine transformers triton
    trl unsloth vllm wheel xformers""".split()
)
RELEVANT_PREFIXES = (
    "torch",
    "triton",
    "rocm",
    "amd-",
    "amdsmi",
    "hip-",
    "jax",
    "tensorflow",
    "onnxruntime",
    "cupy",
    "nvidia-",
    "cuda-",
    "flash-attn",
    "intel-extension-for",
    "oneccl",
    "transformer-engine-",
)
REQUIREMENT_PREFIXES = ("torch", "triton", "pytorch-triton", "rocm", "amd-", "nvidia-", "cuda-", "jax", "numpy")
# Folders of training code are often called like these, and then hide the installed package.
OFTEN_SHADOWED = frozenset(
    """accelerate apex bitsandbytes datasets deepspeed flash_attn jax lightning numpy peft tensorflow torch torchaudio
    torchvision transformers triton trl vllm xformers""".split()
)
# "gfx90a", "gfx1100", "gfx9-4-generic"; never a part of a longer word such as the data base name "gfx90a68".
GFX = re.compile(r"gfx(?:[0-9]{1,2}(?:-[0-9])?-generic|[0-9]{1,2}[0-9a-f]{2})(?![0-9a-zA-Z])")
_ARCH = rb"(?:sm_[0-9]{2,3}[a-z]?|compute_[0-9]{2,3}[a-z]?|gfx[0-9a-f]{3,4}(?::[a-z]+[+-])*|gfx[0-9-]{1,5}-generic)"
ARCH_FLAGS = re.compile(rb"\x00(" + _ARCH + rb"(?: " + _ARCH + rb"){0,63}) ?(?=\x00)")


def text_of(value: Any) -> str:
    """The value as bounded text that every JSON reader takes (undecodable bytes of file names are escaped)."""
    return str(value)[:MAX_TEXT].encode("utf-8", "backslashreplace").decode("utf-8")


def clean(value: Any, depth: int = 8) -> Any:
    """The value with only JSON types in it."""
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and abs(value) < 1e300):
        return value
    if depth and isinstance(value, dict):
        return {text_of(key): clean(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        return [clean(item, depth - 1) for item in value]
    return text_of(value)


class Output:
    """The one writer on the first stdout; from its construction on descriptor 1 is stderr."""

    def __init__(self) -> None:
        try:
            os.fstat(2)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        self.descriptor = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = sys.stderr

    def emit(self, part: str, **fields: Any) -> None:
        # A package may have left half a line on stdout before this program began: start on a fresh one.
        line = "\n" + json.dumps(clean(dict(schema=SCHEMA, part=part, **fields))) + "\n"
        data = line.encode("ascii")
        while data:
            data = data[os.write(self.descriptor, data) :]


def listing(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder by name; an unreadable or missing one has none."""
    entries: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as found:
            for entry in found:
                entries.append(entry)
                if len(entries) >= MAX_ENTRIES:
                    break
    except OSError:
        pass
    return sorted(entries, key=lambda entry: entry.name)


def read_text(path: str, limit: int = 65_536) -> str | None:
    if not os.path.isfile(path):  # a FIFO would block
        return None
    try:
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return None


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# --- the interpreter --------------------------------------------------------------------------------------------------


def prefix_kind(prefix: str) -> str:
    """Who provides the interpreter at this prefix."""
    pyenv = os.environ.get("PYENV_ROOT")
    if os.path.isdir(os.path.join(prefix, "conda-meta")):
        return "conda"
    if "/.pyenv/versions/" in prefix + "/" or (pyenv and within(prefix, pyenv)):
        return "pyenv"
    if "/uv/python/" in prefix + "/":
        return "uv"
    if prefix.startswith("/nix/store/"):
        return "nix"
    return "system" if prefix == "/usr" else "other"


def python_facts() -> dict[str, Any]:
    import _imp

    base = getattr(sys, "base_prefix", sys.prefix)
    venv = sys.prefix != base
    stdlib = os.path.dirname(os.path.abspath(os.__file__))
    marker = os.path.join(stdlib, "EXTERNALLY-MANAGED")
    config = (read_text(os.path.join(sys.prefix, "pyvenv.cfg")) or "") if venv else ""
    system_site = re.search(r"(?im)^[ \t]*include-system-site-packages[ \t]*=[ \t]*(true|false)", config)
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError, AttributeError):  # musl has no such name
        libc = None
    suffixes = _imp.extension_suffixes()
    soabi = suffixes[0][1:].rsplit(".", 1)[0] if suffixes and suffixes[0].count(".") > 1 else None
    gil = getattr(sys, "_is_gil_enabled", None)
    return {
        "executable": sys.executable or None,
        "version": ".".join(map(str, sys.version_info[:3])),
        "release_level": sys.version_info[3],
        "implementation": sys.implementation.name,
        "build": sys.version,
        "prefix": sys.prefix,
        "base_prefix": base,
        "kind": "venv" if venv else prefix_kind(sys.prefix),
        "base_kind": prefix_kind(base),
        "system_site_packages": system_site.group(1).lower() == "true" if system_site else None,
        "externally_managed": marker if os.path.isfile(marker) else None,
        "platform": sys.platform,
        "machine": os.uname().machine if hasattr(os, "uname") else None,
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "libc": libc,
        "soabi": soabi,
        "extension_suffixes": suffixes,
        "gil": gil() if gil else True,
        "cwd": cwd(),
        "flags": {
            "isolated": bool(sys.flags.isolated),
            "ignore_environment": bool(sys.flags.ignore_environment),
            "no_user_site": bool(sys.flags.no_user_site),
            "no_site": bool(sys.flags.no_site),
            "safe_path": bool(getattr(sys.flags, "safe_path", False)),
        },
        "customised_by": [
            text_of(getattr(sys.modules[name], "__file__", None))
            for name in ("sitecustomize", "usercustomize")
            if name in AT_START
        ],
    }


def cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def user_site() -> str:
    known = getattr(sys.modules.get("site"), "USER_SITE", None)
    base = os.environ.get("PYTHONUSERBASE") or os.path.expanduser("~/.local")
    return known or os.path.join(base, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")


def search_path() -> list[dict[str, Any]]:
    """``sys.path`` with where each entry comes from; an entry that is another name of an earlier one is left out."""
    stdlib = os.path.realpath(os.path.dirname(os.__file__))
    base = os.path.realpath(getattr(sys, "base_prefix", sys.prefix))
    prefix, user = os.path.realpath(sys.prefix), os.path.realpath(user_site())
    named = [] if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "").split(os.pathsep)
    python_path = {os.path.realpath(entry) for entry in named if entry}
    seen: set[str] = set()
    entries = []
    for entry in sys.path:
        if not isinstance(entry, str):
            continue
        real = os.path.realpath(entry or ".")
        if real in seen:
            continue
        seen.add(real)
        if real in python_path:
            origin = "pythonpath"
        elif real == user:
            origin = "user-site"
        elif real in (stdlib, os.path.join(stdlib, "lib-dynload")) or real.endswith(".zip"):
            origin = "stdlib"
        elif prefix != base and within(real, prefix):
            origin = "environment"
        else:
            origin = "base" if within(real, base) else "other"
        entries.append({"path": entry, "origin": origin, "exists": os.path.exists(real)})
    return entries


# --- packages ---------------------------------------------------------------------------------------------------------


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def relevant(name: str) -> bool:
    return name in RELEVANT_NAMES or name.startswith(RELEVANT_PREFIXES)


def headers(path: str) -> dict[str, list[str]] | None:
    """The header lines of a METADATA or PKG-INFO file (not its long description), by lower case name."""
    text = read_text(path)
    if text is not None and "\n\n" not in text and len(text) >= 65_536:
        text = read_text(path, 1 << 20)
    if text is None:
        return None
    found: dict[str, list[str]] = {}
    for line in text.replace("\r\n", "\n").split("\n\n", 1)[0].splitlines():
        name, colon, value = line.partition(":")
        if colon and not line[:1].isspace():
            found.setdefault(name.strip().lower(), []).append(value.strip())
    return found


def requirements(lines: Iterable[str]) -> list[str]:
    """Those requirements that concern torch, its companions and the GPU libraries."""
    kept = []
    for line in lines:
        name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line)
        if name and canonical(name.group(0)).startswith(REQUIREMENT_PREFIXES):
            kept.append(line[:300])
    return kept[:80]


def needs_torch(lines: Iterable[str]) -> bool:
    return any(re.match(r"torch(?![A-Za-z0-9._-])", line) and "extra ==" not in line for line in lines)


def metadata_dirs(path: str) -> Iterator[tuple[str, str, str]]:
    """(folder or file, name, version or "") of each distribution of one ``sys.path`` entry, from file names alone."""
    for entry in listing(path):
        stem, dot, kind = entry.name.rpartition(".")
        if not dot or kind not in ("dist-info", "egg-info", "egg-link"):
            continue
        name, _, version = stem.partition("-")
        yield entry.path, name, re.sub(r"-py[0-9.].*$", "", version) if kind == "egg-info" else version


def describe(path: str, name: str, version: str, found: dict[str, list[str]] | None) -> dict[str, Any]:
    """One distribution: names and versions of its metadata, how it was installed, what is wrong with it."""
    stated = (found or {}).get("version", [""])[0]
    problem = None
    if path.endswith(".egg-link"):
        problem = None
    elif found is None:
        problem = "no readable METADATA"
    elif not stated:
        problem = "METADATA has no Version"
    elif version and canonical(version) != canonical(stated):
        problem = f"METADATA says {stated}, the folder name {version}"
    url = editable = None
    direct = read_text(os.path.join(path, "direct_url.json")) if path.endswith(".dist-info") else None
    if direct:
        try:
            record = json.loads(direct)
            url = re.sub(r"//[^/@]*@", "//", str(record.get("url") or "")) or None
            editable = bool((record.get("dir_info") or {}).get("editable"))
        except (ValueError, AttributeError, RecursionError):
            problem = problem or "direct_url.json is not valid"
    if path.endswith(".egg-link"):
        editable, url = True, (read_text(path) or "").split("\n", 1)[0].strip() or None
    installer = (read_text(os.path.join(path, "INSTALLER"), 100) or "").strip() if path.endswith("-info") else ""
    return {
        "name": canonical((found or {}).get("name", [name])[0] or name),
        "version": stated or version or None,
        "metadata": path,
        "editable": bool(editable),
        "url": url,
        "installer": installer or None,
        "requires": requirements((found or {}).get("requires-dist", [])),
        "problem": problem,
    }


def packages(path_entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The distributions that matter on ``sys.path``, in its order: the first of a name is the one that is imported."""
    result: list[dict[str, Any]] = []
    leftovers: list[str] = []
    later: list[tuple[str, str, str, str]] = []
    total = 0
    for place in path_entries:
        if place["origin"] == "stdlib":
            continue
        for path, name, version in metadata_dirs(place["path"] or "."):
            total += 1
            if name[:1] in "~-":
                leftovers.append(path)  # pip renames what it is about to remove; after a clean run nothing is left
            elif relevant(canonical(name)):
                result.append(dict(describe(path, name, version, headers_of(path)), origin=place["origin"]))
            else:
                later.append((path, name, version, place["origin"]))
    deadline = time.monotonic() + METADATA_S
    read = 0
    for path, name, version, origin in later:
        if time.monotonic() > deadline:
            break
        read += 1
        found = headers_of(path)
        if found and needs_torch(found.get("requires-dist", [])):
            result.append(dict(describe(path, name, version, found), origin=origin))
    return {
        "packages": result[:2000],
        "packages_total": total,
        "requirements_complete": read == len(later),
        "leftovers": leftovers[:50],
    }


def headers_of(path: str) -> dict[str, list[str]] | None:
    if os.path.isfile(path):
        return None if path.endswith(".egg-link") else headers(path)
    found = headers(os.path.join(path, "METADATA"))
    return found if found is not None else headers(os.path.join(path, "PKG-INFO"))


# --- files that hide a package ----------------------------------------------------------------------------------------


def stdlib_names() -> frozenset[str]:
    """Names of the standard library that a file can still hide: not built in, not loaded before a script starts."""
    names = getattr(sys, "stdlib_module_names", None)
    if names is None:  # before 3.10
        names = {entry.name.partition(".")[0] for entry in listing(os.path.dirname(os.__file__))} - {
            "test",
            "site-packages",
        }
    return frozenset(names) - AT_START - frozenset(sys.builtin_module_names)


def shadows(script_dirs: list[str], path_entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Modules in folders that a job searches first whose names belong to the standard library or to a known package."""
    import _imp

    hidden = stdlib_names()
    suffixes = sorted([*_imp.extension_suffixes(), ".py", ".pyc"], key=len, reverse=True)
    on_path = {os.path.realpath(place["path"]): place["origin"] for place in path_entries if place["path"]}
    places = [("cwd", cwd())] + [("script", folder) for folder in script_dirs]
    places += [("pythonpath", real) for real, origin in on_path.items() if origin == "pythonpath"]
    found = []
    seen: set[str] = set()
    for role, folder in places:
        real = os.path.realpath(folder) if folder else ""
        if not real or real in seen or on_path.get(real, "pythonpath") != "pythonpath":
            continue
        seen.add(real)
        entries = listing(real)
        # Metadata beside a package says that it is meant to be found here: installed with --target, or a checkout.
        installed = any(entry.name.endswith((".dist-info", ".egg-info")) for entry in entries)
        for entry in entries:
            suffix = next((suffix for suffix in suffixes if entry.name.endswith(suffix)), "")
            name = entry.name[: len(entry.name) - len(suffix)]
            hides = "stdlib" if name in hidden else "package" if name in OFTEN_SHADOWED else None
            if hides is None or (installed and hides == "package"):
                continue
            # A folder without __init__.py is a namespace: the real module of the name, later on the path, wins.
            if suffix or os.path.isfile(os.path.join(entry.path, "__init__.py")):
                found.append({"name": name, "path": entry.path, "role": role, "hides": hides})
    return found[:200]


# --- torch without importing it ---------------------------------------------------------------------------------------


def find_torch() -> dict[str, Any] | None:
    """Where ``import torch`` would find it; asks the path finders, which run no code of the package."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find("torch", None) if find else None
        if spec is None:
            continue
        locations = list(spec.submodule_search_locations or [])
        kind = "namespace" if spec.origin in (None, "namespace") else "package" if locations else "module"
        return {"path": locations[0] if locations else spec.origin, "kind": kind}
    return None


def version_file(path: str) -> dict[str, Any] | None:
    """The constants that torch/version.py assigns, by name; read as syntax, never run."""
    import ast

    text = read_text(path)
    if text is None:
        return None
    values = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign):
            targets: list[ast.expr] = [node.target]
        elif isinstance(node, ast.Assign):
            targets = node.targets
        else:
            continue
        try:
            constant = ast.literal_eval(node.value) if node.value else ()
        except ValueError:
            continue
        if constant is None or isinstance(constant, (str, bool)):
            values.update({target.id: constant for target in targets if isinstance(target, ast.Name)})
    return values


def torch_facts() -> dict[str, Any] | None:
    torch = find_torch()
    if torch is None or torch["kind"] != "package":
        return torch
    root = torch["path"]
    try:
        torch["version_file"] = version_file(os.path.join(root, "version.py"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        torch["version_file"], torch["problem"] = None, "version.py: " + text_of(error)
    names = [entry.name for entry in listing(os.path.join(root, "lib"))]
    around = [entry.name for entry in listing(os.path.dirname(root))]
    torch["extensions"] = [entry.name for entry in listing(root) if re.match(r"_C\..*\.?(so|pyd)$", entry.name)]
    torch["lib"] = names[:400]
    torch["rocm_init"] = os.path.isfile(os.path.join(root, "_rocm_init.py"))
    torch["rocm_sdk"] = [name for name in around if name.startswith("_rocm_sdk_")]
    return torch


# --- device code ------------------------------------------------------------------------------------------------------


def found_names(folder: str, source: str) -> dict[str, Any]:
    """The gfx targets in the file names of a folder (one level of folders below it too: one folder a target)."""
    targets: set[str] = set()
    entries = listing(folder)
    for entry in entries:
        targets.update(GFX.findall(entry.name))
    return {
        "source": source,
        "method": "file-names",
        "targets": sorted(targets),
        "count": len(entries),
        "complete": len(entries) < MAX_ENTRIES,
        "reason": None if targets else "no file name has a target",
    }


def elf_sections(path: str) -> dict[str, tuple[int, int]]:
    """Name -> (offset, bytes) of the sections of a 64-bit little-endian ELF file; other files have none."""
    import struct

    with open(path, "rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return {}
        (table,) = struct.unpack_from("<Q", head, 40)
        size, count, names_at = struct.unpack_from("<HHH", head, 58)
        if size < 64 or not count or names_at >= count:
            return {}
        file.seek(table)
        raw = file.read(min(size * count, 16 << 20))
        rows = [struct.unpack_from("<IIQQQQ", raw, size * row) for row in range(len(raw) // size)]
        if names_at >= len(rows):
            return {}
        file.seek(rows[names_at][4])
        names = file.read(min(rows[names_at][5], 1 << 20))
    return {names[row[0] :].split(b"\0", 1)[0].decode("ascii", "replace"): (row[4], row[5]) for row in rows}


def build_flags(path: str, source: str) -> dict[str, Any]:
    """The architectures that torch was built for: the words that torch.cuda.get_arch_list() returns are one constant.

    It stands in the read-only data of libtorch_python.so as ``"sm_75 sm_80 ..."`` or ``"gfx90a gfx942 ..."``.
    """
    import mmap

    offset, size = elf_sections(path).get(".rodata", (0, 0))
    size = min(size, 64 << 20)
    found: set[bytes] = set()
    if size:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
            found = set(ARCH_FLAGS.findall(memory[offset : offset + size]))
    lists = {flags for flags in found if b" " in flags} or found
    flags = lists.pop().decode("ascii").split() if len(lists) == 1 else []
    return {
        "source": source,
        "method": "build-flags",
        "targets": flags,
        "complete": bool(flags),
        "reason": None if flags else "no constant" if not lists else "more than one constant looks like it",
    }


def zstd_head(data: bytes, size: int) -> bytes | None:
    """The first ``size`` bytes of a zstd frame by the system's libzstd, or None where there is none."""
    import ctypes

    class Buffer(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]

    try:
        library = ctypes.CDLL("libzstd.so.1")
        create, decompress, free = library.ZSTD_createDStream, library.ZSTD_decompressStream, library.ZSTD_freeDStream
    except (OSError, AttributeError):
        return None
    create.restype, decompress.restype = ctypes.c_void_p, ctypes.c_size_t
    decompress.argtypes = [ctypes.c_void_p, ctypes.POINTER(Buffer), ctypes.POINTER(Buffer)]
    free.argtypes = [ctypes.c_void_p]
    stream = create()
    if not stream:
        return None
    target = ctypes.create_string_buffer(size)
    source = ctypes.create_string_buffer(data, len(data))
    output = Buffer(ctypes.cast(target, ctypes.c_void_p), size, 0)
    given = Buffer(ctypes.cast(source, ctypes.c_void_p), len(data), 0)
    try:
        while output.pos < size and given.pos < given.size:
            before = output.pos, given.pos
            code = decompress(stream, ctypes.byref(output), ctypes.byref(given))
            # Errors are the highest values of size_t; 0 is the end of the frame.
            if code == 0 or code > 2**63 or (output.pos, given.pos) == before:
                break
    finally:
        free(stream)
    return target.raw[: output.pos]


def bundle_targets(data: bytes) -> tuple[list[str], int]:
    """Targets of an uncompressed code object bundle ("gfx90a:xnack-", ...) and the bundle's length in bytes."""
    import struct

    targets, end, at = [], 0, 32
    (count,) = struct.unpack_from("<Q", data, 24)
    for _ in range(min(count, 256)):
        offset, size, length = struct.unpack_from("<QQQ", data, at)
        name = data[at + 24 : at + 24 + length]
        at += 24 + length
        if at > len(data) or length > 256:
            break
        end = max(end, offset + size)
        triple, _, target = name.decode("ascii", "replace").partition("amdgcn-amd-amdhsa--")
        if triple and target:
            targets.append(target)
    return targets, end


def code_objects(path: str, source: str) -> dict[str, Any]:
    """The targets of the device code in a library, and how many of its bundles have each.

    Hops from bundle to bundle through the section .hip_fatbin, reading their headers only: each starts at a multiple of
    4096 bytes. Compressed bundles (``CCOB``) keep the names inside: the first few are opened with libzstd or zlib.
    """
    import struct

    sections = elf_sections(path)
    place, size = sections.get(".hip_fatbin", (0, 0))
    counts: dict[str, int] = {}
    total = opened = 0
    reason = None if size else "no section .hip_fatbin"
    deadline = time.monotonic() + DEVICE_CODE_S
    at, end = place, place + size
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while at < end:
            if time.monotonic() > deadline or total >= 20_000:
                reason = "time limit"
                break
            head = os.pread(descriptor, 8192, at)
            length = 0
            if head.startswith(b"__CLANG_OFFLOAD_BUNDLE__"):
                targets, length = bundle_targets(head.ljust(32, b"\0"))
                opened += 1
            elif head.startswith(b"CCOB") and len(head) >= 32:
                version, method = struct.unpack_from("<HH", head, 4)
                body = {1: 20, 2: 24}.get(version, 32)
                length = struct.unpack_from("<I" if version == 2 else "<Q", head, 8)[0] if version > 1 else 0
                targets = []
                if opened < 8:
                    data = os.pread(descriptor, min(length or 1 << 18, 1 << 18), at)[body:]
                    plain = inflate(data, method)
                    if plain and len(plain) >= 32 and plain.startswith(b"__CLANG_OFFLOAD_BUNDLE__"):
                        targets, opened = bundle_targets(plain)[0], opened + 1
                    else:
                        reason = "compressed code objects, and nothing here to open them"
            elif not head.strip(b"\0"):
                at += 4096
                continue
            else:
                reason = "not a known container of code objects"
                break
            total += 1
            for target in set(targets):
                counts[target] = counts.get(target, 0) + 1
            if length <= 0:
                reason = reason or "a bundle does not state its length"
                break
            at += -(-(at - place + length) // 4096) * 4096 - (at - place)
    finally:
        os.close(descriptor)
    return {
        "source": source,
        "method": "code-objects",
        "targets": sorted({target.partition(":")[0] for target in counts}),
        "count": total,
        "opened": opened,
        "counts": dict(sorted(counts.items())),
        "complete": reason is None and opened == total,
        "reason": reason or (None if opened == total else "first compressed bundles only"),
        "kpack": ".rocm_kpack_ref" in sections,
    }


def inflate(data: bytes, method: int) -> bytes | None:
    """The first 16 KiB of a compressed bundle: method 1 is zstd, 0 is zlib."""
    if method == 1:
        return zstd_head(data, 16_384)
    import zlib

    try:
        return zlib.decompressobj().decompress(data, 16_384)
    except zlib.error:
        return None


def device_code(torch: dict[str, Any]) -> list[dict[str, Any]]:
    """Architectures of the torch build, one entry a source; a source that is not there has no entry."""
    root = torch["path"]
    sources: list[dict[str, Any]] = []
    files: list[tuple[Callable[[str, str], dict[str, Any]], str]] = [
        (build_flags, "lib/libtorch_python.so"),
        (code_objects, "lib/libtorch_hip.so"),
    ]
    for read, name in files:
        path = os.path.join(root, name)
        if os.path.isfile(path):
            try:
                sources.append(read(path, "torch/" + name))
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                sources.append({"source": "torch/" + name, "targets": [], "complete": False, "reason": reason})
    libraries = [("torch", root)]
    libraries += [(name, os.path.join(os.path.dirname(root), name)) for name in torch.get("rocm_sdk", [])]
    for label, top in libraries:
        for part in ("rocblas/library", "hipblaslt/library", "hipsparselt/library", "aotriton.images", ".kpack"):
            folder = os.path.join(top, "lib", part)
            if os.path.isdir(folder):
                sources.append(found_names(folder, f"{label}/lib/{part}"))
        if os.path.isdir(os.path.join(top, ".kpack")):
            sources.append(found_names(os.path.join(top, ".kpack"), label + "/.kpack"))
    return sources


# --- torch, imported --------------------------------------------------------------------------------------------------


def error_facts(error: BaseException) -> dict[str, Any]:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[-6:]
    facts: dict[str, Any] = {
        "class": type(error).__name__,
        "message": text_of(error),
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames if frame.filename != __file__],
    }
    if error.__cause__ is not None:
        facts["cause"] = {"class": type(error.__cause__).__name__, "message": text_of(error.__cause__)}
    return facts


class Steps:
    """Asks torch one guarded question after the other; each is announced first and answered on a line of its own."""

    def __init__(self, output: Output) -> None:
        self.output = output

    def ask(self, step: str, question: Callable[[], Any]) -> Any:
        import warnings

        self.output.emit("begin", step=step)
        started = time.monotonic()
        value = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = question()
                result: dict[str, Any] = {"ok": True, "value": value}
            except BaseException as error:  # SystemExit of a package must not end the probe
                result = {"ok": False, "error": error_facts(error)}
        result["warnings"] = [
            {"class": item.category.__name__, "message": text_of(item.message)}
            for item in caught[:20]
            if not issubclass(item.category, (DeprecationWarning, PendingDeprecationWarning))
        ]
        self.output.emit("step", step=step, elapsed_s=round(time.monotonic() - started, 3), **result)
        return value


def device_facts(torch: Any, index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    names = """name gcnArchName major minor total_memory multi_processor_count warp_size L2_cache_size is_integrated
    is_multi_gpu_board max_threads_per_multi_processor shared_memory_per_block pci_domain_id pci_bus_id pci_device_id
    uuid""".split()
    facts = {"index": index}
    for name in names:
        try:
            facts[name] = getattr(properties, name)
        except Exception:  # most of them are newer than the oldest torch
            continue
    return facts


def called(owner: Any, *names: str) -> dict[str, Any]:
    """The results of those functions of ``owner`` that exist."""
    return {name: getattr(owner, name)() for name in names if callable(getattr(owner, name, None))}


def distributed_facts(torch: Any) -> dict[str, Any]:
    import torch.distributed as distributed

    names = ("is_nccl_available", "is_gloo_available", "is_mpi_available", "is_ucc_available", "is_xccl_available")
    return called(distributed, "is_available", *names) if distributed.is_available() else {"is_available": False}


def extension_facts() -> dict[str, Any]:
    from torch.utils import cpp_extension

    return {name: getattr(cpp_extension, name, None) for name in ("ROCM_HOME", "CUDA_HOME", "CUDNN_HOME")}


def import_torch() -> Any:
    import torch

    return torch


def import_report(output: Output) -> None:
    """Imports torch and asks it what it sees. The order is from harmless to what creates a GPU context."""
    import faulthandler
    from functools import partial

    faulthandler.enable()  # a fatal signal leaves the Python stack on stderr
    sys.argv = [""]
    ask = Steps(output).ask
    seen: list[Any] = []

    def load() -> dict[str, Any]:
        torch = import_torch()
        seen.append(torch)
        return {"file": getattr(torch, "__file__", None), "version": getattr(torch, "__version__", None)}

    ask("import torch", load)
    if not seen:
        return
    torch = seen[0]
    version = ("__version__", "debug", "cuda", "hip", "rocm", "xpu", "git_version")
    ask("version", lambda: {name: getattr(torch.version, name) for name in version if hasattr(torch.version, name)})
    ask("config", lambda: torch.__config__.show())
    ask("threads", lambda: torch.get_num_threads())
    ask("distributed", lambda: distributed_facts(torch))
    ask("backends.mps", lambda: called(torch.backends.mps, "is_built", "is_available"))
    available = ask("cuda.is_available", lambda: torch.cuda.is_available())
    count = ask("cuda.device_count", lambda: torch.cuda.device_count())
    if hasattr(torch, "xpu"):
        ask("xpu", lambda: called(torch.xpu, "is_available", "device_count"))
    if available or getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None):
        ask("nccl.version", lambda: torch.cuda.nccl.version())
        ask("cudnn.version", lambda: torch.backends.cudnn.version())  # MIOpen's on ROCm
        ask("allocator", lambda: torch.cuda.memory.get_allocator_backend())
        ask("cuda.init", lambda: torch.cuda.init())  # its exception tells why a GPU build sees no GPU
    if available and isinstance(count, int):
        for index in range(min(count, 64)):
            ask(f"device.{index}", partial(device_facts, torch, index))
        ask("arch_list", lambda: torch.cuda.get_arch_list())
        ask("bf16", lambda: torch.cuda.is_bf16_supported())
    ask("cpp_extension", extension_facts)


def main(arguments: list[str]) -> int:
    output = Output()
    errors: list[dict[str, Any]] = []

    def guarded(step: str, question: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return question()
        except Exception as error:
            errors.append(dict(error_facts(error), step=step))
            return otherwise

    scripts = [arguments[at + 1] for at, flag in enumerate(arguments[:-1]) if flag == "--script-dir"]
    python = guarded("python", python_facts, None)
    path = guarded("sys.path", search_path, [])
    found = guarded("packages", lambda: packages(path), {})
    hiding = guarded("shadows", lambda: shadows(scripts, path), None)
    torch = guarded("torch", torch_facts, None)
    known = not any(error["step"] == "torch" for error in errors)
    output.emit(
        "static", python=python, path=path, shadows=hiding, torch=torch, torch_known=known, errors=errors, **found
    )
    if torch and torch["kind"] == "package":
        errors = []
        sources = guarded("device-code", lambda: device_code(torch), [])
        output.emit("device-code", sources=sources, errors=errors)
    if "--import" in arguments:
        import_report(output)
    elif "--not-imported" in arguments[:-1]:
        output.emit("not-imported", reason=arguments[arguments.index("--not-imported") + 1])
    output.emit("end")
    return 0


if __name__ == "__main__":
    status = 1
    try:
        status = main(sys.argv[1:])
    finally:
        # Exit handlers of imported libraries hang on a broken driver; nothing here needs them.
        try:
            sys.stderr.flush()
        finally:
            os._exit(status)
