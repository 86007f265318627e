"""Packages of systems: deb(5), RPM's version 4, a formula of Homebrew."""

from __future__ import annotations

import hashlib
import struct

from archive import Files, packed, tar

HOME = "github.com/anamnesis-go/anamnesis"
SUMMARY = "reads untrusted machine-learning model files"
ABOUT = "Says what a file is, whether it is safe to load, and converts it. Nothing of a file is ever run."

DEBIAN = {"linux/amd64": "amd64", "linux/arm64": "arm64", "linux/386": "i386", "linux/arm": "armhf"}
REDHAT = {"linux/amd64": "x86_64", "linux/arm64": "aarch64", "linux/386": "i686", "linux/arm": "armv7hl"}


def installed(program: bytes, extra: dict[str, bytes], notices: bytes, zsh: str) -> Files:
    """What a package puts where, by absolute path."""
    files: Files = {"/usr/bin/amn": (program, 0o755)}
    for name, text in extra.items():
        if name.startswith("man/"):
            files[f"/usr/share/man/man1/{name.split('/')[-1]}.gz"] = (packed(text), 0o644)
    files["/usr/share/bash-completion/completions/amn"] = (extra["completion/amn.bash"], 0o644)
    files[f"/usr/share/zsh/{zsh}/_amn"] = (extra["completion/_amn"], 0o644)
    files["/usr/share/fish/vendor_completions.d/amn.fish"] = (extra["completion/amn.fish"], 0o644)
    files["/usr/share/doc/anamnesis/copyright"] = (notices, 0o644)
    return files


def debian(target: str, version: str, files: Files) -> bytes:
    """A package for Debian and Ubuntu."""
    data = {"." + name: file for name, file in files.items()}
    size = sum(len(d) for d, _ in data.values()) // 1024 + 1
    control = (
        f"Package: anamnesis\nVersion: {version.removeprefix('v').replace('-', '~')}\nArchitecture: {DEBIAN[target]}\nMaintainer: the anamnesis project <{HOME}>\n"
        f"Installed-Size: {size}\nSection: utils\nPriority: optional\nHomepage: https://{HOME}\n"
        f"Description: {SUMMARY}\n {ABOUT}\n"
    )
    out = b"!<arch>\n"
    for name, text in (("debian-binary", b"2.0\n"), ("control.tar.gz", tar({"./control": (control.encode(), 0o644)})), ("data.tar.gz", tar(data))):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(text):<10}`\n".encode() + text + b"\n" * (len(text) % 2)
    return out


# Types of RPM's tags, with how many bytes their values are aligned to.
INT16, INT32, STRING, BINARY, STRINGS, TRANSLATED = 3, 4, 6, 7, 8, 9
ALIGNED = {INT16: 2, INT32: 4}
Tag = tuple[int, int, object]


def header(region: int, tags: list[Tag]) -> bytes:
    """A header: an index of tags, then their values. The first tag is the region that says where the index ends."""
    index, store = [], b""
    for number, kind, value in sorted(tags, key=lambda t: t[0]):
        store += b"\0" * (-len(store) % ALIGNED.get(kind, 1))
        at = len(store)
        if kind in ALIGNED:
            values = value if isinstance(value, list) else [value]
            store += b"".join(struct.pack(">H" if kind == INT16 else ">I", v) for v in values)
            count = len(values)
        elif kind == BINARY:
            store += value
            count = len(value)
        else:
            texts = value if isinstance(value, list) else [value]
            store += b"".join(t.encode() + b"\0" for t in texts)
            count = len(texts)
        index.append((number, kind, at, count))
    index.insert(0, (region, BINARY, len(store), 16))
    store += struct.pack(">IIiI", region, BINARY, -16 * len(index), 16)
    return struct.pack(">IIII", 0x8EADE801, 0, len(index), len(store)) + b"".join(struct.pack(">IIII", *row) for row in index) + store


def cpio(files: Files) -> bytes:
    """The archive inside: cpio's form with numbers in hexadecimal."""
    out = b""
    for inode, (name, (data, mode)) in enumerate([*sorted(files.items()), ("TRAILER!!!", (b"", 0))], 1):
        path = (name if name == "TRAILER!!!" else "." + name).encode() + b"\0"
        full = 0 if name == "TRAILER!!!" else 0o100000 | mode
        numbers = (0 if not full else inode, full, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        out += b"070701" + b"".join(b"%08x" % n for n in numbers) + path
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return out


def redhat(target: str, version: str, files: Files, epoch: int) -> bytes:
    """A package for Fedora, RHEL and SUSE. It is not signed: the sums of the release are."""
    number = version.removeprefix("v").replace("-", "~")
    names = sorted(files)
    folders = sorted({n.rpartition("/")[0] + "/" for n in names})
    count = len(names)
    payload = packed(plain := cpio(files))
    needs = [("rpmlib(CompressedFileNames)", "3.0.4-1"), ("rpmlib(FileDigests)", "4.6.0-1"), ("rpmlib(PayloadFilesHavePrefix)", "4.0-1"), ("rpmlib(TildeInVersions)", "4.10.0-1")]
    arch = REDHAT[target]
    head = header(63, [
        (100, STRINGS, ["C"]), (1000, STRING, "anamnesis"), (1001, STRING, number), (1002, STRING, "1"), (1004, TRANSLATED, SUMMARY), (1005, TRANSLATED, ABOUT),
        (1006, INT32, epoch), (1007, STRING, "localhost"), (1009, INT32, sum(len(files[n][0]) for n in names)), (1014, STRING, "Apache-2.0"), (1016, TRANSLATED, "Applications/Engineering"),
        (1020, STRING, f"https://{HOME}"), (1021, STRING, "linux"), (1022, STRING, arch), (1044, STRING, f"anamnesis-{number}-1.src.rpm"),
        (1028, INT32, [len(files[n][0]) for n in names]), (1030, INT16, [0o100000 | files[n][1] for n in names]), (1033, INT16, [0] * count), (1034, INT32, [epoch] * count),
        (1035, STRINGS, [hashlib.sha256(files[n][0]).hexdigest() for n in names]), (1036, STRINGS, [""] * count), (1037, INT32, [2 if "/doc/" in n or "/man/" in n else 0 for n in names]),
        (1039, STRINGS, ["root"] * count), (1040, STRINGS, ["root"] * count), (1045, INT32, [0xFFFFFFFF] * count), (1095, INT32, [1] * count), (1096, INT32, list(range(1, count + 1))), (1097, STRINGS, [""] * count),
        (1047, STRINGS, ["anamnesis"]), (1112, INT32, [8]), (1113, STRINGS, [f"{number}-1"]), (1048, INT32, [0x1000000 | 10] * len(needs)), (1049, STRINGS, [n for n, _ in needs]), (1050, STRINGS, [v for _, v in needs]),
        (1116, INT32, [folders.index(n.rpartition("/")[0] + "/") for n in names]), (1117, STRINGS, [n.rpartition("/")[2] for n in names]), (1118, STRINGS, folders),
        (1124, STRING, "cpio"), (1125, STRING, "gzip"), (1126, STRING, "9"), (5011, INT32, 8), (5062, STRING, "utf-8"), (5092, STRINGS, [hashlib.sha256(payload).hexdigest()]), (5093, INT32, 8),
    ])
    signed = header(62, [
        (269, STRING, hashlib.sha1(head).hexdigest()), (273, STRING, hashlib.sha256(head).hexdigest()), (1000, INT32, len(head) + len(payload)),
        (1004, BINARY, hashlib.md5(head + payload).digest()), (1007, INT32, len(plain)),
    ])
    lead = struct.pack(">4sBBHH66sHH16x", b"\xed\xab\xee\xdb", 3, 0, 0, 1, f"anamnesis-{number}-1".encode()[:65], 1, 5)
    return lead + signed + b"\0" * (-len(signed) % 8) + head + payload


def formula(version: str, sums: dict[str, str]) -> bytes:
    """A formula of Homebrew over the archives of the release; sums are those of the archives by target."""
    base = f"https://{HOME}/releases/download/{version}/amn_{version}"
    text = f'class Anamnesis < Formula\n  desc "{SUMMARY[0].upper()}{SUMMARY[1:]}"\n  homepage "https://{HOME}"\n  version "{version.removeprefix("v")}"\n  license "Apache-2.0"\n'
    for system, block in (("darwin", "macos"), ("linux", "linux")):
        rows = [(a, c) for a, c in (("arm64", "arm"), ("amd64", "intel")) if f"{system}/{a}" in sums]
        if rows:
            text += f"\n  on_{block} do\n"
            for arch, word in rows:
                text += f'    on_{word} do\n      url "{base}_{system}_{arch}.tar.gz"\n      sha256 "{sums[f"{system}/{arch}"]}"\n    end\n'
            text += "  end\n"
    text += (
        '\n  def install\n    bin.install "amn"\n    man1.install Dir["man/*.1"]\n    bash_completion.install "completion/amn.bash" => "amn"\n'
        '    zsh_completion.install "completion/_amn"\n    fish_completion.install "completion/amn.fish"\n  end\n\n'
        '  test do\n    assert_match version.to_s, shell_output("#{bin}/amn version")\n  end\nend\n'
    )
    return text.encode()
