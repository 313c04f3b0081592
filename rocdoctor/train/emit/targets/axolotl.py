"""The configuration of axolotl 0.19.0 for adapters, and the script that starts it.

Keys are the fields of ``AxolotlInputConfig`` (axolotl/utils/schemas) and of its Liger plugin; what it does where a key
is left out is in ``loaders/model.py``, ``loaders/adapter.py`` and ``utils/schemas/config.py``. Read 2026-11-28.

Adapters alone: with them it loads frozen weights in the type of the products and peft makes adapters in fp32, as was
estimated. Whole weights it would load in 16 bits and step them so, which no other program of a plan does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocdoctor.train.emit.files import File
from rocdoctor.train.emit.launcher import Argument, own_options
from rocdoctor.train.emit.recipe import RecipeLine, recipe, with_script
from rocdoctor.train.emit.script import because
from rocdoctor.train.emit.targets import Order, trainer
from rocdoctor.train.recommend.model.layout import Framework
from rocdoctor.train.recommend.model.spec import Work
from rocdoctor.train.recommend.plan import Plan, Setting

VERSION = "0.19.0"
FRAMEWORKS: tuple[Framework, ...] = ("ddp",)
TRANSFORMERS = True

# The Trainer's name of an argument -> axolotl's; what is not here it calls the same. None: it sets that by itself.
_OWN_NAMES = {
    "per_device_train_batch_size": "micro_batch_size",
    "per_device_eval_batch_size": "eval_batch_size",
    "optim": "optimizer",
    "use_liger_kernel": None,
}
# Its check_sample_packing_w_sdpa_bf16 (utils/schemas/config.py) warns on all but compute capability 9.0; packed rows
# take torch's varlen kernel where there is one, else a mask (loaders/patch_manager.py).
_PACKED = (
    "axolotl warns of sdpa with packed bf16 sequences on GPUs other than H100 and H200: look at the "
    "first losses, and if they are 0 use flash_attention_2 (package flash-attn)"
)
_LIGER = "axolotl.integrations.liger.LigerPlugin"


def refuses(work: Work) -> str | None:
    """Why axolotl's file cannot express a configuration, or None."""
    if work.framework not in FRAMEWORKS:
        return f"the configuration follows {work.framework}; this file of axolotl can express ddp; nearest: trl"
    if work.method == "full":
        return "axolotl keeps the weights in 16 bits if matrix products are in 16 bits; nearest: --method lora, or trl"
    if work.precision == "fp32":
        return "adapters on frozen weights in fp32 were not proven with axolotl; nearest: bf16"
    if work.model.experts:
        return "it was not proven which experts axolotl gives adapters; nearest: trl"
    return trainer.refuses(work)


def entries(plan: Plan) -> Iterator[RecipeLine]:
    """Every value that the estimate rests on."""
    work = plan.work
    four = work.method == "qlora"
    yield RecipeLine("adapter", work.method, because(plan, "method", "adapters are trained"))
    if four:
        yield RecipeLine("load_in_4bit", True, "4-bit weights (NF4, doubly quantized) as estimated, a copy on each GPU")
    for key, value, reason in trainer.arguments(plan):
        name = _OWN_NAMES.get(key, key)
        if name is not None:
            yield RecipeLine(name, value, reason)
    if work.loss == "fused":
        yield RecipeLine("plugins", [_LIGER], "the fused loss keeps no logits")
        yield RecipeLine("liger_fused_linear_cross_entropy", True)
    kernel = "a kernel that keeps no scores" if work.flash else "scores are kept"
    why = because(plan, "attention", kernel)
    if work.flash and work.precision == "bf16":
        why = f"{why}. {_PACKED}"
    yield RecipeLine("attn_implementation", "sdpa" if work.flash else "eager", why)
    yield RecipeLine("sequence_len", work.seq, f"activations were estimated for {work.seq} tokens per sequence")
    yield RecipeLine("sample_packing", True, "every sequence is about that long: padding would be computed for nothing")
    yield RecipeLine("pad_to_sequence_len", True)
    yield RecipeLine("lora_r", work.lora_rank, "the rank that was estimated")
    yield RecipeLine("lora_alpha", 2 * work.lora_rank, "it scales what adapters add and needs no memory")
    yield RecipeLine("lora_dropout", 0.0, "dropout keeps a mask for each adapter, which was not estimated")
    yield RecipeLine("lora_target_linear", True, "every linear layer has adapters")
    reason = "axolotl's own kernels are on unless one of them is set; they were not estimated"
    yield RecipeLine("lora_mlp_kernel", False, reason)


_NEEDED = (
    Setting("MODEL", "meta-llama/Llama-3.1-8B-Instruct", "the repository or folder of the model"),
    Setting("DATASET", "tatsu-lab/alpaca", "the repository or file of the data set"),
    Setting("DATASET_TYPE", "alpaca", "its form, as axolotl names it"),
    Setting("LEARNING_RATE", "2e-4", "your highest learning rate"),
    Setting("OUTPUT", "outputs/first", "the folder for what is trained"),
)
_HEAD = (
    "Epochs, the schedule of the learning rate and saving are yours: add them here or as --key=value.",
    "Other versions of axolotl may name their options differently.",
)


def program(order: Order) -> list[Argument]:
    """What each rank runs."""
    form = "--datasets=[{'path': '$DATASET', 'type': '$DATASET_TYPE'}]"
    return [
        Argument(("-m", "axolotl.cli.train", "axolotl.yaml"), "axolotl's own training program"),
        Argument(("--base_model=$MODEL",), "what is trained", variables=True),
        Argument((form,), "on what", variables=True),
        Argument(("--learning_rate=$LEARNING_RATE", "--output_dir=$OUTPUT"), "how, and where to", variables=True),
        *own_options(order.script_arguments),
    ]


def files(plan: Plan, order: Order) -> Sequence[File]:
    """``axolotl.yaml`` and the script that starts it."""
    name = f"axolotl {VERSION}"
    return with_script(plan, "axolotl", name, recipe(plan, name, _HEAD, entries(plan)), _NEEDED, program(order))
