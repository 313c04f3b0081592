"""Which kind each file is, and what Dockerfiles, YAML, env files, units and job files set."""

from __future__ import annotations

import pytest

from rocdoctor.lint import env_files
from rocdoctor.lint.env_files import kind_of, read_sheet
from rocdoctor.parsers.shell.settings import views


@pytest.fixture(autouse=True)
def _every_name_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env_files, "is_known", lambda name: True)


def _settings(path: str, text: str) -> list[dict[str, tuple[str | None, int]]]:
    sheet = read_sheet(path, text)
    assert sheet is not None
    return [{name: (one.value, one.line) for name, one in view.variables.items()} for view in views(sheet)]


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("run.sh", "", "shell"),
        ("train", "#!/bin/bash\ntrue\n", "shell"),
        ("job", "#!/bin/bash\n#SBATCH -N 2\n", "slurm"),
        ("/etc/environment", "A=1\n", "env"),
        ("prod.env", "A=1\n", "env"),
        (".env.local", "A=1\n", "env"),
        ("/home/u/.bashrc", "", "shell"),
        ("/etc/profile.d/rocm.sh", "", "shell"),
        ("docker/Dockerfile.rocm", "", "dockerfile"),
        ("x.dockerfile", "", "dockerfile"),
        ("compose.yml", "", "yaml"),
        ("train.service", "[Service]\nEnvironment=A=1\n", "unit"),
        ("settings", "export A=1\n", "shell"),
        ("values", "A=1\nB=2\n", "env"),
        ("train.py", "import os\n", None),
        ("README.md", "export A=1\n", None),
        ("tool", "#!/usr/bin/perl\n", None),
        ("notes", "some words\n", None),
    ],
)
def test_kinds(path: str, text: str, kind: str | None) -> None:
    assert kind_of(path, text) == kind


def test_a_dockerfile_sets_what_its_last_stage_and_the_stages_below_it_set() -> None:
    text = (
        "FROM a AS base\nENV A=1 B=2\nFROM b\nENV X=1\nFROM base\n# ENV C=0\n"
        "ENV C=3 \\\n    # words\n    D=${A}5\nENV E some words\nRUN export F=1\nARG G=2\n"
    )
    (view,) = _settings("Dockerfile", text)
    assert view == {
        "A": ("1", 2),
        "B": ("2", 2),
        "C": ("3", 7),
        "D": ("15", 9),
        "E": ("some words", 10),
    }


def test_services_and_containers_of_yaml_stand_apart() -> None:
    compose = "services:\n  a:\n    environment:\n      - A=1\n      - B\n  b:\n    env:\n      A: '2'\n      C: ${C}\n"
    assert _settings("compose.yaml", compose) == [{"A": ("1", 4)}, {"A": ("2", 8)}]
    pod = (
        'apiVersion: v1\nspec:\n  containers:\n  - name: x\n    env:\n    - name: A\n      value: "1"\n'
        "    - name: S\n      valueFrom: {configMapKeyRef: {}}\n    command: [bash, -c]\n    args:\n    - |\n"
        "      export B=2\n"
    )
    assert _settings("pod.yaml", pod)[-1] == {"A": ("1", 7), "B": ("2", 13)}


def test_templates_and_broken_yaml_do_not_stop_it() -> None:
    text = (
        '{{- if .Values.x }}\nenv:\n  - name: A\n    value: {{ .Values.a }}\n  - name: B\n    value: "1"\n{{- end }}\n'
    )
    assert _settings("templates/pod.yaml", text) == [{"B": ("1", 6)}]
    assert _settings("x.yaml", "a: [1\nb: }\n") == []


def test_aliases_of_yaml_are_walked_once() -> None:
    bomb = "a: &a [x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    assert _settings("x.yaml", bomb) == []


def test_env_files_units_and_job_headers() -> None:
    assert _settings(".env", "# c\nA=1 # one\nexport B='x y'\nbroken\r\nC=\r\n") == [
        {"A": ("1", 2), "B": ("x y", 3), "C": ("", 5)}
    ]
    assert _settings("x.service", '[Service]\nEnvironment="A=1 2" B=3\n') == [{"A": ("1 2", 2), "B": ("3", 2)}]
    job = "#!/bin/sh\n#SBATCH --export=ALL,A=1,B=2\nexport C=3\n"
    assert _settings("job.sbatch", job) == [{"A": ("1", 2), "B": ("2", 2), "C": ("3", 3)}]
