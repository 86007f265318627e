"""Checks receipts, which ``amn serve --receipt-key`` signs.

A host that asks a gate over a network does not act on a status, which anything on the way
can write. It checks the receipt:

    from anamnesis_models import receipt

    nonce = receipt.new_nonce()
    answer = requests.put(url, params={"name": "model.pt", "nonce": nonce}, data=body).json()
    receipt.check(answer["receipt"], key=public_pem, sha256=sha256(body).hexdigest(), size=len(body), name="model.pt", nonce=nonce, policy=policy)

Nothing is needed but Python: the signature (Ed25519, RFC 8032) is verified here, in about
10 ms.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import json
import re
import secrets
from typing import Any, NamedTuple, NoReturn, Optional, Union

__all__ = ["BadReceipt", "Receipt", "check", "dir_hash", "new_nonce", "open"]

_PAYLOAD = "application/vnd.in-toto+json"
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://github.com/anamnesis-go/anamnesis/receipt/v1"
_MAX_BYTES = 16 << 10
_NONCE = re.compile(r"[A-Za-z0-9._~-]{8,128}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_SKEW = datetime.timedelta(minutes=1)  # how far the clock of a gate may be ahead


class BadReceipt(Exception):
    """The receipt does not accept what was asked about."""


class Receipt(NamedTuple):
    """What a gate said. Reading one decides nothing: check does."""

    name: str
    sha256: str  # "" of a folder, and if a file was refused before all of it had come
    accepted: bool
    kind: str  # the class of the verdict: "ok", "forbidden", ...
    size: int
    policy: str
    rules: str
    version: str
    nonce: str
    issued: datetime.datetime
    expires: datetime.datetime
    dir_hash: str = ""  # of a folder
    promised: str = ""  # the format that the gate was told
    beside: bool = False  # whether the gate was told that the file need not be a model


def dir_hash(files: "dict[str, str]") -> str:
    """Return the digest of a folder, by the SHA-256 in hex of each file under its path in the folder.

    It is what this prints in the folder: ``find . -type f | cut -c3- | LC_ALL=C sort | xargs -r sha256sum | sha256sum``
    """
    if not files or any(not _DIGEST.match(d) or "\n" in n or "\\" in n for n, d in files.items()):
        raise ValueError("a folder has files with names in one line, and digests in hex")
    lines = sorted((name.encode(), f"{digest}  {name}\n".encode()) for name, digest in files.items())
    return hashlib.sha256(b"".join(line for _, line in lines)).hexdigest()


def new_nonce() -> str:
    """Return a nonce that nobody has used."""
    return secrets.token_hex(16)


def check(
    envelope: Union[str, bytes, "dict[str, Any]"],
    *,
    key: Union[str, bytes],
    sha256: str = "",
    dir_hash: str = "",
    size: int,
    name: str,
    nonce: str,
    policy: str,
    promised: str = "",
    beside: bool = False,
    rules: Optional[str] = None,
    now: Optional[datetime.datetime] = None,
) -> Receipt:
    """Return the receipt if it accepts these bytes under this name, by this policy, in answer to this nonce, now. Else raise BadReceipt.

    key is the public key: PEM, as ``openssl pkey -pubout`` writes it, or its 32 bytes. policy is the
    digest that ``amn policy check`` prints; rules, if given, that of the rules. Of a folder, give dir_hash
    instead of sha256, and as size the bytes of all files. name, promised and beside are what the gate was asked:
    name without folders, and of a form with several files the one that the request states, or "folder".
    """
    if not name or not _NONCE.match(nonce) or bool(sha256) == bool(dir_hash) or not _DIGEST.match(sha256 or dir_hash) or not _DIGEST.match(policy) or size < 0:
        raise ValueError("a receipt is checked for the name, the digest and the size of a file or a folder, a nonce, and the digest of a policy")
    if now is None:
        now = datetime.datetime.now(datetime.timezone.utc)
    r = open(envelope, key=key)
    if not hmac.compare_digest(r.nonce.encode(), nonce.encode()):
        _no("the receipt answers another question: its nonce is another")
    if not r.accepted:
        _no(f"the file is refused: {r.kind}")
    if r.sha256 != sha256 or r.dir_hash != dir_hash or r.size != size:
        _no("the receipt is about another file, or folder")
    if r.name != name or r.promised != promised or r.beside is not bool(beside):
        _no(f"the receipt answers another question: name {r.name!r}, promised {r.promised!r}, beside {r.beside}")
    if r.policy != policy:
        _no("the receipt is by another policy")
    if rules is not None and r.rules != rules:
        _no("the receipt is by other rules, or by another version")
    if r.issued > now + _SKEW:
        _no(f"the receipt is from the future: {r.issued}")
    if now >= r.expires:
        _no(f"the receipt is too old: it was good until {r.expires}")
    return r


def open(envelope: Union[str, bytes, "dict[str, Any]"], *, key: Union[str, bytes]) -> Receipt:
    """Verify the signature of an envelope, and return what it says, whatever that is. Raise BadReceipt."""
    public = _public(key)
    if isinstance(envelope, dict):
        envelope = json.dumps(envelope)
    if len(envelope) > _MAX_BYTES:
        _no("the receipt is too long")
    try:
        outer = _object(envelope)
        payload = base64.b64decode(outer["payload"], validate=True)
        signatures = [base64.b64decode(s["sig"], validate=True) for s in outer["signatures"]]
        kind = outer["payloadType"]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise BadReceipt("no receipt: it is not a DSSE envelope") from None
    if kind != _PAYLOAD:
        _no("no receipt: the envelope holds something else")
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    if not any(_verify(public, signed, s) for s in signatures[:8]):
        _no("the signature is not that of this key")
    try:
        return _read(_object(payload))
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as e:
        raise BadReceipt(f"no receipt: {e}") from None


def _no(why: str) -> NoReturn:
    raise BadReceipt(why)


def _object(text: Union[str, bytes]) -> "dict[str, Any]":
    def once(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
        out = dict(pairs)
        if len(out) != len(pairs):
            raise ValueError("a member appears twice")
        return out

    out = json.loads(text, object_pairs_hook=once)
    if not isinstance(out, dict):
        raise ValueError("not an object")
    return out


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)


def _read(s: "dict[str, Any]") -> Receipt:
    p, subject = s["predicate"], s["subject"]
    if s["_type"] != _STATEMENT or s["predicateType"] != _PREDICATE or len(subject) > 1:
        raise ValueError("a statement of another type")
    name, promised, beside = p["name"], p["promised"], p["beside"]
    sha256 = folder = ""
    if subject:
        digests = subject[0]["digest"]
        if subject[0]["name"] != name:
            raise ValueError("it has two names")
        sha256, folder = digests.get("sha256", ""), digests.get("dirHash", "")
        if type(sha256) is not str or type(folder) is not str or bool(sha256) == bool(folder):
            raise ValueError("a subject without one digest")
    accepted, size = p["accepted"], p["size"]
    texts = [name, promised, sha256, p["class"], p["policy"], p["rules"], p["version"], p["nonce"]]
    if type(accepted) is not bool or type(beside) is not bool or type(size) is not int or any(type(t) is not str for t in texts):
        raise ValueError("a member has another type")
    if accepted != (p["class"] == "ok") or accepted and not _DIGEST.match(sha256 or folder):
        raise ValueError("it contradicts itself")
    return Receipt(name, sha256, accepted, p["class"], size, p["policy"], p["rules"], p["version"], p["nonce"], _time(p["issued"]), _time(p["expires"]), folder, promised, beside)


# Ed25519. Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z, on -x^2 + y^2 = 1 + d x^2 y^2 over the
# integers modulo _P. All that is computed with is public, so nothing has to take the same time.
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P


def _add(a: "tuple[int, int, int, int]", b: "tuple[int, int, int, int]") -> "tuple[int, int, int, int]":
    u, v = (a[1] - a[0]) * (b[1] - b[0]) % _P, (a[1] + a[0]) * (b[1] + b[0]) % _P
    w, z = 2 * a[3] * b[3] * _D % _P, 2 * a[2] * b[2] % _P
    e, f, g, h = v - u, z - w, z + w, v + u
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(n: int, a: "tuple[int, int, int, int]") -> "tuple[int, int, int, int]":
    out = (0, 1, 1, 0)
    while n:
        if n & 1:
            out = _add(out, a)
        a = _add(a, a)
        n >>= 1
    return out


def _point(text: bytes) -> "Optional[tuple[int, int, int, int]]":
    y = int.from_bytes(text, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= _P:
        return None
    xx = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(xx, (_P + 3) // 8, _P)
    if x * x % _P != xx:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    if x * x % _P != xx or not x and sign:
        return None
    if x & 1 != sign:
        x = _P - x
    return x, y, 1, x * y % _P


def _bytes(a: "tuple[int, int, int, int]") -> bytes:
    inverse = pow(a[2], _P - 2, _P)
    x, y = a[0] * inverse % _P, a[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


_base = _point((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little"))


def _verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Report whether the signature of a message is valid, by [s]B = R + [k]A (RFC 8032, 5.1.7)."""
    a = _point(public)
    if a is None or _base is None or len(signature) != 64:
        return False
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if s >= _L:
        return False
    k = int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % _L
    minus = (_P - a[0]) % _P, a[1], a[2], (_P - a[3]) % _P
    return _bytes(_add(_times(s, _base), _times(k, minus))) == r


_SPKI = bytes.fromhex("302a300506032b6570032100")  # of an Ed25519 key, before its 32 bytes


def _public(key: Union[str, bytes]) -> bytes:
    if isinstance(key, bytes) and len(key) == 32:
        return key
    text = key.decode("ascii", "replace") if isinstance(key, bytes) else key
    m = re.search(r"-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----", text)
    der = b""
    if m:
        try:
            der = base64.b64decode("".join(m.group(1).split()), validate=True)
        except ValueError:
            pass
    if len(der) != 44 or not der.startswith(_SPKI):
        raise ValueError("no Ed25519 key in PEM form (openssl pkey -pubout writes one)")
    return der[12:]
