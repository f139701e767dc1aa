"""Parts of addresses, and text as it stands in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote_plus, unquote_to_bytes

import pyarrow as pa

from headway.dataflow.expr import Call
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.rowwise import per_distinct

Args = Sequence[pa.Array]
_URI = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)"
    r"(?:\?(?P<query>[^#]*))?(?:#(?P<ref>.*))?",
    re.DOTALL,
)
_AUTHORITY = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<host>\[[^\]]*\]|[^:@\[\]]*)(?::(?P<port>\d*))?")
_HOST = re.compile(
    r"\[[^\]]+\]|(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?"
)
_ILLEGAL = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]|%(?![0-9A-Fa-f]{2})")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@evaluates("UrlEncode")
def _encode(call: Call, args: Args) -> pa.Array:
    return per_distinct(lambda text: quote_plus(text, safe="*").replace("~", "%7E"), args[0], pa.string())


@evaluates("UrlDecode")
def _decode(call: Call, args: Args) -> pa.Array:
    def decoded(text: str) -> str | None:
        if not _BAD_ESCAPE.search(text):
            return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")
        if call.option("ansi"):
            raise RowError(f"[CANNOT_DECODE_URL] {text} is no encoded address; try_url_decode gives NULL")
        return None

    return per_distinct(decoded, args[0], pa.string())


@evaluates("ParseUrl")
def _parse(call: Call, args: Args) -> pa.Array:
    part, key = call.option("part"), call.option("key")

    def parsed(text: str) -> str | None:
        uri = _URI.fullmatch(text)
        if uri is None or _ILLEGAL.search(text) or _is_empty(uri):
            if call.option("ansi"):
                raise RowError(f"[INVALID_URL] {text} is no address; try_parse_url gives NULL")
            return None
        return None if part is None else _part(uri, part, key)

    return per_distinct(parsed, args[0], pa.string())


def _is_empty(uri: re.Match[str]) -> bool:
    """Whether nothing follows the scheme, or two slashes."""
    return not uri["path"] and (uri["authority"] == "" or (uri["scheme"] is not None and uri["authority"] is None))


def _part(uri: re.Match[str], part: str, key: str | None) -> str | None:
    if key is not None:
        if part != "QUERY" or uri["query"] is None:
            return None
        found = re.search(f"(?:&|^){re.escape(key)}=([^&]*)", uri["query"])
        return found[1] if found else None
    # An address such as mailto:somebody has neither path nor query.
    opaque = uri["scheme"] is not None and uri["authority"] is None and not uri["path"].startswith("/")
    path = None if opaque else uri["path"]
    query = None if opaque else uri["query"]
    plain = {"PROTOCOL": uri["scheme"], "REF": uri["ref"], "PATH": path, "QUERY": query, "AUTHORITY": uri["authority"]}
    if part == "FILE":
        return path if query is None else f"{path}?{query}"
    return (plain[part] or None if part == "AUTHORITY" else plain[part]) if part in plain else _server(uri, part)


def _server(uri: re.Match[str], part: str) -> str | None:
    server = _AUTHORITY.fullmatch(uri["authority"] or "")
    if server is None or not _HOST.fullmatch(server["host"]):
        return None
    return server["host"] if part == "HOST" else server["user"]
