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
    "tuned.sh": """#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
export NVTE_FUSED_ATTN=1
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
export TORCH_NCCL_HIGH_PRIORITY=1
export NCCL_NVLS_ENABLE=0
export NCCL_IB_TIMEOUT=22
export NCCL_IB_RETRY_CNT=7
export NCCL_P2P_NET_CHUNKSIZE=524288
export GPU_MAX_HW_QUEUES=2
export HSA_NO_SCRATCH_RECLAIM=1
export NCCL_MIN_NCHANNELS=112
export VLLM_USE_TRITON_FLASH_ATTN=0
export TORCH_BLAS_PREFER_HIPBLASLT=1
export NCCL_PXN_DISABLE=0
export NCCL_IB_GID_INDEX=3
export NCCL_IB_TC=41
export NCCL_IB_SL=0
export NCCL_CROSS_NIC=0
export NCCL_ALGO=Ring,Tree
export NCCL_PROTO=^LL128
export AMD_DIRECT_DISPATCH=1
export PYTORCH_TUNABLEOP_ENABLED=1
export PYTORCH_TUNABLEOP_TUNING=1
export MIOPEN_FIND_MODE=FAST
export MIOPEN_FIND_ENFORCE=3
export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
export KMP_AFFINITY=granularity=fine,compact,1,0
export KMP_BLOCKTIME=1
export OMP_PROC_BIND=true
export OMP_PLACES=cores
export OMP_SCHEDULE=STATIC
export HF_HUB_ENABLE_HF_TRANSFER=1
export NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH
export NCCL_SOCKET_IFNAME=^docker0,lo
export GLOO_SOCKET_IFNAME=eno1
export NCCL_IB_QPS_PER_CONNECTION=4
export NCCL_IB_HCA==mlx5_0:1,mlx5_1:1
export NCCL_NET_GDR_LEVEL=5
export NCCL_P2P_LEVEL=NVL
export NCCL_IB_PCI_RELAXED_ORDERING=1
export NCCL_DMABUF_ENABLE=1
export NCCL_IGNORE_CPU_AFFINITY=1
export NCCL_SHM_DISABLE=0
export NCCL_LAUNCH_MODE=GROUP
export NCCL_NET=Socket
export NCCL_NET_PLUGIN=none
export NCCL_CUMEM_ENABLE=0
export NCCL_DEBUG=info
export NCCL_RAS_ENABLE=0
export HIP_FORCE_DEV_KERNARG=1
export HSA_FORCE_FINE_GRAIN_PCIE=1
export HSA_XNACK=1
export HSA_ENABLE_IPC_MODE_LEGACY=1
export ROCBLAS_LAYER=0
export HIPBLASLT_LOG_MASK=0
export TORCHINDUCTOR_MAX_AUTOTUNE=1
export TORCHINDUCTOR_CACHE_DIR=/tmp/ti
export TRITON_CACHE_DIR=/tmp/tc
export TORCH_CUDNN_V8_API_ENABLED=1
export TORCH_DISTRIBUTED_DEBUG=OFF
export TORCH_CPP_LOG_LEVEL=INFO
export CUDA_MODULE_LOADING=LAZY
export CUDA_DEVICE_ORDER=PCI_BUS_ID
export UCX_TLS=rc,rocm_copy,rocm_ipc,sm,self
export UCX_NET_DEVICES=mlx5_0:1
export FI_PROVIDER=efa
export FI_EFA_USE_DEVICE_RDMA=1
export ACCELERATE_USE_FSDP=true
export FSDP_OFFLOAD_PARAMS=false
export DS_SKIP_CUDA_CHECK=1
export TORCH_SHOW_CPP_STACKTRACES=1
export PYTORCH_HIP_ALLOC_CONF="expandable_segments:True,garbage_collection_threshold:0.8,max_split_size_mb:512"
export PYTORCH_ROCM_ARCH="gfx90a;gfx942"
export TF_CPP_MIN_LOG_LEVEL=2
export TORCH_COMPILE_DEBUG=0
export TORCHELASTIC_ERROR_FILE=/tmp/e.json
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=8 RANK=0
export LOCAL_RANK=0
export FLASH_ATTENTION_TRITON_AMD_ENABLE="TRUE"
export ROCM_HOME=/opt/rocm HIP_PATH=/opt/rocm
export NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4
export NCCL_BUFFSIZE=8388608 NCCL_NTHREADS=512
export NCCL_MAX_NCHANNELS=32
export NCCL_TOPO_FILE=/etc/topo.xml
export OMPI_MCA_btl=^openib
export NCCL_IB_DISABLE=1
export NCCL_P2P_DISABLE=1
export TORCH_USE_HIP_DSA=1
export TORCHDYNAMO_VERBOSE=1
export VLLM_WORKER_MULTIPROC_METHOD=spawn
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
