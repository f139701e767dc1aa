"""Encodings, digests and other functions of strings and bytes that go value by value."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
import zlib
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from headway.dataflow.expr import Call
from headway.kernels.expressions import vectors
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.rowwise import per_distinct, per_row
from headway.kernels.expressions.vectors import numbers, valid

Args = Sequence[pa.Array]

_SHA2 = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}
_MIME_LINE = 76
_BASE32 = {char: at for letters in ("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "abcdefghijklmnopqrstuvwxyz")
           for at, char in enumerate(letters)}  # fmt: skip
_BITMAP_BITS = 32768
_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


@evaluates("Ascii")
def _ascii(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda text: ord(text[0]) if text else 0, args[0], pa.int32())


@evaluates("Chr")
def _chr(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda number: "" if number < 0 else chr(number & 0xFF), args[0], pa.string())


@evaluates("Base64")
def _base64(call: Call, args: Args) -> pa.Array:
    chunked = call.option("chunked")

    def encode(data: bytes) -> str:
        text = base64.b64encode(data).decode()
        lines = [text[at : at + _MIME_LINE] for at in range(0, len(text), _MIME_LINE)]
        return "\r\n".join(lines) if chunked else text

    return per_distinct(encode, args[0], pa.string())


@evaluates("UnBase64")
def _unbase64(call: Call, args: Args) -> pa.Array:
    return per_distinct(_from_base64, args[0], pa.binary())


def _from_base64(text: str) -> bytes:
    """As Java's MIME decoder: characters that are not of the alphabet are skipped, padding may be missing."""
    digits = re.sub(r"[^A-Za-z0-9+/]", "", text.split("=", 1)[0])
    if len(digits) % 4 == 1:
        raise RowError(f"[CONVERSION_INVALID_INPUT] {text!r} is no base64; its last group has one digit")
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


@evaluates("Hex")
def _hex(call: Call, args: Args) -> pa.Array:
    kind = args[0].type
    if pa.types.is_string(kind):
        return per_distinct(lambda text: text.encode().hex().upper(), args[0], pa.string())
    if pa.types.is_binary(kind):
        return per_distinct(lambda data: data.hex().upper(), args[0], pa.string())
    return per_distinct(lambda number: f"{number & (2**64 - 1):X}", args[0], pa.string())


@evaluates("Unhex")
def _unhex(call: Call, args: Args) -> pa.Array:
    ansi = call.option("ansi")

    def decode(text: str) -> bytes | None:
        if re.fullmatch("[0-9a-fA-F]*", text):
            return bytes.fromhex("0" * (len(text) % 2) + text)
        if ansi:
            raise RowError(f"[CONVERSION_INVALID_INPUT] {text!r} is not hexadecimal")
        return None

    return per_distinct(decode, args[0], pa.binary())


@evaluates("Md5")
def _md5(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(), args[0], pa.string())


@evaluates("Sha1")
def _sha1(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(), args[0], pa.string())


@evaluates("Sha2")
def _sha2(call: Call, args: Args) -> pa.Array:
    def digest(data: bytes, bits: int) -> str | None:
        return _SHA2[bits](data).hexdigest() if bits in _SHA2 else None

    return per_row(digest, args, pa.string())


@evaluates("Crc32")
def _crc32(call: Call, args: Args) -> pa.Array:
    return per_distinct(zlib.crc32, args[0], pa.int64())


@evaluates("Encode")
def _encode(call: Call, args: Args) -> pa.Array:
    return args[0].view(pa.binary())


@evaluates("Decode")
def _decode(call: Call, args: Args) -> pa.Array:
    def decode(data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise RowError(f"[MALFORMED_CHARACTER_CODING] {data!r} is not UTF-8") from None

    return per_distinct(decode, args[0], pa.string())


@evaluates("Levenshtein")
def _levenshtein(call: Call, args: Args) -> pa.Array:
    def bounded(left: str, right: str, limit: int) -> int:
        distance = _distance(left, right)
        return distance if distance <= limit else -1

    return per_row(_distance if len(args) == 2 else bounded, args, pa.int32())


def _distance(left: str, right: str) -> int:
    above = list(range(len(right) + 1))
    for row, a in enumerate(left, 1):
        current = [row]
        for column, b in enumerate(right, 1):
            current.append(min(above[column] + 1, current[-1] + 1, above[column - 1] + (a != b)))
        above = current
    return above[-1]


@evaluates("FindInSet")
def _find_in_set(call: Call, args: Args) -> pa.Array:
    def find(word: str, words: str) -> int:
        parts = words.split(",")
        return 0 if "," in word or word not in parts else parts.index(word) + 1

    return per_row(find, args, pa.int32())


@evaluates("SoundEx")
def _soundex(call: Call, args: Args) -> pa.Array:
    return per_distinct(_sound, args[0], pa.string())


def _sound(text: str) -> str:
    """The code of a word that starts with a Latin letter, else the word. H and W part no equal sounds."""
    if not text or text[0].upper() not in _SOUNDS:
        return text
    code = text[0].upper()
    last = _SOUNDS[code]
    for char in text[1:]:
        sound = _SOUNDS.get(char.upper(), "0")
        if sound not in ("0", "7") and sound != last and len(code) < 4:
            code += sound
        if sound != "7":
            last = sound
    return code.ljust(4, "0")


@evaluates("FormatNumber")
def _format_number(call: Call, args: Args) -> pa.Array:
    def format_one(number: int | float | Decimal, places: int) -> str | None:
        if places < 0:
            return None
        if isinstance(number, float) and not math.isfinite(number):
            return "NaN" if math.isnan(number) else "-∞" if number < 0 else "∞"
        exact = Decimal(number) if isinstance(number, int) else number
        return f"{exact:,.{places}f}"

    return per_row(format_one, args, pa.string())


@evaluates("Hmac")
def _hmac(call: Call, args: Args) -> pa.Array:
    def signed(key: bytes, message: bytes) -> bytes:
        if not key:
            raise RowError("[INVALID_PARAMETER_VALUE] hmac needs a key that is not empty")
        return hmac.digest(key, message, call.option("digest"))

    return per_row(signed, args, pa.binary())


@evaluates("ToBase32")
def _to_base32(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda raw: base64.b32encode(raw).decode(), args[0], pa.string())


@evaluates("FromBase32")
def _from_base32(call: Call, args: Args) -> pa.Array:
    return per_distinct(_base32_bytes, args[0], pa.binary())


def _base32_bytes(text: str) -> bytes:
    """Characters that are not of the alphabet are skipped; what follows the padding, and half bytes, are dropped.

    But for one digit too many: the decoder that Spark uses makes a byte of it and of the digit before.
    """
    digits = [_BASE32[char] for char in text.split("=", 1)[0] if char in _BASE32]
    bits = 5 * len(digits)
    value = 0
    for digit in digits:
        value = value << 5 | digit
    whole = (value >> bits % 8).to_bytes(bits // 8, "big")
    return whole + bytes([value >> 2 & 0xFF]) if len(digits) % 8 == 1 else whole


@evaluates("BytePad")
def _byte_pad(call: Call, args: Args) -> pa.Array:
    def padded(raw: bytes, width: int, pad: bytes) -> bytes:
        missing = width - len(raw)
        if missing <= 0 or not pad:
            return raw[: max(width, 0)]
        fill = (pad * (missing // len(pad) + 1))[:missing]
        return fill + raw if call.option("left") else raw + fill

    return per_row(padded, args, pa.binary())


@evaluates("BitmapBitPosition", "BitmapBucketNumber")
def _bitmap_place(call: Call, args: Args) -> pa.Array:
    values = numbers(args[0]).astype(np.int64)
    positive = values > 0
    if call.function == "BitmapBitPosition":
        places = np.where(positive, values - 1, -values) % _BITMAP_BITS
    else:
        whole = np.abs(np.where(positive, values - 1, values)) // _BITMAP_BITS
        places = np.where(positive, 1 + whole, -whole)
    return vectors.column(places, pa.int64(), valid(args[0]))


@evaluates("BitmapCount")
def _bitmap_count(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda raw: int.from_bytes(raw, "big").bit_count(), args[0], pa.int64())
