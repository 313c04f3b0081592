"""Names of Python packages that came or went, from what Python says. The texts are constructed from its formats."""

from __future__ import annotations

from rocdoctor.model.facts import TorchBuild
from tests.kit import judge, k, states
from tests.message_kit import finding_of, pasted, words_of

CHECK = "python-api-message"
PACKAGES = "/opt/conda/lib/python3.10/site-packages"


def absent(name: str, module: str) -> str:
    path = module.replace(".", "/")
    return f"ImportError: cannot import name '{name}' from '{module}' ({PACKAGES}/{path}/__init__.py)"


def test_a_name_that_is_gone() -> None:
    found = finding_of(CHECK, absent("cached_download", "huggingface_hub"))
    assert found is not None and found.severity == "error" and found.confidence == "likely"
    assert (
        "too new" in found.message
        and "huggingface_hub<0.26" in words_of(found)
        and "diffusers>=0.29" in words_of(found)
    )


def test_a_name_that_came_and_who_wants_it() -> None:
    text = (
        f'  File "{PACKAGES}/trl/__init__.py", line 5, in <module>\n    from .trainer import X\n'
        f'  File "{PACKAGES}/peft/peft_model.py", line 37, in <module>\n'
        "    from transformers import Cache, EncoderDecoderCache\n" + absent("EncoderDecoderCache", "transformers")
    )
    found = finding_of(CHECK, text)
    assert found is not None and found.message.startswith("peft (0.14 and newer)") and "too old" in found.message
    assert "transformers>=4.43" in words_of(found) and "peft<0.14" in words_of(found)


def test_an_older_python_names_no_module() -> None:
    text = "    from transformers import top_k_top_p_filtering\nImportError: cannot import name 'top_k_top_p_filtering'"
    assert "transformers<4.39" in words_of(finding_of(CHECK, text))


def test_an_installed_package_that_imports_another_installed_one() -> None:
    line = "    from distributed.utils import warn_on_duration\n"
    text = f'  File "{PACKAGES}/dask_cuda/local.py", line 10, in <module>\n{line}'
    gone = "ImportError: cannot import name 'warn_on_duration' from 'distributed.utils'"
    found = finding_of(CHECK, text + gone)
    assert found is not None and "dask_cuda" in found.message and "distributed" in words_of(found)
    assert finding_of(CHECK, gone) is None  # a module of the writer's own may have that name
    own = text.replace("dask_cuda", "distributed")
    assert finding_of(CHECK, own + gone) is None  # files of one package


def test_attributes_and_modules() -> None:
    assert "too old" in words_of(
        finding_of(CHECK, "AttributeError: module 'torch.compiler' has no attribute 'is_compiling'")
    )
    found = finding_of(CHECK, "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'")
    assert "torchvision<0.17" in words_of(found)


def test_the_installed_release_decides() -> None:
    text = absent("cached_download", "huggingface_hub")
    old = pasted(text, torch=TorchBuild(packages=k({"huggingface_hub": "0.24.1"})))
    new = pasted(text, torch=TorchBuild(packages=k({"huggingface_hub": "0.30.0"})))
    said = [one.finding for machine in (old, new) for one in judge(CHECK, machine) if one.finding is not None]
    assert "too new" not in said[0].message and said[0].severity == "warning"
    assert "huggingface_hub 0.30.0 is too new" in said[1].message


def test_two_packages_that_no_row_knows() -> None:
    text = (
        f'  File "{PACKAGES}/verl/workers/x.py", line 3, in <module>\n    from vllm.worker import Y\n'
        f"ImportError: cannot import name 'Y' from 'vllm.worker' ({PACKAGES}/vllm/worker/__init__.py)"
    )
    found = finding_of(CHECK, text)
    assert found is not None and found.severity == "warning" and "verl and vllm" in found.message


def test_a_module_below_an_installed_package() -> None:
    """Python names the package alone where that is absent, so this one is there and of another release."""
    frame = f'  File "{PACKAGES}/unsloth/__init__.py", line 62, in <module>\n    from triton.common.build import x\n'
    found = finding_of(CHECK, frame + "ModuleNotFoundError: No module named 'triton.common'")
    assert found is not None and found.cause == "python-package-mismatch" and "unsloth and triton" in found.message
    own = '  File "/home/u/train.py", line 3, in <module>\n    from triton.common.build import x\n'
    for text in (
        own + "ModuleNotFoundError: No module named 'triton.common'",
        frame + "ModuleNotFoundError: No module named 'triton._C'",  # a build that is not complete
        frame + "ModuleNotFoundError: No module named 'somebody.common'",
        frame + "ModuleNotFoundError: No module named 'megatron.training'",  # not in the wheel of megatron-core
        frame + "ModuleNotFoundError: No module named 'unsloth.common'",
    ):
        assert finding_of(CHECK, text) is None, text


def test_no_matter_of_two_releases() -> None:
    circular = "partially initialized module 'torch' (most likely due to a circular import) (/home/u/torch.py)"
    frame = f'File "{PACKAGES}/vllm/a.py", line 3, in <module> from vllm.b import c '
    for text in (
        f"ImportError: cannot import name 'nn' from {circular}",
        "ImportError: cannot import name 'load' from 'transformers' (/home/u/project/transformers.py)",
        "ImportError: cannot import name 'load' from 'utils' (/home/u/project/utils.py)",
        "ModuleNotFoundError: No module named 'transformers'",
        "ModuleNotFoundError: No module named 'mypackage.models'",
        frame + absent("c", "vllm.b"),
    ):
        assert finding_of(CHECK, text) is None, text


def test_not_applicable_without_such_a_message() -> None:
    assert states(judge(CHECK, pasted("all is well"))) == ["not-applicable"]
