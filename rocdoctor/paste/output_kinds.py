"""How the outputs of programs look: one row an output."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rocdoctor.model.lazy_re import regex

COLLECT_ENV = "run python -m torch.utils.collect_env"


@dataclass(frozen=True, slots=True)
class OutputKind:
    """How one output looks. ``hints``: words of which the text must hold one; ``line``: a line that belongs to it;
    ``words``: those, in lower case, of which such a line holds one, where few lines do.

    Without ``until`` the part is made of the matching lines alone (with ``more``: also the indented lines that follow
    one); with it, of everything from a matching line on to that line, the end of its block, or the next prompt.
    """

    question: str
    hints: tuple[str, ...]
    line: re.Pattern[str]
    more: bool = False
    until: re.Pattern[str] | None = None
    least: int = 1
    sign: re.Pattern[str] | None = None  # does what a hint does
    before: int = 0  # at most so many edges of tables, or opening brackets, belong to it above the first matching line
    words: tuple[str, ...] = ()
    shape: re.Pattern[str] | None = None  # of such a line with all digits made 0, where ``line`` tells digits apart


_NEVER = regex(r"(?!)")
PROSE = regex(r"\s{0,3}[A-Z][\w']{0,20},? (?:[\w'`(,.-]{1,24} ){3}[^:|=]{0,200}\Z")
_STAMP = regex(r"\[\s{0,8}\d{1,8}\.\d{6}\] ")
_KERNEL = (
    r"\s{0,12}(?:<\d{1,3}>)?\[\s{0,8}\d{1,8}\.\d{3,9}\]|"
    r"\s{0,12}\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d[^\]]{0,20}\]|"
    r"\s{0,12}(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\S{8,32})"
    r"\s\S{0,64}\s?kernel(?:\[\d{1,9}\])?: "
    r"|\s{0,40}NVRM: |\s{0,12}(?:amdgpu [0-9a-f]{4}:[0-9a-f]{2}:|amdgpu: \S|kfd kfd: |\[drm[:\] ]|nvidia-nvlink: |"
    r"nvidia-nvswitch\d{1,3}: |mlx5_core [0-9a-f]{4}:|AMD-Vi: |DMAR: |pcieport [0-9a-f]{4}:|\[Hardware Error\])"
)
_ROCMINFO = regex(
    r"\s{0,12}(?:ROCk module|WSL environment detected|HSA System Attributes|=====================\s*\Z|"
    r"hsa api call failure|Call returned HSA_STATUS|Unable to open /dev/kfd)|\s{0,60}is (?:NOT )?(?:a )"
    r"?member of .{0,20}group"
)
_LSPCI = (
    r"\s{0,12}(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] (?:\"|(?:VGA|3D|Display|Processing|PCI|Host|"
    r"Ethernet|Non-Vol|USB|SATA|Audio|Signal|Infiniband|Network|ISA|SMBus|System|IOMMU|Encryption|"
    r"Communication|Non-Essential|Co-proc|Bridge|RAID|Memory|Multimedia|Class|Serial|Performance)"
    r"[^:]{0,60}:)"
)
_TOPOLOGY = (
    r"\s{0,12}(?:GPU0\s+(?:GPU1|mlx|NIC|CPU Aff)|GPU\d{1,3}\s+(?:X|NV\d|PIX|PXB|PHB|NODE|SYS)\s|"
    r"(?:mlx5_\d+|NIC\d+)\s+(?:X|PIX|PXB|PHB|NODE|SYS)\s)"
)
_LSCPU = (
    r"\s{0,12}(?:Architecture|CPU op-mode\(s\)|Byte Order|CPU\(s\)|On-line CPU\(s\) list|Thread\(s\) per "
    r"core|Core\(s\) per socket|Socket\(s\)|NUMA node\(s\)|NUMA node\d+ CPU\(s\)|Vendor ID|Model name|"
    r"CPU family|Model|Stepping|Flags|Virtualization|Hypervisor vendor|Virtualization type|CPU max MHz|"
    r"CPU min MHz|Address sizes|BogoMIPS|L[123][di]? cache):\s+\S"
)
_LSMOD = (
    r"\s{0,12}(?:Module\s+Size\s+Used by|(?:amdgpu|amdttm|amdkcl|nvidia\w*|nouveau|amd_iommu_v2|amdxcp)"
    r"\s+\d{3,12}\s+-?\d+)"
)
KINDS: tuple[OutputKind, ...] = (
    OutputKind(
        "run dmesg",
        ("kernel:", "amdgpu", "NVRM", "kfd kfd"),
        regex(_KERNEL),
        sign=_STAMP,
        shape=regex(_KERNEL.replace("mlx5", "mlx0")),
    ),
    OutputKind(
        "run rocminfo",
        (
            "ROCk module",
            "HSA System Attributes",
            "WSL environment detected",
            "hsa api call failure",
            "Unable to open /dev/kfd",
            "HSA Agents",
        ),
        _ROCMINFO,
        until=regex(r"\s*\*\*\* Done \*\*\*"),
    ),
    OutputKind(
        "run rocm-smi",
        ("ROCm System Management Interface", "ROCM-SMI", "AvgPwr", "SCLK", "GPU["),
        regex(
            r"\s{0,12}(?:=+ ?(?:ROCm System Management Interface|ROCM-SMI|Concise Info)|GPU\[\d{1,3}\]\s{0,9}:|"
            r"(?:GPU|Device)\s+(?:Node|Temp|IDs).{0,80}(?:SCLK|AvgPwr|Perf))"
        ),
        until=regex(r"\s*=+ ?End of ROCm SMI"),
    ),
    OutputKind("run rocm-smi --json", ('{"card', '"card0"'), regex(r'\s{0,12}\{\s{0,4}"card\d{1,3}"'), until=_NEVER),
    OutputKind("run amd-smi", ("AMD-SMI",), regex(r"\s{0,12}\|\s+AMD-SMI "), until=_NEVER, before=1),
    OutputKind(
        "run amd-smi topology",
        ("ACCESS TABLE:", "WEIGHT TABLE:", "HOPS TABLE:", "LINK TYPE TABLE:"),
        regex(r"\s{0,12}(?:ACCESS|WEIGHT|HOPS|LINK TYPE) TABLE:\s{0,80}\Z"),
        until=_NEVER,
    ),
    OutputKind(
        "run amd-smi static",
        ("MARKET_NAME", "ASIC:", "TARGET_GRAPHICS_VERSION", "THROTTLE_STATUS"),
        regex(r"\s{0,12}GPU: \d{1,3}\s*\Z"),
        until=_NEVER,
    ),
    OutputKind(
        "run amd-smi static --json",
        ('"asic"', '"market_name"'),
        regex(r'\s{0,12}[\[{]\s{0,4}(?:"gpu_data"|\{?\s{0,4}"gpu":)'),
        until=_NEVER,
    ),
    OutputKind(
        "run nvidia-smi",
        ("NVIDIA-SMI", "Driver Version"),
        regex(r"\s{0,12}(?:\|\s+NVIDIA-SMI |NVIDIA-SMI has failed|Failed to initialize NVML)"),
        until=regex(r"(?!\s*(?:[|+=]|\Z|NVIDIA-SMI|Failed|Make sure))"),
        before=1,
    ),
    OutputKind("run nvidia-smi -q", ("NVSMI LOG",), regex(r"\s{0,12}=+\s?NVSMI LOG\s?=+"), until=_NEVER),
    OutputKind(
        "run nvidia-smi -q -x",
        ("<nvidia_smi_log",),
        regex(r"\s{0,12}<nvidia_smi_log"),
        until=regex(r"\s*</nvidia_smi_log"),
        before=2,
    ),
    OutputKind(
        "run nvidia-smi -L",
        ("(UUID: GPU-",),
        regex(r"\s{0,12}GPU \d{1,3}: .{2,80}\(UUID: (?:GPU|MIG)-"),
        more=True,
        words=("(uuid: ",),
    ),
    OutputKind(
        "run nvidia-smi topo -m",
        ("CPU Affinity", "GPU0"),
        regex(_TOPOLOGY),
        least=2,
        shape=regex(_TOPOLOGY.replace("GPU1", "GPU0").replace("mlx5", "mlx0")),
    ),
    OutputKind(
        "run lspci -tv",
        ("-[0000:", "-[0000"),
        regex(r"\s{0,60}(?:[-+\\|][-+\\| ]{0,40})\[?[0-9a-f]{2,4}[:.\]-]"),
        least=2,
    ),
    OutputKind(
        "run lspci -k",
        ("VGA", "3D controller", "Display controller", "Kernel driver in use", "Processing accelerators", "PCI bridge"),
        regex(_LSPCI),
        more=True,
        shape=regex(_LSPCI.replace("3D", "0D")),
    ),
    OutputKind(
        "read /etc/os-release",
        ("PRETTY_NAME=",),
        regex(r"\s{0,12}(?:PRETTY_NAME|NAME|VERSION|VERSION_ID|VERSION_CODENAME|ID|ID_LIKE)=\S"),
        least=2,
    ),
    OutputKind(
        "run lsb_release -a",
        ("Distributor ID:",),
        regex(r"\s{0,12}(?:Distributor ID|Description|Release|Codename):\s"),
    ),
    OutputKind(
        "run scontrol show node",
        ("NodeName=",),
        regex(r"\s{0,12}NodeName=[\w.-]{1,64} (?:Arch|CoresPerSocket|CPUAlloc)=|\s{0,12}NodeName=[\w.-]{1,64}\s*\Z"),
        more=True,
    ),
    OutputKind(
        "run sinfo",
        ("NODELIST",),
        regex(
            r"\s{0,12}(?:NODELIST\s+NODES\s+PARTITION\s|PARTITION\s+AVAIL\s+TIMELIMIT\s|REASON\s+USER\s+TIMESTAMP\s)"
        ),
        until=_NEVER,
    ),
    OutputKind("run uname -a", ("Linux ",), regex(r"\s{0,12}Linux \S{1,80} \d{1,2}\.\d{1,3}\.\S{1,80} #\d")),
    OutputKind("read /proc/version", ("Linux version ",), regex(r"\s{0,12}Linux version \d\.")),
    OutputKind("read /proc/cmdline", ("BOOT_IMAGE=",), regex(r"\s{0,12}BOOT_IMAGE=")),
    OutputKind(
        "run lscpu",
        ("Model name:",),
        regex(_LSCPU),
        least=3,
        shape=regex(_LSCPU.replace("[123]", "0")),
    ),
    OutputKind("run id", ("uid=",), regex(r".{0,40}\buid=\d{1,10}\(?.{0,80}\bgid=\d"), words=("uid=",)),
    OutputKind(
        "run ls -l /dev/kfd /dev/dri",
        ("crw", "brw"),
        regex(r"\s{0,12}[cb][r-][w-][x-][r-][w-][x-][r-][w-][xtT-][.+@]?\s+\d"),
    ),
    OutputKind(
        "run dkms status",
        ("amdgpu", "nvidia", "rock-dkms"),
        regex(
            r"\s{0,12}(?:amdgpu|nvidia|rock-dkms|rock|amdgpu-dkms)[\w-]{0,20}(?:/|, ?)[\w.~:+-]{2,60}(?:, "
            r"[^\s,]{3,60}, (?:x86_64|aarch64))?: (?:installed|built|added|broken)"
        ),
        words=(": installed", ": built", ": added", ": broken"),
    ),
    OutputKind(
        "run modinfo amdgpu",
        ("filename:",),
        regex(r"\s{0,12}filename:\s+/\S{1,200}/amdgpu\.ko"),
        until=_NEVER,
    ),
    OutputKind(
        "run df -h",
        ("/dev/shm",),
        regex(
            r"\s{0,12}(?:Filesystem\s+\S*(?:Size|blocks|Type)|\S{1,40}\s+(?:tmpfs\s+)"
            r"?[\d.]+[KMGT]?i?B?\s+[\d.]+[KMGT]?\s.{0,60}/dev/shm\s*\Z)"
        ),
        least=2,
    ),
    OutputKind(
        "run ulimit -a",
        ("max locked memory", "open files", "max memory size"),
        regex(
            r"\s{0,12}(?:core file size|data seg size|scheduling priority|file size|pending signals|max locked "
            r"memory|max memory size|open files|pipe size|POSIX message queues|real-time priority|stack size|cpu "
            r"time|max user processes|virtual memory|file locks)\s.{0,60}(?:\d|unlimited)\s*\Z"
        ),
    ),
    OutputKind("run ip addr", ("mtu ",), regex(r"\s{0,12}\d{1,4}: \S{1,40}: <[A-Z,_-]{2,120}> mtu"), more=True),
    OutputKind("run ibstat", ("CA '",), regex(r"\s{0,12}CA '\S{1,40}'"), more=True),
    OutputKind(
        "run lsmod",
        ("Used by",),
        regex(_LSMOD),
        least=2,
        shape=regex(_LSMOD.replace("v2", "v0")),
    ),
    OutputKind(
        "log nccl",
        ("NCCL INFO", "NCCL WARN", "NCCL version", "RCCL version", "NET/"),
        regex(r".{0,200}\b(?:NCCL (?:INFO|WARN|version)|RCCL version)\b"),
        words=("ccl info", "ccl warn", "ccl version"),
    ),
    OutputKind("read /proc/driver/nvidia/version", ("NVRM version:",), regex(r"\s{0,12}NVRM version: ")),
    OutputKind("run pip list", ("Package",), regex(r"\s{0,12}Package\s+Version\b"), until=_NEVER),
    # Rows of `pip list | grep torch`, whose header is gone.
    OutputKind(
        "run pip list",
        ("torch ", "torchvision "),
        regex(
            r"\s{0,12}(?:torch(?:vision|audio|text|data)?|pytorch-triton(?:-rocm)?|triton|nvidia-[\w-]{2,30}-cu\d\d)"
            r"\s{2,60}\d[\w.+!-]{1,60}\s*\Z"
        ),
        least=2,
    ),
    OutputKind(
        "run pip freeze",
        ("==",),
        regex(r"\s{0,12}(?:[-* ]{0,3}[A-Za-z][\w.-]{0,60}(?:\[[\w,-]{1,40}\])?==[\w.+!-]{1,60}\s*\Z)"),
    ),
    OutputKind(
        "run pip show",
        ("Summary:", "Home-page:"),
        regex(r"\s{0,12}Name: [\w.-]{1,60}\s*\Z"),
        until=regex(r"\s{0,12}Required-by:"),
    ),
    OutputKind(
        "run conda list",
        ("# Name", "packages in environment"),
        regex(r"\s{0,12}# (?:packages in environment|Name\s+Version)"),
        until=_NEVER,
    ),
    OutputKind(
        COLLECT_ENV,
        ("PyTorch version", "CUDA used to build PyTorch"),
        regex(
            r"\s{0,12}(?:PyTorch version:|Is debug build:|CUDA used to build PyTorch:|ROCM used to build PyTorch:|"
            r"Collecting environment information)"
        ),
        until=_NEVER,
    ),
)
