"""Plans made by hand, for tests of what shows and writes them."""

from __future__ import annotations

from rocdoctor.model.finding import Evidence
from rocdoctor.repair.setup.plan import Action, SetupPlan, Step, Verify

FIRMWARE = Step(
    "firmware",
    "Firmware of the GPU",
    "done",
    "The driver found its files.",
    evidence=(Evidence("VCN 0x1", "read /sys/kernel/debug/x", 3),),
    layer="firmware",
)
DRIVER = Step(
    "driver",
    "Install AMD's driver package",
    "todo",
    "Kernel 6.2 does not know gfx1201.",
    actions=(
        Action(("apt", "update"), root=True),
        Action(("apt", "install", "linux-headers-6.8.0-31-generic", "linux-modules-extra-6.8.0-31-generic"), root=True),
        Action(("apt", "install", "amdgpu-dkms"), root=True),
    ),
    changes=("amdgpu-dkms", "/lib/modules"),
    risk="reboots",
    effective="reboot",
    verify=Verify(check="kernel-too-old-for-gpu"),
    undo=(Action(("apt", "autoremove", "amdgpu-dkms"), root=True),),
    support="Supported by AMD for Ubuntu 24.04",
    sources=("drv",),
    table="install",
    kind="primary",
    layer="driver",
)
RESTART = Step(
    "restart",
    "Restart the machine",
    "waiting",
    "What was changed takes effect at the next start.",
    actions=(Action(("systemctl", "reboot"), root=True),),
    risk="reboots",
    effective="reboot",
    verify=Verify(command="uname -r", shows="6.8"),
    needs=("driver",),
    layer="driver",
)
TIDY = Step(
    "tidy",
    "Remove an old list",
    "todo",
    "It names a release that is gone.",
    optional=True,
    actions=(Action(("rm", "/etc/apt/sources.list.d/old.list"), root=True),),
    layer="clean",
)
GROUPS = Step(
    "groups",
    "Join the groups that own the device nodes",
    "waiting",
    "This user may not open /dev/kfd.",
    actions=(Action(("usermod", "-a", "-G", "render,video", "$USER"), root=True),),
    changes=("/etc/group",),
    effective="new-login",
    verify=Verify(check="device-node-denied"),
    undo=(Action(("gpasswd", "-d", "$USER", "render"), root=True),),
    needs=("driver",),
    layer="access",
)
REPOSITORY = Step(
    "repository",
    "Register the repository",
    "waiting",
    "ROCm 7.1 is the release for this GPU.",
    actions=(
        Action(("install", "-d", "-m", "0755", "/etc/apt/keyrings"), root=True),
        Action(("curl", "-fsSL", "-o", "/etc/apt/keyrings/k.gpg", "https://repo.example.org/rocm.gpg"), root=True),
        Action(file="/etc/apt/sources.list.d/rocm.list", lines=("deb [arch=amd64] x main", "it's $a `b`"), root=True),
        Action(("apt", "update"), root=True),
    ),
    changes=("/etc/apt/sources.list.d/rocm.list",),
    verify=Verify(command="apt policy rocm", shows="repo.example.org"),
    needs=("driver",),
    layer="rocm",
)
LIMITS = Step(
    "memlock",
    "Raise the limit of locked memory",
    "waiting",
    "8 MiB are too few for RDMA.",
    actions=(Action(file="/etc/security/limits.d/90.conf", lines=("* - memlock unlimited",), append=True, root=True),),
    effective="new-login",
    verify=Verify(check="memlock-low"),
    layer="limits",
)
TORCH = Step(
    "torch",
    "Install torch for this GPU",
    "waiting",
    "The environment has no torch.",
    actions=(
        Action(
            ("$HOME/env/bin/python", "-m", "pip", "install", "torch", "--index-url", "https://w.example.org/rocm7.1")
        ),
    ),
    verify=Verify(check="torch-not-installed"),
    notes=("The environment stays as it is otherwise.",),
    layer="torch",
    needs=("driver", "access"),
)
KEY = Step(
    "key",
    "Enrol the key that signs the module",
    "waiting",
    "Secure Boot is on.",
    actions=(Action(("mokutil", "--import", "/var/lib/dkms/mok.pub"), root=True),),
    risk="manual",
    effective="reboot",
    verify=Verify(command="mokutil --list-enrolled"),
    layer="driver",
)
PURGE = Step(
    "purge",
    "Remove old packages",
    "todo",
    "rocm-dkms 4.5 is installed.",
    actions=(Action(("apt", "purge", "rocm-dkms"), root=True),),
    risk="risky",
    layer="clean",
)

FULL = SetupPlan(
    "pytorch",
    (FIRMWARE, DRIVER, KEY, RESTART, GROUPS, REPOSITORY, LIMITS, TORCH),
    ("This card is not supported officially.",),
)
DONE = SetupPlan("rocm", (FIRMWARE,))
EMPTY = SetupPlan("rocm", (), ("No GPU that ROCm drives is here.",))
RISKY = SetupPlan("pytorch", (PURGE, FIRMWARE))
UNKNOWN = SetupPlan(
    "pytorch",
    (
        Step("kernel", "Kernel", "unknown", "This text does not show the kernel.", layer="kernel"),
        FIRMWARE,
        Step("torch", "Install torch", "todo", "None is here.", actions=TORCH.actions, layer="torch"),
    ),
)
OPTIONAL = SetupPlan("pytorch", (TIDY, FIRMWARE))
IMPOSSIBLE = SetupPlan(
    "pytorch",
    (Step("driver", "Compute driver for gfx803", "impossible", "No release since 4.5 drives it.", layer="driver"),),
)
PLANS = {
    "full": FULL,
    "done": DONE,
    "empty": EMPTY,
    "risky": RISKY,
    "unknown": UNKNOWN,
    "impossible": IMPOSSIBLE,
    "optional": OPTIONAL,
}
