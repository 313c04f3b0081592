"""Every kind of planted fault, with the right rank and layer: by what the fault does, never by what we print.

A row is ``FAULT  AT  MODE  WORLDS  LAYERS  [BESIDE]``. AT: the guilty rank (``last``: the one with the highest number;
``all``: every rank). LAYERS: the right one first, then what nobody can tell from it by numbers alone. BESIDE: other
ranks that may be named, since it is not clear at which end of a way it went wrong. A leading ``!`` marks a fault that
needs ranks of its own, because it leaves something behind.

- ``device``: what one rank computes or holds by itself is wrong: a kernel, a bit in memory, its own optimizer's step.
- ``collectives``: what an exchange brings, or what it takes from a rank, is wrong.
- ``framework``: what the code above decides is wrong (order, splitting, scaling, types, what is left out), also a
  kernel that is wrong on all ranks alike; an error or an end that the process makes by itself.
- ``configuration``: memory, disk, limits, a process that is stopped or kept from work.
- ``none``: ended from outside by a signal; who sent it, no layer knows.

A step of an optimizer that is wrong on one rank alone may be its code or its device. A mean may be made by the library
or by the framework above it, which is also who hands a part of one rank to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent

_ROWS = """
sigkill              1 ddp 2,4 none
sigterm              1 ddp 2 none
sigsegv              1 ddp 2 framework
sigstop              1 ddp 2,4 configuration
exit-0               1 ddp 2 framework
sleep                1 ddp 2 framework
late                 1 ddp 2 configuration
error                1 ddp 2,4 framework
out-of-memory        1 ddp 2 configuration
wrong-size           1 ddp 2,4 framework
wrong-order          1 ddp 2,4 framework
skipped-collective   1 ddp 2,4 framework
run/test_silent_ranks.py:keeps_the_lock 1 ddp 2 framework
run/test_silent_ranks.py:never_ends     1 ddp 2 framework
gradient-bit         1 ddp 2,4 collectives
gradient-bit         1 ddp-no-sync 2 device
gradient-bit         1 ddp-powersgd 2 collectives
gradient-bit         last tensor-parallel 2 device
gradient-bit         last sequence-parallel 2 device

no-exchange          all ddp 2 framework/collectives
not-broadcast        all ddp 2 framework/collectives
sum-for-mean         all ddp 2,4 framework/collectives
same-share           all ddp-no-sync 2 framework
wrong-product        1 ddp 2,4 device
lost-step            1 ddp 2,4 device/framework
lost-step            1 zero-1 2 device/framework
hook-ignored         all ddp-fp16-hook 2 framework
not-averaged         all post-local-sgd 2 framework/collectives
no-autocast          1 ddp-autocast 2 framework
scale-lost           1 ddp-grad-scaler 2,4 framework/device
modes/test_ddp_hooks.py:loss_forgotten        1 ddp-powersgd 4 framework
! modes/test_ddp_hooks.py:share_lost_among_many all ddp-autocast 2 collectives/framework
other-buckets        all ddp-longer 2 framework/collectives
buffers-stay         all ddp-longer 2 framework/collectives
whole-buffers-stay   all ddp-longer 2 framework/collectives
gradient-twice       all ddp 2 framework/collectives
use-counts-once      all ddp-longer 2 framework/collectives
last-part-alone      all ddp-no-sync 2 framework/collectives

all-reduce-result-bit  1 all-reduce 2,4 collectives
! all-reduce-input-bit 1 all-reduce 4 collectives/device
all-reduce-mean        all all-reduce 2,4 collectives
all-gather-swapped     1 all-gather 2,4 collectives
broadcast-stale        1 one-to-all 2,4 collectives
reduce-scatter-scaled  1 reduce-scatter 2,4 collectives
all-to-all-dropped     1 all-to-all 2,4 collectives
wrong-group            all subgroups 4 collectives
! wrong-group          1 subgroups 4 framework/collectives
recv-half              1 point-to-point 2,4 collectives 0
send-rounded           1 point-to-point 2,4 collectives 0
reduce-rounded         0 one-to-all 2 collectives
modes/test_collectives.py:gather_rounds     1 all-gather 2,4 collectives
! modes/test_collectives.py:scatter_rounds  1 reduce-scatter 2 collectives/device
modes/test_collectives.py:largest_from_zero 1 all-reduce 2,4 collectives
modes/test_collectives.py:empty_moves_all   1 all-to-all 2,4 collectives 0
gather-swapped-when-large 1 all-gather 2 collectives
list-swapped-when-large   1 all-gather 2 collectives
not-summed-when-large     1 all-reduce 2 collectives
last-lost-when-large      1 all-reduce 2 collectives
last-lost-when-large      1 large-messages 2 collectives
broadcast-lost-when-large 1 one-to-all 2 collectives
gather-shifted            1 all-gather 2 collectives
scatter-shifted           1 reduce-scatter 2 collectives
exchange-shifted          1 all-to-all 2 collectives
sum-for-product           all all-reduce 2 collectives
sum-for-avg               all all-reduce 2 collectives
short-mean                all all-reduce 2 collectives
or-for-xor                all all-reduce 2 collectives
layout-lost               1 all-reduce 2 collectives
offset-lost               1 all-reduce 2 collectives
root-lost                 0 objects 2 collectives
evil-objects              1 objects 2 framework
mean-alone-short          1 subgroups 2 collectives
tail-of-rank-0            0 reduce-scatter 2 collectives
at-one-size               1 all-reduce 2 collectives
scalar-largest            0 all-reduce 2 collectives
high-bits                 1 all-reduce 2 collectives
group-root                0 subgroups 2 collectives

modes/test_exchange.py:ring_sends_wrong 1 ring-attention 4 collectives 2
modes/test_exchange.py:ring_stale       1 ring-attention 4 collectives 0
modes/test_exchange.py:ring_reversed    all ring-attention 4 framework/collectives
all-to-all-dropped                      2 ulysses 4 collectives
modes/test_exchange.py:backward_bit     2 ulysses 4 collectives
all-to-all-dropped                      2 expert-parallel 4 collectives
modes/test_exchange.py:lost_count       3 expert-parallel 4 collectives
modes/test_exchange.py:bad_expert       1 expert-parallel 4 device
modes/test_exchange.py:router_bit       1 expert-parallel 4 collectives

embedding-neighbour   1 ddp 2 device
embedding-neighbour   all compute 2 framework
embedding-duplicates  1 fsdp2 2 device
linear-last-tile      1 ddp 2 device
linear-last-tile      1 pipeline-1f1b 2 device
linear-128            all ddp 2 framework
linear-rounded        1 ddp 2 device
mask-off-by-one       1 fsdp2 2 device
attention-no-autocast 1 compute 2 device/framework
last-token-lost       1 ddp 2 device/framework
norm-epsilon          1 ddp 2 device
softmax-by-threads    1 compute 2 device
dropout-nothing       1 dropout 2 device
dropout-not-scaled    1 dropout 2 device
one-seed              all dropout 2 framework
! processor-off       1 fsdp2 4 device
modes/test_longer.py:other_numbers 1 dropout 3 device/framework
modes/test_device.py:relu_at_zero  1 compute 2 device
modes/test_device.py:squares_twice 1 compute 2 device
conv-bf16-off         1 compute 2 device
gelu-off              1 compute 2 device
bmm-fp16-off          1 compute 2 device
wrong-prefix-sum      1 compute 2 device
stuck-bit             1 memory 2 device
both-transposed       1 compute 2 device
odd-inner             1 compute 2 device
strided-weights       1 compute 2 device
wide-padding          1 compute 2 device
grouped               1 compute 2 device
head-256              1 compute 2 device
mask-ignored          1 compute 2 device
shared-heads          1 compute 2 device
not-causal-backward   1 compute 2 device
long-softmax          1 compute 2 device
long-entropy          1 compute 2 device
long-norm             1 compute 2 device
left-out-tokens       all compute 2 framework
other-mask-again      1 dropout 2 framework

adamw-beta            1 optimizers 2 device/framework
adamw-beta            all zero-1 2 framework
adamw-beta            all fsdp2-longer 2 framework
adamw-no-decay        all zero-1 2 framework
adamw-no-decay        1 ddp-longer 2 device/framework
adamw-bias            1 zero-1 2 device/framework
adamw-fused-twice     1 optimizers 2 device/framework
adam-foreach-off      1 optimizers 2 device/framework
sgd-second-off        1 ddp 2 device/framework
sgd-second-half       1 ddp 2 device/framework
sgd-second-half       1 fsdp2 2 device/framework
third-step-stale      1 fsdp2-longer 2 device/framework
first-piece-alone     1 optimizers 2 device
clip-alone            all fsdp2-longer 2 framework
replicas-in-norm      all fsdp2-hsdp 2 framework
norm-without-last     all optimizers 2 framework

stale-shard           1 fsdp2 2,4 device/framework
shard-bit             1 fsdp2 2,4 device
forgotten-shard       1 fsdp2 2 device/framework
gather-sends-wrong    1 fsdp2 2,4 collectives
gather-gets-wrong     1 fsdp2 4 collectives 0
! gather-dies         1 fsdp2 2 none
scatter-twice         1 fsdp2 2,4 collectives
scatter-nothing       1 fsdp2 2,4 collectives
scatter-sum           all fsdp2 2 collectives/framework
scatter-own           1 fsdp2 2,4 collectives
scatter-bit           1 fsdp2 2,4 collectives
scatter-bit           1 fsdp2-hsdp 4 collectives 3
! fsdp2-keeps-whole   1 fsdp2 4 framework
! fsdp2-keeps-whole   all fsdp2 2 framework
fsdp2-freed-early     1 fsdp2-no-reshard 2,4 framework
fsdp2-splits-nothing  all fsdp2-hsdp 4 framework
fsdp2-splits-alone    all fsdp2 2 framework
fsdp2-precision-ignored all fsdp2-bf16 2 framework
! fsdp2-precision-ignored 1 fsdp2-bf16 4 framework
fsdp2-sums-short      all fsdp2-bf16 2 framework
never-recomputes      1 fsdp2-checkpointing 2,4 framework
replicas-differ       1 fsdp2-hsdp 2,4 collectives
sharded-accumulation-lost all fsdp2-longer 2 framework/collectives
last-rows-lost        all fsdp2-longer 2 framework/collectives
fsdp1-sends-wrong     1 fsdp1 2,4 collectives
fsdp1-gets-wrong      1 fsdp1 4 collectives
fsdp1-keeps-whole     all fsdp1 2 framework
fsdp1-splits-nothing  all fsdp1 2 framework
shard-bit             1 fsdp1 4 device
scatter-twice         2 fsdp1-hybrid 4 collectives

tp-sum-bit              last tensor-parallel 2,4 collectives
tp-not-summed           last tensor-parallel 2,4 collectives
tp-backward-sum-bit     last tensor-parallel 2,4 collectives
tp-backward-not-summed  last tensor-parallel 2,4 collectives
tp-other-part           last tensor-parallel 2,4 collectives/framework
tp-not-split            all tensor-parallel 2 framework
compute-bit             last tensor-parallel 2,4 device
sp-scatter-bit          last sequence-parallel 2,4 collectives
sp-gather-order         last sequence-parallel 2,4 collectives
sp-backward-scatter-bit last sequence-parallel 2,4 collectives
sp-backward-gather-bit  last sequence-parallel 2,4 collectives
norms-apart             all sequence-parallel 2 framework/collectives
order-of-columns        1 sequence-parallel 2 collectives/framework

pp-received-bit          2 pipeline-1f1b 4 collectives 1
pp-received-gradient-bit 1 pipeline-zero-bubble 4 collectives 2
pp-swapped-sends         1 pipeline-gpipe 4 framework/collectives 2
pp-swapped-inputs        0 pipeline-1f1b 2,4 framework
pp-swapped-targets       last pipeline-gpipe 2,4 framework
pp-not-scaled            1 pipeline-1f1b 2,4 framework
pp-lost-backward         1 pipeline-gpipe 2,4 framework
pp-other-schedule        all pipeline-1f1b 3 framework
! pp-hangs               1 pipeline-1f1b 4 framework
compute-bit              3 pipeline-looped-bfs 4 device
pipeline-scales-again    1 pipeline-gpipe 2 framework

mesh-gather-bit          2 fsdp-tp 4 collectives 0
mesh-scatter-bit         1 fsdp-tp 4 collectives
mesh-scatter-own         3 fsdp-tp 4 collectives
! mesh-turned            all fsdp-tp 4 framework
tp-sum-bit               3 pp-fsdp-tp 4 collectives
pp-received-gradient-bit 1 pp-fsdp 4 collectives 3
compute-bit              3 fsdp-tp 4 device

! checkpoint-file        1 checkpoint 2,4 configuration
! checkpoint-moment      1 checkpoint 2 configuration
! checkpoint-read        1 checkpoint 4 framework/configuration
! checkpoint-no-moments  all checkpoint 2 framework
! checkpoint-dies        1 checkpoint 4 none
! checkpoint-full        1 checkpoint 2,4 configuration
! checkpoint-cut         1 checkpoint 2,4 configuration
! checkpoint-cut         1 checkpoint-resize 4 configuration
! checkpoint-damaged     1 checkpoint 2 configuration
! checkpoint-garbled     1 checkpoint 2,4 configuration
! first-group-alone      all checkpoint 2 framework
! steps-begin-anew       all checkpoint 2 framework
! moments-swapped        all checkpoint 2 framework/configuration
modes/test_newer_modes.py:moment_lost     1 resume-resized 2 framework/configuration
modes/test_newer_modes.py:parameter_stale 0 resume-resized 2 framework/configuration

! reader-dies            1 data-loader 2 configuration
same-order               all data-loader 2 framework
read-twice               1 data-loader 2 framework

linear-many-rows     1 compute 2 device
cat-swapped          1 compute 2 device
gelu-backward        1 compute 2 device
gelu-backward        1 fsdp2 2 device
object-of-first      1 objects 2,4 collectives
not-waited           1 all-reduce 2 collectives
scatter-upside-down  1 reduce-scatter 2,4 collectives
exchange-upside-down 1 all-to-all 2,4 collectives
broadcast-doubled    1 one-to-all 2,4 collectives 0
! barrier-nothing    1 objects 2,4 collectives/framework
halves-short         1 all-reduce 2 collectives
max-for-min          all all-reduce 2 collectives
scatter-next-part    0 one-to-all 2,4 collectives
gather-last-gone     0 one-to-all 2,4 collectives last
first-gather-again   1 fsdp2 2 collectives/framework
not-a-number         1 ddp 2 device
not-a-number         1 ddp-grad-scaler 2 device
! other-seed         1 zero-1 2 framework
! other-seed         1 dropout 4 framework
gradients-stale      1 ddp 2 framework/collectives
gradients-swapped    1 ddp 2,4 framework
mean-of-one-more     all ddp 2 framework/collectives
second-counts-twice  1 ddp-no-sync 2 framework/device
! backward-left-out  1 ddp 2,4 framework
moments-forgotten    1 optimizers 2 device/framework
decays-again         all optimizers 2 framework
zero-grad-nothing    1 ddp 2,4 framework
zero-grad-nothing    1 fsdp2 2 framework
zero-grad-nothing    1 ddp-grad-scaler 2 framework
scaler-blind         1 ddp-grad-scaler 2,4 framework
index-add-lost       1 compute 2 device
last-query-lost      1 compute 2 device
last-query-lost      1 ddp-grad-scaler 4 device
largest-for-norm     1 optimizers 2 framework/device
parameter-bit        1 ddp 2 device
mean-off             1 compute 2 device
! address-space      1 all-reduce 2 configuration
! file-size          1 checkpoint 2,4 configuration
! files-closed       1 ddp 2,4 framework
sigusr1              1 ddp 2 none
forks-and-leaves     1 ddp 2 framework
! frozen-in-one      1 ddp 2 framework
hook-raises          1 ddp 2,4 framework
slow-steps           1 ddp 2 configuration
exits-3              1 zero-1 2 framework

norm-backward-half   1 ddp 2 device
loss-summed          1 ddp 4 framework/device
bias-forgotten       1 pipeline-1f1b 4 device/framework
saturates            2 fsdp2 4 device
gather-own           1 fsdp2 4 collectives
every-4096th         0 large-messages 2 collectives
next-root            all one-to-all 4 collectives
last-row-lost        1 expert-parallel 4 collectives/framework 3
object-before        1 objects 2 collectives/framework
in-double            1 ddp 2 framework
one-more             1 ddp 4 framework
rate-higher          1 zero-1 2 framework/device
maximizes            1 ddp 2 framework/device
gradients-cleared    1 pipeline-gpipe 2 framework/device
not-clipped          1 fsdp2-longer 4 framework/device
epoch-ignored        1 data-loader 2 framework
! half-precision     1 ddp-autocast 4 framework
! reads-nothing      1 checkpoint 2 framework
! may-not-read       1 checkpoint 4 configuration
! old-view           1 checkpoint 2,4 configuration
! no-more-files      1 checkpoint 2 configuration
no-thread            1 ddp 2 configuration
no-memory            1 fsdp2 2 configuration
alarm                1 ddp 4 framework/none
! locked             1 tensor-parallel 4 framework
! group-destroyed    1 fsdp2 4 framework
attention-scale      1 fsdp-tp 4 device/framework

modes/test_newer_modes.py:base_moves         1 lora 2 framework/device
modes/test_newer_modes.py:adapter_left_out   0 lora 2 framework/device
modes/test_newer_modes.py:code_changes       0 qlora 2 framework/device
modes/test_newer_modes.py:factor_off         1 qlora 2 device
modes/test_newer_modes.py:activation_lost    1 fsdp2-activation-offload 2 device/framework
modes/test_newer_modes.py:part_of_another    2 fsdp-cp 4 collectives/framework
modes/test_newer_modes.py:exchanged_bit      3 fsdp-cp 4 collectives
modes/test_newer_modes.py:exchanged_gradient_bit 2 fsdp-cp 4 collectives
modes/test_newer_modes.py:attention_backward_off 3 fsdp-cp 4 device
"""


@dataclass(frozen=True, slots=True)
class Planted:
    """One row for one number of ranks; ``layers``: what may be said, the right one first (empty: no layer at all).

    ``fault`` is as ``kit.planted`` takes it.
    """

    fault: str
    rank: int | str
    mode: str
    world: int
    layers: tuple[str, ...]
    beside: tuple[int, ...] = ()
    alone: bool = False

    @property
    def name(self) -> str:
        """Without the file that it stands in."""
        return self.fault.rpartition(":")[2]


def kinds(rows: str = _ROWS) -> list[Planted]:
    """All rows, one for each number of ranks."""
    found = []
    for line in filter(None, map(str.strip, rows.splitlines())):
        alone = line.startswith("!")
        fault, at, mode, worlds, layers, *beside = line.removeprefix("!").split()
        path, mark, name = fault.rpartition(":")
        for world in map(int, worlds.split(",")):
            rank = world - 1 if at == "last" else at if at == "all" else int(at)
            many = tuple("" if one == "none" else one for one in layers.split("/"))
            others = tuple(world - 1 if one == "last" else int(one) for part in beside for one in part.split(","))
            full = f"{_HERE / path}:{name}" if mark else fault
            found.append(Planted(full, rank, mode, world, many, others, alone))
    return found
