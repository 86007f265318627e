"""Receipts of a running service are checked as documented, and every other is refused."""

import base64
import copy
import datetime
import hashlib
import json
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import anamnesis_models
from anamnesis_models import receipt

MODEL = b"\x02\x00\x00\x00\x00\x00\x00\x00{}"
EVIL = b"cos\nsystem\n(S'id'\ntR."

# The key, message and signature of the tests 1 to 3 and SHA(abc) of RFC 8032, 7.1.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


def test_the_signature_is_that_of_the_standard():
    for key, message, signature in VECTORS:
        k, m, s = bytes.fromhex(key), bytes.fromhex(message), bytes.fromhex(signature)
        assert receipt._verify(k, m, s)
        assert not receipt._verify(k, m + b"x", s)
        for at in (0, 31, 32, 63):
            assert not receipt._verify(k, m, s[:at] + bytes([s[at] ^ 1]) + s[at + 1 :])
        higher = int.from_bytes(s[32:], "little") + receipt._L  # the same sum, and another signature
        assert not receipt._verify(k, m, s[:32] + higher.to_bytes(32, "little"))
        assert not receipt._verify(b"\xff" * 32, m, s) and not receipt._verify(k, m, s[:63])


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Start a service with a key, and yield a function that asks it, and the public keys."""
    folder = tmp_path_factory.mktemp("receipts")
    pems = []
    for name in ("key", "other"):
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / name], check=True)
        pems.append(subprocess.run(["openssl", "pkey", "-in", folder / name, "-pubout"], check=True, capture_output=True, text=True).stdout)
    running = subprocess.Popen(
        [anamnesis_models.binary(), "serve", "--listen", "localhost:0", "--receipt-key", folder / "key"], stderr=subprocess.PIPE, text=True
    )
    address = None
    while address is None:
        line = running.stderr.readline()
        assert line, "the service ended"
        m = re.search(r"msg=listening address=(\S+)", line)
        address = m and m.group(1)

    def ask(body, nonce, name="m.safetensors"):
        request = urllib.request.Request(f"http://{address}/v1/check?name={name}&nonce={nonce}", data=body, method="PUT")
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as e:
            return e.code, json.load(e)

    ask.address = address
    yield ask, pems[0], pems[1]
    running.terminate()
    running.stderr.close()
    running.wait()


def test_receipts_of_a_service(service):
    ask, key, other = service
    nonce = receipt.new_nonce()
    status, answer = ask(MODEL, nonce)
    want = dict(key=key, sha256=hashlib.sha256(MODEL).hexdigest(), size=len(MODEL), name="m.safetensors", nonce=nonce, policy=answer["policy"])
    assert status == 200
    r = receipt.check(answer["receipt"], **want)
    assert r.accepted and r.kind == "ok" and r.name == "m.safetensors"
    assert receipt.check(json.dumps(answer["receipt"]), **want, rules=answer["rules_digest"]) == r

    status, refusal = ask(EVIL, nonce, "m.pkl")
    assert status == 403
    said = receipt.open(refusal["receipt"], key=key)
    assert not said.accepted and said.kind == "forbidden" and said.sha256 == hashlib.sha256(EVIL).hexdigest()

    edited = copy.deepcopy(answer["receipt"])
    payload = base64.b64decode(refusal["receipt"]["payload"]).replace(b'"accepted":false', b'"accepted":true ').replace(b'"forbidden"', b'"ok"')
    edited["payload"] = base64.b64encode(payload).decode()
    unsigned = copy.deepcopy(answer["receipt"])
    unsigned["signatures"] = []
    digest = "0" * 64
    now = datetime.datetime.now(datetime.timezone.utc)
    for what, text, change in [
        ("a refusal", refusal["receipt"], {}),
        ("a refusal of its own bytes", refusal["receipt"], {"sha256": said.sha256, "size": said.size, "name": "m.pkl"}),
        ("edited", edited, {}),
        ("unsigned", unsigned, {}),
        ("nothing", {}, {}),
        ("an empty text", "", {}),
        ("no JSON", b"\xff\xfe", {}),
        ("too deep", "[" * 10_000, {}),
        ("another key", answer["receipt"], {"key": other}),
        ("another file", answer["receipt"], {"sha256": digest}),
        ("another size", answer["receipt"], {"size": len(MODEL) + 1}),
        ("another name", answer["receipt"], {"name": "handler.py"}),
        ("a promise", answer["receipt"], {"promised": "safetensors"}),
        ("beside others", answer["receipt"], {"beside": True}),
        ("an old policy", answer["receipt"], {"policy": digest}),
        ("other rules", answer["receipt"], {"rules": digest}),
        ("another nonce", answer["receipt"], {"nonce": receipt.new_nonce()}),
        ("too old", answer["receipt"], {"now": now + datetime.timedelta(minutes=6)}),
        ("from the future", answer["receipt"], {"now": now - datetime.timedelta(minutes=6)}),
    ]:
        with pytest.raises(receipt.BadReceipt):
            receipt.check(text, **{**want, **change})
            pytest.fail(what)
    for change in ({"nonce": ""}, {"name": ""}, {"sha256": ""}, {"policy": ""}, {"size": -1}, {"key": ""}, {"key": b""}):
        with pytest.raises(ValueError):
            receipt.check(answer["receipt"], **{**want, **change})


def test_a_receipt_answers_the_question_that_was_asked(service):
    """What stands between asks in another way, so that the gate accepts, and hands its receipt on."""
    ask, key, _ = service
    code, text = b'import os\nos.system("id")\n', b"hello"
    for body, name, promised, beside, middle in (
        (code, "handler.py", "", False, "x.txt&beside=true"),
        (code, "handler.py", "", True, "x.txt&beside=true"),
        (text, "model.safetensors", "", False, "x.txt&beside=true"),
        (text, "x.txt", "", False, "x.txt&beside=true"),
        (MODEL, "m.safetensors", "gguf", False, "m.safetensors"),
        (MODEL, "m.safetensors", "", False, "m.safetensors&promised=safetensors"),
    ):
        nonce = receipt.new_nonce()
        status, answer = ask(body, nonce, middle)
        assert status == 200, answer
        with pytest.raises(receipt.BadReceipt, match="another question"):
            receipt.check(
                answer["receipt"],
                key=key,
                sha256=hashlib.sha256(body).hexdigest(),
                size=len(body),
                name=name,
                promised=promised,
                beside=beside,
                nonce=nonce,
                policy=answer["policy"],
            )


def test_what_the_guide_shows_of_folders(service, tmp_path, monkeypatch):
    requests = pytest.importorskip("requests")
    ask, _, _ = service
    text = (Path(__file__).parent.parent.parent / "docs" / "gate-python.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "requests.post" in b]
    block = compile(block.replace("localhost:8080", ask.address), "gate-python.md", "exec")
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_bytes(b"{}")
    Path("model.safetensors").write_bytes(MODEL)
    exec(block, {"requests": requests})
    Path("model.safetensors").write_bytes(EVIL)
    with pytest.raises(ValueError):
        exec(block, {"requests": requests})


def test_a_receipt_of_a_folder(service):
    ask, key, _ = service
    nonce, files = receipt.new_nonce(), {"config.json": b"{}", "sub/m.safetensors": MODEL}
    body = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n' % (name.encode(), data) for name, data in files.items()
    )
    request = urllib.request.Request(
        f"http://{ask.address}/v1/check?nonce={nonce}", data=body + b"--x--\r\n", headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    with urllib.request.urlopen(request) as answer:
        folder = json.load(answer)["folder"]
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    want = dict(key=key, size=sum(map(len, files.values())), name="folder", nonce=nonce, policy=folder["policy"])
    r = receipt.check(folder["receipt"], dir_hash=receipt.dir_hash(sums), **want)
    assert r.accepted and r.sha256 == "" and r.dir_hash == folder["acceptance"]["dir_hash"]
    for change in ({"dir_hash": receipt.dir_hash({"config.json": sums["config.json"]})}, {"sha256": r.dir_hash}):
        with pytest.raises(receipt.BadReceipt):
            receipt.check(folder["receipt"], **want, **change)
    for change in ({}, {"sha256": r.dir_hash, "dir_hash": r.dir_hash}):
        with pytest.raises(ValueError):
            receipt.check(folder["receipt"], **want, **change)
    # printf {} > config.json, and so on; find . -type f | cut -c3- | LC_ALL=C sort | xargs -r -d '\\n' sha256sum | sha256sum
    three = {"config.json": b"{}", "model.safetensors": MODEL, "sub/a b.txt": b"hello\n"}
    assert receipt.dir_hash({n: hashlib.sha256(d).hexdigest() for n, d in three.items()}) == "385a9626de2ad19944a4135ca9bed23ba056afd9ab498600fce20eb73cda3990"
    for bad in ({}, {"a": "x"}, {"a\nb": r.dir_hash}):
        with pytest.raises(ValueError):
            receipt.dir_hash(bad)
