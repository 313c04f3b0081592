"""This virtual machine's NVIDIA vGPU has no licence, so it is throttled.

Why
  A vGPU requests a licence from a server at start-up. Without one it runs at full speed for 20 minutes; then its
  compute performance drops to an idle level until it gets a licence. This explains a job that slows down 20 minutes
  after the machine starts, with nothing in any log. A wrong clock is enough for a licence to be refused.

Fix
  Put the licence server's client configuration token into /etc/nvidia/ClientConfigToken. Check that the server is
  reachable and the clock is right. Then restart the service: `sudo systemctl restart nvidia-gridd`.

References
  https://docs.nvidia.com/ai-enterprise/release-8/latest/infra-software/vgpu/licensing.html
  https://docs.nvidia.com/license-system/latest/nvidia-license-system-quick-start-guide/index.html
  https://github.com/NVIDIA/DCGM (names of licence states)
"""

from __future__ import annotations

from rocdoctor.judging.check import Fix, Outcome, check, cite, each_nvidia_gpu, error, not_applicable, unknown, warning
from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Gpu, Machine

_FIX = Fix(
    "Set up the licence: the client configuration token in /etc/nvidia/ClientConfigToken, a reachable licence server, "
    "and a correct clock; then restart nvidia-gridd",
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
        return not_applicable("this GPU is not a vGPU")
    state = known(gpu.vgpu_license)
    evidence = [cite(gpu.vgpu_license), cite(gpu.vgpu, "vGPU")]
    if state.startswith("Licensed"):
        return None
    if state.startswith("Unlicensed (Restricted)"):
        return error(
            "This vGPU has no licence, and its 20-minute grace period is over: it runs at an idle clock level.",
            evidence=evidence,
            fix=_FIX,
            finer="vgpu-licence",
        )
    if state.startswith("Unlicensed"):
        return warning(
            "This vGPU has no licence: 20 minutes after it starts, it drops to an idle clock level.",
            evidence=evidence,
            fix=_FIX,
            finer="vgpu-licence",
        )
    raise unknown("its licence state is not one that rocdoctor knows")
