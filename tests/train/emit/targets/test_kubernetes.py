from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import yaml

from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.kubernetes import files, label
from rocdoctor.train.recommend.plan import Setting
from tests.train.emit.plan_kit import fleet, plan


def _documents(nodes: int = 1, order: Order | None = None, **where: Any) -> list[Any]:
    used = replace(fleet(nodes=nodes), **where)
    (file,) = files(plan(used), order or Order())
    return list(yaml.safe_load_all(file.text))


def _container(job: Any) -> Any:
    (found,) = job["spec"]["template"]["spec"]["containers"]
    return found


def test_one_pod_a_node_with_all_its_gpus() -> None:
    service, job = _documents(4, Order(job="Run 7", image="an/image:1", time="2:00:30"))
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 4
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["activeDeadlineSeconds"] == 7230
    pod = job["spec"]["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    container = _container(job)
    assert container["image"] == "an/image:1"
    assert container["resources"] == {"limits": {"amd.com/gpu": 8}}
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"].items() <= job["spec"]["template"]["metadata"]["labels"].items()


def test_what_the_schema_passes_over_is_right() -> None:
    # A version or kind that it does not know is only warned of, and quantities are any text to it.
    service, job = _documents(2)
    assert [(one["apiVersion"], one["kind"]) for one in (service, job)] == [("v1", "Service"), ("batch/v1", "Job")]
    size = job["spec"]["template"]["spec"]["volumes"][0]["emptyDir"]["sizeLimit"]
    assert re.fullmatch(r"[1-9]\d*Gi", size)
    cpu = _container(_documents(vendor="cpu")[0])["resources"]["requests"]["cpu"]
    assert re.fullmatch(r"[1-9]\d*", cpu)


def test_the_pods_meet_by_the_name_of_the_first() -> None:
    service, job = _documents(2, Order(job="run"))
    words = _container(job)["command"]
    assert words[words.index("--rdzv-endpoint") + 1] == "run-0.run:29500"
    # A pod of an indexed job is called JOB-INDEX, and found below the service that its subdomain names.
    assert job["metadata"]["name"] == service["metadata"]["name"] == job["spec"]["template"]["spec"]["subdomain"]
    assert service["spec"]["publishNotReadyAddresses"] is True
    number = next(one for one in _container(job)["env"] if one["name"] == "PET_NODE_RANK")
    path = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    assert number["valueFrom"]["fieldRef"]["fieldPath"] == path


def test_one_node_needs_no_service() -> None:
    (job,) = _documents()
    assert _container(job)["command"][:5] == [
        "torchrun",
        "--rdzv-backend",
        "static",
        "--rdzv-endpoint",
        "127.0.0.1:29500",
    ]
    assert "subdomain" not in job["spec"]["template"]["spec"]


@pytest.mark.parametrize(("vendor", "resource"), [("amd", "amd.com/gpu"), ("nvidia", "nvidia.com/gpu")])
def test_gpus_are_asked_for_by_the_name_of_their_plugin(vendor: Any, resource: str) -> None:
    (job,) = _documents(vendor=vendor)
    assert _container(job)["resources"]["limits"] == {resource: 8}


def test_processors_ask_for_no_gpu() -> None:
    (job,) = _documents(vendor="cpu")
    assert "limits" not in _container(job)["resources"]


def test_shared_memory_lies_in_memory_and_has_a_size() -> None:
    (job,) = _documents()
    pod = job["spec"]["template"]["spec"]
    assert pod["volumes"] == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}]
    assert _container(job)["volumeMounts"] == [{"name": "shared-memory", "mountPath": "/dev/shm"}]
    small = _documents(host_memory_bytes=32 * 2.0**30)[0]["spec"]["template"]["spec"]
    assert small["volumes"][0]["emptyDir"]["sizeLimit"] == "16Gi"
    assert "hostPath" not in str(job)


def test_words_and_values_stay_what_they_are() -> None:
    odd = ("a: b", "$(HOME)", "- x", "#", "{}", "yes", "0123", 'q"\n')
    made = replace(plan(), environment=(Setting("OMP_NUM_THREADS", "8", "a reason\nwith: a line end"),))
    (job,) = yaml.safe_load_all(files(made, Order("train.py", odd, image="an: image"))[0].text)
    # Kubernetes makes $(HOME) of $$(HOME).
    assert [word.replace("$$(", "$(") for word in _container(job)["command"][-len(odd) :]] == list(odd)
    assert "$$(HOME)" in _container(job)["command"]
    assert _container(job)["image"] == "an: image"
    assert _container(job)["env"] == [{"name": "OMP_NUM_THREADS", "value": "8"}]


def test_which_gpus_a_pod_sees_is_the_plugins_choice() -> None:
    made = replace(plan(), environment=(Setting("HIP_VISIBLE_DEVICES", "1,2", "not all are used"),))
    assert "HIP_VISIBLE_DEVICES" not in files(made, Order())[0].text


@pytest.mark.parametrize(
    ("job", "expected"),
    [("train", "train"), ("My Run_7", "my-run-7"), ("7", "job-7"), ("--", "job"), ("x" * 90, "x" * 52), ("ä", "job")],
)
def test_names_are_those_of_the_internet(job: str, expected: str) -> None:
    assert label(job) == expected
