"""Launch scripts, container and job files as people write them (constructed): nothing in them is wrong."""

from __future__ import annotations

HEALTHY: dict[str, str] = {
    "launch.sh": """#!/usr/bin/env bash
set -euo pipefail
# export HSA_OVERRIDE_GFX_VERSION=10.3   (old advice)
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-8}
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}
export NCCL_SOCKET_IFNAME=${IFACE}
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
export TOKENIZERS_PARALLELISM=false
export HF_HOME="$HOME/.cache/huggingface"
export LD_LIBRARY_PATH=/opt/rocm/lib:$LD_LIBRARY_PATH
GPUS_PER_NODE=$(python -c 'import torch; print(torch.cuda.device_count())')
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((10000 + RANDOM % 20000))
if [[ "${DEBUG:-0}" == 1 ]]; then
    export NCCL_DEBUG=INFO
    export TORCH_DISTRIBUTED_DEBUG=INFO
fi
usage() {
    cat <<EOF
Usage: CUDA_LAUNCH_BLOCKING=1 $0 [options]
    export AMD_SERIALIZE_KERNEL=3   to find the kernel that crashes
EOF
    exit 1
}
if false; then
    export AMD_SERIALIZE_KERNEL=3
fi
echo "to debug: export CUDA_LAUNCH_BLOCKING=1"
torchrun --nproc_per_node="$GPUS_PER_NODE" train.py "$@"
""",
    "two_jobs.sh": """#!/bin/bash
CUDA_VISIBLE_DEVICES=0 python train.py --seed 1 &
CUDA_VISIBLE_DEVICES=0 python train.py --seed 2 &
for gpu in 0 1 2 3; do
  HIP_VISIBLE_DEVICES=$gpu python sweep.py --shard $gpu &
done
wait
export CUDA_LAUNCH_BLOCKING=1
unset CUDA_LAUNCH_BLOCKING
ssh node2 "export HSA_OVERRIDE_GFX_VERSION=9; python worker.py"
""",
    "job.sbatch": """#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=4
#SBATCH --gpus-per-node=8
#SBATCH --export=ALL,NCCL_DEBUG=WARN
module load rocm/6.2
export ROCR_VISIBLE_DEVICES=0,1,2,3,4,5,6,7
export NCCL_SOCKET_IFNAME=hsn0
export NCCL_IB_HCA=mlx5_0,mlx5_1
export NCCL_NET_GDR_LEVEL=PHB
export MIOPEN_USER_DB_PATH=/tmp/miopen-${SLURM_JOB_ID}
export FI_CXI_ATS=0
export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
srun --export=ALL,OMP_NUM_THREADS=7 python train.py
""",
    "Dockerfile": """ARG BASE=rocm/pytorch:latest
FROM ${BASE} AS build
ENV PYTORCH_ROCM_ARCH="gfx90a;gfx942" MAX_JOBS=16 CUDA_LAUNCH_BLOCKING=1
RUN export HSA_OVERRIDE_GFX_VERSION=nonsense && make
FROM rocm/pytorch:latest
ENV ROCM_PATH=/opt/rocm \\
    # comment in between
    PATH=/opt/rocm/bin:$PATH \\
    LD_LIBRARY_PATH=/opt/rocm/lib
ENV HIP_FORCE_DEV_KERNARG=1
ENV NVIDIA_VISIBLE_DEVICES all
COPY --from=build /app /app
CMD ["python", "train.py"]
""",
    "compose.yaml": """services:
  trainer:
    image: rocm/pytorch
    devices: [/dev/kfd, /dev/dri]
    environment:
      - NCCL_DEBUG=WARN
      - HF_TOKEN=${HF_TOKEN}
      - HIP_VISIBLE_DEVICES=0
  cpu:
    image: tools
    environment:
      CUDA_VISIBLE_DEVICES: ${GPU_LIST}
      OMP_NUM_THREADS: "4"
""",
    "pod.yaml": """apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: train
      image: rocm/pytorch
      env:
        - name: NCCL_SOCKET_IFNAME
          value: eth0
        - name: MASTER_ADDR
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
      command: ["bash", "-c"]
      args:
        - |
          export OMP_NUM_THREADS=8
          torchrun --nproc_per_node=8 train.py
""",
    "settings.env": "# comment\nNCCL_DEBUG=WARN\nWANDB_MODE=offline\nHSA_ENABLE_SDMA=1\nPYTORCH_TUNABLEOP_ENABLED=0\n",
    "start.sh": """#!/bin/sh
docker run --rm -it --device=/dev/kfd --device=/dev/dri --group-add video --ipc=host \\
    -e HIP_VISIBLE_DEVICES=0 -e NCCL_DEBUG=INFO -e HF_HOME=/cache --shm-size 16G \\
    rocm/pytorch:latest bash -c "export OMP_NUM_THREADS=8 && python train.py"
mpirun -np 8 --allow-run-as-root -x NCCL_DEBUG=VERSION -x LD_LIBRARY_PATH -x HSA_FORCE_FINE_GRAIN_PCIE=1 ./perf
""",
    "nightly.yml": """on: push
jobs:
  test:
    runs-on: ubuntu-latest
    env:
      CUDA_VISIBLE_DEVICES: ""
    steps:
      - run: |
          export OMP_NUM_THREADS=2
          pytest tests
""",
}
