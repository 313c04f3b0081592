"""Advice about jobs and containers that takes more than one part of a file: Slurm, Kubernetes, compose, DeepSpeed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from rocdoctor.lint.advice.file_parts import Parts, image_of
from rocdoctor.lint.advice.machine_hints import Place, option, options
from rocdoctor.lint.advice.told_commands import ToldCommand
from rocdoctor.lint.config.containers import ManifestContainer
from rocdoctor.lint.config.trees import walk
from rocdoctor.model.lazy_re import regex
from rocdoctor.parsers.formats.text import whole_number
from rocdoctor.parsers.shell.lexer import CLOSE, OPEN, Token, tokens_of
from rocdoctor.parsers.shell.options import shell_text

_RUNNERS = ("torch.distributed.run", "torch.distributed.launch")
_LAUNCH = frozenset(("torchrun", "deepspeed", "accelerate"))
_NODE = regex(f"{OPEN}(SLURM_NODEID|SLURM_PROCID){CLOSE}\\Z")
_LOCAL = regex(r"(?:localhost|127\.0\.0\.1)(?::\d+)?\Z")
_INDEX = regex(r"metadata\.(?:annotations|labels)\[['\"]batch\.kubernetes\.io/job-completion-index['\"]\]\Z")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_PLAIN_KINDS = frozenset(("Job", "Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "CronJob"))


# -- Slurm


def _number(text: str | None) -> int | None:
    return whole_number(text, 999_999)


def _batch(parts: Parts, *names: str) -> int | None:
    return next((_number(parts.batch[name][0]) for name in names if name in parts.batch), None)


def _torchrun(told: ToldCommand) -> tuple[list[Token], list[Token]] | None:
    """The words of srun and those of the torchrun that it starts, also inside a text for a shell; else None."""
    if told.head != "srun":
        return None
    words = list(told.words)
    script = shell_text(words)
    if script is not None:
        # Only what the batch script fills in itself stays marked; the rest is for the shell of the task.
        marked = re.sub(f"{OPEN}(\\w+){CLOSE}", r"@\1@", script.text)
        for word in tokens_of(marked, script.line):
            if not word.operator:
                text = re.sub(f"{OPEN}(\\w+){CLOSE}", r"$\1", word.text)
                words.append(Token(re.sub(r"@(\w+)@", f"{OPEN}\\1{CLOSE}", text), word.line))
    for at, word in enumerate(words):
        if word.text.rsplit("/", 1)[-1] == "torchrun" or (word.text in _RUNNERS and words[at - 1].text == "-m"):
            return words[:at], words[at:]
    return None


def torchrun_per_task(parts: Parts) -> Iterator[Place]:
    """srun starts torchrun several times on a node, and each starts a worker for every GPU."""
    tasks = _batch(parts, "--ntasks-per-node", "--tasks-per-node")
    for told in parts.told() if tasks is not None and tasks > 1 else ():
        found = _torchrun(told)
        if found is None or any(name for name, _, _ in options(found[0], ("ntasks", "ntasks-per-node", "n"))):
            continue
        if any(re.match(r"-n\d", word.text) for word in found[0]):
            continue
        workers, nodes = option(found[1], "nproc-per-node"), option(found[1], "nnodes") or ""
        if workers is None or workers == "1" or "NTASKS" in nodes or "NPROCS" in nodes:
            continue
        sure = workers in ("gpu", "auto", "cuda") or _number(workers) is not None or "SLURM_GPUS" in workers
        shown = re.sub(f"{OPEN}(\\w+){CLOSE}", r"$\1", workers)
        yield Place(told.one.words[0].line, f"{tasks} tasks per node and --nproc-per-node={shown}", not sure)


def node_rank_of_batch(parts: Parts) -> Iterator[Place]:
    """A node rank that the batch script fills in, where it is 0 for every node."""
    nodes = _batch(parts, "--nodes", "-N")
    for told in parts.told() if parts.kind == "slurm" else ():
        found = _torchrun(told)
        if found is None:
            continue
        own = _number(option(found[0], "nodes", "N")) or nodes
        if own == 1 or option(found[1], "rdzv-backend") not in (None, "static"):
            continue
        for _, value, line in options(found[1], ("node-rank",)):
            match = _NODE.match(value)
            if match is not None:
                yield Place(line, f"--node-rank=${match[1]}", own is None)


def master_localhost(parts: Parts) -> Iterator[Place]:
    """A rendezvous on the loopback interface in a job of several nodes."""
    nodes = _batch(parts, "--nodes", "-N")
    last = {one.name: one for one in parts.settings}
    named = last.get("MASTER_ADDR")
    if nodes is not None and nodes > 1 and named is not None and named.value and _LOCAL.match(named.value):
        yield Place(named.line, f"MASTER_ADDR={named.value} on {nodes} nodes")
    for one in (told.one for told in parts.told() if told.dashed):
        texts = [word.text.rsplit("/", 1)[-1] for word in one.words]
        if "torchrun" not in texts and not any(name in texts for name in _RUNNERS):
            continue
        count = _number(option(one.words, "nnodes"))
        for name, value, line in options(one.words, ("master-addr", "rdzv-endpoint")):
            if count is not None and count > 1 and _LOCAL.match(value):
                yield Place(line, f"--{name}={value} and --nnodes={count}")


# -- containers


def _launches(box: ManifestContainer) -> bool:
    words = [word.text for one in box.commands for word in one.words]
    names = [word.rsplit("/", 1)[-1] for word in words]
    return any(name in _LAUNCH for name in names) or any(name in words for name in _RUNNERS)


def shared_memory(parts: Parts) -> Iterator[Place]:
    """A container that trains and has the 64 MB of shared memory that is the default."""
    for box in parts.containers:
        gpu = "/dev/kfd" in box.devices or bool(box.vendor)
        if box.kind == "pull" or box.shared_memory or not gpu or box.gpus == 1 or not _launches(box):
            continue
        if any(option(one.words, "nproc-per-node", "num-processes", "num-gpus") == "1" for one in box.commands):
            continue
        yield Place(box.line, box.image or "a container", True)


def visible_beyond(parts: Parts) -> Iterator[Place]:
    """A list of GPUs by number in a container that is given fewer."""
    for box in parts.containers:
        for name in _VISIBLE:
            value, line = box.environment.get(name, ("", 0))
            places = [_number(one.strip()) for one in value.split(",")]
            if box.gpus and value and all(one is not None for one in places):
                highest = max(one for one in places if one is not None)
                if highest >= box.gpus:
                    yield Place(line, f"{name}={value} and {box.gpus} GPU{'s' if box.gpus > 1 else ''}")


def cuda_image_for_amd(parts: Parts) -> Iterator[Place]:
    """An image with CUDA that is given the devices of AMD GPUs."""
    for box in parts.containers:
        image = image_of(box.image, box.image_line)
        if image is None or "/dev/kfd" not in box.devices or "rocm" in image.tag:
            continue
        if image.repository.startswith("nvidia/") or re.search(r"cuda|\bcu1\d\d", image.tag):
            yield Place(image.line, box.image)


def rocm_image_on_nvidia(parts: Parts) -> Iterator[Place]:
    """An image with ROCm that asks for NVIDIA's GPUs."""
    for box in parts.containers:
        image = image_of(box.image, box.image_line)
        if image is not None and image.repository.startswith("rocm/") and box.vendor == "nvidia":
            yield Place(box.vendor_line, f"{box.image} with GPUs of nvidia")


# -- Kubernetes


def completion_index(parts: Parts) -> Iterator[Place]:
    """The index of an indexed Job where no such Job is."""
    for tree in parts.trees:
        kind = tree.get("kind").text
        spec = tree.get("spec", "jobTemplate", "spec") if kind == "CronJob" else tree.get("spec")
        mode = spec.get("completionMode").text
        if kind not in _PLAIN_KINDS or (kind in ("Job", "CronJob") and mode not in (None, "NonIndexed")):
            continue
        for path, one in walk(tree):
            if path[-1:] == ("fieldPath",) and one.text is not None and _INDEX.match(one.text):
                yield Place(one.line, f"a {kind} without completionMode Indexed")


def pod_name(parts: Parts) -> Iterator[Place]:
    """The name of a pod of a Job as rendezvous, and no subdomain that would make it resolve."""
    for box in parts.containers:
        if box.kind != "Job" or box.tree is None:
            continue
        name = box.tree.get("metadata", "name").text
        pod = box.tree.get("spec", "template", "spec")
        if not name or "$" in name or pod.get("subdomain").text is not None:
            continue
        told = [
            (value, line)
            for one in box.commands
            for _, value, line in options(one.words, ("rdzv-endpoint", "master-addr"))
        ]
        told += [box.environment[key] for key in ("MASTER_ADDR",) if key in box.environment]
        for value, line in told:
            if value.startswith(f"{name}-0."):
                yield Place(line, value)


# -- configuration of trainers


def batch_product(parts: Parts) -> Iterator[Place]:
    """Batch sizes of a DeepSpeed configuration that fit no number of GPUs."""
    for tree in parts.trees:
        for _, one in walk(tree):
            train = one.get("train_batch_size")
            micro = _number(one.get("train_micro_batch_size_per_gpu").text)
            steps = _number(one.get("gradient_accumulation_steps").text)
            whole = _number(train.text)
            if whole and micro and steps and whole % (micro * steps):
                yield Place(train.line, f"{whole}, {micro} and {steps}")


def pipeline_zero(parts: Parts) -> Iterator[Place]:
    """A DeepSpeed configuration for pipelines with a ZeRO stage that they do not take."""
    for tree in parts.trees:
        stage = tree.get("zero_optimization", "stage")
        pipe = tree.get("pipeline").mapping
        if _number(stage.text) in (2, 3) and ("pipe_partitioned" in pipe or "grad_partitioned" in pipe):
            yield Place(stage.line, f"stage {stage.text}", True)


def small_units(parts: Parts) -> Iterator[Place]:
    """FSDP that wraps by size, and by a very small one."""
    rows: list[tuple[str | None, str | None, int]] = []
    for tree in parts.trees:
        told = tree.get("fsdp_config")
        least = told.get("fsdp_min_num_params")
        rows.append((told.get("fsdp_auto_wrap_policy").text, least.text, least.line))
    for one in (told.one for told in parts.told() if told.dashed):
        policy, least_text = option(one.words, "fsdp-auto-wrap-policy"), option(one.words, "fsdp-min-num-params")
        rows.append((policy, least_text, one.words[0].line))
    for policy, text, line in rows:
        count = _number(text)
        if policy is not None and policy.upper() == "SIZE_BASED_WRAP" and count and count <= 10_000:
            yield Place(line, str(count))


def compiled_without_original(parts: Parts) -> Iterator[Place]:
    """torch.compile with FSDP1 that keeps no original parameters."""
    for tree in parts.trees:
        told = tree.get("fsdp_config")
        keep = told.get("fsdp_use_orig_params")
        back_end = tree.get("dynamo_config", "dynamo_backend").text
        if (keep.text or "").lower() != "false" or back_end is None or back_end.upper() == "NO":
            continue
        if told.get("fsdp_version").text != "2":
            yield Place(keep.line, f"fsdp_use_orig_params: {keep.text}")


RULES: Mapping[str, Callable[[Parts], Iterator[Place]]] = {
    "torchrun-per-task": torchrun_per_task,
    "node-rank-of-batch": node_rank_of_batch,
    "master-localhost": master_localhost,
    "shared-memory": shared_memory,
    "visible-beyond": visible_beyond,
    "cuda-image-for-amd": cuda_image_for_amd,
    "rocm-image-on-nvidia": rocm_image_on_nvidia,
    "completion-index": completion_index,
    "pod-name": pod_name,
    "batch-product": batch_product,
    "pipeline-zero": pipeline_zero,
    "small-units": small_units,
    "compiled-without-original": compiled_without_original,
}
