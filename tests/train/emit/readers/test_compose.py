from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.compose import files
from rocdoctor.train.recommend.plan import Setting, Vendor
from tests.train.emit.plan_kit import fleet, plan
from tests.train.emit.readers.venvs import run

pytestmark = [
    pytest.mark.reader,
    pytest.mark.skipif(shutil.which("docker-compose") is None, reason="docker-compose is not installed"),
]
ODD = ("$HOME", "${X:-y}", "a: b", "$$")


def _config(text: str, folder: Path, **variables: str) -> tuple[int, Any]:
    path = folder / "compose.yaml"
    path.write_text(text)
    done = run(["docker-compose", "-f", path, "config"], environment=variables)
    return done.returncode, yaml.safe_load(done.stdout)["services"]["train"] if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("vendor", ["amd", "nvidia", "cpu"])
def test_compose_reads_the_file_as_it_was_meant(vendor: Vendor, tmp_path: Path) -> None:
    made = plan(replace(fleet(), vendor=vendor))
    code, found = _config(files(made, Order("train.py", ODD, image="an/image:1"))[0].text, tmp_path)
    assert code == 0, found
    # `config` prints words so that they can be read again, with each $ twice.
    assert [word.replace("$$", "$") for word in found["command"][-4:]] == list(ODD)
    assert found["environment"] == {"OMP_NUM_THREADS": "8"}
    assert ("devices" in found) is (vendor == "amd")
    assert ("deploy" in found) is (vendor == "nvidia")


def test_the_group_of_the_devices_may_be_named(tmp_path: Path) -> None:
    text = files(plan(), Order())[0].text
    assert _config(text, tmp_path)[1]["group_add"] == ["video"]
    assert _config(text, tmp_path, RENDER_GID="992")[1]["group_add"] == ["992"]


def test_all_gpus_may_be_asked_for(tmp_path: Path) -> None:
    chosen = (Setting("CUDA_VISIBLE_DEVICES", "2,3", "not all are used"),)
    made = replace(plan(replace(fleet(), vendor="nvidia")), environment=chosen)
    code, found = _config(files(made, Order())[0].text, tmp_path)
    assert code == 0, found


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("shm_size:", "shm_sise:"),
        ("memlock: -1", "memlock: [none]"),
        ("group_add:", "group_added:"),
        ("    devices:", "    devices: all\n    labels:"),
    ],
)
def test_a_broken_file_is_refused(right: str, wrong: str, tmp_path: Path) -> None:
    text = files(plan(), Order())[0].text
    assert right in text
    assert _config(text.replace(right, wrong), tmp_path)[0] != 0
