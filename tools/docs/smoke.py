"""``docs/smoke.md``: what the smoke tests do, with the table of modes. ``python -m tools.docs`` writes it."""

from __future__ import annotations

from rocdoctor.train.smoke.worker.mode import Mode, all_modes

# (port, when it is open, who may connect, what comes in)
_PORTS = (
    (
        "address of `--rdzv`",
        "nodes meet",
        "who has the key",
        "JSON, every line with a code",
    ),
    (
        "a free port at the address that ranks will use, TCP and UDP",
        "nodes, until the end",
        "who has the token that nodes tell each other",
        "one line; gets zeros and echoes",
    ),
    (
        "port of `--rdzv`, all interfaces",
        "nodes, while ranks run: torchrun's store (static)",
        "anybody",
        "keys, texts and JSON: no pickles",
    ),
    (
        "gloo, on the interface that it chooses",
        "nodes, while ranks run",
        "anybody",
        "numbers; Python objects in `objects`",
    ),
    (
        "NCCL or RCCL, on the interface that it chooses",
        "GPUs",
        "as the library decides",
        "numbers, likewise",
    ),
    (
        "gloo, on loopback (unless `GLOO_SOCKET_IFNAME` is set)",
        "one machine",
        "users of this machine",
        "numbers; Python objects in `objects` and `checkpoint`",
    ),
    (
        "a free port, all interfaces",
        "`elastic`, Megatron-core, `accelerate`, DeepSpeed: store of the ranks",
        "anybody",
        "keys and texts: no pickles",
    ),
    (
        "a free port, all interfaces",
        "`horovod`: its rendezvous (HTTP)",
        "anybody",
        "addresses; it uses pickles only to run functions, which is not done",
    ),
)

_TEXT = """# Smoke tests

`rocdoctor smoke` proves that distributed training computes the right numbers on this machine. Each mode trains a small
transformer (58,560 parameters on up to 4 ranks) for a few steps, or runs one exchange, and compares the values on
**every rank** with those of a single process: loss, every gradient, every parameter, every received value. "It ran" is
not a pass. The reference comes from plain operations in double precision on the CPU, or was worked out by hand. So a
kernel that computes wrongly on all ranks cannot fool it.

- The tests run in *your* interpreter (`--python`, the active environment, `~/torch-venv`, or `python3`), with torch 2.1
  or later and otherwise the standard library. What a torch release or device lacks is "not tested", with the reason.
- Several GPUs: one rank each on nccl (RCCL on ROCm). One GPU: each mode alone on it, then two ranks that share it over
  gloo. No GPU: gloo on the CPU. The report says what a run cannot show.
- On GPUs the report says which are hidden by a variable, busy, or partitions of one GPU. It also says which one runs at
  half the speed of the others, and whether a deadline passed because kernels were still compiling. Groups use only
  nccl, as jobs do. Memory and contexts that a mode leaves behind are freed when its ranks end.
- A rank that dies, hangs, raises an error or holds a wrong number is named, with its GPU's PCI address, the step, the
  expected and actual values, and the likely layer: arithmetic on one device, a link between two, the collective
  library, the framework, or configuration. Ranks that are only affected by it are shown as `lost` or `off`.
- Every mode has a deadline (`--deadline`), and nothing keeps running after it. Time that ranks wait for a processor
  does not count, up to three times the deadline: a busy machine is not a fault. On gloo a rank waits half of it in
  one collective; on one machine that is counted alike.
- Some causes are named and blame no rank: a process killed by the kernel for lack of memory, a full disk, a loopback
  interface that is down, a wrong `GLOO_SOCKET_IFNAME`, or an address space limit.
- The time printed is how long you waited, including the import of torch.
- `rocdoctor smoke --explain MODE` says what a mode computes, what it is compared with, and how far it may differ and
  why.
- `rocdoctor bundle --with-smoke` records the results; `check` judges recorded ones; `smoke --from BUNDLE` shows them.

## How a fault is placed

Each comparison belongs to a stage, in the order in which data flows through a step: input, parameters before the step,
what the rank computes by itself, results of exchanges, loss, gradients, parameters after. The rank that differs at the
earliest stage has the fault; ranks that differ later inherited it.

The runner first compares the references: a rank that expects other numbers than the rest is at fault itself. If all
ranks hold the same wrong numbers, each rank then contributes alone to a sum. Every rank notes in shared memory which
collective it is about to enter. So a rank that died or froze still shows where it was, and ranks in different
collectives stand out.

## Measured figures

`rocdoctor smoke --figures` (and `--full`) measures how fast the machine is, in at most 20 s on GPUs and 10 s on a CPU:
matrix products in each type, memory bandwidth, what starting a small operation costs, copies between host and device
(pinned and pageable, both ways) and between each two GPUs, all-reduce over sizes, and training of a small transformer:
tokens a second, share of the peak (MFU, 6 N + 12 L h s operations a token), 1 to all ranks, compiled against eager.

- Each figure is the median of repetitions after a warm-up; on GPUs events on the stream are the clock. Bus bandwidth is
  that of rccl-tests: size / time x 2 (n - 1) / n.
- `expected` is the published peak of this very part (`profiles/`) or of its link, and null without a source; `share` is
  the value over it; `of_others` compares with the identical GPUs of the machine.
- A figure is a finding only below half of the identical GPUs, or below a share that a source calls far from normal
  (`rocdoctor/knowledge/tables/figures.yaml`). The reason given is what was seen at that time: another program, a link
  below what both ends support, heat, a lowered power cap, a low clock, or the wrong NUMA node. A CPU is never judged.
- The runner reads temperature, clock, power and reasons for low clocks once a second; the ranks never do.
- `--trace FILE` writes three training steps as torch.profiler records them (chrome://tracing, Perfetto).
- `--soak MINUTES` loads each GPU (or all threads of the CPU) with matrix products and compares rate and clock of the
  last minute with the first: an idle GPU never shows that it throttles. An interrupt ends it with what there is.

## A plan tried for a few steps

```sh
rocdoctor recommend --model llama-3.1-8b --json    # > plan.json
rocdoctor smoke --plan plan.json               # what recommend or estimate --json printed, or a specification
rocdoctor smoke --plan plan.json:faster        # the faster plan that may just fit, where recommend names one
```

The plan's own shapes are trained on random tokens in the interpreter under test: its division of the work (one GPU,
DistributedDataParallel with or without ZeRO-1, FSDP2 and HSDP, tensor parallelism with FSDP2), micro-batch, sequence,
recompute, precision, loss, adapters (LoRA) and optimizer. All layers run where that takes less than a minute by the
estimate, otherwise two depths. The trial measures the peak memory of each rank and the seconds of a step, and shows
both next to the estimate for the same depths.

- The whole plan is the straight line through both depths, since all layers are alike. 5 % stay open (2 % where all
  layers ran): fragments of the allocator do not grow evenly. Data, checkpoints and evaluation are not in it.
- What was measured is kept in `~/.local/state/rocdoctor/trials.json` (or under `$XDG_STATE_HOME`; root's always in its
  home). The next `recommend` and `estimate` by the same user for this GPU use it and say so, with the day. The last 16
  plans of a GPU and the last 16 GPUs stay. A file that others can write is not used. Delete it to forget.
- For the plan that ran, it takes the place of the estimate. Other plans of its kind (framework, precision, method,
  compiled or not) are only said to need more, never less. Speeds of all plans on this GPU are scaled.
- Not kept: a run on the CPU instead of GPUs, with a smaller vocabulary, with ranks that are not alike, alongside others
  that held memory of a GPU, or so small that a process differs more from the next.
- A rank out of memory is named with the part of the step and what the plan predicted; a rank that hangs as in any mode.
- A plan for another number or kind of GPUs is refused. `--device cpu` tries its memory alone, with processes.
  What would take the CPU too long is not tried: you read how many minutes it would take.
- Megatron-LM, DeepSpeed, experts, pipelines, context parallelism, 4-bit weights and 8-bit products are not tried: torch
  alone does not show what they take.

## Several nodes

Run the same command on every node, or once within `srun` (or a batch script), where the rest comes from Slurm:

```sh
rocdoctor smoke --nnodes 2 --node-rank 0 --rdzv 10.0.0.1:29500     # on node 0: prints the command of the others
ROCDOCTOR_SMOKE_KEY=... rocdoctor smoke --nnodes 2 --node-rank 1 --rdzv 10.0.0.1:29500     # there, with its key
srun --ntasks-per-node=1 rocdoctor smoke --nnodes auto             # no key to type
```

Nodes believe each other only after both have proved that they know the key of this run (HMAC over fresh numbers of both
sides), and every later line carries a code. A stranger gets no answer and ends nothing.

- Node 0 makes a key of 128 bits for each run and prints it. To choose it yourself give all nodes the same one:
  `export ROCDOCTOR_SMOKE_KEY=$(openssl rand -hex 16)`, or `--key-file FILE` (mode 0600, yours or root's). `--key KEY`
  works too, but other users of that machine see it in the list of processes.
- Within Slurm node 0 leaves the key in `.rocdoctor-smoke-JOB.STEP` (mode 0600) in its working and home directory until
  all is over. If neither of them is shared, export the variable before `srun`, which passes it on.
- Node 0 listens on the addresses of `--rdzv` alone. If its own name is loopback there (`/etc/hosts` of Debian), it
  listens on all: others know the name better.
- Settings of communication libraries are compared. Values of variables that rocdoctor does not know, and what the
  masking of bundles takes away, are not sent: a fingerprint made with the key shows whether they are equal.

First the nodes meet on the port that torchrun will use, and probes explain in seconds what would hang for minutes:

| probe | what it shows |
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
1024 must be open, as for training. Nothing is encrypted.

## As root

The ranks have the rights of whoever starts them, so root starts no interpreter that somebody else can change: a virtual
environment in a user's home folder is refused, with the file that counts. Run it as that user, without `sudo`. Where
nobody else counts (a container, a machine of your own) `--trust-interpreter` runs it all the same.

## What listens while a test runs

torch's stores and gloo ask nobody who he is, and its SECURITY.md says: not for untrusted networks.
rocdoctor closes what it can: whoever reaches a port can disturb a test and falsify its numbers, but not run code.

| port | when | who may connect | what comes in |
| --- | --- | --- | --- |
{ports}

The other modes on one machine meet in a file of a folder that only you can read, and so does torchrun in `elastic`,
whose rendezvous is a pickle.

- Ranks unpickle from each other plain values and the records of checkpoints alone; every other name is refused
  ("rocdoctor does not unpickle ..."), and `torch.load` takes tensors and plain values alone.
- All the same, modes whose ranks unpickle (`objects`, `checkpoint`) run over nodes only where you name them.
- What is left: errors in the C++ code of these libraries. Use a network that only the job's users reach.

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
- The message includes, shortened, what a launcher says about a failure.

## Releases of torch

The quick set ran on these, two ranks on the CPU (2026-11-28; with a star 2026-11-23, when it had 35 modes). What a
release lacks is "not tested", with the reason.

| torch | Python | build | modes that ran | what it lacks |
| --- | --- | --- | --- | --- |
| 2.15.0* | 3.13 | cu132 | 35 | |
| 2.14.1 | 3.11 | cu130 | 40 | |
| 2.13.0 | 3.11 | cpu | 39 | |
| 2.12.1* | 3.10 | cu130 | 35 | |
| 2.11.0* | 3.12 | cu130 | 35 | |
| 2.4.1 | 3.9 | cu121 | 29 | on the CPU: FSDP2 (it makes streams of CUDA), pipelines but GPipe (they hang) |

`ROCDOCTOR_SMOKE_PYTHONS` (interpreters, separated by colons) has the heavy tests run it on others.

## Modes

The quick set is the default; `--full` adds the others.

| mode | set | what it proves |
| --- | --- | --- |
"""


def page() -> str:
    """The page as markdown."""
    ports = "\n".join(f"| {' | '.join(row)} |" for row in _PORTS)
    return _TEXT.format(ports=ports) + "".join(f"| `{one.name}` | {_set(one)} | {one.title} |\n" for one in all_modes())


def _set(mode: Mode) -> str:
    words = "full" if mode.full else "quick"
    return words + (f", {mode.min_world} ranks or more" if mode.min_world > 1 else "")
