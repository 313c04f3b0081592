from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.compose import files, refuses
from rocdoctor.train.recommend.plan import Setting
from tests.train.emit.plan_kit import fleet, plan


def _service(order: Order | None = None, environment: tuple[Setting, ...] | None = None, **where: Any) -> Any:
    made = plan(replace(fleet(), **where))
    if environment is not None:
        made = replace(made, environment=environment)
    return yaml.safe_load(files(made, order or Order())[0].text)["services"]["train"]


def test_amd_gpus_are_device_files_and_a_group() -> None:
    found = _service(Order(image="an/image:1"))
    assert found["image"] == "an/image:1"
    assert found["devices"] == ["/dev/kfd", "/dev/dri"]
    assert found["group_add"] == ["${RENDER_GID:-video}"]
    assert "deploy" not in found
    assert found["shm_size"] == "64gb"
    assert found["ulimits"] == {"memlock": -1, "stack": 67108864}
    assert found["command"] == [
        "torchrun",
        "--rdzv-backend",
        "static",
        "--rdzv-endpoint",
        "127.0.0.1:29500",
        "--nproc-per-node",
        "8",
        "train.py",
    ]
    assert found["environment"] == {"OMP_NUM_THREADS": "8"}


def test_nvidia_gpus_are_reserved() -> None:
    found = _service(vendor="nvidia")
    assert found["deploy"]["resources"]["reservations"]["devices"] == [
        {"driver": "nvidia", "count": 8, "capabilities": ["gpu"]}
    ]
    assert "devices" not in found
    # The numbers of the variable count all GPUs, so all are given to the container.
    chosen = _service(environment=(Setting("CUDA_VISIBLE_DEVICES", "2,3", "not all are used"),), vendor="nvidia")
    assert chosen["deploy"]["resources"]["reservations"]["devices"][0]["count"] == "all"
    assert chosen["environment"] == {"CUDA_VISIBLE_DEVICES": "2,3"}


def test_processors_get_no_device() -> None:
    found = _service(vendor="cpu")
    assert not {"devices", "group_add", "deploy"} & set(found)
    assert "memlock" not in found["ulimits"]


def test_words_stay_what_they_are() -> None:
    odd = ("$HOME", "${X:-y}", "a: b", "#", "yes", 'q"\n')
    found = _service(Order("train.py", odd))
    # Compose makes $ of $$.
    assert [word.replace("$$", "$") for word in found["command"][-len(odd) :]] == list(odd)
    assert "$$HOME" in found["command"]


def test_several_machines_are_refused() -> None:
    several = plan(fleet(nodes=2))
    reason = refuses(several.work)
    assert reason is not None
    assert "one machine" in reason
    with pytest.raises(ValueError, match="one machine"):
        files(several, Order())
    assert refuses(plan().work) is None
