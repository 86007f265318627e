"""What is said of a release: what is linked (CycloneDX 1.6), and of what it was built (SLSA's provenance, version 1)."""

from __future__ import annotations

import json

HOME = "github.com/anamnesis-go/anamnesis"
BUILD = f"https://{HOME}/blob/main/release/build.py"


def modules(listing: str) -> list[tuple[str, str, str]]:
    """Name, version and sum of what a program links, as go version -m lists it."""
    rows = []
    for line in listing.splitlines():
        fields = line.split("\t")
        if len(fields) > 4 and fields[1] == "dep" and fields[4]:
            rows.append((fields[2], fields[3], fields[4]))
    return rows


def bill(parts: list[tuple[str, str, str]], toolchain: str, version: str) -> bytes:
    """The bill of materials."""
    components = [{"type": "library", "name": n, "version": v, "purl": f"pkg:golang/{n}@{v}", "properties": [{"name": "go.sum", "value": s}]} for n, v, s in parts]
    components.append({"type": "library", "name": "std", "version": toolchain, "purl": f"pkg:golang/std@{toolchain}"})
    whole = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {"type": "application", "name": "amn", "version": version, "purl": f"pkg:golang/{HOME}@{version}"}},
        "components": components,
    }
    return json.dumps(whole, indent=1).encode() + b"\n"


def provenance(sums: dict[str, str], version: str, targets: tuple[str, ...], toolchain: str, commit: str, parts: list[tuple[str, str, str]]) -> bytes:
    """A statement in in-toto's form. It has no times: who builds the same commit gets the same statement.
    Without a signature it is a claim of whoever hands it over; release/sign puts it into a signed envelope."""
    sources = [{"uri": f"pkg:golang/{n}@{v}", "annotations": {"go.sum": s}} for n, v, s in parts]
    sources.insert(0, {"uri": f"git+https://{HOME}@refs/tags/{version}"} | ({"digest": {"gitCommit": commit}} if commit else {}))
    sources.insert(1, {"uri": f"https://go.dev/dl/#go{toolchain}"})
    whole = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": n, "digest": {"sha256": d}} for n, d in sorted(sums.items())],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD,
                "externalParameters": {"version": version, "targets": list(targets)},
                "internalParameters": {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "flags": ["-trimpath", "-buildvcs=false"]},
                "resolvedDependencies": sources,
            },
            "runDetails": {"builder": {"id": BUILD}},
        },
    }
    return json.dumps(whole, indent=1).encode() + b"\n"
