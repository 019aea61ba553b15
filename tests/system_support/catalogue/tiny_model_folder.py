"""A language model of a megabyte with random weights, as the folder that vLLM reads: it answers nonsense, with real tokens.

The folder comes as a tar archive, which is how the weights of vLLM are published. The same seed gives the same bytes.
"""

import io
import json
import random
import struct
import tarfile
from array import array

WIDTH, BLOCKS, HEADS, FEED_FORWARD, CONTEXT = 128, 2, 2, 128, 2048
_SPECIAL = ("<unk>", "<s>", "</s>")
VOCABULARY = len(_SPECIAL) + 256
_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def tiny_model_archive() -> bytes:
    files = {
        "config.json": _as_json(_config()),
        "generation_config.json": _as_json({"bos_token_id": 1, "eos_token_id": 2}),
        "model.safetensors": _weights(random.Random(14)),
        "tokenizer.json": _as_json(_tokenizer()),
        "tokenizer_config.json": _as_json(_tokenizer_settings()),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _as_json(value: object) -> bytes:
    return json.dumps(value, indent=1).encode()


def _config() -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": BLOCKS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": WIDTH // HEADS,
        "max_position_embeddings": CONTEXT,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def _tokenizer() -> dict[str, object]:
    """Every byte is a token of its own: there is nothing to merge."""
    vocabulary = {token: number for number, token in enumerate((*_SPECIAL, *_byte_letters()))}
    by_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": token, **flags} for number, token in enumerate(_SPECIAL)],
        "pre_tokenizer": by_bytes,
        "decoder": by_bytes,
        "model": {"type": "BPE", "unk_token": "<unk>", "vocab": vocabulary, "merges": []},
    }


def _byte_letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary: itself if it can be printed."""
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def _tokenizer_settings() -> dict[str, object]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "model_max_length": CONTEXT,
        "chat_template": _TEMPLATE,
    }


def _weights(chance: random.Random) -> bytes:
    """Write the tensors as safetensors: the length of the header, the header, the values."""
    header: dict[str, object] = {}
    body = b""
    for name, shape in _shapes().items():
        size = shape[0] * (shape[1] if len(shape) > 1 else 1)
        norm = len(shape) == 1
        values = array("f", (1.0 if norm else chance.gauss(0.0, 0.05) for _ in range(size))).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
        body += values
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def _shapes() -> dict[str, list[int]]:
    found = {"model.embed_tokens": [VOCABULARY, WIDTH], "model.norm": [WIDTH], "lm_head": [VOCABULARY, WIDTH]}
    for block in range(BLOCKS):
        inside = f"model.layers.{block}"
        found |= {f"{inside}.{name}_layernorm": [WIDTH] for name in ("input", "post_attention")}
        found |= {f"{inside}.self_attn.{name}_proj": [WIDTH, WIDTH] for name in "qkvo"}
        found |= {f"{inside}.mlp.{name}_proj": [FEED_FORWARD, WIDTH] for name in ("gate", "up")}
        found[f"{inside}.mlp.down_proj"] = [WIDTH, FEED_FORWARD]
    return {f"{name}.weight": shape for name, shape in found.items()}
