"""The NVIDIA vGPU of this virtual machine has no licence, so that it is slowed down.

Why
  A vGPU asks a licence server at the start. Without a licence it runs at full speed for 20 minutes; then its compute
  performance falls to an idle level until a licence comes. A job that becomes slow 20 minutes after the start of the
  machine, with nothing in any log, has this cause. A wrong clock is enough for a licence to be refused.

Fix
  Put the client configuration token of the licence server into /etc/nvidia/ClientConfigToken, see that the server can
  be reached and that the clock is right, and restart the service: `sudo systemctl restart nvidia-gridd`.

References
  https://docs.nvidia.com/ai-enterprise/release-8/latest/infra-software/vgpu/licensing.html
  https://docs.nvidia.com/license-system/latest/nvidia-license-system-quick-start-guide/index.html
  https://github.com/NVIDIA/DCGM (names of the states of a licence)
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, error, not_applicable, unknown, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_FIX = Fix(
    "Give this machine its licence: the client configuration token in /etc/nvidia/ClientConfigToken, a licence server "
    "that can be reached, and a correct clock; then restart nvidia-gridd",
    command="sudo systemctl restart nvidia-gridd",
    safety="manual",
    verify="nvidia-smi -q | grep -A2 'vGPU Software Licensed Product'",
)


@check(each_nvidia_gpu, cause="gpu-not-supported")
def vgpu_unlicensed(machine: Machine, gpu: Gpu) -> Outcome:
    on_metal = value_or(machine.container.virtual_machine, "?") is None
    if not isinstance(gpu.vgpu, Known) and (on_metal or isinstance(gpu.compute_mode, Known)):
        return not_applicable("nothing says that this GPU is a vGPU")
    if not known(gpu.vgpu):
        return not_applicable("this GPU is no vGPU")
    state = known(gpu.vgpu_license)
    evidence = [cite(gpu.vgpu_license), cite(gpu.vgpu, "vGPU")]
    if state.startswith("Licensed"):
        return None
    if state.startswith("Unlicensed (Restricted)"):
        return error(
            "This vGPU has no licence, and its 20 minutes of grace are over: it computes at an idle level.",
            evidence=evidence,
            fix=_FIX,
            finer="vgpu-licence",
        )
    if state.startswith("Unlicensed"):
        return warning(
            "This vGPU has no licence: 20 minutes after its start it falls to an idle level.",
            evidence=evidence,
            fix=_FIX,
            finer="vgpu-licence",
        )
    raise unknown("the state of its licence is not one of those that are known")
