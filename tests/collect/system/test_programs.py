"""Programs of a set-up, and who provides the interpreter under test; the texts are constructed."""

from __future__ import annotations

import json

import pytest

from rocdoctor.collect.software.installations import collect_torch
from rocdoctor.collect.system.programs import PROGRAMS, collect_programs
from rocdoctor.model.evidence import Known, Unknown
from tests.collect.hosts import excerpt, whole


def test_where_a_program_lies() -> None:
    found = collect_programs(whole({"list /snap/bin/docker": "/snap/bin/docker"}))
    docker = found["docker"]
    assert isinstance(docker, Known) and docker.value == "/snap/bin/docker"
    assert str(docker.source) == "list /snap/bin/docker:1"
    podman = found["podman"]
    assert isinstance(podman, Known) and podman.value is None


def test_evidence_without_these_questions_says_nothing_of_programs() -> None:
    found = collect_programs(excerpt({"list /usr/bin/docker": "/usr/bin/docker"}))
    assert isinstance(found["docker"], Known)
    assert all(isinstance(found[name], Unknown) for name in PROGRAMS if name != "docker")


def _probe(**python: object) -> str:
    return json.dumps({"schema": "rocdoctor.probe/1", "part": "static", "python": python, "torch": None})


@pytest.mark.parametrize(
    ("python", "kind", "managed"),
    [
        pytest.param(
            {"kind": "venv", "prefix": "/e", "base_prefix": "/usr", "externally_managed": "/m"}, "venv", False
        ),
        pytest.param({"kind": "venv", "prefix": "/usr", "base_prefix": "/usr", "base_kind": "system"}, "system", False),
        pytest.param({"kind": "system", "prefix": "/usr", "externally_managed": "/m"}, "system", True),
        pytest.param({"kind": "conda", "prefix": "/opt/conda"}, "conda", False),
    ],
    ids=["venv over a marked base", "prefix of its base", "marked system", "conda"],
)
def test_who_provides_the_interpreter(python: dict[str, object], kind: str, managed: bool) -> None:
    torch = collect_torch(excerpt({"python default": _probe(executable="/x/python", **python)}), False)
    assert isinstance(torch.environment, Known) and torch.environment.value == kind
    assert isinstance(torch.externally_managed, Known) and torch.externally_managed.value is managed


def test_an_older_capture_does_not_tell_who_provides_the_interpreter() -> None:
    torch = collect_torch(excerpt({"python default": _probe(executable="/x/python")}), False)
    assert isinstance(torch.environment, Unknown) and isinstance(torch.externally_managed, Unknown)
