"""``docs/smoke.md``: what the smoke tests do, with the table of modes. ``python -m tools.docs`` writes it."""

from __future__ import annotations

from rocdoctor.train.smoke.worker.mode import Mode, all_modes

# (port, when it is open, who may connect, what comes in)
_PORTS = (
    (
        "address of `--rdzv`",
        "nodes connect",
        "whoever has the key",
        "JSON, every line with a code",
    ),
    (
        "a free port at the address that ranks will use, TCP and UDP",
        "nodes, until the end",
        "whoever has the token that the nodes exchange",
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
        "the same",
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
        "addresses; it uses pickles only to run functions, which rocdoctor does not do",
    ),
)

_TEXT = """# Smoke tests

`rocdoctor smoke` proves that distributed training computes the right numbers on this machine. Each mode trains a small
transformer (58,560 parameters on up to 4 ranks) for a few steps, or runs one exchange, and compares the values on
**every rank** with those of a single process: loss, every gradient, every parameter, every received value. "It ran" is
not a pass. The reference comes from plain operations in double precision on the CPU, or was worked out by hand. So a
kernel that computes wrongly on all ranks cannot fool it.

- The tests run in *your* interpreter (`--python`, the active environment, `~/torch-venv`, or `python3`), with torch 2.1
  or later and otherwise only the standard library. If a torch release or device lacks something, the mode is "not
  tested", with the reason.
- Several GPUs: one rank per GPU on nccl (RCCL on ROCm). One GPU: one rank, then two ranks that share the GPU over gloo.
  No GPU: gloo on the CPU. The report says what a run cannot show.
- The report says which GPUs are hidden by a variable, busy, or partitions of one GPU, and which one runs at half the
  speed of the others. It also says whether a deadline passed because kernels were still compiling. Groups use only
  nccl, as jobs do. When its ranks end, a mode's memory and contexts are freed.
- If a rank dies, hangs, raises an error or holds a wrong number, the report names it with its GPU's PCI address, the
  step, the expected and actual values, and the likely layer: arithmetic on one device, a link between two, the
  collective library, the framework, or configuration. Ranks that only suffer from it are shown as `lost` or `off`.
- Every mode has a deadline (`--deadline`), and nothing keeps running after it. Time that ranks spend waiting for a
  processor does not count, up to three times the deadline: a busy machine is not a fault. On gloo a rank waits at most
  half the deadline in one collective; on one machine, waiting for a processor does not count there either.
- Some causes blame no rank, and the report names them: the kernel killed a process for lack of memory, the disk is
  full, the loopback interface is down, `GLOO_SOCKET_IFNAME` is wrong, or the address space is limited.
- The time printed is how long you waited, including the import of torch.
- `rocdoctor smoke --explain MODE` says what a mode computes, what the results are compared with, and how far they may
  differ and why.
- `rocdoctor bundle --with-smoke` records the results, `check` judges recorded results, and `smoke --from BUNDLE` shows
  them.

## How a fault is placed

Each comparison belongs to a stage, in the order in which data flows through a step: input, parameters before the step,
what the rank computes by itself, results of exchanges, loss, gradients, and parameters after the step. The rank that
differs at the earliest stage has the fault; ranks that differ later inherited it.

The runner first compares the references: a rank that expects different numbers from the rest is at fault itself. If all
ranks hold the same wrong numbers, the ranks contribute to a sum one at a time. Every rank notes in shared memory which
collective it is about to enter. So a rank that died or froze still shows where it was, and ranks in different
collectives stand out.

After wrong numbers, the ranks run a second check: each computes its part of the model with nothing around it, and all
make every exchange by itself, with exact values. What is wrong there too is a fault of the device or the library. If
all of that is right, and every tensor of the mode is wrong, the fault is the framework's. A fault that does not recur,
such as one flipped bit, is placed where it was seen.

A wrong sum over ranks is compared with the part of each rank. If the part of exactly one rank explains the whole
difference (it is missing, counts twice, or another part of that rank is in its place), that rank is named. If one rank
alone has the right value of something that all ranks receive, suspect the rank that sent it, where that is known. If it
is not known, no rank is named, because most ranks received the wrong value from elsewhere.

## Measured figures

`rocdoctor smoke --figures` (and `--full`) measures how fast the machine is, in at most 20 s on GPUs and 10 s on a CPU:

- matrix products in each type, memory bandwidth, and the cost of starting a small operation;
- copies between host and device (pinned and pageable, both ways) and between every two GPUs;
- all-reduce at several sizes;
- training of a small transformer on one to all ranks, compiled and eager: tokens per second and share of the peak (MFU,
  6 N + 12 L h s operations per token).

- Each figure is the median of repetitions after a warm-up; on GPUs, stream events measure the time. Bus bandwidth is
  defined as in rccl-tests: size / time x 2 (n - 1) / n.
- `expected` is the published peak of this exact part (`profiles/`) or of its link, or null if there is no source.
  `share` is the value divided by it. `of_others` compares with the identical GPUs of the machine.
- A figure is a finding only if it is below half that of identical GPUs, or below a share that a source calls far from
  normal (`rocdoctor/knowledge/tables/figures.yaml`). The reason given was seen at that time: another program, a link
  slower than both ends support, heat, a lowered power cap, a low clock, or the wrong NUMA node. A CPU is never judged.
- The runner, never a rank, reads temperature, clock, power and reasons for low clocks once a second.
- `--trace FILE` writes three training steps as torch.profiler records them (chrome://tracing, Perfetto).
- `--soak MINUTES` loads each GPU (or all CPU threads) with matrix products and compares the rate and clock of the last
  minute with those of the first: an idle GPU never shows that it throttles. If you interrupt it, it reports the results
  so far.

## A plan tried for a few steps

```sh
rocdoctor recommend --model llama-3.1-8b --json    # > plan.json
rocdoctor smoke --plan plan.json               # what recommend or estimate --json printed, or a specification
rocdoctor smoke --plan plan.json:faster        # the faster plan that may just fit, where recommend names one
```

This trains the plan's own shapes on random tokens in the interpreter under test. It uses the plan's division of the
work (one GPU, DistributedDataParallel with or without ZeRO-1, FSDP2 and HSDP, tensor parallelism with FSDP2),
micro-batch, sequence, recompute, precision, loss, adapters (LoRA) and optimizer. If the estimate says that all layers
take less than a minute, all of them run, otherwise two depths. The trial measures each rank's peak memory and
the seconds per step, and shows both next to the estimate for the same depths.

- The whole plan is extrapolated in a straight line from both depths, because all layers have the same shape. The result
  is uncertain by 5 % (2 % if all layers ran), because allocator fragments do not grow evenly. It does not include data,
  checkpoints and evaluation.
- Results are kept in `~/.local/state/rocdoctor/trials.json` (or under `$XDG_STATE_HOME`; for root always in its home).
  The next `recommend` and `estimate` by the same user for this GPU use them and say so, with the date. The file keeps
  the last 16 plans per GPU and the last 16 GPUs. It is not used if others can write to it. Delete it to forget.
- For the plan that ran, the result replaces the estimate. For other plans of its kind (framework, precision, method,
  compiled or not) it can only raise the estimate, never lower it. It scales the speeds of all plans on this GPU.
- A run is not kept if it used the CPU instead of GPUs or a smaller vocabulary, if its ranks differed, if other
  processes held GPU memory, or if it was so small that processes differ more from each other.
- If a rank runs out of memory, the report names it, the part of the step and the plan's prediction. A rank that hangs
  is named as in any mode.
- A plan for another number or kind of GPUs is refused. `--device cpu` tries only its memory, with processes. If that
  would take the CPU too long, it is not tried, and the report says how many minutes it would take.
- Megatron-LM, DeepSpeed, experts, pipelines, context parallelism, 4-bit weights and 8-bit products are not tried:
  torch alone does not show how much memory they need.

## Several nodes

Run the same command on every node, or once within `srun` (or a batch script), where Slurm provides the rest:

```sh
rocdoctor smoke --nnodes 2 --node-rank 0 --rdzv 10.0.0.1:29500     # on node 0: prints the command of the others
ROCDOCTOR_SMOKE_KEY=... rocdoctor smoke --nnodes 2 --node-rank 1 --rdzv 10.0.0.1:29500     # there, with its key
srun --ntasks-per-node=1 rocdoctor smoke --nnodes auto             # no key to type
```

Nodes trust each other only after both have proved that they know this run's key (HMAC over fresh numbers from both
sides), and every later line carries a code. A stranger gets no answer and cannot stop the run.

- Node 0 generates a 128-bit key for each run and prints it. To choose it yourself, give all nodes the same key:
  `export ROCDOCTOR_SMOKE_KEY=$(openssl rand -hex 16)`, or `--key-file FILE` (mode 0600, yours or root's). `--key KEY`
  works too, but other users of that machine see it in the process list.
- Within Slurm node 0 leaves the key in `.rocdoctor-smoke-JOB.STEP` (mode 0600) in its working and home directory until
  the run ends. If neither directory is shared, export the variable before `srun`, which passes it on.
- Node 0 listens only on the addresses of `--rdzv`. If its own name resolves to loopback there (Debian's `/etc/hosts`),
  it listens on all addresses, because the other nodes resolve the name correctly.
- Settings of communication libraries are compared. Values of variables that rocdoctor does not know, and everything
  that is masked in bundles, are not sent: a fingerprint made with the key shows whether they are equal.

First the nodes connect on the port that torchrun will use, and probes find in seconds what would hang for minutes:

| probe | what it shows |
| --- | --- |
| name-resolution | a name does not resolve, or resolves to loopback (node 0's in `--rdzv`, the node's own for gloo) |
| interface | `GLOO_SOCKET_IFNAME` or `NCCL_SOCKET_IFNAME` names one that is missing, down, or has no link or address |
| rendezvous, port | nobody listens there, another program does, a node did not connect, or the commands do not match |
| reach | no route, no such host, or other nodes cannot reach the address that ranks would use |
| mtu, stream | full-size frames vanish (sent unfragmented, both ways), or a stream stalls; the size that passes |
| speed | one stream is slower than a tenth of the interfaces' speed |
| versions, variables | torch, hip, cuda, Python, rocdoctor or settings of the communication library differ |
| clock | clocks differ by more than a second, beyond the uncertainty of the network path |
| lost | a node or its link was lost while modes ran; names the node whose interface has no link |

An error ends the run before torchrun is started. Otherwise torchrun starts the ranks (one per GPU, or
`--nproc-per-node`) and the modes run as on one machine; a fault names rank, node and GPU. Modes that need a shared
folder or their own launcher are not tested across nodes. Node 0 prints the report, the others print one line. Between
the nodes, TCP and UDP ports above 1024 must be open, as for training. Nothing is encrypted.

## As root

The ranks have the rights of whoever starts them, so root starts no interpreter that somebody else can change. A virtual
environment in a user's home folder is refused, and the message names the file that others can change. Run it as that
user, without `sudo`. If there are no other users (a container, your own machine), `--trust-interpreter` runs it
anyway.

## What listens while a test runs

torch's stores and gloo do not authenticate anyone, and torch's SECURITY.md says: not for untrusted networks. rocdoctor
closes what it can: whoever reaches a port can disturb a test and falsify its numbers, but cannot run code.

| port | when | who may connect | what comes in |
| --- | --- | --- | --- |
{ports}

The other modes on one machine connect through a file in a folder that only you can read, and so does torchrun in
`elastic`, whose rendezvous is a pickle.

- From each other, ranks unpickle only plain values and checkpoint records; every other name is refused ("rocdoctor does
  not unpickle ..."), and `torch.load` accepts only tensors and plain values.
- Even so, modes whose ranks unpickle (`objects`, `checkpoint`) run over several nodes only if you name them.
- The remaining risk is errors in the C++ code of these libraries. Use a network that only the job's users can reach.

## Other launchers

Some modes of the full set use the launcher that a job would use, in the interpreter under test: torchrun (`elastic`,
Megatron-core), `accelerate launch`, DeepSpeed's and Horovod's. If a package is not installed, its modes are "not
tested"; rocdoctor reads that from metadata and imports nothing.

- No launcher is trusted: each rank writes down its place and group, how it ended and what it computed. Fewer processes
  than requested, or a group of one, is a failure, even if the launcher ends with status 0.
- `elastic` ends one rank with SIGKILL in the third step; torchrun starts the group again, which resumes from a
  checkpoint (step, parameters, moments) and must arrive where an uninterrupted process does. It sets
  `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`: without it torchrun of torch 2.13 keeps one store for all starts, and a
  restarted rank may find the address of a dead one ("Connection refused" in 4 of 8 restarts on gloo).
- If a launcher fails, the message includes its own error, shortened.

## Releases of torch

The quick set ran on these releases with two ranks on the CPU (2026-11-28; with a star 2026-11-23, when it had 35
modes). Modes that a release does not support are "not tested", with the reason.

| torch | Python | build | modes that ran | what it lacks |
| --- | --- | --- | --- | --- |
| 2.15.0* | 3.13 | cu132 | 35 | |
| 2.14.1 | 3.11 | cu130 | 40 | |
| 2.13.0 | 3.11 | cpu | 39 | |
| 2.12.1* | 3.10 | cu130 | 35 | |
| 2.11.0* | 3.12 | cu130 | 35 | |
| 2.4.1 | 3.9 | cu121 | 29 | on the CPU: FSDP2 (it creates CUDA streams), pipelines except GPipe (they hang) |

`ROCDOCTOR_SMOKE_PYTHONS` (interpreters, separated by colons) makes the heavy tests run it on others.

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
