"""A container image as an OCI layout in a tar archive: what docker load, podman load and skopeo take."""

from __future__ import annotations

import hashlib
import json

from archive import Files, packed, plain_tar

NOBODY = 65532
PLATFORMS = ("linux/amd64", "linux/arm64", "linux/386", "linux/arm")


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def image(programs: dict[str, bytes], notices: Files, version: str, commit: str) -> bytes:
    """One image for each platform: the program, its licence, a folder to spool to; run as nobody."""
    blobs: Files = {}

    def blob(data: bytes, kind: str) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (data, 0o644)
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    listed = []
    labels = {"org.opencontainers.image.version": version.removeprefix("v"), "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": "https://github.com/anamnesis-go/anamnesis"}
    if commit:
        labels["org.opencontainers.image.revision"] = commit
    for target, binary in programs.items():
        system, arch = target.split("/")
        platform = {"os": system, "architecture": arch} | ({"variant": "v7"} if arch == "arm" else {})
        plain = plain_tar({"amn": (binary, 0o755), "tmp/": (b"", 0o700), **notices}, {"tmp": NOBODY})
        layer = blob(packed(plain), "application/vnd.oci.image.layer.v1.tar+gzip")
        config = {
            **platform,
            "config": {"User": f"{NOBODY}:{NOBODY}", "Entrypoint": ["/amn"], "Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
        }
        manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": blob(compact(config), "application/vnd.oci.image.config.v1+json"), "layers": [layer], "annotations": labels}
        listed.append({**blob(compact(manifest), "application/vnd.oci.image.manifest.v1+json"), "platform": platform})
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": listed}
    top = {**blob(compact(index), "application/vnd.oci.image.index.v1+json"), "annotations": {"org.opencontainers.image.ref.name": version}}
    files = {**blobs, "oci-layout": (compact({"imageLayoutVersion": "1.0.0"}), 0o644), "index.json": (compact({"schemaVersion": 2, "manifests": [top]}), 0o644)}
    return plain_tar(files)
