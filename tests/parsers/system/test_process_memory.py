"""Processes, limits, mounts, environment, memory, control groups: samples constructed after Linux 5.15 and 6.1."""

from __future__ import annotations

from rocdoctor.parsers.system import env_text, limits, memory, mounts, process
from rocdoctor.parsers.system.env_text import EnvVar
from rocdoctor.parsers.system.limits import Limit

STATUS = """\
Name:\tpython3
Umask:\t0002
State:\tD (disk sleep)
Pid:\t4242
PPid:\t1
Uid:\t1000\t1001\t1000\t1000
Gid:\t1000\t1000\t1000\t1000
Groups:\t27 44 109 1000
NSpid:\t4242\t17
VmHWM:\t  204800 kB
VmRSS:\t  102400 kB
VmLck:\t       0 kB
Threads:\t65
CapEff:\t0000000000204000
NoNewPrivs:\t1
Seccomp:\t2
Cpus_allowed_list:\t0-15,64
Mems_allowed_list:\t0
"""


def test_status() -> None:
    status = process.parse_status(STATUS)
    assert (status.name, status.state) == ("python3", "D")
    assert (status.uid, status.gid, status.groups) == (1001, 1000, (27, 44, 109, 1000))
    assert status.cpus_allowed == "0-15,64"
    assert status.lines["rss_bytes"] == 11


def test_groups_and_users() -> None:
    text = "root:x:0:\nvideo:x:44:alice,bob\nrender:x:109:bob\n# x:y:1:\nbroken\n"
    assert process.group_names(text) == {0: "root", 44: "video", 109: "render"}
    assert process.groups_with_member(text, "bob") == ("video", "render")
    assert process.groups_with_member(text, "bo") == ()
    who = process.parse_id("$ id\nuid=1000(alice) gid=1000(alice) groups=1000(alice),44(video),109\n")
    assert who is not None
    assert (who.uid, who.groups[44], who.groups[109], who.line) == (1000, "video", None, 2)


LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 1048576              files
Max locked memory         65536                unlimited            bytes
"""

ULIMIT = """\
max locked memory           (kbytes, -l) 64
open files                          (-n) 1024
stack size                  (kbytes, -s) unlimited
pipe size                (512 bytes, -p) 8
"""


def test_limits() -> None:
    found = limits.parse_limits(LIMITS)
    assert found["memlock"].soft == Limit(65536)
    assert (found["nofile"].soft, found["nproc"].line) == (Limit(1024), 3)
    shell = limits.parse_limits(ULIMIT)
    assert shell["memlock"].soft == Limit(65536)
    assert shell["stack"].soft == Limit(None, True) and shell["nofile"].soft == Limit(1024)


def test_limit_files() -> None:
    assert limits.parse_limit("max\n") == Limit(None, True)
    assert limits.parse_limit("9223372036854771712") == Limit(None, True)
    assert limits.parse_limit("-1") == Limit(None, True)
    assert limits.parse_limit("17179869184\n") == Limit(17179869184)
    assert limits.parse_limit("") is None and limits.parse_limit("N/A") is None


MOUNTS = r"""overlay / overlay rw,relatime,lowerdir=/a,upperdir=/b 0 0
proc /proc proc rw,nosuid 0 0
shm /dev/shm tmpfs rw,nosuid,nodev,size=65536k 0 0
/dev/sdb1 /data\040disk ext4 ro,relatime 0 0
"""
MOUNTINFO = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
25 24 0:23 / /dev/shm rw,relatime shared:4 master:1 - tmpfs tmpfs rw,size=24684084k
30 25 0:30 / /dev/shm rw - tmpfs tmpfs rw,size=50%
"""


def test_mounts() -> None:
    found = mounts.parse_mounts(MOUNTS)
    shm = mounts.mount_at(found, "/dev/shm")
    assert shm is not None and (shm.kind, shm.size_bytes, shm.line) == ("tmpfs", 64 << 20, 3)
    assert found[3].mount_point == "/data disk"
    stacked = mounts.parse_mounts(MOUNTINFO)
    top = mounts.mount_at(stacked, "/dev/shm")
    assert top is not None and (top.line, top.size_bytes, top.option("size")) == (3, None, "50%")
    assert stacked[1].size_bytes == 24684084 * 1024
    (printed,) = mounts.parse_mounts("tmpfs on /dev/shm type tmpfs (rw,nosuid,size=1g)\n")
    assert (printed.mount_point, printed.size_bytes, printed.option("nosuid"), printed.option("x")) == (
        "/dev/shm",
        1 << 30,
        "",
        None,
    )


def test_environ() -> None:
    found = env_text.parse_env('HOME=/root\nexport LD="a b"\ndeclare -x V="1"\nEMPTY=\n  nonsense\n')
    assert [(v.name, v.value, v.line) for v in found] == [
        ("HOME", "/root", 1),
        ("LD", "a b", 2),
        ("V", "1", 3),
        ("EMPTY", "", 4),
    ]
    assert env_text.parse_env("OPTS=a b c\n")[0].value == "a b c"


SHELL = r"""# export COMMENTED=1
export HSA_OVERRIDE_GFX_VERSION=10.3.0 B="x y" # why
$ NCCL_DEBUG=INFO python train.py LR=1
alice@box:~/work$ export P=1; unset B
(venv) alice@box:~$ HIP_VISIBLE_DEVICES=0,1 ./run
ENV ROCM_PATH /opt/rocm
setenv CSH 'a'
export LONG=a\
b
PLAIN=1
SUBSYSTEM=="kfd", KERNEL=="kfd", MODE="0666"
"""


def test_shell() -> None:
    found = env_text.parse_shell(SHELL)
    assert found == (
        EnvVar("HSA_OVERRIDE_GFX_VERSION", "10.3.0", 2),
        EnvVar("B", "x y", 2),
        EnvVar("NCCL_DEBUG", "INFO", 3),
        EnvVar("P", "1", 4),
        EnvVar("B", None, 4),
        EnvVar("HIP_VISIBLE_DEVICES", "0,1", 5),
        EnvVar("ROCM_PATH", "/opt/rocm", 6),
        EnvVar("CSH", "a", 7),
        EnvVar("LONG", "a", 8),
        EnvVar("PLAIN", "1", 10),
    )


MEMINFO = """\
MemTotal:       32489480 kB
MemFree:        28118332 kB
MemAvailable:   28934532 kB
SwapTotal:             0 kB
HugePages_Total:      16
HugePages_Free:        8
Hugepagesize:       2048 kB
"""


def test_memory() -> None:
    info = memory.parse_meminfo(MEMINFO)
    assert (info.lines["MemAvailable"], info.counts["HugePages_Free"]) == (3, 8)
    heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    assert memory.parse_swaps(heading) == () and memory.parse_swaps("x") is None
    swaps = memory.parse_swaps(heading + "/swap.img file 8388604 1024 -2\n")
    assert swaps is not None and (swaps[0].size_bytes, swaps[0].used_bytes) == (8388604 << 10, 1 << 20)
    assert memory.selected_choice("always [madvise] never\n") == "madvise"
    assert memory.selected_choice("[none] integrity confidentiality") == "none"
    assert memory.selected_choice("") is None


def test_cgroups() -> None:
    new = memory.parse_cgroup("0::/user.slice/session-2.scope\n")
    assert (new.version, new.unified_path, new.controller_paths) == (2, "/user.slice/session-2.scope", {})
    old = memory.parse_cgroup("9:name=systemd:/\n4:cpu,cpuacct:/a\n3:memory:/docker/0123\n0::/\n")
    assert (old.version, old.controller_paths["cpuacct"], old.controller_paths["memory"]) == (1, "/a", "/docker/0123")
    assert memory.parse_cgroup("").version is None


def test_file_systems() -> None:
    rows = memory.parse_df(
        "Filesystem     Type  1K-blocks  Used Available Use% Mounted on\n"
        "shm            tmpfs     65536     0     65536   0% /dev/shm\n"
    )
    assert (rows[0].size_bytes, rows[0].mount_point, rows[0].line) == (64 << 20, "/dev/shm", 2)
    human = memory.parse_df("Filesystem  Size  Used Avail Use% Mounted on\ntmpfs  64M  0  64M  0% /dev/shm\n")
    assert human[0].available_bytes == 64 << 20
    assert memory.parse_df("Filesystem Inodes IUsed IFree IUse% Mounted on\ntmpfs 100 1 99 1% /dev/shm\n") == ()


def test_less_common_forms() -> None:
    shell = env_text.parse_shell('export A="a \\"b\\" c"\nENV B=1 C=2\nset -x D 4\nset -e E\n')
    assert [(v.name, v.value) for v in shell] == [("A", 'a "b" c'), ("B", "1"), ("C", "2"), ("D", "4")]
    assert mounts.parse_mounts("look at x on /dev/shm type it\n") == ()
    assert mounts.parse_mounts("tmpfs on /dev/shm type tmpfs (rw\n") == ()
