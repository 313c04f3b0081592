"""Specifications that strangers may have written: plain values, and nothing of a file that lies elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocdoctor.service.errors import UsageError
from rocdoctor.service.specification_files import load_spec
from rocdoctor.train.recommend.model import models
from rocdoctor.train.recommend.model.hugging_face import fields_of, from_hugging_face, known_kind
from rocdoctor.train.recommend.model.models import read_model
from rocdoctor.train.smoke.run.request import plan_word

SIZES: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "vocab_size": 1000,
}


def _loaded(folder: Path, text: str) -> Any:
    (folder / "spec.yaml").write_text(text)
    return load_spec(str(folder / "spec.yaml"))


def test_a_trial_written_by_hand_goes_into_a_question(tmp_path: Path) -> None:
    found = _loaded(tmp_path, "gpu: {trials: [{on: 2026-11-20, live: 1.0}, {day: 2026-11-21 08:30:00}]}")
    trials = found["gpu"]["trials"]
    assert trials == [{"on": "2026-11-20", "live": 1.0}, {"day": "2026-11-21T08:30:00"}]
    assert json.loads(plan_word(found)) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('seq: !!int "0x' + "f" * 5000 + '"', "64 bits"),
        ("seq: !!binary aGVsbG8=", "a bytes"),
        ("seq: !!set {a, b}", "a set"),
        ("? !!binary aGVsbG8=\n: 1", "a bytes"),
    ],
)
def test_what_json_cannot_hold_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words) as told:
        _loaded(tmp_path, text)
    assert "spec.yaml: " in str(told.value)


def test_what_aliases_mean_many_times_is_read_once(tmp_path: Path) -> None:
    found = _loaded(tmp_path, "a: &one [1, 2]\nb: [*one, *one]")
    assert found == {"a": [1, 2], "b": [[1, 2], [1, 2]]}
    assert found["b"][0] is found["a"]


@pytest.mark.parametrize("where", ["../elsewhere.json", "/{}/elsewhere.json", "inner/../../elsewhere.json"])
@pytest.mark.parametrize("written", ["model: {}", "model: {{config: {}}}"])
def test_a_model_in_another_folder_is_not_read(where: str, written: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text(json.dumps(SIZES))
    (tmp_path / "stranger" / "inner").mkdir(parents=True)
    config = where.format(str(tmp_path).lstrip("/"))
    with pytest.raises(UsageError, match="is elsewhere: put a copy of that file next to it"):
        _loaded(tmp_path / "stranger", written.format(config))


def test_no_link_of_a_stranger_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text(json.dumps({**SIZES, "hidden_size": "secret"}))
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "config.json").symlink_to("../outside.json")
    (stranger / "up").symlink_to("..")
    for named in ("config.json", "up/outside.json"):
        with pytest.raises(UsageError, match="is elsewhere"):
            _loaded(stranger, f"model: {named}")
    (stranger / "own.json").write_text(json.dumps(SIZES))
    (stranger / "config.json").unlink()
    (stranger / "config.json").symlink_to("own.json")
    assert _loaded(stranger, "model: config.json")["model"]["name"] == "stranger"


def test_of_a_models_file_only_what_plans_are_made_from_is_taken(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    told = {**SIZES, "token": "secret", "_name_or_path": "/home/alice/tiny", "text_config": {"head_dim": 64, "x": "y"}}
    (tmp_path / "tiny" / "config.json").write_text(json.dumps(told))
    found = _loaded(tmp_path, "model: tiny/config.json")
    assert found["model"] == {**SIZES, "name": "tiny", "text_config": {"head_dim": 64}}


class _Watched(dict[str, Any]):
    """A configuration that notes which fields are read."""

    read: set[str]

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        self.read = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mpt", "qwen2_moe", "deepseek_v3", "glm4_moe", "llama4_text"])
def test_every_field_that_is_read_of_a_configuration_is_kept(kind: str) -> None:
    watched = _Watched({**SIZES, "model_type": kind, "kv_lora_rank": 8})
    from_hugging_face(watched)
    known_kind(watched, [])
    assert len(watched.read) > 10
    kept = fields_of(dict.fromkeys(watched.read, 1))
    assert set(watched.read) - set(kept) <= {"_name_or_path", "text_config"}


def test_every_size_that_is_read_is_kept() -> None:
    watched = _Watched({"layers": 2, "hidden": 256, "experts": 4, "norm": "layer"})
    models._complete(watched, "tiny", [])
    assert len(watched.read) > 20
    assert set(fields_of(dict.fromkeys(watched.read, 1))) == watched.read


def test_what_is_kept_makes_the_same_model() -> None:
    given = {**SIZES, "num_key_value_heads": 2, "tie_word_embeddings": True, "attention_bias": True, "name": "tiny"}
    assert read_model(fields_of({**given, "more": "than that"}), []) == read_model(given, [])
