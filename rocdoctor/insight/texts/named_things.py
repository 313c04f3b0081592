"""What a text names of the things that answers speak of, for their templates."""

from __future__ import annotations

from rocdoctor.insight.texts.pasted import gfx_names
from rocdoctor.model.evidence import value_or
from rocdoctor.model.facts import Machine
from rocdoctor.model.lazy_re import regex

_NAMED = {
    "libraries": regex(r"lib[\w+-]{2,40}\.so(?:\.\d{1,9}){0,4}|[\w-]{2,40}\.dll"),
    "targets": regex(r"gfx\d[\da-f]{2,4}|sm_\d{2,3}a?|compute_\d{2,3}"),
    "indexes": regex(r"cu1[1-3]\d|rocm\d(?:\.\d){0,3}|\w{0,20}cxx11abi\w{0,12}"),
    "packages": regex(
        r"torch(?:vision|audio|ao|text|data)?|(?:pytorch-)?triton(?:-rocm|-windows)?|transformers|accelerate|peft|diffusers|"
        r"deepspeed|flash[-_]attn|xformers|bitsandbytes|numpy|huggingface[-_]hub|tokenizers|safetensors|vllm|apex|"
        r"mmcv(?:-full)?|onnxruntime(?:-\w{1,12})?|tensorflow|jax(?:lib)?|lightning|pytorch[-_]lightning|sentence[-_]transformers|"
        r"trl|unsloth|timm|einops|protobuf|setuptools|ninja|aiter|amd-?smi|sgl-kernel|flashinfer|gradio|pydantic|datasets"
    ),
    "interfaces": regex(r"en[spox]\w{1,12}|eth\d{1,2}|ib\d{1,2}|bond\d{1,2}|docker\d{1,2}|mlx5_\d{1,2}"),
    "kernels": regex(
        r"flash[-_]attn|flash-?attention(?:-2|-3)?|aiter|xformers|hipblaslt|bitsandbytes|sageattention|triton|ck|"
        r"composable_kernel|marlin|fp8|awq|gptq|exllama(?:v2)?|flashinfer|sdpa|miopen|rocblas|tensile"
    ),
}
_MOST = 4


def named(machine: Machine) -> dict[str, str]:
    """What the text names of the things that answers speak of: packages, libraries, targets, variables, releases."""
    found: dict[str, list[str]] = {}
    for word in machine.told.words:
        for name, pattern in _NAMED.items():
            if pattern.fullmatch(word):
                found.setdefault(name, []).append(word)
    found["target"] = [*gfx_names(machine)] or found.get("targets", [])
    found["variables"] = [name for name in machine.environment.variables if "VISIBLE" in name or "NCCL" in name]
    drivers = (told["version"] for told in machine.drivers.values() if "version" in told)
    found["driver"] = [value_or(version, "") for version in drivers]
    found["torch"] = [value_or(machine.torch.version, None) or ""]
    found["rocm"] = list(dict.fromkeys(value_or(one.version, "") for one in machine.rocm))
    return {name: ", ".join(one for one in words[:_MOST] if one) for name, words in found.items() if any(words)}
