"""Writes folders of files to judge."""
import pathlib
import struct
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def corpus(folder):
    """Every recipe of the corpus, and honest files under names that are hard to quote."""
    made = folder / "corpus"
    if not made.exists():
        subprocess.run(["go", "run", "./corpus/amn-corpus", "write", str(made)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    for name in ('a b.safetensors', 'é"<&>%20#?.safetensors', "new\nline.safetensors", "c:\\x.safetensors", "\U0001f600.safetensors"):
        (made / name).write_bytes(safetensors({"w": ("U8", [4], b"abcd")}))
    return made


def safetensors(tensors):
    header, data = [], b""
    for name, (dtype, shape, body) in tensors.items():
        header.append(f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{len(data)},{len(data) + len(body)}]}}')
        data += body
    text = ("{" + ",".join(header) + "}").encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def scan(amn, *args):
    """Runs a scan; the exit code is a class of refusals, never an error of ours."""
    done = subprocess.run([amn, "scan", "-q", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 3, 4, 5, 6, 7):
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done
