from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.kubernetes import files
from rocdoctor.train.recommend.plan import Vendor
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers.venvs import reader, run

pytestmark = pytest.mark.reader
ODD = Order("my train.py", ("$(HOME)", "a: b"), image="an/image:1", job="My run", time="1:00:00")


def _validate(text: str, folder: Path) -> tuple[int, str]:
    path = folder / "job.yaml"
    path.write_text(text)
    done = run([reader("kubernetes").parent / "kubernetes-validate", "--strict", path])
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("vendor", ["amd", "nvidia", "cpu"])
def test_the_schema_of_kubernetes_takes_the_file(vendor: Vendor, nodes: int, tmp_path: Path) -> None:
    for order in (Order(), ODD):
        (file,) = files(plan(replace(fleet(nodes=nodes), vendor=vendor)), order)
        code, said = _validate(file.text, tmp_path)
        assert code == 0, said
        # An unknown kind or version is only warned of, and nothing of it is looked at.
        assert said.count("passed for resource") == nodes
        assert "WARN" not in said


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("completionMode:", "completionmode:"),
        ("completions: 2", "completions: two"),
        ("sizeLimit:", "size:"),
        ("resources:", "resource:"),
        ("clusterIP:", "clusterIp:"),
        ("      containers:", "      container:"),
    ],
)
def test_a_broken_file_is_refused(right: str, wrong: str, tmp_path: Path) -> None:
    text = files(plan(fleet(nodes=2)), Order())[0].text
    assert right in text
    assert _validate(text.replace(right, wrong), tmp_path)[0] != 0
