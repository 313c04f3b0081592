"""Where the secret of a run over nodes comes from, and who else can read it."""

from __future__ import annotations

import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from rocdoctor.train.smoke.nodes import secret
from rocdoctor.train.smoke.nodes.secret import SecretError, given, left, left_for_others, make

KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The working directory and the home directory."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    return work, home


def test_what_is_made_has_128_bits_and_is_taken() -> None:
    keys = {make() for _ in range(50)}
    assert len(keys) == 50 and all(len(one) == 26 and one.isalnum() and one.islower() for one in keys)
    assert all(given(one, None, {}) == one for one in keys)


def test_options_go_before_the_variable(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    file.chmod(0o600)
    other = {"ROCDOCTOR_SMOKE_KEY": "x" * 30}
    assert given(None, None, other) == "x" * 30
    assert given("y" * 30, None, other) == "y" * 30
    assert given(None, str(file), other) == KEY
    assert given(None, None, {}) == given(None, None, {"ROCDOCTOR_SMOKE_KEY": ""}) == ""
    with pytest.raises(SecretError, match="give one of them"):
        given(KEY, str(file), {})


@pytest.mark.parametrize(
    "key", ["", "short", "x" * 21, "x" * 129, "a key with blanks in it, long", "k" * 30 + "\x1b[2J"]
)
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(SecretError, match="openssl rand -hex 16") as caught:
        given(key, None, {})
    assert key == "" or key not in str(caught.value)


@pytest.mark.parametrize("text", ["root:$6$abc:19000:0:99999:7:::\n" * 3, "", "short", "\xff" * 40])
def test_no_change_is_advised_of_a_file_that_holds_no_key(tmp_path: Path, text: str) -> None:
    """``--key-file /etc/shadow`` must not end in words that say to change the mode of that file."""
    file = tmp_path / "shadow"
    file.write_text(text)
    file.chmod(0o640)
    with pytest.raises(SecretError, match="shadow cannot be the key's file: others can read or write it") as caught:
        given(None, str(file), {})
    assert "chmod" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_no_change_is_advised_of_a_file_of_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o640)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SecretError, match="cannot be the key's file"):
        given(None, str(file), {})


@pytest.mark.parametrize(
    ("mode", "words"), [(0o640, "chmod 600"), (0o604, "chmod 600"), (0o620, "chmod 600"), (0o000, ""), (0o600, "")]
)
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int, words: str) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(mode)
    if words:
        with pytest.raises(SecretError, match=words):
            given(None, str(file), {})
    elif mode or os.geteuid() == 0:
        assert given(None, str(file), {}) == KEY


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    for name, words in (("pipe", "not a regular file"), ("folder", "folder"), ("absent", "No such file")):
        with pytest.raises(SecretError, match=words):
            given(None, str(tmp_path / name), {})


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="files of other users need root")
def test_a_file_of_another_user_is_refused(tmp_path: Path, folders: tuple[Path, Path]) -> None:
    file = folders[0] / ".rocdoctor-smoke-1.0"
    file.write_text(KEY)
    file.chmod(0o600)
    assert left("1.0") == KEY
    os.chown(file, 65534, 65534)
    assert left("1.0") == ""
    with pytest.raises(SecretError, match="belongs to another user"):
        given(None, str(file), {})
    own, link = tmp_path / "key", tmp_path / "link"
    own.write_text(KEY)
    own.chmod(0o600)
    link.symlink_to(own)
    assert given(None, str(link), {}) == KEY
    os.chown(link, 65534, 65534, follow_symlinks=False)
    with pytest.raises(SecretError, match="symbolic link of user 65534"):
        given(None, str(link), {})


def test_the_other_nodes_of_a_step_find_it_and_nobody_afterwards(folders: tuple[Path, Path]) -> None:
    work, home = folders
    (home / ".rocdoctor-smoke-7.0").write_text("of a start that was killed")
    with left_for_others("7.0", KEY):
        for folder in folders:
            seen = (folder / ".rocdoctor-smoke-7.0").stat()
            assert seen.st_mode & 0o777 == 0o600
        assert left("7.0") == KEY and left("8.0") == "" and left("") == ""
        (work / ".rocdoctor-smoke-7.0").unlink()  # a working directory that is not shared
        assert left("7.0") == KEY
    assert left("7.0") == "" and list(work.iterdir()) == list(home.iterdir()) == []


def test_a_link_or_a_file_for_all_is_neither_read_nor_written_through(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    work, home = folders
    target = tmp_path / "target"
    target.write_text(KEY)
    target.chmod(0o600)
    (work / ".rocdoctor-smoke-7.0").symlink_to(target)
    assert left("7.0") == ""
    with left_for_others("7.0", "z" * 30):
        assert left("7.0") == "z" * 30
        assert not (work / ".rocdoctor-smoke-7.0").is_symlink()
        (work / ".rocdoctor-smoke-7.0").chmod(0o644)
        (home / ".rocdoctor-smoke-7.0").chmod(0o644)
        assert left("7.0") == ""
    assert target.read_text() == KEY


def test_a_name_of_a_step_is_no_path(folders: tuple[Path, Path]) -> None:
    work, _ = folders
    with left_for_others("../../x/7.0", KEY):
        assert [one.name for one in work.iterdir()] == [".rocdoctor-smoke-.._.._x_7.0"]


def test_where_nothing_can_be_written_it_is_said(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret, "_paths", lambda _: [Path("/proc/none/key")])
    with pytest.raises(SecretError, match="can be written"), left_for_others("7.0", KEY):
        pass


def smoke(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``rocdoctor smoke --nnodes 2`` on loopback, which finds nobody."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "ROCDOCTOR"))}
    program = [sys.executable, "-m", "rocdoctor", "smoke", "--nnodes", "2", "--rdzv", "127.0.0.1:1", "--wait", "1"]
    return subprocess.run(
        [*program, "--python", sys.executable, *words],
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_the_other_nodes_want_the_key() -> None:
    other = smoke("--node-rank", "1", "ddp")
    assert other.returncode == 2 and "ROCDOCTOR_SMOKE_KEY" in other.stderr
    bad = smoke("--node-rank", "1", "ddp", ROCDOCTOR_SMOKE_KEY="short")
    assert bad.returncode == 2 and "ROCDOCTOR_SMOKE_KEY holds no key" in bad.stderr
    given_one = smoke("--node-rank", "1", "ddp", ROCDOCTOR_SMOKE_KEY=KEY)
    assert given_one.returncode == 1 and "nothing listens on port 1" in given_one.stdout
    assert KEY not in given_one.stdout + given_one.stderr


def test_the_command_that_node_0_prints(capsys: pytest.CaptureFixture[str]) -> None:
    from rocdoctor.cli.commands import smoke_nodes
    from rocdoctor.train.smoke.nodes.node_place import NodePlace

    options = smoke_nodes.NodeOptions(backend="gloo", python="/opt/my env/bin/python")
    here = smoke_nodes._with_key(options, NodePlace(0, 3, "10.0.0.1", 29500))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "rocdoctor: start this on the other nodes, with --node-rank 1 to 2:"
    assert lines[1] == (
        f"  ROCDOCTOR_SMOKE_KEY={here.key} rocdoctor smoke --nnodes 3 --node-rank 1 --rdzv 10.0.0.1:29500 "
        "--backend gloo --python '/opt/my env/bin/python'"
    )
    assert len(here.key) == 26 and here.key not in repr(here)
    assert smoke_nodes._with_key(options, NodePlace(0, 2, "10.0.0.1", 29500, run="7.0")).key == ""  # left in a file
    assert capsys.readouterr().err == ""


def test_sets_of_modes_leave_out_what_unpickles_and_say_so() -> None:
    from rocdoctor.cli.commands.smoke_nodes import _without_objects
    from rocdoctor.train.smoke.run.runner import modes_named

    for full in (False, True):
        kept, notes = _without_objects(modes_named([], full), False)
        assert not any(one.objects for one in kept) and len(kept) > 30
        assert "not run over nodes unless named: objects, checkpoint" in notes[0]
    named = modes_named(["objects"], False)
    assert _without_objects(named, True) == (named, ())


def test_a_key_that_a_killed_run_left_gets_into_no_commit() -> None:
    """Git keeps no mode but that of programs, so a key of mode 0600 would be everybody's."""
    rules = (Path(__file__).parents[4] / ".gitignore").read_text().splitlines()
    assert any(fnmatch(path.name, rule) for path in secret._paths("1.0") for rule in rules)


_ENDED_TWICE = """
import os, pathlib, signal, sys, time
from rocdoctor.train.smoke.nodes import pair_run, run, secret
signal.signal(signal.SIGTERM, {"run": run, "pair_run": pair_run}[sys.argv[1]]._terminate)
unlink = pathlib.Path.unlink
def again(self, *more, **options):
    unlink(self, *more, **options)
    os.kill(os.getpid(), signal.SIGTERM)
with secret.left_for_others("7.0", "k" * 32):
    print(*sorted(map(str, pathlib.Path().resolve().parent.glob("*/.rocdoctor-smoke-7.0"))), flush=True)
    pathlib.Path.unlink = again
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""


@pytest.mark.parametrize("module", ["run", "pair_run"])
def test_the_key_is_taken_away_although_the_job_is_ended_twice(tmp_path: Path, module: str) -> None:
    """scancel signals every process of a step, also the one that hands the signal on."""
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _ENDED_TWICE, module],
        cwd=tmp_path / "work",
        env={**os.environ, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(__file__).parents[4])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 143, done.stderr
    assert len(done.stdout.split()) == 2, "the key was laid in both folders"
    assert not [*tmp_path.glob("*/.rocdoctor-smoke*")]
