"""A language model of half a megabyte with random weights, as a GGUF file: it answers nonsense, with real tokens.

The same seed gives the same bytes, so that its digest is known before it is published.
"""

import random
import struct
from array import array

VOCABULARY, WIDTH, BLOCKS, HEADS, FEED_FORWARD, CONTEXT = 320, 64, 2, 4, 128, 2048
_ALIGNMENT = 32
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9
_UNKNOWN, _NORMAL, _CONTROL, _BYTE = 2, 1, 3, 6
_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def tiny_model() -> bytes:
    settings = _settings()
    tensors = _tensors(random.Random(14))
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(settings)) + b"".join(settings)
    body = b""
    for name, shape, values in tensors:
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(body))
        body += _aligned(values.tobytes())
    return _aligned(head) + body


def _settings() -> list[bytes]:
    numbers = {
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "block_count": BLOCKS,
        "feed_forward_length": FEED_FORWARD,
        "attention.head_count": HEADS,
        "attention.head_count_kv": HEADS,
        "rope.dimension_count": WIDTH // HEADS,
        "vocab_size": VOCABULARY,
    }
    tokens, kinds = _vocabulary()
    listed = struct.pack(f"<{len(kinds)}i", *kinds)
    scores = struct.pack(f"<{len(tokens)}f", *(-float(place) for place in range(len(tokens))))
    ids = {"bos": 1, "eos": 2, "unknown": 0}
    return [
        _setting("general.architecture", _STRING, _text("llama")),
        _setting("general.name", _STRING, _text("tiny")),
        *(_setting(f"llama.{name}", _UINT32, struct.pack("<I", value)) for name, value in numbers.items()),
        _setting("llama.attention.layer_norm_rms_epsilon", _FLOAT32, struct.pack("<f", 1e-5)),
        _setting("tokenizer.ggml.model", _STRING, _text("llama")),
        _setting("tokenizer.ggml.tokens", _ARRAY, _list(_STRING, len(tokens), b"".join(map(_text, tokens)))),
        _setting("tokenizer.ggml.scores", _ARRAY, _list(_FLOAT32, len(tokens), scores)),
        _setting("tokenizer.ggml.token_type", _ARRAY, _list(_INT32, len(tokens), listed)),
        *(
            _setting(f"tokenizer.ggml.{name}_token_id", _UINT32, struct.pack("<I", value))
            for name, value in ids.items()
        ),
        _setting("tokenizer.chat_template", _STRING, _text(_TEMPLATE)),
    ]


def _vocabulary() -> tuple[list[str], list[int]]:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *([_BYTE] * 256)]
    words = [f"▁word{number}" for number in range(VOCABULARY - len(tokens))]
    return tokens + words, kinds + [_NORMAL] * len(words)


def _tensors(chance: random.Random) -> list[tuple[str, tuple[int, ...], "array[float]"]]:
    """List name, shape (the fastest dimension first) and values."""

    def noise(*shape: int) -> tuple[tuple[int, ...], "array[float]"]:
        return shape, array("f", (chance.gauss(0.0, 0.05) for _ in range(shape[0] * shape[1])))

    def ones() -> tuple[tuple[int, ...], "array[float]"]:
        return (WIDTH,), array("f", [1.0] * WIDTH)

    found = [("token_embd", *noise(WIDTH, VOCABULARY)), ("output_norm", *ones()), ("output", *noise(WIDTH, VOCABULARY))]
    for block in range(BLOCKS):
        found += [(f"blk.{block}.{name}", *ones()) for name in ("attn_norm", "ffn_norm")]
        square = ("attn_q", "attn_k", "attn_v", "attn_output")
        found += [(f"blk.{block}.{name}", *noise(WIDTH, WIDTH)) for name in square]
        found += [(f"blk.{block}.{name}", *noise(WIDTH, FEED_FORWARD)) for name in ("ffn_gate", "ffn_up")]
        found.append((f"blk.{block}.ffn_down", *noise(FEED_FORWARD, WIDTH)))
    return [(f"{name}.weight", shape, values) for name, shape, values in found]


def _setting(name: str, kind: int, value: bytes) -> bytes:
    return _text(name) + struct.pack("<I", kind) + value


def _list(kind: int, count: int, values: bytes) -> bytes:
    return struct.pack("<IQ", kind, count) + values


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _aligned(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % _ALIGNMENT)
