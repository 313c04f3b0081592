"""``python -m rocdoctor.smoke.manual > docs/smoke.md``: what the smoke tests do, with the table of modes."""

from __future__ import annotations

from rocdoctor import output
from rocdoctor.smoke.worker.mode import Mode, all_modes

_TEXT = """# Smoke tests

`rocdoctor smoke` proves that distributed training computes the right numbers on this machine. Each mode trains a small
transformer (58,560 parameters on up to 4 ranks) for a few steps, or runs one exchange, and compares what **every
rank** holds with what one process computes: loss, every gradient, every parameter, every received value. "It ran" is
no pass.

- The tests run in *your* interpreter (`--python`, the active environment, or `python3`), with torch 2.1 or later and
  the standard library alone. What a torch release or a device does not have is "not tested", with the reason.
- Several GPUs: one rank each on nccl (RCCL on ROCm). One GPU: each mode alone on it, then two ranks that share it over
  gloo. No GPU: gloo on the CPU. The report says what a run cannot show.
- A rank that dies, hangs, raises an error or holds a wrong number is named, with its GPU's PCI address, the step, what
  was expected and what came, and the likely layer: arithmetic on one device, link between two, collective library,
  framework, configuration. Ranks that only suffer from it are shown as `lost` or `off`.
- Every mode has a deadline (`--deadline`), and nothing is left running after it.
- `rocdoctor bundle --with-smoke` records the results; `check` judges recorded ones; `smoke --from BUNDLE` shows them.

## How a fault is placed

Each comparison has a stage in the order in which data flows through a step: input, parameters before the step, what the
rank computes by itself, results of exchanges, loss, gradients, parameters after. The rank that differs at the earliest
stage has the fault; ranks that differ later have caught it. When all ranks hold the same wrong numbers, a second look
lets each rank contribute alone to a sum. Every rank notes in shared memory which collective it is about to enter, so a
rank that died or froze still tells where it was, and ranks that entered different collectives are told apart.

## Measured figures

`rocdoctor smoke --figures` (and `--full`) measures how fast the machine is, in at most 20 s on GPUs and 10 s on a CPU:
matrix products in each type, memory bandwidth, what starting a small operation costs, copies between host and device
(pinned and pageable, both ways) and between each two GPUs, all-reduce over sizes, and training of a small transformer:
tokens a second, share of the peak (MFU, 6 N + 12 L h s operations a token), 1 to all ranks, compiled against eager.

- Each figure is the median of repetitions after a warm-up; on GPUs events on the stream are the clock. Bus bandwidth is
  that of rccl-tests: size / time x 2 (n - 1) / n.
- `expected` is the published peak of this very part (`profiles/`) or of its link, and null without a source; `share` is
  the value over it; `of_others` compares with the equal GPUs of the machine.
- A figure is a finding only under half of its equals, or under a share that a source calls far from normal
  (`rocdoctor/knowledge/figures.yaml`); the reason is what was seen meanwhile: another program, a link below what both
  ends can do, heat, a lowered power cap, a low clock, the wrong NUMA node. A CPU is never judged.
- Temperature, clock, power and reasons for low clocks are read once a second by the runner, never by the ranks.
- `--trace FILE` writes three training steps as torch.profiler records them (chrome://tracing, Perfetto).
- `--soak MINUTES` loads each GPU (or all threads of the CPU) with matrix products and compares rate and clock of the
  last minute with the first: an idle GPU never shows that it throttles. An interrupt ends it with what there is.

## Several nodes

Run the same command on every node, or once within `srun` (or a batch script), where the rest comes from Slurm:

```sh
rocdoctor smoke --nnodes 2 --node-rank 0 --rdzv 10.0.0.1:29500     # on node 0; --node-rank 1 on the other one
srun --ntasks-per-node=1 rocdoctor smoke --nnodes auto
```

First the nodes meet on the port that torchrun will use, and probes explain in seconds what would hang for minutes:

| probe | what it tells |
| --- | --- |
| name-resolution | a name does not resolve, or gives loopback (of node 0 in `--rdzv`, of the node itself for gloo) |
| interface | `GLOO_SOCKET_IFNAME` or `NCCL_SOCKET_IFNAME` names one that is missing, down, or has no link or address |
| rendezvous, port | nobody listens there, another program does, a node did not come, the commands do not fit together |
| reach | no route, no such host, or the address that ranks would use cannot be reached from other nodes |
| mtu, stream | frames of full size vanish (sent uncut, in both directions), or a stream stalls; which size passes |
| speed | one stream carries less than a tenth of what the interfaces say |
| versions, variables | torch, hip, cuda, Python, rocdoctor or settings of the communication library differ |
| clock | clocks differ by more than a second beyond what the way there makes unsure |
| lost | a node or its link went away while modes ran, and whose interface has no link |

An error ends the run before torchrun is started. Otherwise torchrun starts the ranks (one a GPU, or `--nproc-per-node`)
and the modes run as on one machine; a fault names rank, node and GPU. Modes that need a shared folder or a launcher of
their own are not tested there. Node 0 prints the report, the others one line. Between the nodes TCP and UDP ports above
1024 must be open, as for training. Nothing is encrypted: use it inside the network of the job.

## Launchers of others

Some modes of the full set are started by the launcher that a job would use, in the interpreter under test: torchrun
(`elastic`, Megatron-core), `accelerate launch`, DeepSpeed's and Horovod's. A package that is not installed makes its
modes "not tested"; that is read from metadata, nothing is imported.

- No launcher is believed: each rank writes down which place in which group it was given, how it ended and what it
  computed. Fewer processes than asked for, or a group of one, is a failure, although the launcher ends with status 0.
- `elastic` ends one rank with SIGKILL in the third step; torchrun starts the group again, which resumes from a
  checkpoint (step, parameters, moments) and must arrive where an uninterrupted process does. It sets
  `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`: without it torchrun of torch 2.13 keeps one store for all starts, and a
  restarted rank may find the address of a dead one ("Connection refused" in 4 of 8 restarts on gloo).
- What a launcher says of a failure stands in the message, shortened.

## Modes

The quick set is the default; `--full` adds the others.

| mode | set | what it proves |
| --- | --- | --- |
"""


def page() -> str:
    """The page as markdown."""
    return _TEXT + "".join(f"| `{one.name}` | {_set(one)} | {one.title} |\n" for one in all_modes())


def _set(mode: Mode) -> str:
    words = "full" if mode.full else "quick"
    return words + (f", {mode.min_world} ranks or more" if mode.min_world > 1 else "")


if __name__ == "__main__":
    output.show(page())
