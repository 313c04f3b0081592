"""Files that follow a piece of advice, and files that look alike and are right (all constructed).

Each row: the advice, the name of the file, a text that follows it, the line and the severity of the finding, and a text
that must give none of this advice. A finding marked "?" is a possible one.
"""

from __future__ import annotations

ROWS: list[tuple[str, str, str, int, str, str]] = [
    (
        "launch-backend-rccl",
        "run.sh",
        "export HIP_VISIBLE_DEVICES=0,1\ntorchrun train.py --dist-backend rccl\n",
        2,
        "warning",
        "export HIP_VISIBLE_DEVICES=0,1\ntorchrun train.py --dist-backend nccl\necho use --dist-backend rccl\n",
    ),
    (
        "launch-backend-rccl",
        "run.sh",
        "python train.py --backend=rccl\n",
        1,
        "info?",
        "export HL_X=1 HABANA_LOGS=/x\npython train.py --backend hccl\n",
    ),
    (
        "launch-backend-rccl",
        "conf.yaml",
        "trainer:\n  dist_backend: rccl\n",
        2,
        "info?",
        "trainer:\n  dist_backend: nccl # not rccl\n",
    ),
    (
        "launch-compile-backend",
        "accelerate.yaml",
        "dynamo_config:\n  dynamo_backend: inductor-rocm\n",
        2,
        "warning",
        "dynamo_config:\n  dynamo_backend: INDUCTOR\n",
    ),
    (
        "launch-compile-mode",
        "run.sh",
        "python train.py --compile_mode max-autotune-rocm\n",
        1,
        "warning",
        "python train.py --compile_mode max-autotune\n",
    ),
    (
        "launch-backend-gloo",
        "run.sh",
        "export HIP_VISIBLE_DEVICES=0,1\ntorchrun train.py --dist-backend=gloo\n",
        2,
        "info?",
        "export HIP_VISIBLE_DEVICES=0,1\ntorchrun train.py --dist-backend=gloo --device cpu\n",
    ),
    (
        "launch-old-launcher",
        "run.sh",
        "srun python -m torch.distributed.launch train.py\n",
        1,
        "info",
        "# python -m torch.distributed.launch\necho python -m torch.distributed.launch\n"
        "python -m torch.distributed.run a.py\n",
    ),
    (
        "megatron-tokenizer-name",
        "run.sh",
        "A='--tokenizer-type HFTokenizer'\ntorchrun pretrain_gpt.py $A\n",
        2,
        "info?",
        "deepspeed pretrain_gpt.py --tokenizer-type HFTokenizer --deepspeed\n",
    ),
    (
        "master-localhost-nodes",
        "a.sbatch",
        "#!/bin/bash\n#SBATCH --nodes=4\nexport MASTER_ADDR=localhost\nsrun python a.py\n",
        3,
        "info",
        "#!/bin/bash\n#SBATCH --nodes=1\nexport MASTER_ADDR=localhost\nsrun python a.py\n",
    ),
    (
        "slurm-torchrun-per-task",
        "a.sbatch",
        "#!/bin/bash\n#SBATCH --ntasks-per-node=4\nL='torchrun --nproc_per_node=4'\nsrun $L train.py\n",
        4,
        "warning",
        "#!/bin/bash\n#SBATCH --ntasks-per-node=4\nsrun --ntasks-per-node=1 torchrun --nproc_per_node=4 train.py\n",
    ),
    (
        "slurm-torchrun-per-task",
        "a.sbatch",
        "#!/bin/bash\n#SBATCH --ntasks-per-node 8\nsrun bash -c 'torchrun --nproc-per-node gpu train.py'\n",
        3,
        "warning",
        "#!/bin/bash\n#SBATCH --ntasks-per-node=1\nsrun torchrun --nproc_per_node=8 train.py\n",
    ),
    (
        "slurm-torchrun-per-task",
        "a.sbatch",
        "#!/bin/bash\n#SBATCH --ntasks-per-node=4\nsrun torchrun --nproc_per_node=$N train.py\n",
        3,
        "info?",
        "#!/bin/bash\n#SBATCH --ntasks-per-node=4\n"
        "srun torchrun --nnodes=$SLURM_NTASKS --nproc_per_node=2 train.py\nsrun python train.py\n",
    ),
    (
        "slurm-node-rank-early",
        "a.sbatch",
        "#!/bin/bash\n#SBATCH -N 2\nsrun torchrun --nnodes 2 --node_rank=$SLURM_NODEID train.py\n",
        3,
        "warning",
        "#!/bin/bash\n#SBATCH -N 2\nsrun bash -c 'torchrun --nnodes 2 --node_rank=$SLURM_NODEID train.py'\n",
    ),
    (
        "slurm-node-rank-early",
        "a.sbatch",
        '#!/bin/bash\n#SBATCH --nodes=2\nsrun bash -c "torchrun --node_rank=$SLURM_NODEID train.py"\n',
        3,
        "warning",
        '#!/bin/bash\n#SBATCH --nodes=2\nsrun bash -c "torchrun --node_rank=\\$SLURM_NODEID train.py"\n',
    ),
    (
        "slurm-node-rank-early",
        "a.sbatch",
        "#!/bin/bash\n#SBATCH --gpus=8\nsrun torchrun --node_rank $SLURM_PROCID train.py\n",
        3,
        "info?",
        "#!/bin/bash\n#SBATCH -N 4\nsrun torchrun --rdzv_backend c10d --node_rank $SLURM_PROCID train.py\n",
    ),
    (
        "gloo-ifname-caret",
        "env.sh",
        "export GLOO_SOCKET_IFNAME=^docker0,lo\n",
        1,
        "warning",
        "export NCCL_SOCKET_IFNAME=^docker0,lo GLOO_SOCKET_IFNAME=ens3\n",
    ),
    ("nccl-debug-permanent", "/home/u/.bashrc", "export NCCL_DEBUG=INFO\n", 1, "info", "export NCCL_DEBUG=WARN\n"),
    (
        "ranks-in-profile",
        "/etc/profile.d/train.sh",
        "export RANK=${RANK:-0} WORLD_SIZE=${WORLD_SIZE:-8}\n",
        1,
        "warning",
        "export OMP_NUM_THREADS=8\n# export WORLD_SIZE=8\n",
    ),
    ("ranks-in-profile", "Dockerfile", "FROM a\nENV WORLD_SIZE=8\n", 2, "warning", "FROM a\nENV WORLD_SIZE=1\n"),
    ("hip-path-subfolder", "run.sh", "export HIP_PATH=/opt/rocm/hip\n", 1, "info?", "export HIP_PATH=/opt/rocm\n"),
    (
        "miopen-cache-shared",
        "run.sh",
        "export MIOPEN_USER_DB_PATH=/tmp/miopen\n",
        1,
        "info?",
        "export MIOPEN_USER_DB_PATH=/tmp/$USER-miopen-$SLURM_JOB_ID\n",
    ),
    (
        "channels-112-new-rccl",
        "Dockerfile",
        "FROM rocm/pytorch:rocm7.1_ubuntu24.04\nENV NCCL_MIN_NCHANNELS=112\n",
        2,
        "info?",
        "FROM rocm/pytorch:rocm6.3_ubuntu24.04\nENV NCCL_MIN_NCHANNELS=112\n",
    ),
    (
        "expandable-old-rocm",
        "Dockerfile",
        "FROM rocm/pytorch:rocm6.2\nENV PYTORCH_HIP_ALLOC_CONF=expandable_segments:True\n",
        2,
        "info?",
        "FROM rocm/pytorch:rocm7.2\nENV PYTORCH_ALLOC_CONF=expandable_segments:True\n",
    ),
    (
        "torch-flavour-never",
        "install.sh",
        "pip install torch --index-url https://download.pytorch.org/whl/nightly/rocm5.8\n",
        1,
        "warning",
        "pip install torch --index-url https://download.pytorch.org/whl/rocm6.0\n",
    ),
    (
        "torch-flavour-missing",
        "install.sh",
        "pip3 install torch==2.11.0 --index-url https://download.pytorch.org/whl/rocm7.0\n",
        1,
        "warning",
        "pip3 install torch==2.10.0 --index-url https://download.pytorch.org/whl/rocm7.0\n",
    ),
    (
        "torch-flavour-missing",
        "requirements.txt",
        "--extra-index-url https://download.pytorch.org/whl/cu121\nnumpy\ntorch==2.7.1\n",
        3,
        "warning",
        "--extra-index-url https://download.pytorch.org/whl/cu121\nnumpy\ntorch==2.4.1\n",
    ),
    (
        "torch-flavour-missing",
        "Dockerfile",
        "FROM a\nRUN uv pip install 'torch==2.6.0' \\\n  --index-url https://download.pytorch.org/whl/rocm6.3/\n",
        2,
        "warning",
        "FROM a\nRUN uv pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm6.2\n",
    ),
    (
        "torch-flavour-old",
        "install.sh",
        "python3 -m pip install -U torch -i https://download.pytorch.org/whl/rocm5.7\n",
        1,
        "info?",
        "python3 -m pip install torch==2.3.1 -i https://download.pytorch.org/whl/rocm5.7\n",
    ),
    (
        "torch-from-usual-index",
        "Dockerfile",
        "FROM rocm/dev-ubuntu-22.04:6.4.1\nRUN apt-get update && pip3 install torch transformers\n",
        2,
        "warning",
        "FROM rocm/dev-ubuntu-22.04:6.4.1\n"
        "RUN pip3 install torch --index-url https://download.pytorch.org/whl/rocm6.4\nRUN pip install -U torch\n",
    ),
    (
        "torch-from-usual-index",
        "Dockerfile",
        "ARG B=rocm/dev-ubuntu-24.04:7.0-complete\nFROM ${B} AS base\nFROM base\nRUN pip install torch\n",
        4,
        "warning",
        "FROM rocm/pytorch:latest\nRUN pip install torch\n",
    ),
    (
        "triton-number-of-torch",
        "requirements.txt",
        "torch\ntriton==2.10.0\n",
        2,
        "warning",
        "torch==2.10.0\ntriton==3.5.1\n# triton==2.10.0\n",
    ),
    (
        "package-torchelastic",
        "environment.yml",
        "name: a\nchannels: [x]\ndependencies:\n- python=3.11\n- pip:\n  - numpy\n  - torchelastic==0.2.2\n",
        7,
        "info",
        "name: torchelastic\nchannels: [x]\ndependencies:\n- python=3.11\n",
    ),
    (
        "package-fairscale",
        "pyproject.toml",
        '[project]\nname = "fairscale"\ndependencies = [\n  "numpy",  # fairscale\n  "fairscale>=0.4",\n]\n',
        5,
        "info",
        '[project]\nname = "fairscale"\ndependencies = ["numpy"]\n',
    ),
    (
        "package-apex",
        "run.sh",
        "pip install apex\n",
        1,
        "warning",
        "pip install ./apex\npip install git+https://github.com/ROCm/apex\npip uninstall apex\n",
    ),
    (
        "package-apex",
        "pyproject.toml",
        '[project]\ndependencies = ["torch", "apex"]\n',
        2,
        "info?",
        '[project]\ndependencies = ["torch", "apex"]\n[tool.uv.sources]\napex = { index = "own-wheels" }\n',
    ),
    (
        "package-apex",
        "Dockerfile",
        "FROM a\nRUN pip install apex\n",
        2,
        "warning",
        "FROM a\nENV PIP_EXTRA_INDEX_URL=https://wheels.example.org/simple\nRUN pip install apex\n",
    ),
    (
        "torch-from-usual-index",
        "Dockerfile",
        "FROM rocm/dev-ubuntu-24.04:7.2-complete\nRUN --mount=type=cache,target=/x pip install torch\n",
        2,
        "warning",
        "FROM rocm/dev-ubuntu-24.04:7.2-complete\nENV PIP_INDEX_URL=https://download.pytorch.org/whl/rocm7.2\n"
        "RUN pip install torch\n",
    ),
    (
        "package-flash-attn",
        "run.sh",
        "export HIP_VISIBLE_DEVICES=0,1\npip install flash-attn --no-build-isolation\n",
        2,
        "info?",
        "export HIP_VISIBLE_DEVICES=0,1\n"
        "FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE pip install flash-attn --no-build-isolation\n",
    ),
    (
        "rocm-old-organisation",
        "run.sh",
        "git clone https://github.com/ROCmSoftwarePlatform/flash-attention\n",
        1,
        "info",
        "git clone https://github.com/ROCm/flash-attention\n# was github.com/ROCmSoftwarePlatform/flash-attention\n",
    ),
    (
        "package-rocm-dkms",
        "Dockerfile",
        "FROM ubuntu:24.04\nRUN apt-get update && \\\n    apt-get install -y wget rocm-dkms\n",
        3,
        "info",
        "FROM ubuntu:24.04\nRUN apt-get install -y amdgpu-dkms rocm\nRUN apt-get remove rocm-dkms\n",
    ),
    (
        "apt-key-rocm",
        "run.sh",
        "wget -qO - https://repo.radeon.com/rocm/rocm.gpg.key | sudo apt-key add -\n",
        1,
        "info",
        "wget https://repo.radeon.com/rocm/rocm.gpg.key -O - | gpg --dearmor > /etc/apt/keyrings/rocm.gpg\n",
    ),
    (
        "two-rocm-releases",
        "run.sh",
        "echo 'deb https://repo.radeon.com/rocm/apt/7.0 noble main' | sudo tee /etc/apt/sources.list.d/rocm.list\n"
        "wget https://repo.radeon.com/amdgpu-install/7.1/ubuntu/noble/amdgpu-install_7.1.70100-1_all.deb\n",
        2,
        "info?",
        "echo 'deb https://repo.radeon.com/rocm/apt/7.1 noble main' | sudo tee /etc/apt/sources.list.d/rocm.list\n"
        "wget https://repo.radeon.com/amdgpu-install/7.1/ubuntu/noble/amdgpu-install_7.1.70100-1_all.deb\n"
        "echo https://repo.radeon.com/amdgpu-install/6.4/\n",
    ),
    (
        "rocm-suite-mismatch",
        "Dockerfile",
        "FROM ubuntu:22.04\nRUN wget https://repo.radeon.com/amdgpu-install/7.1/ubuntu/noble/a.deb\n",
        2,
        "warning",
        "FROM ubuntu:24.04\nRUN wget https://repo.radeon.com/amdgpu-install/7.1/ubuntu/noble/a.deb\n",
    ),
    (
        "image-pytorch-rocm",
        "compose.yaml",
        "services:\n  a:\n    image: docker.io/pytorch/pytorch:2.10.0-rocm7.0\n",
        3,
        "warning",
        "services:\n  a:\n    image: rocm/pytorch:rocm7.0_ubuntu24.04\n    # pytorch/pytorch:2.10.0-rocm7.0\n",
    ),
    (
        "image-pytorch-rocm",
        "run.sh",
        "docker run -it --rm -v $PWD:/w --device /dev/kfd pytorch/pytorch:nightly-rocm7.0 bash\n",
        1,
        "warning",
        "docker run -it --rm -e IMAGE=pytorch/pytorch:nightly-rocm7.0 "
        "pytorch/pytorch:2.10.0-cuda12.8-cudnn9-runtime bash\n",
    ),
    (
        "image-cuda-on-amd",
        "compose.yaml",
        "services:\n  a:\n    image: pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime\n"
        "    devices: [/dev/kfd:/dev/kfd, /dev/dri]\n",
        3,
        "info",
        "services:\n  a:\n    image: pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime\n",
    ),
    (
        "image-rocm-on-nvidia",
        "compose.yaml",
        "services:\n  a:\n    image: rocm/pytorch:latest\n    deploy:\n      resources:\n        reservations:\n"
        "          devices:\n          - driver: nvidia\n",
        8,
        "info",
        "services:\n  a:\n    image: nvidia/cuda:12.8.0-base\n    deploy:\n      resources:\n"
        "        reservations:\n          devices:\n          - driver: nvidia\n",
    ),
    (
        "visible-beyond-limit",
        "compose.yaml",
        "services:\n  a:\n    image: x\n    environment:\n    - CUDA_VISIBLE_DEVICES=3\n    deploy:\n"
        "      resources:\n        reservations:\n          devices:\n          - driver: nvidia\n"
        "            device_ids: ['3']\n",
        5,
        "warning",
        "services:\n  a:\n    image: x\n    environment:\n    - CUDA_VISIBLE_DEVICES=0,1\n    deploy:\n"
        "      resources:\n        reservations:\n          devices:\n          - driver: nvidia\n"
        "            count: 2\n",
    ),
    (
        "visible-beyond-limit",
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: a\n    env:\n"
        "    - name: HIP_VISIBLE_DEVICES\n      value: '0,1,2,3'\n    resources:\n      limits:\n"
        "        amd.com/gpu: 1\n",
        8,
        "warning",
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: a\n    env:\n"
        "    - name: HIP_VISIBLE_DEVICES\n      value: '0'\n    resources:\n      limits:\n"
        "        amd.com/gpu: 1\n",
    ),
    (
        "container-shared-memory",
        "run.sh",
        "docker run --rm --device=/dev/kfd --device=/dev/dri rocm/pytorch torchrun --nproc-per-node=4 a.py\n",
        1,
        "info?",
        "docker run --rm --ipc=host --device=/dev/kfd --device=/dev/dri rocm/pytorch torchrun "
        "--nproc-per-node=4 a.py\n"
        "docker run --device=/dev/kfd rocm/pytorch rocminfo\n",
    ),
    (
        "container-shared-memory",
        "job.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: llm\nspec:\n  template:\n    spec:\n"
        "      containers:\n      - image: a\n        command: [torchrun, a.py]\n        resources:\n"
        "          limits:\n            amd.com/gpu: 8\n",
        9,
        "info?",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: llm\nspec:\n  template:\n    spec:\n"
        "      containers:\n      - image: a\n        command: [torchrun, a.py]\n        resources:\n"
        "          limits:\n            amd.com/gpu: 8\n        volumeMounts:\n        - mountPath: /dev/shm\n"
        "          name: shm\n",
    ),
    (
        "k8s-completion-index",
        "job.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: llm\nspec:\n  completions: 2\n  template:\n"
        "    spec:\n      containers:\n      - env:\n        - name: R\n          valueFrom:\n"
        "            fieldRef:\n"
        "              fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']\n",
        14,
        "warning",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: llm\nspec:\n  completionMode: Indexed\n  template:\n"
        "    spec:\n      containers:\n      - env:\n        - name: R\n          valueFrom:\n"
        "            fieldRef:\n"
        "              fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']\n",
    ),
    (
        "k8s-pod-name",
        "job.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: llm\nspec:\n  template:\n    spec:\n"
        "      containers:\n      - command: [torchrun, --rdzv-endpoint=llm-0.llm:29500, a.py]\n",
        9,
        "warning",
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: llm\nspec:\n  completionMode: Indexed\n  template:\n"
        "    spec:\n      subdomain: llm\n      containers:\n"
        "      - command: [torchrun, --rdzv-endpoint=llm-0.llm:29500, a.py]\n",
    ),
    (
        "deepspeed-batch-product",
        "ds.json",
        '{\n\t"train_batch_size": 100,\n\t"train_micro_batch_size_per_gpu": 32,\n'
        '\t"gradient_accumulation_steps": 1\n}\n',
        2,
        "warning",
        '{\n\t"train_batch_size": 256,\n\t"train_micro_batch_size_per_gpu": 32,\n'
        '\t"gradient_accumulation_steps": "auto"\n}\n',
    ),
    (
        "deepspeed-pipeline-zero",
        "ds.json",
        '{"zero_optimization": {"stage": 3},\n "pipeline": {"pipe_partitioned": true}}\n',
        1,
        "info?",
        '{"zero_optimization": {"stage": 1},\n "pipeline": {"pipe_partitioned": true}}\n',
    ),
    (
        "fsdp-tiny-units",
        "accelerate.yaml",
        "fsdp_config:\n  fsdp_auto_wrap_policy: SIZE_BASED_WRAP\n  fsdp_min_num_params: 10000\n",
        3,
        "warning",
        "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_min_num_params: 2000\n",
    ),
    (
        "fsdp-compile-flat",
        "accelerate.yaml",
        "dynamo_config:\n  dynamo_backend: INDUCTOR\nfsdp_config:\n  fsdp_use_orig_params: false\n",
        4,
        "info",
        "dynamo_config:\n  dynamo_backend: 'NO'\nfsdp_config:\n  fsdp_use_orig_params: false\n",
    ),
    (
        "dpm-level-word",
        "run.sh",
        "echo performance | sudo tee /sys/class/drm/card0/device/power_dpm_force_performance_level\n",
        1,
        "warning",
        "echo high > /sys/class/drm/card0/device/power_dpm_force_performance_level\n"
        "echo performance > /sys/class/drm/card0/device/power_dpm_state\n"
        "echo performance to power_dpm_force_performance_level\n",
    ),
    (
        "dpm-level-word",
        "gpu.service",
        "[Service]\nEnvironment=A=1\n"
        "ExecStart=/bin/sh -c 'echo performance > /sys/class/drm/card1/device/power_dpm_force_performance_level'\n",
        3,
        "warning",
        "[Service]\nEnvironment=A=1\n"
        "ExecStart=/bin/sh -c 'echo auto > /sys/class/drm/card1/device/power_dpm_force_performance_level'\n",
    ),
    (
        "cstates-by-amd-pstate",
        "run.sh",
        "echo 1 > /sys/module/amd_pstate/parameters/shared_memory\n",
        1,
        "info",
        "cat /sys/module/amd_pstate/parameters/shared_memory\n",
    ),
    (
        "ppfeaturemask-all",
        "/etc/modprobe.d/amdgpu.conf",
        "# x\noptions amdgpu ppfeaturemask=0xFFFFFFFF\n",
        2,
        "info",
        "options amdgpu ppfeaturemask=0xfff7ffff\n#options amdgpu ppfeaturemask=0xffffffff\n",
    ),
    (
        "apu-gttsize-alone",
        "/etc/default/grub",
        'GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT="quiet amdgpu.gttsize=131072"\n',
        2,
        "info?",
        'GRUB_CMDLINE_LINUX_DEFAULT="quiet amdgpu.gttsize=131072 ttm.pages_limit=33554432"\n',
    ),
    (
        "slurm-node-rank-early",
        "a.sbatch",
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun -N 2 torchrun --node_rank=$SLURM_NODEID train.py\n",
        3,
        "warning",
        "#!/bin/bash\n#SBATCH --nodes=1\nsrun torchrun --node_rank=$SLURM_NODEID train.py\n",
    ),
    (
        "deepspeed-batch-product",
        "ds.yaml",
        "deepspeed:\n  train_batch_size: 48\n  train_micro_batch_size_per_gpu: 16\n  gradient_accumulation_steps: 2\n",
        2,
        "warning",
        "deepspeed:\n  train_batch_size: 64\n  train_micro_batch_size_per_gpu: 16\n  gradient_accumulation_steps: 2\n",
    ),
    (
        "package-flash-attn",
        "Dockerfile",
        "FROM rocm/pytorch:latest\nRUN pip install flash-attn\n",
        2,
        "info?",
        "FROM rocm/pytorch:latest AS amd\nFROM nvidia/cuda:12.8.0-devel AS nv\nRUN pip install flash-attn\n",
    ),
    (
        "ppfeaturemask-all",
        "/etc/kernel/cmdline",
        "root=/dev/sda1 quiet amdgpu.ppfeaturemask=0xffffffff\n",
        1,
        "info",
        "# amdgpu.ppfeaturemask=0xffffffff\nroot=/dev/sda1 quiet\n",
    ),
]
