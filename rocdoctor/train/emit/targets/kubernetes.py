"""A Job of Kubernetes: one pod a node, and the headless service by which the pods find the first one.

API fields as of batch/v1 and core/v1 (Kubernetes 1.28 and later); GPUs are asked for by the names of the device plugins
of AMD and NVIDIA (``amd.com/gpu``, ``nvidia.com/gpu``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import File, comment, plain
from rocdoctor.train.emit.images import SHM_WHY, placeholder, shared_memory_gib
from rocdoctor.train.emit.launch import torchrun
from rocdoctor.train.emit.launcher import PORT, open_ports
from rocdoctor.train.emit.targets import Order
from rocdoctor.train.emit.targets.torchrun import FRAMEWORKS, head, refuses
from rocdoctor.train.recommend.environment import by_node, without_visibility
from rocdoctor.train.recommend.plan import Plan

__all__ = ["FRAMEWORKS", "files", "refuses"]

_RESOURCE = {"amd": "amd.com/gpu", "nvidia": "nvidia.com/gpu"}
# The name of a pod is the job's, a hyphen and a number, and at most 63 signs long.
_LONGEST = 52


def files(plan: Plan, order: Order) -> Sequence[File]:
    """One file for ``kubectl apply -f``."""
    lines = [*head(plan, order), *open_ports()]
    if plan.fleet.nodes > 1:
        lines += [*_service(order), "---"]
    return (File("job.yaml", "\n".join([*lines, *_job(plan, order)]) + "\n"),)


def label(text: str) -> str:
    """A name as Kubernetes takes it (RFC 1123): small letters, digits and hyphens, with a letter in front."""
    found = re.sub(r"[^a-z0-9]+", "-", plain(text).lower())[:_LONGEST].strip("-")
    return found if found[:1].isalpha() else f"job-{found}".strip("-")[:_LONGEST].strip("-")


def _service(order: Order) -> Iterator[str]:
    name = label(order.job)
    yield "apiVersion: v1"
    yield "kind: Service"
    yield "metadata:"
    yield f"  name: {quoted(name)}"
    yield "spec:"
    yield "  # no address of its own: each pod gets a name below this one"
    yield "  clusterIP: None"
    yield "  # the ranks meet before any pod is ready"
    yield "  publishNotReadyAddresses: true"
    yield "  selector:"
    yield f"    app: {quoted(name)}"
    yield "  ports:"
    yield "    - name: rendezvous"
    yield f"      port: {PORT}"


def _job(plan: Plan, order: Order) -> Iterator[str]:
    name, fleet = label(order.job), plan.fleet
    yield "apiVersion: batch/v1"
    yield "kind: Job"
    yield "metadata:"
    yield f"  name: {quoted(name)}"
    yield "spec:"
    yield "  # one pod per node, numbered from 0; all must run at the same time"
    yield "  completionMode: Indexed"
    yield f"  completions: {fleet.nodes}"
    yield f"  parallelism: {fleet.nodes}"
    yield "  # without one of its pods the others only wait: the job ends as a whole, and nothing is tried again"
    yield "  backoffLimit: 0"
    limit = _seconds(order.time)
    if limit is not None:
        yield f"  activeDeadlineSeconds: {limit}"
    yield "  template:"
    yield "    metadata:"
    yield "      labels:"
    yield f"        app: {quoted(name)}"
    yield "    spec:"
    yield "      # a new pod would meet a run that has failed"
    yield "      restartPolicy: Never"
    if fleet.nodes > 1:
        yield f"      # pod 0 is reached as {name}-0.{name}"
        yield f"      subdomain: {quoted(name)}"
        yield "      # two pods on one node would share its GPUs, links and memory"
        yield from _apart(name)
    yield "      containers:"
    yield "        - name: train"
    yield from _container(plan, order, name)
    yield "      volumes:"
    yield from comment(f"{SHM_WHY}; it counts against the memory of the pod", indent="        ")
    yield "        - name: shared-memory"
    yield "          emptyDir:"
    yield "            medium: Memory"
    yield f"            sizeLimit: {shared_memory_gib(fleet)}Gi"


def _apart(name: str) -> Iterator[str]:
    yield "      affinity:"
    yield "        podAntiAffinity:"
    yield "          requiredDuringSchedulingIgnoredDuringExecution:"
    yield "            - labelSelector:"
    yield "                matchLabels:"
    yield f"                  app: {quoted(name)}"
    yield "              topologyKey: kubernetes.io/hostname"


def _container(plan: Plan, order: Order, name: str) -> Iterator[str]:
    pad, fleet = " " * 10, plan.fleet
    if order.image is not None:
        yield f"{pad}image: {quoted(order.image)}"
    else:
        image, why = placeholder(fleet.vendor)
        yield from comment(why, indent=pad)
        yield f"{pad}image: {quoted(image)}"
    meeting = f"{name}-0.{name}:{PORT}" if fleet.nodes > 1 else None
    yield f"{pad}command:"
    for one in torchrun(plan, order, str(fleet.nodes), None, meeting, name if fleet.nodes > 1 else None):
        yield from comment(one.reason, indent=f"{pad}  ")
        for word in one.words:
            # Kubernetes fills $(NAME) in; twice the sign keeps it.
            yield f"{pad}  - {quoted(word.replace('$(', '$$('))}"
    yield from _variables(plan, pad)
    yield f"{pad}resources:"
    if fleet.vendor == "cpu":
        yield from comment("no GPU is requested; at least one CPU for each rank", indent=f"{pad}  ")
        yield f"{pad}  requests:"
        yield f"{pad}    cpu: {quoted(str(fleet.per_node))}"
    else:
        yield f"{pad}  limits:"
        yield f"{pad}    {_RESOURCE[fleet.vendor]}: {fleet.per_node}"
    if fleet.nodes > 1 and fleet.vendor != "cpu":
        yield from comment(
            "RDMA cards are separate resources, named by the cluster's administrators; without them RCCL and NCCL "
            "fall back to TCP between the pods",
            indent=f"{pad}    ",
        )
    yield f"{pad}volumeMounts:"
    yield f"{pad}  - name: shared-memory"
    yield f"{pad}    mountPath: /dev/shm"


def _variables(plan: Plan, pad: str) -> Iterator[str]:
    found = without_visibility(tuple(plan.environment))
    several = plan.fleet.nodes > 1
    told = by_node(plan)
    if not found and not several:
        return
    yield f"{pad}env:"
    if several:
        yield from comment("the number of the pod, as torchrun reads it", indent=f"{pad}  ")
        yield f"{pad}  - name: PET_NODE_RANK"
        yield f"{pad}    valueFrom:"
        yield f"{pad}      fieldRef:"
        yield f"{pad}        fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']"
    for one in found:
        yield from comment(one.reason, indent=f"{pad}  ")
        yield f"{pad}  - name: {one.name}"
        yield f"{pad}    value: {quoted(one.value.replace('$(', '$$('))}"
    for sentence in told:
        yield from comment(f"left to you: {sentence}", indent=f"{pad}  ")


def quoted(text: str) -> str:
    """A text as a YAML scalar that stays a text; JSON's strings are YAML's too."""
    return json.dumps(text)


def _seconds(limit: str | None) -> int | None:
    """HH:MM:SS in seconds, or None for what is no such time."""
    match = re.fullmatch(r"(?:(\d{1,3})-)?(\d{1,4}):([0-5]?\d):([0-5]?\d)", limit or "")
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds or None
