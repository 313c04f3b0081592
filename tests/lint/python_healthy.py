"""Training scripts as people write them today (constructed): nothing in them is wrong."""

from __future__ import annotations

HEALTHY: dict[str, str] = {
    "ddp.py": '''"""Train with DDP. No init_process_group("hccl"), no torch.cuda.amp.autocast."""
import argparse
import os
from contextlib import nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

os.environ.setdefault("OMP_NUM_THREADS", "8")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def setup():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    dist.init_process_group("nccl", timeout=timedelta(minutes=30), device_id=device)
    return dist.get_rank(), local_rank, device


def train(model, loader, sampler, optimizer, scheduler, device, args):
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        optimizer.zero_grad(set_to_none=True)
        for step, (x, y) in enumerate(loader):
            last = (step + 1) % args.accumulate == 0
            context = nullcontext() if last else model.no_sync()
            with context, torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x.to(device)), y.to(device)) / args.accumulate
                loss.backward()
            if last:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
        if dist.get_rank() == 0:
            torch.save(model.module.state_dict(), f"epoch{epoch}.pt")
        dist.barrier()
        torch.cuda.empty_cache()


def main():
    rank, local_rank, device = setup()
    model = DDP(Net().to(device), device_ids=[local_rank], gradient_as_bucket_view=True, find_unused_parameters=True)
    model = torch.compile(model, mode="max-autotune-no-cudagraphs")
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    train(model, DataLoader(data, sampler=sampler, num_workers=8, pin_memory=True), sampler, opt, sched, device, args)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
''',
    "spawn.py": """import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def run(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    model = DistributedDataParallel(Net().to(rank), device_ids=[rank], static_graph=True, bucket_cap_mb=100)
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    n = torch.cuda.device_count()
    mp.spawn(run, args=(n,), nprocs=n, join=True)
""",
    "fsdp1.py": """import functools
import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl, apply_activation_checkpointing, checkpoint_wrapper,
)
from torch.distributed.fsdp import (
    CPUOffload, FullStateDictConfig, FullyShardedDataParallel as FSDP, MixedPrecision, ShardingStrategy, StateDictType,
)
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy, transformer_auto_wrap_policy

policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
other = functools.partial(size_based_auto_wrap_policy, min_num_params=int(1e8))
mixed = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16)
model = FSDP(
    model, auto_wrap_policy=policy, mixed_precision=mixed, sharding_strategy=ShardingStrategy.HYBRID_SHARD,
    cpu_offload=CPUOffload(offload_params=True), device_id=torch.cuda.current_device(), use_orig_params=True,
    limit_all_gathers=True, sync_module_states=True,
)
wrap = functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
apply_activation_checkpointing(model, checkpoint_wrapper_fn=wrap, check_fn=lambda m: isinstance(m, Block))
for batch in loader:
    loss = model(batch)
    loss.backward()
    model.clip_grad_norm_(1.0)
    opt.step()
    opt.zero_grad()
with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(True, True)):
    state = model.state_dict()
if dist.get_rank() == 0:
    torch.save(state, "model.pt")
""",
    "fsdp2_tp.py": """import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import Schedule1F1B, PipelineStage
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.checkpoint import checkpoint

mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("dp", "tp"))
plan = {"w1": ColwiseParallel(), "w2": RowwiseParallel()}
for block in model.layers:
    parallelize_module(block, mesh["tp"], plan)
    fully_shard(block, mesh=mesh["dp"], mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
fully_shard(model, mesh=mesh["dp"])
y = checkpoint(block, x, use_reentrant=False)
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.deterministic = True
weights = torch.load("x.pt", weights_only=False)
state, optim = get_state_dict(model, opt)
dcp.save({"model": state, "optim": optim}, checkpoint_id="ckpt")
""",
    "fp16.py": """import torch
from torch.amp import GradScaler, autocast

device = "cuda" if torch.cuda.is_available() else "cpu"
dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
scaler = GradScaler("cuda", enabled=dtype is torch.float16)
for i, x in enumerate(loader):
    with autocast("cuda", dtype=dtype):
        loss = model(x) / 4
    scaler.scale(loss).backward()
    if (i + 1) % 4 == 0:
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
""",
    "old_and_new.py": """import torch
from packaging.version import Version

if Version(torch.__version__) >= Version("2.4"):
    from torch.amp import GradScaler, autocast
else:
    from torch.cuda.amp import GradScaler, autocast
try:
    import fairscale
except ImportError:
    fairscale = None


def scaler():
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler("cuda")
    return torch.cuda.amp.GradScaler()
""",
    "accelerate_lora.py": """import os
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
os.environ["HF_HUB_ENABLE_HF_TRANSFER"] = "1"
import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, TrainingArguments

accelerator = Accelerator(gradient_accumulation_steps=4, mixed_precision="bf16")
args = TrainingArguments("out", bf16=True, gradient_checkpointing_kwargs={"use_reentrant": False}, deepspeed="ds.json")
for batch in loader:
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
""",
    "zero.py": """import deepspeed
import torch

CONFIG = {
    "train_batch_size": 256,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 8,
    "bf16": {"enabled": True},
    "zero_optimization": {
        "stage": 3, "overlap_comm": True, "reduce_bucket_size": 5e8, "allgather_bucket_size": 5e8,
        "offload_optimizer": {"device": "cpu", "pin_memory": True},
    },
    "gradient_clipping": 1.0,
}
engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIG)
for batch in loader:
    loss = engine(batch)
    engine.backward(loss)
    engine.step()
""",
    "launch.py": """import os
import subprocess
import sys

import torch

env = {**os.environ, "NCCL_DEBUG": "WARN", "CUDA_VISIBLE_DEVICES": sys.argv[1]}
count = torch.cuda.device_count()
subprocess.run(["torchrun", f"--nproc-per-node={count}", "train.py", *sys.argv[2:]], env=env, check=True)
""",
    "gan.py": """import torch
for i, real in enumerate(loader):
    opt_d.zero_grad()
    (critic(fake(real)).mean() - critic(real).mean()).backward()
    opt_d.step()
    if i % 5 == 0:
        opt_g.zero_grad()
        (-critic(fake(real)).mean()).backward()
        opt_g.step()
    if i % 100 == 0:
        torch.cuda.empty_cache()
        torch.save({"g": net_g.state_dict(), "opt": opt_g.state_dict()}, "gan.pt")
""",
    "clip_loss.py": """import torch
import torch.distributed as dist
import torch.distributed.nn


class ClipLoss(torch.nn.Module):
    def forward(self, image, text):
        if self.with_grad:
            images = torch.cat(torch.distributed.nn.all_gather(image))
        else:
            images = [torch.zeros_like(image) for _ in range(self.world_size)]
            dist.all_gather(images, image)
            images[self.rank] = image
            images = torch.cat(images)
        return images @ text.T
""",
}
