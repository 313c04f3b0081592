from __future__ import annotations

from rocdoctor.collect.gpus.indices import with_indices
from rocdoctor.collect.gpus.kfd import KfdTopology
from rocdoctor.collect.software.packages import collect_packages, question, with_packages
from rocdoctor.host.base import Answer
from rocdoctor.host.evidence.capture import Capture, CaptureHost
from rocdoctor.model.evidence import Known, Source, Unknown, value_or
from rocdoctor.model.facts import ComputeNode, Environment, RocmInstall, TorchBuild, TorchDevice
from tests.kit import amd_gpu, environment, k, u

DPKG = "rocm-core\t6.2.0.60200-66~22.04\nhip-runtime-amd\t6.2.41133.60200-66~22.04\nrocblas\t4.2.0.60200-66~22.04"


def _host(**answers: str) -> CaptureHost:
    named = {question: Answer(question, "ok", text.encode()) for question, text in answers.items()}
    return CaptureHost(Capture({}, "", named), "test")


def test_packages_are_read_from_the_list_at_hand() -> None:
    wanted = question("ubuntu", "debian")
    assert wanted is not None
    found = collect_packages(_host(**{wanted: DPKG}), (), "ubuntu", "debian")
    assert isinstance(found, Known)
    assert found.value["rocblas"] == "4.2.0.60200-66~22.04"


def test_a_list_without_rocm_packages_says_nothing() -> None:
    found = collect_packages(_host(**{"run rpm -qa": "bash-5.1\nvim-9"}), (), "rhel", "fedora")
    assert isinstance(found, Unknown)


def test_a_distribution_install_takes_its_release_from_its_packages() -> None:
    packages: Known[dict[str, str]] = k({"libamdhip64-5": "5.2.3-8", "rocm-smi": "5.2.3-3"})
    (install,) = with_packages([RocmInstall(u("no version file"), "/usr", "distribution")], packages)
    assert install.version == Known("5.2.3", packages.source)
    (same,) = with_packages([RocmInstall(k("6.2.0"), "/opt/rocm-6.2.0", "classic")], packages)
    assert value_or(same.version, None) == "6.2.0"


def _topology(complete: bool = True, hidden: int = 0) -> KfdTopology:
    return KfdTopology(complete=complete, hidden=Known(hidden, Source("list x")))


def _gpus() -> tuple:  # type: ignore[type-arg]
    first = amd_gpu(0, compute_nodes=(ComputeNode(k(3)), ComputeNode(k(4))))
    second = amd_gpu(1, compute_nodes=(ComputeNode(k(1)), ComputeNode(k(2))))
    return first, second


def test_hip_counts_partitions_in_the_order_of_kfd_nodes() -> None:
    found = with_indices(_gpus(), _topology(), environment({}), TorchBuild())
    assert [value_or(gpu.hip_index, None) for gpu in found] == [2, 0]


def test_a_mask_or_a_hidden_node_leaves_the_hip_index_unknown() -> None:
    for masked in (environment({"HIP_VISIBLE_DEVICES": "1"}), Environment()):
        found = with_indices(_gpus(), _topology(), masked, TorchBuild())
        assert [value_or(gpu.hip_index, None) for gpu in found] == [None, None]
    found = with_indices(_gpus(), _topology(hidden=1), environment({}), TorchBuild())
    assert [value_or(gpu.hip_index, None) for gpu in found] == [None, None]


def test_torchs_number_is_found_by_the_address() -> None:
    torch = TorchBuild(devices=(TorchDevice(0, bdf=k("0000:43:00.0")), TorchDevice(1, bdf=k("0000:23:00.0"))))
    found = with_indices(_gpus(), _topology(), environment({}), torch)
    assert [value_or(gpu.torch_index, None) for gpu in found] == [1, 0]
