"""What launchers, schedulers and servers of clusters print, and what people say, each beside sound texts near to it."""

from __future__ import annotations

import pytest

from tests.text_kit import diagnosed, first_cause

_HOSTCALL = (
    ":1:rocvirtual.cpp :2902: 1550313166 us: 7740 : [tid:0x7f56] Pcie atomics not enabled, hostcall not supported\n"
)
_STATE = (
    "host1:88:88 [0] enqueue.cc:2061 NCCL WARN HIP failure 'the operation cannot be performed in the present state'\n"
)
_ATOMICS = "[    9.044936] amdgpu 0000:01:00.0: amdgpu: PCIE atomic ops is not supported\n"
_NODE0 = "ssh: Could not resolve hostname node0: Name or service not known\n"
_PDSH = (
    "pdsh@node0: node1: ssh exited with exit code 255\nnode1: ssh: connect to host node1 port 22: Connection refused\n"
)
_PLUGIN = (
    "I0809 18:47:15.797891       1 main.go:120] AMD GPU device plugin for Kubernetes\n"
    "I0809 18:47:15.797975       1 manager.go:42] Starting device plugin manager\n"
    "I0809 18:47:15.798210       1 manager.go:66] Handling incoming signals\n"
)
_LINKS = "GPU 3: Tesla V100-SXM2-32GB (UUID: GPU-1)\n  Link 0: 25.781 GB/s\n  Link 3: <inactive>\n"
_ORDINAL = "RuntimeError: CUDA error: invalid device ordinal\n"
_BIND = "#SBATCH --ntasks-per-node=8\n#SBATCH --gpus-per-task=1\nsrun train --distributed\n"
_GLOO = (
    "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to find address for: ^lo\n"
)
_IGNORED = (
    "[n1:04999] mca_base_component_repository_open: unable to open mca_btl_usnic: libfabric.so.1: cannot open shared "
    "object file: No such file or directory (ignored)\n"
)
_VLLM = "RuntimeError: Every node should have a unique IP address. Got 2 nodes with 3 unique IP addresses {...}\n"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_HOSTCALL, "pcie-atomics-missing"),
        (f"{_ATOMICS}{_STATE}", "pcie-atomics-missing"),
        (f"Two 7900 XT, vllm serve --tensor-parallel-size 2:\n{_STATE}", "pcie-atomics-missing"),
        (f"Linux 5.15.167.4-microsoft-standard-WSL2\n{_HOSTCALL}", "wsl-unsupported"),
        (f"deepspeed --hostfile hosts train.py\n{_NODE0}", "rendezvous-name-resolution"),
        (f"deepspeed --hostfile hosts train.py\n{_PDSH}", "rendezvous-name-resolution"),
        (
            "RuntimeError: Using hostfile at /job/hostfile but host=worker-1 was not reachable via ssh.\n",
            "rendezvous-name-resolution",
        ),
        ("ValueError: No slot '2' specified on host 'localhost'\n", "visible-devices-conflict"),
        (f"{_ORDINAL}{_BIND}", "visible-devices-conflict"),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n", "out-of-memory"),
        (
            "ValueError: The number of required GPUs exceeds the total number of available GPUs in the cluster.\n",
            "visible-devices-conflict",
        ),
        (
            "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1\nnixl._bindings.nixlBackendError: NIXL_ERR_BACKEND\n",
            "network-interface-wrong",
        ),
        (_LINKS, "gpu-hardware-fault"),
        (
            "FATAL:   container creation failed: mount /dev/kfd->/dev/kfd error: while mounting /dev/kfd: destination "
            "/dev/kfd doesn't exist in container\n",
            "container-device-access",
        ),
        (_PLUGIN, "kernel-module-not-loaded"),
        (f"k3s on WSL2:\n{_PLUGIN}", "wsl-unsupported"),
        ("Our pods run out of /dev/shm space after a week, then NCCL fails.\n", "shm-too-small"),
        (
            "# [Bug]: pods run out of /dev/shm space\n\nERROR 10-13 RuntimeError: NCCL error: unhandled system error\n",
            "shm-too-small",
        ),
        (_GLOO, "network-interface-wrong"),
        (_VLLM, "network-interface-wrong"),
        (
            "With NCCL the PC freezes. When I remove the NVLink bridge the same code runs well on both RTX 3090.\n",
            "gpu-hardware-fault",
        ),
        ("simpleP2P crashes both GPUs. Disabling the IOMMU lets the test run.\n", "iommu-acs-p2p"),
        (
            "cudaDeviceCanAccessPeer reports 1, but with peer access on the copies never arrive.\n"
            "P2P writes are silently dropped on this box with four GPUs.\n",
            "iommu-acs-p2p",
        ),
        (
            "RoCE with ConnectX-7: after some hours the gid index changes from 3 to 4 and NCCL training stops.\n",
            "network-interface-wrong",
        ),
        (
            "Two nodes are slow. NCCL_DEBUG=INFO shows NET/Socket, although the nodes have InfiniBand.\n",
            "network-interface-wrong",
        ),
        (
            "kubectl shows 0 GPUs for every node of the cluster, although nvidia-smi on the node lists 4.\n",
            "container-device-access",
        ),
        (
            "Failed to modify QP to RTR, check mtu, gid, peer lid, peer qp num: Connection timed out [110]\n",
            "network-interface-wrong",
        ),
        (
            "(autoscaler) Error: No available node types can fulfill resource request {'GPU': 1.0, "
            "'node:192.168.50.192': 0.001}.\n",
            "network-interface-wrong",
        ),
        (
            "torchrun on two machines: node 1 cannot reach node 0, /etc/hosts maps its hostname to 127.0.1.1.\n",
            "rendezvous-name-resolution",
        ),
        (
            "Multi-node init hangs; with GLOO_SOCKET_IFNAME=eth0 and NCCL_SOCKET_IFNAME=eth0 it works.\n",
            "network-interface-wrong",
        ),
        ("On one node of our cluster ulimit -l is 64 and NCCL fails there.\n", "memlock-limit"),
        ("The docker container has only 64MB of shm, our dataloader dies.\n", "shm-too-small"),
        (
            "One node of 64 GPUs is much slower, its GPUs run at 1100 MHz due to HW Slowdown.\n",
            "thermal-or-power-limit",
        ),
        (
            "The driver daemonset of the gpu-operator fails: secure boot blocks the nvidia module.\n",
            "kernel-module-not-loaded",
        ),
        ("EPYC, four PCIe GPUs: all_reduce is slow, 5 GB/s, ACS was enabled on the switches.\n", "iommu-acs-p2p"),
        (
            "Training throughput halves when a second job starts, both use all CPU cores, OMP_NUM_THREADS not set.\n",
            "cpu-affinity-or-threads",
        ),
        (
            "After a reboot one of the eight GPUs has no NVLink and all_reduce is four times slower.\n",
            "gpu-hardware-fault",
        ),
        (
            'srun python -c "import torch; print(torch.cuda.is_available())"\nFalse\nThe job trains on the CPU.\n',
            "visible-devices-conflict",
        ),
        (
            "In the slurm job torch.cuda.is_available() is False. I did not actually get a gpu allocated.\n",
            "visible-devices-conflict",
        ),
        (
            "Permission denied on /dev/kfd in the pod: its user (uid 1000) is not in the render group.\n",
            "container-device-access",
        ),
        ("rocminfo fails: the account of the runner is not in the groups render and video.\n", "device-permission"),
        (
            "NCCL error: remote process exited. I export NCCL_SOCKET_IFNAME=br0 on both nodes and it works.\n",
            "network-interface-wrong",
        ),
        ("sbatch: error: Cannot find GPU specification, you may not submit a job\n", "not-environment"),
    ],
)
def test_a_report_leads_to_its_cause(text: str, cause: str) -> None:
    assert first_cause(text) == cause


@pytest.mark.parametrize(
    "text",
    [
        # the log of a search, a message that a test expects, another vendor's code of the same number
        "grep -c 'Pcie atomics not enabled, hostcall not supported' serve.log\n0\n",
        "test_illegal_state passed, expected: HIP error: the operation cannot be performed in the present state\n",
        "Our probe passes on every slot; the chipset slot said hipErrorIllegalState before we moved the card.\n",
        # ssh that is no part of a job
        f"git clone git@node0:team/deepspeed-hostfile.git\n{_NODE0}fatal: Could not read from remote repository.\n",
        "ssh: connect to host laptop port 22: Connection refused\nIt is asleep. The training on the server runs.\n",
        "The host was not reachable via ssh before we copied the key; DeepSpeed runs on both nodes now.\n",
        # bindings that fit
        f"{_BIND}Each rank calls torch.cuda.set_device(0). step 100 loss 2.1\n",
        "#SBATCH --gpus-per-task=1\nsrun --ntasks=1 python train.py\nstep 100 loss 2.1\n",
        # memory, GPUs, devices
        "assert str(error) == 'Task was killed due to the node running low on memory'  # expected_oom_message\n",
        "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1 ucx_perftest is fine, 24 GB/s.\n",
        "GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-1)\n  Link 0: 25 GB/s\n  Link 3: <inactive>\nOne bridge is fitted.\n",
        f"p3.8xlarge, a virtual machine with half of the board:\n{_LINKS}",
        f"{_PLUGIN}I0809 18:47:15.798310       1 manager.go:71] Received new list of plugins: [gpu]\n",
        "FATAL:   container creation failed: mount /appl->/appl error: destination /appl doesn't exist in container\n",
        # notices of Open MPI beside a job that runs
        f"{_IGNORED}Rank 0 sum 4950\nRank 1 sum 4950\n",
        # words
        "If /dev/shm is full NCCL fails, says the guide; ours has 200 GB free.\n",
        "The release notes: pods no longer run out of /dev/shm space.\n",
        "I remove the NVLink bridge when I clean the cards, and both RTX 3090 run well with it. No crash so far.\n",
        "Disabling the IOMMU would let P2P go faster, I read; with iommu=pt our GPUs reach 24 GB/s.\n",
        "Did you try disabling the IOMMU? It lets some people run NCCL. Here all_reduce_perf passes with it on.\n",
        "cudaDeviceCanAccessPeer reports 0, so P2P copies go through the host; the results are right.\n",
        "The NCCL manual says when a GID index changes from one RoCE version to another; ours is 3 on all nodes.\n",
        "NCCL uses NET/Socket here, but we have no InfiniBand, so that is right. 1.1 GB/s on 10 GbE.\n",
        "kubectl shows 0 GPUs for the login node of the cluster, a node without a GPU; nvidia-smi elsewhere lists 4.\n",
        "The editor says: Too many open files. The GPUs train on.\n",
        # the writer names the defect of the program
        "# [Bug]: driver daemonset of the GPU operator mounts a file of the host unconditionally\n\n"
        "The pod stays in ContainerCreating on kernels that are built without that file.\n",
        "init_process_group times out for a large model on 16 nodes. Resolved by parallel start of workers in #476.\n",
        # words of the second group
        "Make sure that /etc/hosts does not map the hostname to 127.0.1.1, else node 1 cannot reach node 0.\n",
        "The name resolves to 127.0.0.1 on my laptop, where one process trains. It works, nothing hangs.\n",
        "Our script sets NCCL_SOCKET_IFNAME=eth0 on each node, and it works at 23 GB/s on 16 nodes.\n",
        "On the login node ulimit -l is 64; jobs get unlimited from slurmd, and NCCL runs on all nodes.\n",
        "docker gives 64MB of shm by default, says the page; ours starts with --ipc=host and nothing crashes.\n",
        "nvidia-smi -q: HW Slowdown : Not Active. The GPUs of the node run at 1980 MHz, throughput as ever.\n",
        "If secure boot blocks the nvidia module, enroll the key, says the guide. Ours is signed and the GPU trains.\n",
        "Check whether ACS is enabled when all_reduce is slow, says the NCCL guide. We reach 24 GB/s.\n",
        "Each job sets OMP_NUM_THREADS=8; two jobs on one node keep their throughput.\n",
        "The doc of Mooncake: the endpoint moves the QP to INIT, then to RTR and RTS. Transfers reach 40 GB/s.\n",
        'srun --gres=gpu:1 python -c "import torch; print(torch.cuda.is_available())"\nTrue\n',
        "The CPU job of our docs requests no GPU on purpose, torch.cuda.is_available() is False in that slurm job.\n",
        "sbatch: error: Batch job submission failed: Requested node configuration is not available\n",
        "Make sure that your user is in the render group, else rocminfo says permission denied, the guide tells.\n",
        "The user is not in the render group and need not be: the nodes are 0666 and the job on 4 GPUs runs.\n",
        "If the user is not in the video group, rocminfo fails; ours is, and only KeyError: 'x' is left.\n",
        "A hang of rccl-perf with 4 GPUs: this known issue was fixed in the ROCm 6.0 release.\n",
        "I export NCCL_SOCKET_IFNAME=ib0 on both nodes and still the loss is NaN; with fp32 it is not.\n",
        "NCCL up to 2.22 does not check for nvidia_peermem; with 2.23 all_reduce reaches 180 GB/s on two nodes.\n",
    ],
)
def test_what_comes_nearest_blames_nothing(text: str) -> None:
    assert [one.cause for one in diagnosed(text).causes if one.cause != "not-environment"] == []


def test_a_test_of_rccl_without_gpus_may_lack_its_devices() -> None:
    text = "./build/all_reduce_perf -b 8 -f 2 -g 8\nhost1: Test HIP failure common.cu:1129 'hipErrorInvalidDevice'\n"
    assert [one.cause for one in diagnosed(text).causes] == ["visible-devices-conflict", "container-device-access"]


def test_the_answer_names_the_option_that_binds() -> None:
    said = " ".join(one.finding.message for one in diagnosed(f"{_ORDINAL}{_BIND}").verdicts if one.finding is not None)
    assert "--gpus-per-task=1" in said
