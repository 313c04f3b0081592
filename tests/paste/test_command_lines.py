"""Command lines in a text: which are launches, what they hold. The texts are constructed."""

from __future__ import annotations

import pytest

from rocdoctor.collect import collect
from rocdoctor.model.evidence import Known, Source
from rocdoctor.model.facts import CommandLine
from rocdoctor.paste import open_text


def _commands(text: str) -> tuple[CommandLine, ...]:
    return collect(open_text(text, "test")).commands


def _only(text: str) -> CommandLine:
    found = _commands(text)
    assert len(found) == 1, found
    return found[0]


def test_a_container_with_what_it_starts() -> None:
    text = (
        "$ HSA_ENABLE_SDMA=0 docker run -it --rm --device=/dev/kfd --device /dev/dri -e HIP_VISIBLE_DEVICES=0,1 \\\n"
        "    --group-add 992 -v $PWD:/w rocm/vllm:latest vllm serve org/model --tensor-parallel-size 4\n"
    )
    box, serve = _commands(text)
    assert (box.program, box.verb, box.image, box.line) == ("docker", "run", "rocm/vllm:latest", 1)
    assert box.options["device"] == ("/dev/kfd", "/dev/dri") and box.value("group-add") == "992"
    assert box.environment == {"HSA_ENABLE_SDMA": "0", "HIP_VISIBLE_DEVICES": "0,1"}
    assert (serve.program, serve.inside, serve.number("tensor-parallel-size")) == ("vllm", "docker", 4)
    assert serve.environment["HIP_VISIBLE_DEVICES"] == "0,1"


@pytest.mark.parametrize(
    ("text", "program", "option", "value"),
    [
        ("torchrun --nproc_per_node=8 --nnodes 2 train.py --lr 1", "torchrun", "nnodes", "2"),
        ("python -m torch.distributed.launch --nproc_per_node 2 train.py", "torchrun", "nproc-per-node", "2"),
        ("accelerate launch --multi_gpu --num_processes 4 train.py", "accelerate", "num-processes", "4"),
        ("deepspeed --num_gpus=4 train.py", "deepspeed", "num-gpus", "4"),
        ("mpirun --allow-run-as-root -np 16 -mca btl tcp,self -H a:8,b:8 ./all_reduce_perf", "mpirun", "np", "16"),
        ("srun -N2 -n 16 --gres=gpu:8 ./job", "srun", "gres", "gpu:8"),
        ("apptainer exec --rocm -B /data image.sif python a.py", "apptainer", "rocm", ""),
        ("sudo podman run --gpus=all quay.io/x/y", "podman", "gpus", "all"),
        ("uv pip install torch --index-url https://e.org/cu121", "uv", "index-url", "https://e.org/cu121"),
        (
            "pip3 install torch --extra-index-url https://e.org/rocm6.2",
            "pip",
            "extra-index-url",
            "https://e.org/rocm6.2",
        ),
        ("conda install -y pytorch pytorch-cuda=12.1 -c pytorch", "conda", "c", "pytorch"),
        ("ray start --head --num-gpus=8", "ray", "num-gpus", "8"),
        ("python3 -m vllm.entrypoints.openai.api_server --model m -tp 2", "vllm", "tensor-parallel-size", "2"),
    ],
)
def test_each_program_with_an_option(text: str, program: str, option: str, value: str) -> None:
    one = _only(text)
    assert one.program == program and one.value(option) == value


def test_environment_of_mpirun_and_of_the_shell() -> None:
    one = _only("$ NCCL_DEBUG=INFO mpirun -x LD_LIBRARY_PATH -x A_B=1 -np 2 ./a.out")
    assert one.environment == {"NCCL_DEBUG": "INFO", "LD_LIBRARY_PATH": None, "A_B": "1"}


def test_a_compose_file_a_pod_and_the_head_of_a_batch_script() -> None:
    compose = (
        "services:\n  web:\n    image: ollama/ollama:rocm\n    devices:\n      - /dev/kfd\n    group_add: [44, 992]\n"
    )
    one = _only(compose)
    assert (one.program, one.image, one.options["device"]) == ("compose", "ollama/ollama:rocm", ("/dev/kfd",))
    assert one.options["group-add"] == ("44", "992") and one.line == 3
    pod = (
        "```yaml\nkind: Pod\nspec:\n  containers:\n  - name: a\n    image: rocm/pytorch\n    resources:\n"
        "      limits:\n        amd.com/gpu: 1\n    env:\n    - {name: HIP_VISIBLE_DEVICES, value: '0'}\n```\n"
    )
    one = _only(pod)
    assert (one.program, one.options["resource"]) == ("kubernetes", ("amd.com/gpu=1",))
    assert one.environment == {"HIP_VISIBLE_DEVICES": "0"}
    head = "#!/bin/bash\n#SBATCH -N 2 # two\n#SBATCH --gpus-per-node=8\nsrun ./job\n"
    batch, run = _commands(head)
    assert (batch.program, batch.number("nodes"), batch.value("gpus-per-node")) == ("sbatch", 2, "8")
    assert run.program == "srun"


def test_a_sentence_of_the_first_person_gives_a_command() -> None:
    text = "I start it with `docker run --gpus all rocm/pytorch` and it fails."
    assert _only(text).value("gpus") == "all"
    machine = collect(open_text(text, "test"))
    assert any(one.voice == "words" and one.question == "text" for one in machine.passages)


@pytest.mark.parametrize(
    "text",
    [
        'The section says "run with --gpus all", which is wrong for ROCm.',
        "Please document that docker run --gpus all is for NVIDIA alone.",
        "docker run fails and the daemon is not the problem.",
        "You should try pip install torch --index-url https://e.org/rocm6.2 in a new environment.",
        "pip install torch went well on the W7900 and it is fast.",
        "```\n# docker run is what the wiki and the others use\n```",
        "> docker run --gpus all rocm/pytorch\n\nThat quotation is of somebody else.",
        "Does torchrun set the variables?",
    ],
)
def test_what_is_only_spoken_of_is_no_launch(text: str) -> None:
    assert _commands(text) == ()


def test_what_is_left_out_makes_a_command_incomplete() -> None:
    assert not _only("$ docker run --gpus all ... rocm/pytorch").complete
    assert _only("$ docker run --gpus all rocm/pytorch").complete


@pytest.mark.parametrize(
    "text",
    [
        "docker run " * 2000,
        "services:\n" + "  a: &a [*a]\n" * 50,
        "kind: Pod\nspec:\n  containers:\n" + "  - {" * 3000,
        "$ docker run '" + "x" * 5000,
        "#SBATCH " + "-" * 4000,
        "$ srun srun srun srun srun srun bash -c 'srun bash -c \"srun\"'",
        "services:\n  a:\n    image: [1, 2]\n    devices: {a: 1}\n    environment: 3\n",
    ],
)
def test_hostile_texts_end(text: str) -> None:
    assert len(_commands(text)) <= 400


def test_the_devices_of_an_lxc_container() -> None:
    proxmox = "arch: amd64\ndev0: /dev/dri/renderD128,gid=993\ndev1: /dev/kfd,gid=993\nmemory: 8192\n"
    one = _only(proxmox)
    assert (one.program, one.options["device"], one.line) == ("lxc", ("/dev/dri/renderD128", "/dev/kfd"), 2)
    machine = collect(open_text("lxc.mount.entry: /dev/kfd dev/kfd none bind,optional,create=file\n", "test"))
    assert [one.options["device"] for one in machine.commands] == [("/dev/kfd",)]
    assert machine.container.kind == Known("lxc", Source("text", 1))


def test_a_file_of_requirements_is_an_installation() -> None:
    text = "linux.txt holds\n\n    --extra-index-url https://x.example/whl/rocm5.2/\n    torch>=1.13\n"
    one = _only(text)
    assert (one.program, one.verb, one.words) == ("pip", "install", ("torch>=1.13",))
    assert one.value("extra-index-url") == "https://x.example/whl/rocm5.2/"


def test_groups_of_the_nodes_of_an_lxc_container() -> None:
    one = _only("CTID.conf:\n\n    dev0: /dev/dri/renderD128,gid=992\n    dev1: /dev/kfd,gid=44\n")
    assert one.options == {
        "device": ("/dev/dri/renderD128", "/dev/kfd"),
        "gid": ("/dev/dri/renderD128=992", "/dev/kfd=44"),
    }
