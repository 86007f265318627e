"""Checks bills of materials and signatures, ours and those of Model Signing."""
import base64
import json
import os
import random
import shutil
import subprocess

import hostile
import model_signing
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

# Names whose order differs with how a path is compared.
NAMES = ["a/b.safetensors", "a-b.safetensors", "a.b.safetensors", "a0.safetensors", "a b.safetensors", "a/é.safetensors", "z/y/x.safetensors", "Z.safetensors", "\U0001f600.safetensors", "￿.safetensors"]


def materials(amn, folder):
    out = folder / "bom.json"
    hostile.scan(amn, "--bom", out, hostile.corpus(folder), hostile.ROOT / "testdata" / "demo")
    text = out.read_text()
    wrong = [str(e)[:300] for e in [JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)] if e]
    doc = json.loads(text)
    names = [c["name"] for c in doc["components"]]
    models = [c for c in doc["components"] if c["type"] == "machine-learning-model"]
    if len(names) != len(set(names)) or len(models) < 50 or len(Bom.from_json(doc).components) != len(names):
        wrong.append(f"{len(names)} components, {len(models)} models")
    return sum(len(c["components"]) for c in models), wrong


def model(folder, seed):
    """A folder of files in folders, with what Model Signing leaves out."""
    shutil.rmtree(folder, ignore_errors=True)
    rand = random.Random(seed)
    for name in [*rand.sample(NAMES, 7), ".git/config", ".gitattributes", ".github/x"]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        body = rand.randbytes(rand.randrange(1, 5000))
        texts = {".git/config": b"[core]\n\tbare = false\n"}  # git itself refuses a line that is no key
        path.write_bytes(hostile.safetensors({"w": ("U8", [len(body)], body)}) if name.endswith("safetensors") else texts.get(name, b"text\n"))
    return folder


def keys(folder):
    made = {"ed25519": ed25519.Ed25519PrivateKey.generate()} | {c.name: ec.generate_private_key(c) for c in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())}
    for name, key in made.items():
        (folder / f"{name}.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        (folder / f"{name}.pub").write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    return made


HASHES = {"secp256r1": hashes.SHA256, "secp384r1": hashes.SHA384, "secp521r1": hashes.SHA512}


def pae(payload):
    kind = b"application/vnd.in-toto+json"
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def attested(amn, folder):
    """What we sign has the root digest of Model Signing, and cryptography takes the
    signature."""
    wrong, n = [], 0
    for seed, (name, key) in enumerate(keys(folder).items()):
        files = model(folder / "model", seed)
        out = folder / "model.att"
        done = hostile.scan(amn, "--force", "--attest", out, "--key", folder / f"{name}.pem", files)
        if done.returncode:
            wrong.append(done.stderr.decode())
            continue
        envelope = json.loads(out.read_text())
        payload, sig = base64.b64decode(envelope["payload"]), base64.b64decode(envelope["signatures"][0]["sig"])
        if name == "ed25519":
            key.public_key().verify(sig, pae(payload))
        else:
            key.public_key().verify(sig, pae(payload), ec.ECDSA(HASHES[name]()))
        statement = json.loads(payload)
        signed = model_signing.hashing.hash(files)
        digests = b"".join(r.digest.digest_value for r in signed.resource_descriptors())
        want = hashes.Hash(hashes.SHA256())
        want.update(digests)
        if statement["subject"] != [{"name": "model", "digest": {"sha256": want.finalize().hex()}}]:
            wrong.append(f"{name}: another root: {statement['subject']}")
        p = statement["predicate"]
        if statement["predicateType"] != "https://in-toto.io/attestation/svr/v0.2" or not (p["verifier"]["id"] and p["timeCreated"] and isinstance(p["verifier"]["policies"], list)):
            wrong.append(f"{name}: {statement}")
        n += 1
    return n, wrong


def signature(amn, folder):
    """A model.sig of Model Signing holds for its files, and for no others."""
    wrong, n = [], 0
    made = keys(folder)
    for seed, name in enumerate(k for k in made if k != "ed25519"):
        for inside in (False, True):
            files = model(folder / "signed", seed)
            sig = (files if inside else folder) / "model.sig"
            ignored = [sig] if inside else []
            config = model_signing.hashing.Config().set_ignored_paths(paths=ignored)
            model_signing.signing.Config().use_elliptic_key_signer(private_key=folder / f"{name}.pem").set_hashing_config(config).sign(files, sig)
            first = sorted(p for p in files.rglob("*.safetensors"))[0]
            whole = first.read_bytes()

            def ask(key=name):
                return subprocess.run([amn, "verify", "--attestation", sig, "--key", folder / f"{key}.pub", files], capture_output=True).returncode

            steps = [("as it is", lambda: None, 0), ("changed", lambda: first.write_bytes(whole[:-1] + b"!" if whole[-1:] != b"!" else whole[:-1] + b"?"), 8), ("back", lambda: first.write_bytes(whole), 0),
                     ("one more", lambda: (files / "more.txt").write_text("x"), 8), ("back", lambda: os.remove(files / "more.txt"), 0),
                     ("a link", lambda: os.symlink(first.name, first.parent / "link"), 8), ("back", lambda: os.remove(first.parent / "link"), 0)]
            for what, do, code in steps:
                do()
                n += 1
                if ask() != code:
                    wrong.append(f"{name}, {what}: exit {ask()}, not {code}")
                try:
                    model_signing.verifying.Config().use_elliptic_key_verifier(public_key=folder / f"{name}.pub").verify(files, sig)
                    theirs = 0
                except ValueError:
                    theirs = 8
                if theirs != code:
                    wrong.append(f"{name}, {what}: Model Signing says {theirs}")
            other = next(k for k in made if k != name)
            if ask(other) != 7:
                wrong.append(f"{name}: opened by {other}")
    return n, wrong


# What a loader reaches and a signature leaves out: files, and the paths that are ignored.
REACHED = {
    "an index that names a file of git": ({"m.safetensors.index.json": b'{"weight_map":{"w":".git/evil.safetensors"}}', ".git/evil.safetensors": b"x"}, []),
    "a configuration that does": ({"tokenizer_config.json": b'{"vocab_file":"\\u002egit/vocab.txt"}', ".git/vocab.txt": b"x"}, []),
    "a folder that is ignored": ({"unet/model.safetensors": b"x"}, ["unet"]),
    "a file that is ignored": ({"pytorch_model.bin": b"x"}, ["pytorch_model.bin"]),
}


def reached(amn, folder):
    """Model Signing takes a signature that leaves out what a loader reaches; amn does not."""
    wrong = []
    keys(folder)
    for what, (more, ignored) in REACHED.items():
        files = model(folder / "reached", 1)
        for name, body in more.items():
            (files / name).parent.mkdir(parents=True, exist_ok=True)
            (files / name).write_bytes(body)
        sig = folder / "reached.sig"
        config = model_signing.hashing.Config().set_ignored_paths(paths=[files / p for p in ignored])
        model_signing.signing.Config().use_elliptic_key_signer(private_key=folder / "secp256r1.pem").set_hashing_config(config).sign(files, sig)
        model_signing.verifying.Config().use_elliptic_key_verifier(public_key=folder / "secp256r1.pub").verify(files, sig)
        done = subprocess.run([amn, "verify", "--attestation", sig, "--key", folder / "secp256r1.pub", files], capture_output=True)
        if done.returncode != 8 or b"loader" not in done.stderr:
            wrong.append(f"{what}: exit {done.returncode}: {done.stderr.decode()}")
    return len(REACHED), wrong


CHECKS = [
    ("CycloneDX", "schema 1.6 and cyclonedx-python-lib", materials),
    ("what we sign", "model-signing's root, cryptography", attested),
    ("model.sig", "model-signing", signature),
    ("what model.sig leaves out", "model-signing", reached),
]
