from __future__ import annotations

from rocdoctor.parsers.listings.slurm_nodes import SlurmNodeEntry, parse_slurm_nodes

# Transcribed in the form of Slurm 22.05 and 24.11, values constructed.
LONG = """Fri Nov 20 09:12:44 2026
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON
gpu01          1      gpu*       mixed 256    2:64:2 2063000       0      1   (null) none
gpu02          1      gpu*     drained 256    2:64:2 2063000       0      1   (null) gres/gpu count repor
gpu03          1      gpu*       down* 256    2:64:2 2063000       0      1   (null) Not responding
3 3 n4 gpus=8 CVD=0,1,2,3,4,5,6,7 ROCR=0,1 GDO=0,1 a b c d
"""
REASONS = """REASON               USER        TIMESTAMP           NODELIST
Kill task failed     root        2026-11-20T03:11:09 gpu[05-06]
gres/gpu count repor slurm       2026-11-19T22:00:41 gpu02
"""
PLAIN = """PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
gpu*         up 2-00:00:00      1  drain gpu02
gpu*         up 2-00:00:00      2   idle gpu[01,04]
gpu*         up 2-00:00:00      1  down* gpu03
"""
NODE = """NodeName=gpu02 Arch=x86_64 CoresPerSocket=64
   CPUAlloc=0 CPUEfctv=256 CPUTot=256 CPULoad=0.11
   Gres=gpu:mi300x:8(S:0-1)
   OS=Linux 6.8.0-48-generic #48 SMP
   State=DOWN+DRAIN+NOT_RESPONDING ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=gpu
   Reason=gres/gpu count reported lower than configured (7 < 8) [slurm@2026-11-20T03:11:09]

NodeName=gpu04 Arch=x86_64 CoresPerSocket=64
   Gres=(null)
   State=IDLE ThreadsPerCore=2
"""


def test_long_table() -> None:
    first, second, third = parse_slurm_nodes(LONG)
    assert first == SlurmNodeEntry("gpu01", 3, ("mixed",))
    assert second.reason == "gres/gpu count repor"
    assert (third.states, third.silent, third.reason) == (("down",), True, "Not responding")


def test_table_of_reasons() -> None:
    first, second = parse_slurm_nodes(REASONS)
    assert first == SlurmNodeEntry("gpu[05-06]", 2, (), False, "Kill task failed", set_by="root")
    assert second.reason == "gres/gpu count repor"


def test_plain_table() -> None:
    assert [(one.names, one.states, one.silent) for one in parse_slurm_nodes(PLAIN)] == [
        ("gpu02", ("drain",), False),
        ("gpu[01,04]", ("idle",), False),
        ("gpu03", ("down",), True),
    ]


def test_blocks_of_scontrol() -> None:
    first, second = parse_slurm_nodes(NODE)
    assert first == SlurmNodeEntry(
        "gpu02",
        1,
        ("down", "drain", "not_responding"),
        True,
        "gres/gpu count reported lower than configured (7 < 8)",
        "slurm",
        "gpu:mi300x:8(S:0-1)",
    )
    assert second == SlurmNodeEntry("gpu04", 9, ("idle",))


def test_one_line_for_each_node() -> None:
    joined = " ".join(NODE.split("\n\n")[0].split())
    (one,) = parse_slurm_nodes(joined)
    assert (one.names, one.reason) == ("gpu02", "gres/gpu count reported lower than configured (7 < 8)")


def test_older_releases_mark_the_state() -> None:
    (one,) = parse_slurm_nodes("NodeName=n1 Arch=x86_64\n   State=DOWN*+DRAIN ThreadsPerCore=1\n")
    assert (one.states, one.silent) == (("down", "drain"), True)


def test_what_is_no_state_is_no_node() -> None:
    assert parse_slurm_nodes("NodeName=n1\n   State=FINE\n") == ()
    assert parse_slurm_nodes("NodeName=$(rm) x\n   State=DOWN\n") == ()
    assert parse_slurm_nodes("NODELIST STATE\nn1 $(reboot)\n") == ()
