"""Fetches the slices of models that are not passed on here: python3 testdata/models/fetch.py FOLDER [BASE].

BASE is where they are, unless it is the repository that publishes them. Each file is held against
its SHA-256; what is there already is kept.
"""

import hashlib
import sys
import urllib.error
import urllib.request
from pathlib import Path

REPOSITORY = "https://raw.githubusercontent.com/PCfVW/anamnesis"
# The first that has a file with the right sum.
REVISIONS = ("v0.6.9", "main")
FILES = {
    "awq/llama_3_2_1b_awq.bin": "895b3697c0146d4650d13fc6404338484999255575eb5848e9d3a105476bb57e",
    "bnb/llama_1b_fp4.bin": "9de0d1f72cb1bc9b767f5f01f1492d5a582f564475ed7303ff98ff0165652dd7",
    "bnb/llama_1b_int8.bin": "7c8e72a3c30c0b5205ab5d458139077273bc5f3a386371970760929d2c6e15ac",
    "bnb/llama_1b_nf4.bin": "72abd5f11377daec8875502ac8d6b26929c394b03341bfce652e2b6cec1df8b1",
    "bnb/llama_1b_nf4_double_quant.bin": "9741e1a2e08d187df92f7d3a20af1b2bd797af475b4769652e16301e258571aa",
    "fp8/exaone_fine_grained.bin": "6040d9cfffcd724094c5fb5b793eed28ae43bff03ba3cc969048d948ce34e015",
    "fp8/llama_dynamic_per_channel.bin": "c0ae7130c0a38e0978e53d505c5c0fe65b5f0edc951fe15e24241db9fca6a367",
    "fp8/ministral_per_tensor.bin": "05cd88fcdbd96bad9c02d3bdf877a4ace5ffb870c4053b840cd1b6cc42c88c85",
    "gptq/falcon3_1b_int4.bin": "d4fb055e9b1e84218481b53475fabdaefbc5090f5899d70127072c1c8b95c5fb",
    "gptq/llama_3_2_1b_gptqmodel_int8.bin": "068349222fd9fa5e526e4dd05f9c64675e55b81888ad86aa1d8097b6411f4d0a",
}
MOST = 1 << 20  # no slice is larger


def right(data: bytes, name: str) -> bool:
    return hashlib.sha256(data).hexdigest() == FILES[name]


def fetched(name: str, bases: list[str]) -> bytes:
    folder, _, file = name.partition("/")
    said = []
    for base in bases:
        address = f"{base}/tests/fixtures/{folder}_reference/{file}"
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                data = answer.read(MOST + 1)
        except (urllib.error.URLError, OSError) as e:
            said.append(f"{address}: {e}")
            continue
        if right(data, name):
            return data
        said.append(f"{address}: its SHA-256 is another one")
    raise SystemExit("\n".join(said))


def main(folder: str, *base: str) -> None:
    bases = list(base) or [f"{REPOSITORY}/{r}" for r in REVISIONS]
    for name in FILES:
        path = Path(folder, name)
        if not (path.is_file() and right(path.read_bytes(), name)):
            data = fetched(name, bases)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        print(path)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
