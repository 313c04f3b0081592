"""Python code (constructed) that follows a piece of advice, marked ``# HERE``, and code that looks so and is right.

``!`` before the mark: the finding is a possible one.
"""

from __future__ import annotations

_DIST = "import torch\nimport torch.distributed as dist\n"
_DDP = "from torch.nn.parallel import DistributedDataParallel as DDP\n"
_FSDP = "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"

# id: code that follows the advice, then code that is right.
SAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "backend-hccl": (
        [
            _DIST + "dist.init_process_group('rccl')  # HERE",
            "from torch.distributed import init_process_group as init\ninit(rank=0, backend='rccl')  # HERE",
            "import torch.distributed as dist\nBACKEND = 'rccl'\ndist.init_process_group(BACKEND)  # HERE",
            "import torch.distributed as dist\nargs = {'backend': 'rccl'}\ndist.init_process_group(**args)  # HERE",
            "from torch import distributed\ndistributed.init_process_group('cpu:gloo,cuda:rccl')  # HERE",
            "import torch.distributed as dist\ndist.new_group([0, 1], backend='rccl')  # HERE",
            "import torch.distributed as dist\ndist.init_process_group('hccl')  # !HERE",
        ],
        [
            _DIST + "dist.init_process_group('nccl')\n# not init_process_group('rccl')",
            "import torch_npu\nimport torch.distributed as dist\ndist.init_process_group('hccl')",
            "def f(dist):\n    dist.init_process_group('rccl')",
            "import other as dist\ndist.init_process_group('rccl')",
            'import torch.distributed\n"""\ntorch.distributed.init_process_group("rccl")\n"""',
            "import torch.distributed as dist\nb = pick()\nb = 'rccl'\ndist.init_process_group(b)",
        ],
    ),
    "gloo-for-gpu": (
        [_DIST + "dist.init_process_group('gloo')  # !HERE\ntorch.cuda.set_device(local)\nloss.backward()"],
        [
            _DIST + "b = 'nccl' if gpu else 'gloo'\ndist.init_process_group(b)\ntorch.cuda.set_device(0)\nl.backward()",
            _DIST + "dist.init_process_group('gloo')\nloss.backward()",
        ],
    ),
    "dist-timeout-class": (
        [
            _DIST + "dist.init_process_group('nccl', timeout=dist.Timeout(seconds=9))  # HERE",
            "from torch.distributed import Timeout  # HERE\nlimit = Timeout(seconds=9)",
        ],
        [
            "import torch.distributed as dist\nfrom datetime import timedelta\n"
            "limit = timedelta(seconds=9)\nx = obj.Timeout(1)",
        ],
    ),
    "pipeline-sync-pipe": (
        [
            "import torch\nfrom torch.distributed.pipeline.sync import Pipe  # HERE",
            "import torch.distributed.pipeline.sync.pipe  # HERE",
        ],
        [
            "from torch.distributed.pipelining import PipelineStage, ScheduleGPipe",
            "try:\n    from torch.distributed.pipeline.sync import Pipe\nexcept ImportError:\n    Pipe = None",
            "import torch\nif torch.__version__ < '2.4':\n    from torch.distributed.pipeline.sync import Pipe",
        ],
    ),
    "torchelastic-import": (["import torchelastic.agent  # HERE"], ["import torch.distributed.elastic"]),
    "fairscale-import": (
        ["from fairscale.nn import FullyShardedDataParallel  # HERE"],
        ["try:\n    import fairscale\nexcept ImportError:\n    fairscale = None"],
    ),
    "fixed-rank": (
        [
            "import os\n" + _DIST + "os.environ['RANK'] = '0'  # !HERE\nos.environ['WORLD_SIZE'] = '8'\n"
            "dist.init_process_group('nccl')",
        ],
        [
            "import os\n" + _DIST + "os.environ.setdefault('RANK', '0')\nos.environ.setdefault('WORLD_SIZE', '1')\n"
            "dist.init_process_group('nccl')",
            "import os\nimport torch.multiprocessing as mp\n" + _DIST + "def run(rank):\n"
            "    os.environ['RANK'] = '0'\n    os.environ['WORLD_SIZE'] = '8'\n    dist.init_process_group('nccl')\n"
            "mp.spawn(run)",
        ],
    ),
    "master-localhost": (
        [
            "import os\n" + _DIST + "rank = int(os.environ['LOCAL_RANK'])\n"
            "os.environ['MASTER_ADDR'] = 'localhost'  # !HERE\ndist.init_process_group('nccl')",
        ],
        [
            "import os\nimport torch.multiprocessing as mp\n" + _DIST + "def setup(rank, size):\n"
            "    os.environ['MASTER_ADDR'] = 'localhost'\n"
            "    dist.init_process_group('nccl', rank=rank, world_size=size)\n"
            "mp.spawn(setup, args=(2,), nprocs=2)",
            "import os\n" + _DIST + "rank = os.environ['LOCAL_RANK']\n"
            "os.environ.setdefault('MASTER_ADDR', 'localhost')\ndist.init_process_group('nccl')",
        ],
    ),
    "global-rank-device": (
        [
            _DIST + "torch.cuda.set_device(dist.get_rank())  # !HERE",
            _DIST + "rank = dist.get_rank()\ntorch.cuda.set_device(rank)  # !HERE",
            "import os, torch\ndev = torch.device(f\"cuda:{int(os.environ['RANK'])}\")  # !HERE",
        ],
        [
            "import os, torch\ntorch.cuda.set_device(int(os.environ['LOCAL_RANK']))",
            _DIST + "rank = dist.get_rank()\ntorch.cuda.set_device(rank % torch.cuda.device_count())",
            "import torch\ndef run(rank):\n    torch.cuda.set_device(rank)",
            _DIST + "torch.cuda.set_device(dist.get_rank(local_group))",
        ],
    ),
    "sampler-no-set-epoch": (
        [
            "from torch.utils.data import DistributedSampler\nsampler = DistributedSampler(data)  # !HERE\n"
            "for epoch in range(3):\n    for x in loader:\n        loss(x).backward()",
        ],
        [
            "from torch.utils.data import DistributedSampler\nsampler = DistributedSampler(data)\n"
            "for epoch in range(3):\n    sampler.set_epoch(epoch)\n    for x in loader:\n        loss(x).backward()",
            "from torch.utils.data.distributed import DistributedSampler\ns = DistributedSampler(data, shuffle=False)\n"
            "for epoch in range(3):\n    loss(x).backward()",
        ],
    ),
    "iterable-dataset-sampler": (
        [
            "from torch.utils.data import DistributedSampler, IterableDataset\nclass Stream(IterableDataset):\n"
            "    def __iter__(self): yield 1\ndata = Stream()\nsampler = DistributedSampler(data)  # HERE",
        ],
        [
            "from torch.utils.data import DistributedSampler, Dataset\nclass Rows(Dataset):\n"
            "    def __len__(self): return 1\nsampler = DistributedSampler(Rows())",
        ],
    ),
    "grad-check-by-sum": (
        [
            _DIST + "def check_grad_sync(model):\n    for param in model.parameters():\n"
            "        dist.all_reduce(param.grad)  # !HERE",
        ],
        [
            _DIST + "def average_gradients(model):\n    for param in model.parameters():\n"
            "        dist.all_reduce(param.grad)\n        param.grad /= dist.get_world_size()",
        ],
    ),
    "ddp-check-reduction": (
        [_DDP + "model = DDP(net, device_ids=[0], check_reduction=True)  # HERE"],
        [_DDP + "model = DDP(net, device_ids=[0])"],
    ),
    "ddp-find-unused-as-optimisation": (
        [_DDP + "model = DDP(net, find_unused_parameters=True, static_graph=True)  # HERE"],
        [
            _DDP + "model = DDP(net, find_unused_parameters=True)",
            _DDP + "model = DDP(net, find_unused_parameters=False, static_graph=True, bucket_cap_mb=100)",
        ],
    ),
    "ddp-hook-returns-tensor": (
        [
            "import torch\nmodel.register_comm_hook(state=None, hook=lambda grad: grad.to(torch.float16))  # HERE",
            "import torch\nmodel.register_comm_hook(None, lambda state, bucket: bucket.buffer().half())  # HERE",
        ],
        [
            "from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook\n"
            "model.register_comm_hook(state=None, hook=fp16_compress_hook)",
            "import torch\nmodel.register_comm_hook(None, lambda state, bucket: work(bucket).get_future())",
        ],
    ),
    "ddp-reducer-buckets": (
        [_DDP + "model = DDP(net)\nfor bucket in model.reducer.buckets:  # HERE\n    print(bucket)"],
        ["import torch\nfor bucket in self.reducer.buckets:\n    print(bucket)", _DDP + "x = DDP(net).reducer"],
    ),
    "grad-hook-compress": (
        [_DDP + "for p in DDP(net).parameters():\n    p.register_hook(self.compress_gradient)  # !HERE"],
        [_DDP + "for p in DDP(net).parameters():\n    p.register_hook(lambda g: g.clamp(-1, 1))"],
    ),
    "accumulate-no-sync": (
        [
            _DDP + "model = DDP(net)\nfor i, x in enumerate(loader):\n    model(x).backward()  # !HERE\n"
            "    if (i + 1) % steps == 0:\n        opt.step()\n        opt.zero_grad()",
        ],
        [
            _DDP + "model = DDP(net)\nfor i, x in enumerate(loader):\n    last = (i + 1) % steps == 0\n"
            "    with contextlib.nullcontext() if last else model.no_sync():\n        model(x).backward()\n"
            "    if last:\n        opt.step()\n        opt.zero_grad()",
            _DDP + "model = DDP(net)\nfor x in loader:\n    model(x).backward()\n    opt.step()\n"
            "    if i % 10 == 0:\n        sched.step()",
        ],
    ),
    "zero-grad-each-micro-step": (
        [
            "import torch\nfor i, x in enumerate(loader):\n    opt.zero_grad()  # HERE\n    (model(x) / 4).backward()\n"
            "    if (i + 1) % 4 == 0:\n        opt.step()",
            "import torch\nclass T:\n    def fit(self):\n        for i, x in enumerate(self.loader):\n"
            "            self.opt.zero_grad(set_to_none=True)  # HERE\n            with torch.autocast('cuda'):\n"
            "                loss = self.model(x)\n            loss.backward()\n"
            "            if (i + 1) % self.steps == 0:\n                self.opt.step()",
        ],
        [
            "import torch\nfor i, x in enumerate(loader):\n    (model(x) / 4).backward()\n    if (i + 1) % 4 == 0:\n"
            "        opt.step()\n        opt.zero_grad()",
            "import torch\nfor x in loader:\n    opt.zero_grad()\n    for part in x.chunk(4):\n"
            "        model(part).backward()\n    opt.step()",
            # Two networks, of which one is trained in some passes only.
            "import torch\nfor i, x in enumerate(loader):\n    opt_d.zero_grad()\n    loss_d(x).backward()\n"
            "    opt_d.step()\n    if i % 5 == 0:\n        opt_g.zero_grad()\n        loss_g().backward()\n"
            "        opt_g.step()",
            "import torch\nfor i, x in enumerate(loader):\n    opt_g.zero_grad()\n    loss_d(x).backward()\n"
            "    opt_d.step()\n    if i % 5 == 0:\n        loss_g().backward()\n        opt_g.step()",
            "import torch\nfor epoch in range(3):\n    opt.zero_grad()\n    for i, x in enumerate(loader):\n"
            "        model(x).backward()\n        if i % 4 == 3:\n            opt.step()\n            opt.zero_grad()",
            "import torch\nfor i, x in enumerate(loader):\n    if i % 4 == 0:\n        opt.zero_grad()\n"
            "    model(x).backward()\n    if i % 4 == 3:\n        opt.step()",
        ],
    ),
    "size-policy-call": (
        [
            "from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy\n"
            "policy = size_based_auto_wrap_policy(min_num_params=1e8)  # HERE",
        ],
        [
            "import functools\nfrom torch.distributed.fsdp.wrap import size_based_auto_wrap_policy\n"
            "policy = functools.partial(size_based_auto_wrap_policy, min_num_params=int(1e8))",
            "from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy as s\n"
            "def policy(module, recurse, nonwrapped_numel):\n    return s(module, recurse, nonwrapped_numel)",
            "from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy as s\ns(*args)\ns(**kwargs)",
        ],
    ),
    "size-policy-10k": (
        [
            "import functools\nfrom torch.distributed.fsdp.wrap import size_based_auto_wrap_policy\n"
            "policy = functools.partial(size_based_auto_wrap_policy, min_num_params=int(1e4))  # !HERE",
        ],
        [
            "from functools import partial\nfrom torch.distributed.fsdp.wrap import size_based_auto_wrap_policy\n"
            "policy = partial(size_based_auto_wrap_policy, min_num_params=100_000_000)\n"
            "q = partial(f, min_num_params=10000)",
        ],
    ),
    "fsdp-cpu-init-arg": (
        [
            _FSDP + "model = FSDP(net, cpu_init=True)  # HERE",
            _FSDP + "config = dict\nconf = {'cpu_init': True}\nmodel = FSDP(net, **conf)  # HERE",
            "import torch\nWrap = torch.distributed.fsdp.FullyShardedDataParallel\n"
            "model = Wrap(net, cpu_init=1)  # HERE",
        ],
        [
            _FSDP + "model = FSDP(net, device_id=0, sync_module_states=True, **more)",
            "from ours import FSDP\nimport torch\nmodel = FSDP(net, cpu_init=True)",
        ],
    ),
    "fsdp-use-orig-params": (
        ["import torch\n" + _FSDP + "m = FSDP(net, use_orig_params=False)  # !HERE\nm = torch.compile(m)"],
        [
            "import torch\n" + _FSDP + "m = torch.compile(FSDP(net, use_orig_params=True))",
            _FSDP + "m = FSDP(net, use_orig_params=False)",
        ],
    ),
    "fsdp-fp16-no-scaler": (
        [
            "import torch\nfrom torch.distributed.fsdp import MixedPrecision\n"
            "mp = MixedPrecision(param_dtype=torch.float16)  # !HERE\nloss.backward()",
        ],
        [
            "import torch\nfrom torch.distributed.fsdp import MixedPrecision\n"
            "mp = MixedPrecision(param_dtype=torch.bfloat16)\nloss.backward()",
            "import torch\nfrom torch.distributed.fsdp import MixedPrecision\n"
            "from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler\n"
            "mp = MixedPrecision(param_dtype=torch.float16)\nShardedGradScaler().scale(loss).backward()",
        ],
    ),
    "fsdp-clip-with-torch-util": (
        [
            "import torch\n" + _FSDP + "model = FSDP(net)\n"
            "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # HERE",
            "from torch.nn.utils import clip_grad_norm_\n" + _FSDP + "class T:\n    def make(self):\n"
            "        self.model = FSDP(self.net)\n    def step(self):\n"
            "        clip_grad_norm_(self.model.parameters(), 1.0)  # !HERE",
        ],
        [
            "import torch\n" + _FSDP + "model = FSDP(net)\nmodel.clip_grad_norm_(1.0)",
            "import torch\nfrom torch.distributed.fsdp import fully_shard\nmodel = fully_shard(net)\n"
            "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            "import torch\nfrom torch.distributed.fsdp import ShardingStrategy\n"
            + _FSDP
            + "model = FSDP(net, sharding_strategy=ShardingStrategy.NO_SHARD)\n"
            "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        ],
    ),
    "fsdp-checkpoint-plain": (
        [
            "import torch\n" + _FSDP + "model = FSDP(net)\ntorch.save(model.state_dict(), 'model.pt')  # !HERE",
            "import torch\n" + _FSDP + "model = FSDP(net)\nstate = {'model': model.state_dict(), 'step': 1}\n"
            "torch.save(state, 'model.pt')  # !HERE",
        ],
        [
            "import torch\nfrom torch.distributed.fsdp import StateDictType\n" + _FSDP + "model = FSDP(net)\n"
            "with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, conf):\n    state = model.state_dict()\n"
            "if rank == 0:\n    torch.save(state, 'model.pt')",
            "import torch\nmodel = make()\ntorch.save(model.state_dict(), 'model.pt')",
        ],
    ),
    "row-parallel-allgather": (
        [
            "import torch\n" + _DIST + "class Linear(torch.nn.Module):\n    def run(self, x):\n"
            "        if self.parallel_type == 'row':\n            parts = [torch.empty_like(x) for _ in range(2)]\n"
            "            dist.all_gather(parts, x)  # !HERE\n            x = torch.cat(parts, -1)\n        return x",
        ],
        [
            "import torch\n" + _DIST + "class Linear(torch.nn.Module):\n    def run(self, x):\n"
            "        if self.parallel_type == 'row':\n            dist.all_reduce(x)\n        else:\n"
            "            dist.all_gather(self.parts, x)\n        return x",
        ],
    ),
    "raw-collectives-no-autograd": (
        [
            _DIST + "class ColumnParallelLinear(torch.nn.Module):\n    def forward(self, x):\n"
            "        dist.all_gather(self.parts, x)  # !HERE\n        return torch.cat(self.parts, -1)",
        ],
        [
            _DIST + "class ContrastiveLoss(torch.nn.Module):\n    def forward(self, x):\n"
            "        dist.all_gather(self.parts, x)\n        self.parts[0] = x\n        return torch.cat(self.parts)",
            _DIST + "class TensorParallelMetric(torch.nn.Module):\n    @torch.no_grad()\n    def forward(self, x):\n"
            "        dist.all_gather(self.parts, x)\n        return torch.cat(self.parts)",
            _DIST + "class ColumnParallelGather(torch.autograd.Function):\n    @staticmethod\n"
            "    def forward(ctx, x):\n        dist.all_gather(ctx.parts, x)\n        return x",
        ],
    ),
    "compile-backend-inductor-rocm": (
        [
            "import torch\nmodel = torch.compile(model, backend='inductor-rocm')  # HERE",
            "import torch\n@torch.compile(backend='inductor-rocm')  # HERE\ndef f(x):\n    return x",
        ],
        ["import torch\nmodel = torch.compile(model, backend='inductor')\nnote('inductor-rocm')"],
    ),
    "compile-mode-rocm": (
        ["import torch\nmodel = torch.compile(model, mode='max-autotune-rocm')  # HERE"],
        ["import torch\nmodel = torch.compile(model, mode='max-autotune-no-cudagraphs')"],
    ),
    "compile-mode-plus-options": (
        ["import torch\nm = torch.compile(m, mode='max-autotune', options={'epilogue_fusion': True})  # HERE"],
        [
            "import torch\nm = torch.compile(m, mode=None, options={'epilogue_fusion': True})",
            "import torch\nm = torch.compile(m, mode=args.mode, options=args.options)",
        ],
    ),
    "compile-options-invented": (
        [
            "import torch\nm = torch.compile(m, options={'rocm.enable_mfma': True})  # HERE",
            "import torch\nOPTIONS = {'triton.enable': True, 'max_autotune': True}  # HERE\n"
            "m = torch.compile(m, options=OPTIONS)",
        ],
        ["import torch\nm = torch.compile(m, options={'triton.cudagraphs': True, 'rocm.arch': ['gfx942']})"],
    ),
    "hip-switches-dict": (
        ["import torch\nCONFIG = {'use_hip_graphs': True, 'use_rocblas': True}  # !HERE"],
        ["import torch\nCONFIG = {'use_rocblas': True, 'batch': 4}"],
    ),
    "tf32-off-for-rocm": (
        ["import torch\nif torch.version.hip:\n    torch.backends.cuda.matmul.allow_tf32 = False  # !HERE"],
        [
            "import torch\ntorch.backends.cuda.matmul.allow_tf32 = False",
            "import torch\nif not deterministic:\n    torch.backends.cuda.matmul.allow_tf32 = True",
        ],
    ),
    "cuda-amp": (
        [
            "import torch\nscaler = torch.cuda.amp.GradScaler()  # HERE",
            "from torch.cuda.amp import autocast\ndef step(x):\n    with autocast():  # HERE\n        return x",
        ],
        [
            "import torch\nscaler = torch.amp.GradScaler('cuda')",
            "import torch\nif hasattr(torch.amp, 'GradScaler'):\n    s = torch.amp.GradScaler('cuda')\nelse:\n"
            "    s = torch.cuda.amp.GradScaler()",
            "try:\n    from torch.amp import GradScaler\nexcept ImportError:\n"
            "    from torch.cuda.amp import GradScaler",
            "import torch\nif old(torch.__version__):\n    from torch.cuda.amp import autocast\nelse:\n"
            "    from torch.amp import autocast\nwith autocast('cuda'):\n    pass",
            "import torch\nok = isinstance(x, torch.cuda.amp.GradScaler)",
        ],
    ),
    "fp16-no-scaler": (
        [
            "import torch\nwith torch.autocast('cuda', dtype=torch.float16):  # !HERE\n    loss = model(x)\n"
            "loss.backward()\nopt.step()",
        ],
        [
            "import torch\nscaler = torch.amp.GradScaler('cuda')\nwith torch.autocast('cuda', dtype=torch.float16):\n"
            "    loss = model(x)\nscaler.scale(loss).backward()\nscaler.step(opt)",
            "import torch\nwith torch.autocast('cuda', dtype=torch.float16):\n    out = model(x)",
        ],
    ),
    "scaler-with-bf16": (
        [
            "import torch\nscaler = torch.amp.GradScaler('cuda')  # !HERE\n"
            "with torch.autocast('cuda', dtype=torch.bfloat16):\n    loss = model(x)\nscaler.scale(loss).backward()",
        ],
        [
            "import torch\nscaler = torch.amp.GradScaler('cuda', enabled=args.fp16)\n"
            "with torch.autocast('cuda', dtype=torch.bfloat16):\n    loss = model(x)\nscaler.scale(loss).backward()",
        ],
    ),
    "mem-fraction-095": (
        ["import torch\ntorch.cuda.set_per_process_memory_fraction(0.95)  # !HERE"],
        ["import torch\ntorch.cuda.set_per_process_memory_fraction(0.5, 0)\nset_per_process_memory_fraction(0.95)"],
    ),
    "memory-pool-api": (
        [
            "import torch\npool = torch.cuda.memory.MemoryPool()  # HERE",
            "import torch\ntorch.cuda.set_memory_pool(pool)  # HERE",
        ],
        ["import torch\npool = torch.cuda.MemPool()\nwith torch.cuda.use_mem_pool(pool):\n    pass"],
    ),
    "empty-cache-each-step": (
        ["import torch\nfor x in loader:\n    model(x).backward()\n    torch.cuda.empty_cache()  # !HERE"],
        [
            "import torch\nfor x in loader:\n    model(x).backward()\n    if step % 500 == 0:\n"
            "        torch.cuda.empty_cache()\ntorch.cuda.empty_cache()",
            "import torch\nfor epoch in range(3):\n    for x in loader:\n        model(x).backward()\n"
            "    torch.cuda.empty_cache()",
        ],
    ),
    "checkpoint-reentrant": (
        ["from torch.utils.checkpoint import checkpoint\ny = checkpoint(layer, x)  # HERE"],
        [
            "from torch.utils.checkpoint import checkpoint\ny = checkpoint(layer, x, use_reentrant=False)",
            "from torch.utils.checkpoint import checkpoint\ny = checkpoint(layer, x, **kwargs)",
            "import torch\ndef checkpoint(a, b):\n    return a\ny = checkpoint(layer, x)",
        ],
    ),
    "patched-forward": (
        [
            "import torch\nfor name, module in model.named_modules():\n"
            "    module.forward = checkpoint_wrapper(module.forward)  # !HERE",
        ],
        ["import torch\nfor module in model.modules():\n    module.forward = functools.partial(f, module.forward)"],
    ),
    "deepspeed-batch": (
        [
            "import deepspeed\nCONFIG = {  # HERE\n    'train_batch_size': 100,\n"
            "    'train_micro_batch_size_per_gpu': 32,\n    'gradient_accumulation_steps': 1,\n}",
        ],
        [
            "import deepspeed\nCONFIG = {'train_batch_size': 256, 'train_micro_batch_size_per_gpu': 32,\n"
            "    'gradient_accumulation_steps': 1}",
            "import deepspeed\nCONFIG = {'train_batch_size': 'auto', 'train_micro_batch_size_per_gpu': 32,\n"
            "    'gradient_accumulation_steps': 3}",
        ],
    ),
    "deepspeed-zero-pipeline": (
        [
            "import deepspeed\nfrom deepspeed.pipe import PipelineModule\n"
            "CONFIG = {'zero_optimization': {'stage': 2}}  # !HERE\nnet = PipelineModule(layers, num_stages=2)",
        ],
        [
            "import deepspeed\nfrom deepspeed.pipe import PipelineModule\n"
            "CONFIG = {'zero_optimization': {'stage': 1}}\nnet = PipelineModule(layers, num_stages=2)",
        ],
    ),
    "visible-set-late": (
        [
            "import os\nimport torch\ntorch.cuda.set_device(0)\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'  # HERE",
            "import os\nimport torch\ndef main():\n    model = net().cuda()\n    if ready:\n"
            "        os.environ['HIP_VISIBLE_DEVICES'] = '0,1'  # HERE",
        ],
        [
            "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nimport torch\ntorch.cuda.set_device(0)",
            "import os\nimport torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nmodel = net().cuda()",
            "import os\nimport torch\nif gpu:\n    torch.cuda.set_device(0)\nelse:\n"
            "    os.environ['CUDA_VISIBLE_DEVICES'] = ''",
            "import os, subprocess\nimport torch\ntorch.cuda.set_device(0)\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
            "subprocess.run(['python', 'worker.py'])",
            "import os\nimport torch\ntorch.cuda.set_device(0)\nos.environ['CUDA_VISIBLE_DEVICES'] = old_devices",
        ],
    ),
    "settings-after-init": (
        [
            "import os\n" + _DIST + "dist.init_process_group('nccl')\nos.environ['NCCL_P2P_LEVEL'] = 'NVL'  # !HERE",
        ],
        [
            "import os\n" + _DIST + "os.environ['NCCL_P2P_LEVEL'] = 'NVL'\ndist.init_process_group('nccl')",
            "import os\n" + _DIST + "def a():\n    dist.init_process_group('nccl')\n"
            "def b():\n    os.environ['NCCL_P2P_LEVEL'] = 'NVL'",
        ],
    ),
    "visible-from-device-count": (
        [
            "import os\nimport torch\n"
            "os.environ['HIP_VISIBLE_DEVICES'] = ','.join(str(i) for i in range(torch.cuda.device_count()))  # HERE",
            "import os\nimport torch\nENV = {\n    'HIP_VISIBLE_DEVICES':"
            " ','.join(map(str, range(torch.cuda.device_count()))),  # HERE\n}\nos.environ.update(ENV)",
        ],
        ["import os\nimport torch\nos.environ['CUDA_VISIBLE_DEVICES'] = str(rank % torch.cuda.device_count())"],
    ),
    "dpm-performance-word": (
        [
            "def tune():\n    with open('/sys/class/drm/card2/power_dpm_force_performance_level', 'w') as f:\n"
            "        f.write('performance')  # !HERE",
        ],
        [
            "def tune():\n    with open('/sys/class/drm/card2/power_dpm_force_performance_level', 'w') as f:\n"
            "        f.write('auto')",
        ],
    ),
    "amd-pstate-parameter": (
        ["P = '/sys/module/amd_pstate/parameters/shared_memory'  # HERE\nopen(P, 'w').write('1')"],
        ["P = '/sys/module/amd_pstate/parameters/mode'\nopen(P).read()"],
    ),
    "drm-card-number": (
        ["busy = open('/sys/class/drm/card0/device/gpu_busy_percent').read()  # !HERE"],
        ["for n in cards:\n    busy = open(f'/sys/class/drm/card{n}/device/gpu_busy_percent').read()"],
    ),
}
