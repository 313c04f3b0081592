"""Judgements of a running job that several checks share: what it waits for, which of its processes are ranks."""

from __future__ import annotations

from collections.abc import Mapping

from rocdoctor.model.evidence import Known, known, value_or
from rocdoctor.model.facts import Job, JobProcess, Machine
from rocdoctor.model.finding import NotApplicable, Selected, Subjects
from rocdoctor.model.lazy_re import regex
from rocdoctor.model.shell_command import ShellCommand, shell
from rocdoctor.model.subject import Subject

# Beginnings of kernel functions by what they belong to: those of Linux drivers/gpu/drm and of the open NVIDIA kernel
# modules; file systems and the network layers below them name their functions after themselves.
_OWNERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "gpu",
        "amdgpu",
        (
            "amdgpu_",
            "amdkfd_",
            "kfd_",
            "kgd2kfd_",
            "svm_range_",
            "svm_migrate_",
            "gfx_v",
            "sdma_v",
            "gmc_v",
            "psp_v",
            "smu_v",
            "mes_v",
        ),
    ),
    ("gpu", "nvidia", ("nvidia_", "nv_", "nvkms_", "uvm_", "os_acquire_", "rm_", "_nv0")),
    ("gpu", "xe", ("xe_",)),
    ("gpu", "the GPU driver (DRM)", ("dma_fence_", "dma_resv_", "drm_", "ttm_")),
    ("network", "NFS", ("nfs_", "nfs4_", "rpc_wait_", "rpc_", "__rpc_")),
    ("network", "Lustre", ("ptlrpc_", "ldlm_", "osc_", "lov_", "cl_sync_", "ll_")),
    ("network", "CephFS", ("ceph_",)),
    ("network", "a FUSE file system", ("fuse_", "request_wait_answer")),
    (
        "disk",
        "a disk",
        (
            "folio_wait_",
            "wait_on_page_",
            "io_schedule",
            "blk_",
            "bio_",
            "submit_bio",
            "jbd2_",
            "ext4_",
            "xfs_",
            "btrfs_",
            "zfs_",
            "cv_wait_",
            "rq_qos_",
            "filemap_",
        ),
    ),
    # vfork(2): the parent waits until its child has become another program.
    ("child", "a process that it starts", ("kernel_clone", "wait_for_vfork", "_do_fork")),
)
_LOCAL = (
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
)
_GROUP = ("MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_STEP_ID")
_PYTHON = regex(r"(?:python|pypy|pt_)[\w.]*\Z")


def the_job(machine: Machine) -> Subjects[Job]:
    """The running job that was asked about."""
    if machine.job is None:
        return NotApplicable("no running job was named (--pid)")
    pid = value_or(machine.job.pid, None)
    return [Selected(Subject("job") if pid is None else Subject("process", pid), machine.job)]


def owner(wchan: str | None) -> tuple[str, str] | None:
    """(gpu, network, disk or child; the driver or file system in words) of a kernel function; None for others."""
    if not wchan:
        return None
    plain = wchan.split("+", 1)[0]
    return next(((kind, words) for kind, words, begin in _OWNERS if plain.startswith(begin)), None)


def is_alive(one: JobProcess) -> bool:
    """Neither ended nor ending."""
    return one.state not in "ZX"


def runs_python(name: str) -> bool:
    """A process name of Python, or one that torch gives its helpers."""
    return _PYTHON.match(name) is not None


def place(variables: Mapping[str, str] | None) -> tuple[int, int] | None:
    """(local rank, number of local ranks) as a launcher told them; None where it told none."""
    for rank, size in _LOCAL:
        words = (variables or {}).get(rank, ""), (variables or {}).get(size, "")
        if all(word.isascii() and word.isdecimal() and len(word) < 6 for word in words):
            found = int(words[0]), int(words[1])
            if 0 <= found[0] < found[1]:
                return found
    return None


def ranks_of(job: Job) -> tuple[JobProcess, ...]:
    """The living processes that belong to the job's group of local ranks, helpers of ranks included."""
    every = [one for one in known(job.processes) if is_alive(one) and place(one.variables) is not None]
    own = [one for one in every if one.relation == "self"] or [one for one in every if one.relation == "descendant"]
    if not own:
        return ()
    return tuple(one for one in every if _group(one) == _group(own[0]))


def _group(one: JobProcess) -> tuple[str | None, ...]:
    told = one.variables or {}
    size = place(told)
    return (*(told.get(name) for name in _GROUP), str(size[1]) if size else None)


def signal_words(number: int) -> str:
    """A signal in words that people search for."""
    return {
        4: "SIGILL (illegal instruction)",
        6: "SIGABRT (it aborted itself)",
        7: "SIGBUS (for data loader workers usually a full /dev/shm)",
        8: "SIGFPE",
        9: "SIGKILL (the OOM killer, a limit of the scheduler, or a person)",
        11: "SIGSEGV (segmentation fault)",
        15: "SIGTERM",
    }.get(number, f"signal {number}")


def again(job: Job, name: str) -> ShellCommand:
    """The command that runs a check of this job once more."""
    return shell("rocdoctor check --pid {pid} {check}", pid=value_or(job.pid, 0), check=name)


def age_s(job: Job) -> float | None:
    """Seconds since the job was started."""
    return job.started_s_ago.value if isinstance(job.started_s_ago, Known) else None
