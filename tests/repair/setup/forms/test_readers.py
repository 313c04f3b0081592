"""The forms of all plans, read by the programs that they are for: Ansible, cloud-init's schema, Docker's parser."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from rocdoctor.repair.setup.forms.ansible import render
from rocdoctor.repair.setup.forms.parts import origin
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step, Verify
from rocdoctor.service.errors import UsageError
from rocdoctor.service.setup_forms import Form, as_form
from tests.repair.setup.forms.kit import HOSTILE, planned, planner
from tests.repair.setup.plan_kit import PLANS
from tests.repair.setup.world.catalogue import CASES
from tests.train.emit.readers.venvs import READERS, reader, run

# What ``cloud-init schema`` calls, for many files at once; prints those that it refuses.
_VALIDATE = """
import sys
from cloudinit.config import schema
for path in sys.argv[1:]:
    try:
        schema.validate_cloudconfig_file(path, schema.get_schema())
    except schema.SchemaValidationError:
        print(path)
"""
pytestmark = pytest.mark.reader

# Prints the instructions as Docker's own parser, in Go, reads them.
_PARSE = """
import dockerfile, json, sys
print(json.dumps([[[one.cmd, list(one.value)] for one in dockerfile.parse_file(path)] for path in sys.argv[1:]]))
"""


def _written(form: Form, folder: Path, name: str) -> list[Path]:
    """The files of all machines of the catalogue that have this form."""
    found: list[Path] = []
    for case in CASES:
        try:
            text = as_form(form, [planned(case.name)], planner)
        except UsageError:
            continue
        found.append(folder / f"{case.name}{name}")
        found[-1].write_text(text)
    return found


def _playbook(folder: Path, *words: str | Path, status: int = 0) -> str:
    hosts = folder / "hosts.ini"
    hosts.write_text(f"[rocdoctor]\nlocalhost ansible_connection=local ansible_python_interpreter={sys.executable}\n")
    given = {"HOME": str(folder), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "ansible"), "LC_ALL": "C.UTF-8"}
    done = run([reader("ansible").parent / "ansible-playbook", "-i", hosts, *words], environment=given)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_ansible_takes_the_playbook_of_every_machine(tmp_path: Path) -> None:
    files = _written("ansible", tmp_path, ".yaml")
    assert len(files) == len(CASES)
    for name, one in PLANS.items():
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(render([(one, origin(planned("cpu-laptop").diagnosis.machine, "a test", False))]))
    assert "ERROR" not in _playbook(tmp_path, "--syntax-check", *files)
    broken = tmp_path / "broken.yaml"
    broken.write_text(files[0].read_text().replace("ansible.builtin.user", "ansible.builtin.usr"))
    assert "couldn't resolve module" in _playbook(tmp_path, "--syntax-check", broken, status=4)


def test_ansible_starts_a_program_with_the_very_words(tmp_path: Path) -> None:
    """Each word of a command and each line of a file, through Ansible's templates, its modules and no shell."""
    told, file = tmp_path / "told", tmp_path / "a file"
    program = tmp_path / "program"
    program.write_text(f"#!{sys.executable}\nimport json, sys\njson.dump(sys.argv[1:], open({str(told)!r}, 'w'))\n")
    program.chmod(0o755)
    actions = (Action((str(program), *HOSTILE)), Action(file=str(file), lines=HOSTILE))
    step = Step("a", HOSTILE[0], "todo", HOSTILE[1], actions=actions)
    machine = planned("cpu-laptop").diagnosis.machine
    made = origin(machine, "a test", root=True)
    text = render([(SetupPlan("pytorch", (step,)), made)])
    assert text.count("Stop on any system other") == 1
    # whichever system and user the tests run as
    play = text.replace("that: system.stdout == made_for", "that: true").replace("train_user == 'root'", "true")
    (tmp_path / "play.yaml").write_text(play)
    _playbook(tmp_path, tmp_path / "play.yaml")
    home = str(Path.home())
    assert file.read_text().splitlines() == [_meant(one, home) for one in HOSTILE]
    assert json.loads(told.read_text()) == [_meant(one, home) for one in HOSTILE]
    assert not list(tmp_path.glob("**/owned"))


def _meant(word: str, home: str) -> str:
    if word.startswith("~/"):
        return home + word[1:]
    return word.replace("$HOME", home, 1) if word.startswith("$HOME") else word


def test_a_play_stops_on_another_system_and_where_a_person_is_needed(tmp_path: Path) -> None:
    text = as_form("ansible", [planned("mi300x-8-rhel9-cluster-node")], planner)
    (tmp_path / "play.yaml").write_text(text)
    assert "This play was made for rhel 9.6, and this is" in _playbook(tmp_path, tmp_path / "play.yaml", status=2)


@cache
def _cloud_init() -> Path:
    """The folder of Debian's cloud-init, unpacked and not installed: it would set up the machine of the tests."""
    folder = READERS / "cloud-init-deb"
    if not (folder / "usr/bin/cloud-init").exists():
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            pytest.skip("cloud-init is taken from a package of Debian")
        folder.mkdir(parents=True, exist_ok=True)
        run(["apt-get", "-q", "download", "cloud-init"], cwd=folder)
        package = next(folder.glob("cloud-init_*.deb"), None)
        if package is None:
            pytest.skip("the package cloud-init could not be had")
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    return folder


def test_the_schema_of_cloud_init_takes_the_user_data_of_every_machine(tmp_path: Path) -> None:
    python, folder = reader("cloud-init"), _cloud_init()
    files = _written("cloud-init", tmp_path, ".yaml")
    assert len(files) > 30
    broken = tmp_path / "broken.yaml"
    broken.write_text(files[0].read_text().replace("permissions:", "permission:", 1))
    packages = str(folder / "usr/lib/python3/dist-packages")
    done = run([python, "-c", _VALIDATE, *files, broken], environment={"PYTHONPATH": packages})
    assert done.returncode == 0, done.stderr
    assert [Path(one).name for one in done.stdout.splitlines() if one.startswith("/")] == ["broken.yaml"]


def test_dockers_parser_reads_what_was_meant(tmp_path: Path) -> None:
    files = _written("dockerfile", tmp_path, ".Dockerfile")
    assert len(files) > 30
    done = run([reader("dockerfile"), "-c", _PARSE, *files])
    assert done.returncode == 0, done.stderr
    for path, found in zip(files, json.loads(done.stdout), strict=True):
        names = [name for name, _ in found]
        assert names[0] == "FROM", path.name
        assert set(names) <= {"FROM", "RUN", "ENV", "WORKDIR"}, path.name
        runs = [value[0] for name, value in found if name == "RUN"]
        assert any("torch" in one for one in runs) or "rocm-goal" in path.name, path.name


def test_ansible_judges_a_proof_by_its_output_or_its_status(tmp_path: Path) -> None:
    """Run by Ansible itself: what does not show the pattern or ends with a failure stops the play; without rocdoctor
    on the host a check of ours proves nothing and stops nothing."""
    machine = planned("cpu-laptop").diagnosis.machine
    touch = (Action(("true",)),)

    def play(*proofs: tuple[Verify, tuple[str, ...]], status: int) -> str:
        """All in one start of Ansible, which goes on to the next as long as none stops."""
        files = []
        for number, (verify, proof) in enumerate(proofs):
            step = Step("a", "A", "todo", "W", actions=touch, verify=verify, proof=proof)
            text = render([(SetupPlan("pytorch", (step,)), origin(machine, "a test", root=True))])
            text = text.replace("that: system.stdout == made_for", "that: true").replace("train_user == 'root'", "true")
            files.append(tmp_path / f"{number}.yaml")
            files[-1].write_text(text)
        return _playbook(tmp_path, *files, status=status)

    shows = Verify(command="printf a", expects="^7[.]0[.]")
    right: list[tuple[Verify, tuple[str, ...]]] = [
        (shows, ("printf", "7.0.0-9-generic")),
        (shows, ("printf", "x\\n7.0.0")),
        (Verify(command="true"), ("true",)),
        (Verify("no-such-check"), ()),
    ]
    said = play(*right, status=0)
    assert "failed=0" in said and said.count("Step 1: verify it") == len(right)
    assert "failed=1" in play((shows, ("printf", "6.17.0.7.0.1")), status=2)
    assert "failed=1" in play((Verify(command="false"), ("false",)), status=2)
