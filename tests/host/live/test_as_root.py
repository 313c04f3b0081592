"""What root runs of others: nothing, seen from outside; each test has files of a user who is not root."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rocdoctor.host.live.interpreter import PROBE, identity, may, weak_interpreter
from rocdoctor.host.live.python_code import Use
from tests.host.live.kit import program_file
from tests.kit import ROOT

NOBODY = 65534
# One that other users may run; that of the tests may lie in root's home.
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root is in danger, and only root can give files away"),
]
FIXTURE = str(ROOT / "fixtures" / "rx580.capture")


@pytest.fixture
def root_python(shared: Path) -> Path:
    """An interpreter of root's with next to nothing below it: what is judged here is looked at and never run."""
    library = shared / "own" / "lib" / "python3.11"
    library.mkdir(parents=True)
    (library / "os.py").write_text("")
    (shared / "own" / "bin").mkdir()
    program_file(shared / "own" / "bin" / "python3.11", "exit 1\n")
    return shared / "own" / "bin" / "python3.11"


@pytest.fixture
def users(shared: Path) -> Path:
    """A folder of another user with a Python that notes as whom it ran, and with which variables."""
    folder = shared / "uvenv"
    (folder / "bin").mkdir(parents=True)
    program_file(folder / "bin" / "python", f'{{ id -u; env; }} >> {folder}/ran\nexec {PYTHON} "$@"\n')
    for path in (folder, folder / "bin", folder / "bin" / "python"):
        os.chown(path, NOBODY, NOBODY)
    return folder


def _doctor(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return subprocess.run(
        [sys.executable, "-m", "rocdoctor", *arguments],
        env={**environment, "PYTHONPATH": os.environ.get("PYTHONPATH") or str(ROOT), **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _ran_as(folder: Path) -> set[str]:
    path = folder / "ran"
    return {line for line in path.read_text().splitlines() if line.isdecimal()} if path.exists() else set()


_ASKING = {
    "smoke": ["smoke", "objects", "--world", "2"],
    "nodes": ["smoke", "--nnodes", "1", "--node-rank", "0", "--rdzv", "127.0.0.1:29417", "--wait", "1"],
    "bundle": ["bundle", "--with-smoke", "-o", "/dev/null"],
    "check": ["check", "--only", "torch-not-installed"],
    "facts": ["facts"],
    "recommend": ["recommend", "--measure", "--model", "llama-3-8b"],
}
_OFTEN = {("sudo", name) for name in _ASKING} | {
    (how, name) for how in ("VIRTUAL_ENV", "CONDA_PREFIX") for name in ("smoke", "facts")
}


@pytest.mark.parametrize(
    ("how", "arguments"),
    [
        pytest.param(how, words, id=f"{how} {name}", marks=() if (how, name) in _OFTEN else pytest.mark.heavy)
        for how in ("sudo", "VIRTUAL_ENV", "CONDA_PREFIX")
        for name, words in _ASKING.items()
    ],
)
def test_an_interpreter_of_another_user_is_not_run_with_the_rights_of_root(
    users: Path, arguments: list[str], how: str
) -> None:
    sudo = {"SUDO_USER": "nobody", "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)} if how == "sudo" else {}
    variable = how if how != "sudo" else "VIRTUAL_ENV"
    done = _doctor(*arguments, **{variable: str(users)}, **sudo)
    assert "0" not in _ran_as(users), done.stderr
    if arguments[0] == "smoke":
        assert done.returncode == 2
        assert f"root does not run {users}/bin/python: {users} belongs to user 65534" in done.stderr
        assert ("without sudo" if sudo else "--trust-interpreter") in done.stderr


@pytest.mark.parametrize("use", ["start", "build"])
def test_the_interpreter_of_these_tests_is_root_s_alone(shared: Path, use: Use) -> None:
    (shared / "bin").mkdir()
    (shared / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    assert weak_interpreter(str(shared / "bin" / "python"), use) == []


@pytest.mark.parametrize(
    "place",
    [
        "above",
        "link",
        "site",
        "pth",
        "pth-relative",
        "pth-inside",
        "home",
        "package",
        "link-in",
        "deep",
        "pyc",
        "sticky",
        "sticky-bin",
        "sticky-inside",
        "sticky-pth",
    ],
)
def test_each_way_to_change_an_interpreter_counts(shared: Path, root_python: Path, place: str) -> None:
    prefix = shared / "x" / "venv"
    site = prefix / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(root_python)
    assert weak_interpreter(str(prefix / "bin" / "python")) == []
    theirs = shared / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    if place == "above":
        os.chown(shared / "x", NOBODY, NOBODY)
    elif place == "link":
        (theirs / "python").symlink_to(root_python)
        (prefix / "bin" / "python").unlink()
        (prefix / "bin" / "python").symlink_to(theirs / "python")
    elif place == "site":
        site.chmod(0o777)
    elif place == "pth":
        (site / "more.pth").write_text(f"import os\n{theirs}\n")
    elif place == "pth-relative":
        (site / "more.pth").write_text(os.path.relpath(theirs, site))
    elif place == "pth-inside":
        (shared / "ours").mkdir()
        (shared / "ours" / "x.pth").write_text("")
        (shared / "ours" / "sitecustomize.py").symlink_to(theirs / "x.py")
        (site / "more.pth").write_text(f"{shared}/ours\n")
    elif place == "package":
        (site / "numpy").mkdir()
        os.chown(site / "numpy", NOBODY, NOBODY)
    elif place == "link-in":
        (theirs / "torch").mkdir()
        (site / "torch").symlink_to(theirs / "torch")
    elif place == "sticky":
        site.chmod(0o1777)
    elif place == "sticky-bin":
        (prefix / "bin").chmod(0o1777)  # where a pyvenv.cfg is looked for
    elif place == "sticky-inside":
        (site / "torch").mkdir()
        (site / "torch").chmod(0o1777)
    elif place == "sticky-pth":
        (shared / "open").mkdir()
        (shared / "open").chmod(0o1777)
        (site / "more.pth").write_text(f"{shared}/open\n")
    elif place == "deep":
        (site / "torch" / "lib").mkdir(parents=True)
        (site / "torch" / "lib" / "libtorch.so").write_text("")
        os.chown(site / "torch" / "lib" / "libtorch.so", NOBODY, NOBODY)
    elif place == "pyc":
        (site / "__pycache__").mkdir()
        (site / "__pycache__" / "six.pyc").write_text("")
        os.chown(site / "__pycache__" / "six.pyc", NOBODY, NOBODY)
    else:
        (prefix / "pyvenv.cfg").write_text(f"home = {theirs}/bin\nversion = 3.11\n")
    assert [one.path for one in weak_interpreter(str(prefix / "bin" / "python"))] != []


@pytest.mark.parametrize(
    ("file", "uses"),
    [
        ("lib/libtorch.so", ["import", "build"]),
        ("__init__.py", ["import", "build"]),
        ("deep/er/__pycache__/x.pyc", ["import", "build"]),
        ("include/c10/c10.h", ["build"]),
        ("__init__.pyi", ["build"]),
        ("entry_points.txt", ["import", "build"]),  # which torch follows when it is imported
    ],
)
def test_of_torch_what_is_used_is_judged(shared: Path, root_python: Path, file: str, uses: list[str]) -> None:
    """The probe reads torch's files as data; importing runs them, and a compiler reads the headers too."""
    prefix = shared / "venv"
    theirs = prefix / "lib" / "python3.11" / "site-packages" / "torch" / file
    theirs.parent.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(root_python)
    theirs.write_text("")
    os.chown(theirs, NOBODY, NOBODY)
    judged: list[Use] = ["start", "import", "build"]
    weak = {one: [place.path for place in weak_interpreter(str(prefix / "bin" / "python"), one)] for one in judged}
    assert weak == {one: [str(theirs)] if one in uses else [] for one in judged}


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("json/__init__.py", True),
        ("encodings/__pycache__/utf_8.pyc", True),
        ("importlib/metadata/_meta.py", True),
        ("lib-dynload/_struct.so", True),
        ("site-packages/sitecustomize/__init__.py", True),
        ("site-packages/usercustomize/more.py", True),
        ("test/support/__init__.py", False),
        ("site-packages/numpy/__init__.py", False),
    ],
)
def test_packages_that_the_start_imports_are_judged_to_the_last_file(shared: Path, file: str, counts: bool) -> None:
    prefix = shared / "own"
    library = prefix / "lib" / "python3.11"
    (library / file).parent.mkdir(parents=True)
    (library / "os.py").write_text("")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    (library / file).write_text("")
    assert weak_interpreter(str(prefix / "bin" / "python"), "start") == []
    os.chown(library / file, NOBODY, NOBODY)
    weak = [one.path for one in weak_interpreter(str(prefix / "bin" / "python"), "start")]
    assert weak == ([str(library / file)] if counts else [])


@pytest.mark.parametrize(
    ("place", "uses"),
    [
        ("other-package", ["import", "build"]),
        ("namespace-package", ["import", "build"]),
        ("byte-code", ["import", "build"]),
        ("behind-a-link", ["import", "build"]),
        ("link-in-a-named-folder", ["import", "build"]),
        ("finder", ["import", "build"]),
        ("run-at-start", ["start", "import", "build"]),
    ],
)
def test_what_torch_imports_is_judged_wherever_it_lies(
    shared: Path, root_python: Path, place: str, uses: list[str]
) -> None:
    prefix, elsewhere = shared / "venv", shared / "elsewhere"
    site = prefix / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    elsewhere.mkdir()
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(root_python)
    theirs = {
        "other-package": site / "torchgen" / "model.py",
        "namespace-package": site / "nvidia" / "cublas" / "__init__.py",
        "byte-code": site / "numpy" / "__pycache__" / "__init__.cpython-311.pyc",
        "run-at-start": site / "_distutils_hack" / "override.py",
    }.get(place, elsewhere / "torch" / "version.py")
    theirs.parent.mkdir(parents=True)
    theirs.write_text("")
    os.chown(theirs, NOBODY, NOBODY)
    if place == "behind-a-link":
        (site / "torch").symlink_to(elsewhere / "torch")
    elif place == "link-in-a-named-folder":
        (shared / "named").mkdir()
        (shared / "named" / "torch").symlink_to(elsewhere / "torch")
        (site / "more.pth").write_text(f"{shared}/named\n")
    elif place == "finder":
        (site / "__editable__.torch-2.9.pth").write_text("import __editable___torch_2_9_finder; x.install()\n")
        mapping = f"MAPPING: dict[str, str] = {{'torch': '{elsewhere}/torch'}}\nNAMESPACES = {{}}\n"
        (site / "__editable___torch_2_9_finder.py").write_text(mapping)
    elif place == "run-at-start":
        (site / "distutils-precedence.pth").write_text("import os; var = 1; __import__('_distutils_hack').add_shim()\n")
    judged: list[Use] = ["start", "import", "build"]
    weak = {one: [str(found.path) for found in weak_interpreter(str(prefix / "bin" / "python"), one)] for one in judged}
    assert weak == {one: [str(theirs)] if one in uses else [] for one in judged}


@pytest.mark.parametrize(
    ("configuration", "counts"),
    [
        ("include-system-site-packages = false", False),
        ("include-system-site-packages = true", True),
        ("include-system-site-packages = false\ninclude-system-site-packages = true", True),
        ("version = 3.11", True),
    ],
)
def test_packages_of_the_python_below_count_where_they_are_looked_up(
    shared: Path, root_python: Path, configuration: str, counts: bool
) -> None:
    prefix = shared / "venv"
    (prefix / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(root_python)
    (prefix / "pyvenv.cfg").write_text(f"home = {root_python.parent}\n{configuration}\n")
    theirs = shared / "own" / "lib" / "python3.11" / "site-packages" / "numpy" / "x.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("")
    os.chown(theirs, NOBODY, NOBODY)
    weak = [one.path for one in weak_interpreter(str(prefix / "bin" / "python"), "import")]
    assert weak == ([str(theirs)] if counts else [])
    library = shared / "own" / "lib" / "python3.11" / "json.py"
    library.write_text("")
    os.chown(library, NOBODY, NOBODY)
    assert str(library) in [one.path for one in weak_interpreter(str(prefix / "bin" / "python"), "import")]


def test_check_under_sudo_asks_the_interpreter_as_the_user_and_tells_root_s_secrets_to_nobody(users: Path) -> None:
    if not may(str(PROBE), identity(NOBODY)) or not may(os.path.realpath(PYTHON), identity(NOBODY)):
        pytest.skip("the files of this checkout cannot be read by others")
    sudo = {"SUDO_USER": "nobody", "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "ROOTS_SECRET": "s3cr3t"}
    done = _doctor("facts", "--python", str(users), "--json", **sudo)
    assert _ran_as(users) == {str(NOBODY)}, done.stderr
    told = (users / "ran").read_text()
    assert "s3cr3t" not in told
    assert "HOME=/root" not in told


def test_a_shell_of_root_asks_as_the_owner_and_does_not_import(users: Path) -> None:
    if not may(str(PROBE), identity(NOBODY)) or not may(os.path.realpath(PYTHON), identity(NOBODY)):
        pytest.skip("the files of this checkout cannot be read by others")
    done = _doctor("facts", "--import-torch", "--json", VIRTUAL_ENV=str(users))
    assert _ran_as(users) == {str(NOBODY)}, done.stderr
    code = (
        "from rocdoctor.collect.software.installations import collect_torch; "
        "from rocdoctor.host.live.live_host import LiveHost; "
        f"print(collect_torch(LiveHost(python={str(users)!r}), True).device_count.why)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert f"root does not do it, since {users} belongs to user {NOBODY}" in done.stdout, done.stderr


def test_the_way_out_is_an_option(users: Path) -> None:
    _doctor("facts", "--python", str(users), "--trust-interpreter")
    assert _ran_as(users) == {"0"}


@pytest.mark.parametrize(
    ("uid", "gid", "found"),
    [
        ("1000", "1001", ("u", 1000, 1001)),
        ("\uff11\uff10", "1", None),
        ("\u00b2", "1", None),
        ("1", "\u0661", None),
        ("-1", "1", None),
        ("1_0", "1", None),
        ("9" * 5000, "1", None),
        ("4294967295", "1", None),
        ("0", "1", None),
    ],
)
def test_who_called_sudo_is_a_number_of_plain_digits(
    uid: str, gid: str, found: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocdoctor.host.live.programs import invoking_user

    for name, value in (("SUDO_USER", "u"), ("SUDO_UID", uid), ("SUDO_GID", gid)):
        monkeypatch.setenv(name, value)
    assert invoking_user() == found


# -- programs


def test_a_program_of_root_does_not_find_programs_of_others(shared: Path) -> None:
    theirs, ours = shared / "theirs", shared / "ours"
    theirs.mkdir()
    ours.mkdir()
    program_file(theirs / "python3", f"id -u >> {shared}/ran\n")
    program_file(ours / "amd-smi", f"env > {shared}/variables\nexec /usr/bin/env python3 -c 'print(1)'\n")
    for path in (theirs, theirs / "python3"):
        os.chown(path, NOBODY, NOBODY)
    evil = {
        "LD_AUDIT": "/tmp/x.so",
        "LD_LIBRARY_PATH": f"{theirs}:/usr/lib",
        "PYTHONPATH": str(theirs),
        "PERL5LIB": str(theirs),
        "BASH_ENV": str(theirs / "env"),
        "IFS": "x",
        "HOME": str(theirs),
        "GCONV_PATH": str(theirs),
        "HSA_TOOLS_LIB": str(theirs / "lib.so"),
        "ROCM_PATH": str(theirs),
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
        "SECRET": "x",
        "PATH": f"{theirs}:{ours}:/usr/bin:/bin",
    }
    code = "from rocdoctor.host.live.live_host import LiveHost; print(LiveHost().ask('run amd-smi version').text)"
    done = subprocess.run(
        [
            "/usr/bin/env",
            "-i",
            *(f"{name}={value}" for name, value in evil.items() if not name.startswith("LD_AUDIT")),
            f"PYTHONPATH={ROOT}",
            sys.executable,
            "-c",
            code,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.strip() == "1", done.stderr
    assert not (shared / "ran").exists()
    told = dict(line.split("=", 1) for line in (shared / "variables").read_text().splitlines() if "=" in line)
    assert set(told) & set(evil) <= {"LD_LIBRARY_PATH", "HOME", "HSA_OVERRIDE_GFX_VERSION", "PATH", "IFS"}
    assert (told["LD_LIBRARY_PATH"], told["HSA_OVERRIDE_GFX_VERSION"]) == ("/usr/lib", "11.0.0")
    assert not any(str(theirs) in value for value in told.values())


def test_a_sticky_folder_is_in_no_list_that_root_looks_names_up_in(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocdoctor.host.live import programs

    sticky, ours = shared / "sticky", shared / "ours"
    for one in (sticky, ours, sticky / "inside"):
        one.mkdir()
    sticky.chmod(0o1777)
    (sticky / "file").write_text("")
    both = f"{sticky}:{ours}:{sticky}/inside:"
    given = {
        "PATH": both,
        "PYTHONPATH": both,
        "LD_LIBRARY_PATH": both,
        "TRITON_CACHE_DIR": str(sticky),
        "TORCH_HOME": f"{sticky}/none",
        "ROCM_PATH": str(sticky),
        "SLURM_CONF": f"{sticky}/file",
        "TMPDIR": str(sticky),
    }
    kept = f"{ours}:{sticky}/inside"
    assert programs.interpreter_environment(given) == {
        "PATH": kept,
        "PYTHONPATH": kept,
        "LD_LIBRARY_PATH": kept,
        "SLURM_CONF": f"{sticky}/file",
        "TMPDIR": str(sticky),
        "HOME": programs.root_home(),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    usual = programs.child_environment.__wrapped__()
    assert (usual["LD_LIBRARY_PATH"], usual["SLURM_CONF"]) == (kept, f"{sticky}/file")
    assert "ROCM_PATH" not in usual
    assert str(sticky) not in programs._directories.__wrapped__()
    assert str(ours) in programs._directories.__wrapped__()


@pytest.mark.parametrize("kind", ["above", "link", "file", "absolute", "sticky"])
def test_a_program_that_others_can_change_is_not_run_and_said(shared: Path, kind: str) -> None:
    folder = shared / "a" / "bin"
    folder.mkdir(parents=True)
    program_file(folder / "rocm-smi", f"id -u >> {shared}/ran\n")
    if kind == "above":
        os.chown(shared / "a", NOBODY, NOBODY)
    elif kind == "link":
        (shared / "u").mkdir()
        (shared / "u" / "bin").symlink_to(folder)
        os.chown(shared / "u", NOBODY, NOBODY)
        folder = shared / "u" / "bin"
    elif kind == "sticky":  # whose name it is today says nothing of tomorrow
        folder.chmod(0o1777)
    else:
        (folder / "rocm-smi").chmod(0o777)
    name = str(folder / "rocm-smi") if kind == "absolute" else "rocm-smi"
    code = f"from rocdoctor.host.live.live_host import LiveHost; print(LiveHost().ask('run {name}').note)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not (shared / "ran").exists()
    assert "root does not run" in done.stdout, done.stderr


# -- folders and checks


def test_folders_of_root_are_not_made_where_another_user_can_exchange_them(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocdoctor.host.live.trust import private_folder

    os.chown(shared, NOBODY, NOBODY)
    monkeypatch.setenv("TMPDIR", str(shared))
    monkeypatch.setattr(tempfile, "tempdir", None)
    made = Path(private_folder("rocdoctor-test-"))
    try:
        assert shared not in made.parents
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    finally:
        made.rmdir()


@pytest.mark.parametrize("kind", ["above", "group", "sticky", "sticky of a group"])
def test_a_folder_of_checks_below_one_of_somebody_else_is_refused_to_root(shared: Path, kind: str) -> None:
    folder = shared / "a" / "checks"
    folder.mkdir(parents=True)
    (folder / "own_one.py").write_text(f"open({str(shared / 'ran')!r}, 'w')\n")
    if kind == "above":
        os.chown(shared / "a", NOBODY, NOBODY)
    elif kind == "sticky":
        folder.chmod(0o1777)
    else:
        os.chown(folder, 0, NOBODY)
        folder.chmod(0o775 if kind == "group" else 0o1775)
    done = _doctor("check", "own-one", "--from", FIXTURE, "--checks", str(folder))
    assert done.returncode == 2
    assert ("can be changed by everybody" if kind == "sticky" else "root runs no code of others") in done.stderr
    assert not (shared / "ran").exists()


# -- containers


def test_links_of_a_container_do_not_lead_to_the_host(shared: Path) -> None:
    root = shared / "ctr"
    for name in ("etc", "usr", "proc"):
        (root / name).mkdir(parents=True)
    secret = shared / "rootonly"
    secret.write_text("TOPSECRET-HOST-FILE\n")
    secret.chmod(0o600)
    (root / "etc/os-release").symlink_to(secret)
    (root / "etc/group").symlink_to("/etc/shadow")
    (root / "etc/hostname").write_text("inside\n")
    for name in ("bin", "lib", "lib64"):
        if Path(f"/{name}").exists():
            (root / name).symlink_to(f"usr/{name}")
    command = f"mount --bind /usr {root}/usr && exec chroot {root} /bin/sh -c 'echo up; exec sleep 100'"
    child = subprocess.Popen(["unshare", "-m", "sh", "-c", command], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        if child.stdout.readline().strip() != "up":
            pytest.skip("this machine lets nobody make a name space")
        done = _doctor("bundle", "--pid", str(child.pid), "--show", "--include-identity")
        assert "TOPSECRET" not in done.stdout
        shadow = Path("/etc/shadow").read_text().splitlines()[0] if Path("/etc/shadow").exists() else "no shadow here"
        assert shadow not in done.stdout
        assert "read /etc/os-release" in done.stdout, done.stderr
    finally:
        child.kill()
        child.communicate()


def test_a_file_of_root_that_a_user_mounted_in_his_name_space_is_not_read(shared: Path) -> None:
    root = shared / "ctr"
    for name in ("etc", "usr"):
        (root / name).mkdir(parents=True)
    secret = shared / "rootonly"
    secret.write_text("TOPSECRET-HOST-FILE\n")
    secret.chmod(0o600)
    (root / "etc/os-release").write_text("")
    for name in ("bin", "lib", "lib64"):
        if Path(f"/{name}").exists():
            (root / name).symlink_to(f"usr/{name}")
    # Mounted by root here, as a user's own name space need not be allowed; the process belongs to the user.
    command = (
        f"mount --bind /usr {root}/usr && mount --bind {secret} {root}/etc/os-release && "
        f"exec chroot --userspec={NOBODY}:{NOBODY} {root} /bin/sh -c 'echo up; exec sleep 100'"
    )
    child = subprocess.Popen(["unshare", "-m", "sh", "-c", command], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        if child.stdout.readline().strip() != "up":
            pytest.skip("this machine lets nobody make a name space")
        done = _doctor("bundle", "--pid", str(child.pid), "--show", "--include-identity")
        assert "TOPSECRET" not in done.stdout
    finally:
        child.kill()
        child.communicate()


# -- rights of another user


def test_a_process_that_tries_as_another_user_has_nothing_of_root_s(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocdoctor.host.live import device_nodes

    program = (
        "import os\n"
        "said = [len(os.environ), sorted(os.listdir('/proc/self/fd'))[:-1], os.getcwd(), os.getuid(), os.getgroups(),\n"
        "        os.readlink('/proc/self/fd/0'), os.getsid(0) == os.getpid()]\n"
        "print(said)\n"
    )
    monkeypatch.setenv("ROOT_ONLY_SECRET", "s3cr3t")
    monkeypatch.setattr(device_nodes, "_PROGRAM", program)
    monkeypatch.setattr(sys, "executable", PYTHON)
    answer = device_nodes.open_as("open /dev/null", "/dev/null", NOBODY, NOBODY, [NOBODY])
    if not answer.ok and not may(os.path.realpath(PYTHON), identity(NOBODY)):
        pytest.skip("no Python here that others may run")
    assert answer.ok, answer.note
    count, files, folder, uid, groups, stdin, leads = eval(answer.text)
    assert count <= 1, "Python itself may set LC_CTYPE"
    assert files == ["0", "1", "2"]
    assert (folder, uid, groups, stdin, leads) == ("/", NOBODY, [NOBODY], "/dev/null", True)


def test_an_interpreter_with_more_files_than_any_has_is_not_run(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocdoctor.host.live import interpreter, trusted_content

    site = shared / "venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (shared / "venv" / "bin").mkdir()
    (shared / "venv" / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr(trusted_content, "_MOST_FILES", 100)
    how = interpreter.chosen(str(shared / "venv" / "bin" / "python"), "import")
    assert how.refused.endswith("holds too many files to be looked through")
