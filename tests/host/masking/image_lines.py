"""Images of containers as commands and files name them; every account is made up.

Each row of LINES and BLOCKS: (a text, what must be gone from it). CONTROLS tell of nobody.
"""

from __future__ import annotations

_ACCOUNT = "lwoznia" + "kowa"
_LIKE_A_WORD = ("myersj", "yourdan_k", "my-linh", "teamer", "devries", "testa")
_DOTTED = "lena.wozniakowa"

_NAMED = (
    # registries: an address, a port alone, localhost, one that is masked
    "docker pull 10.3.4.5:5000/{}/train:1",
    "docker pull 127.0.0.1:5000/{}/train:1",
    "docker pull [fd00::5]:5000/{}/train:1",
    "docker pull reg:5000/{}/train:1",
    "podman run localhost/{}/train",
    "docker pull registry.uni-x.de/{}/train",
    # below a part that is nobody's
    "docker pull ghcr.io/team/{}/train",
    "see ghcr.io/team/{}/train:1 for it",
    "image: registry.uni-x.de/users/{}/train:1",
    "docker pull reg:5000/my-team/dev/{}/train:1",
    # other commands, and options before the name
    "docker image pull {}/train",
    "podman image inspect {}/train:1",
    "docker pull --platform linux/amd64 {}/train",
    "docker rmi -f {}/train:1",
    "docker save -o x.tar {}/train:1",
    "docker run {}/train:1",
    "docker run --rm -it --gpus all -v /a:/b {}/train:1 python a/b.py",
    "docker run -d -e A='b c' --device=/dev/kfd -u $(id -u):$(id -g) --shm-size 8g {}/train",
    "podman run --security-opt label=disable -p8888:8888 quay.io/{}/train:1 bash",
    "docker create --name x {}/train:1",
    "docker container run --rm {}/train:1",
    "docker build -t {}/train:1 .",
    "docker buildx build --push --tag {}/train:1 .",
    "docker build --tag=ghcr.io/{}/train:1 -f x/Dockerfile .",
    'docker commit -m "a b" 4f53cda18c2b {}/train:2',
    "docker tag rocm/pytorch:latest {}/train:2",
    "docker tag {}/pytorch:latest rocm/train:2",
    "apptainer pull oras://ghcr.io/{}/train:1",
    # files and builders
    "FROM {}/base:1",
    "FROM --platform=linux/amd64 {}/base:1 AS build",
    "Step 1/9 : FROM {}/base",
    "#5 [1/4] FROM docker.io/{}/base:1@sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",
    "COPY --from={}/tools:1 /x /x",
    # a tag is no ending of a file
    "docker pull {}/train:1.tar",
    "docker pull {}/train:v1.py",
    "  image: {}/train:2026.json",
)
_OVER_LINES = (
    "docker run \\\n  --rm \\\n  -v /a:/b \\\n  {}/train:1 \\\n  python x/y",
    "docker build \\\n  -t {}/train:1 \\\n  .",
    "podman run --rm \\\r\n  ghcr.io/{}/train:1",
)
LINES: tuple[tuple[str, str], ...] = (
    *((one.format(_ACCOUNT), _ACCOUNT) for one in _NAMED),
    *((f"docker pull {one}/train:1", one) for one in _LIKE_A_WORD),
    (f"docker pull registry.gitlab.com/{_DOTTED}/train:1", _DOTTED),
    (f"docker tag {_ACCOUNT}/train:1 testa/train:2", "testa"),
)
BLOCKS: tuple[tuple[str, str], ...] = tuple((one.format(_ACCOUNT), _ACCOUNT) for one in _OVER_LINES)

CONTROLS: tuple[str, ...] = (
    "docker image pull rocm/pytorch:latest",
    "docker run --rm -it --gpus all -v /a:/b rocm/vllm:latest python models/llama",
    "docker run --rm ubuntu bash scripts/run",
    "docker run -it --device=/dev/kfd --group-add video ubuntu:24.04 ls models/llama",
    "docker run -w work/train --env-file conf/env -v data/x:/x ubuntu ls",
    "docker run -v $(pwd)/data:/data rocm/pytorch:latest",
    "docker run --device amd.com/gpu=all ubuntu",
    "docker run nvcr.io/nvidia/pytorch:24.10-py3",
    "docker pull your-username/train:1",
    "docker pull myorg/train",
    "docker pull my-docker-hub-user/train",
    "docker push yourname/train:1",
    "docker pull ghcr.io/your-org/proj/train:1",
    "docker pull reg:5000/proj/train",
    "docker build -t train:1 docker/rocm",
    "docker build -t my-org/train:1 -f docker/Dockerfile .",
    "FROM rocm/pytorch:latest AS build",
    "FROM mcr.microsoft.com/azureml/openmpi4.1.0:latest",
    "FROM nvidia/cuda:12.4.0-devel-ubuntu22.04",
    "COPY --from=build /x/y /x/y",
    "the docker run failed and and/or hung",
    "docker run hangs on/off with RCCL",
    "docker run and/or docker pull",
    "image: images/plots/loss.png",
    "image: path/to/your/image",
    "loss from train/val differs",
    "tar -t ours/theirs",
)
CONTROL_BLOCKS: tuple[str, ...] = (
    "docker run --rm \\\n  rocm/pytorch:latest \\\n  python models/llama\ncat models/llama",
    "docker build -t train:1 .\ntar -t ours/theirs",
    # the command goes on where the text ends
    "docker run --rm \\\n",
    "docker pull \\\r\n",
)
