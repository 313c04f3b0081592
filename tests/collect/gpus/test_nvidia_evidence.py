"""nvidia-smi outputs in the evidence become facts; the texts are constructed in the form that drivers print."""

from __future__ import annotations

from rocdoctor.collect import collect
from rocdoctor.host.base import Answer
from rocdoctor.model.evidence import Known, Unknown
from rocdoctor.model.facts import Machine
from rocdoctor.paste import TextHost

_GPU = """
    <gpu id="00000000:{bus}:00.0">
        <product_name>NVIDIA A100-SXM4-40GB</product_name>
        <uuid>GPU-{uuid}</uuid>
        <mig_mode><current_mig>{mig}</current_mig></mig_mode>
        <mig_devices>None</mig_devices>
        <gpu_reset_status><reset_required>{reset}</reset_required></gpu_reset_status>
        <ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Disabled</pending_ecc></ecc_mode>
        <remapped_rows><remapped_row_pending>{pending}</remapped_row_pending></remapped_rows>
        <fabric><state>Completed</state><status>Success</status></fabric>
    </gpu>"""
_XML = (
    '<?xml version="1.0" ?>\n<nvidia_smi_log>\n    <driver_version>535.183.01</driver_version>\n'
    "    <attached_gpus>2</attached_gpus>"
    + _GPU.format(bus="07", uuid="aaaa", mig="Disabled", reset="No", pending="No")
    + _GPU.format(bus="0F", uuid="bbbb", mig="Enabled", reset="Yes", pending="Yes")
    + "\n</nvidia_smi_log>\n"
)
_LINKS = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-{a})
\t Link 0: 25 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-{b})
NVML: Unable to retrieve NVLink information as all links are inActive
"""
_MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n"


def _machine(**outputs: str) -> Machine:
    questions = {"xml": "run nvidia-smi -q -x", "links": "run nvidia-smi nvlink --status", "table": "run nvidia-smi"}
    answers = {questions[name]: Answer(questions[name], "ok", text.encode()) for name, text in outputs.items()}
    return collect(TextHost(answers, "constructed"))


def test_what_the_driver_asks_for_is_read() -> None:
    first, second = _machine(xml=_XML).gpus
    assert [gpu.recovery_action.value for gpu in (first, second) if isinstance(gpu.recovery_action, Known)] == [
        "None",
        "Reset",
    ]
    assert isinstance(second.bad_pages_pending, Known)
    assert second.bad_pages_pending.value is True
    assert second.bad_pages_pending.source.line == _XML[: _XML.rindex("<remapped_row_pending>")].count("\n") + 1
    assert isinstance(second.mig_devices, Known) and second.mig_devices.value == 0
    assert isinstance(first.mig_devices, Unknown)
    assert isinstance(first.ecc_pending, Known) and first.ecc_pending.value is False
    assert isinstance(first.fabric_status, Known) and first.fabric_status.value == "Success"


def test_a_gpu_that_is_known_by_its_name_alone_has_the_capability_of_that_name() -> None:
    for name, capability in (("NVIDIA A100-SXM4-80GB", "8.0"), ("Tesla K80", "3.7"), ("NVIDIA X1000", None)):
        (gpu,) = _machine(table=f"GPU 0: {name} (UUID: GPU-aaaa)\n").gpus
        told = gpu.compute_capability
        assert (told.value if isinstance(told, Known) else None) == capability, name


def test_links_find_their_gpu_by_uuid_although_they_have_no_address() -> None:
    crossed = _LINKS.format(a="bbbb", b="aaaa")
    gpus = _machine(xml=_XML, links=crossed).gpus
    assert [gpu.bdf.value for gpu in gpus if isinstance(gpu.bdf, Known)] == ["0000:07:00.0", "0000:0f:00.0"]
    first, second = gpus
    assert isinstance(first.nvlinks, Known) and first.nvlinks.value == ()
    assert isinstance(second.nvlinks, Known)
    assert [link.active for link in second.nvlinks.value] == [True, False]


def test_links_of_another_host_are_not_taken_for_those_of_this_one() -> None:
    gpus = _machine(xml=_XML, links=_LINKS.format(a="cccc", b="dddd")).gpus
    assert not any(isinstance(gpu.nvlinks, Known) for gpu in gpus)


def test_links_whose_state_is_not_told_are_unknown() -> None:
    (gpu,) = _machine(links="GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a)\n\t Link 0: something new\n").gpus
    assert isinstance(gpu.nvlinks, Unknown)


def test_a_failure_is_known_with_its_kind_and_words() -> None:
    failure = _machine(table=_MISMATCH).nvidia_failure
    assert isinstance(failure, Known)
    assert failure.value is not None
    assert failure.value.kind == "version-mismatch"
    assert failure.value.text == "Failed to initialize NVML: Driver/library version mismatch"
    assert failure.source.question == "run nvidia-smi"
    assert failure.source.line == 1


def test_a_lost_gpu_is_named_by_its_address() -> None:
    text = "Unable to determine the device handle for GPU 0000:0F:00.0: GPU is lost.  Reboot the system to recover.\n"
    failure = _machine(xml=_XML, table=text).nvidia_failure
    assert isinstance(failure, Known)
    assert failure.value is not None
    assert (failure.value.kind, failure.value.bdf) == ("gpu-lost", "0000:0f:00.0")


def test_a_good_listing_is_known_to_have_no_failure_and_none_is_unknown() -> None:
    good = _machine(xml=_XML)
    assert isinstance(good.nvidia_failure, Known) and good.nvidia_failure.value is None
    assert isinstance(good.nvidia_attached, Known) and good.nvidia_attached.value == 2
    none = _machine()
    assert isinstance(none.nvidia_failure, Unknown)
    assert isinstance(none.nvidia_attached, Unknown)


def test_a_vgpu_is_told_by_its_mode_or_by_its_name() -> None:
    shape = (
        '<nvidia_smi_log><attached_gpus>1</attached_gpus><gpu id="00000000:02:00.0"><product_name>{name}</product_name>'
        "<gpu_virtualization_mode><virtualization_mode>{mode}</virtualization_mode></gpu_virtualization_mode>"
        "<vgpu_software_licensed_product><license_status>Unlicensed (Restricted)</license_status>"
        "</vgpu_software_licensed_product></gpu></nvidia_smi_log>"
    )
    for name, mode, vgpu in (
        ("NVIDIA H100-80C", "VGPU", True),
        ("NVIDIA H100 PCIe", "Pass-Through", False),
        ("NVIDIA A100-SXM4-40GB", "None", False),
        ("NVIDIA A40", "Host VGPU", False),
        ("GRID T4-8Q", "N/A", True),
        ("NVIDIA A100-1-5CME", "N/A", True),
        ("NVIDIA A100-SXM4-80GB", "N/A", None),
    ):
        (gpu,) = _machine(xml=shape.format(name=name, mode=mode)).gpus
        assert (gpu.vgpu.value if isinstance(gpu.vgpu, Known) else None) is vgpu, name
        assert isinstance(gpu.vgpu_license, Known) and gpu.vgpu_license.value == "Unlicensed (Restricted)"
