"""Models read where they are published, from servers that others wrote: buckets of moto,
which checks signatures, and distribution's registry, which asks for a password. What
`parse --json` says of an address is what it says of the files there.

    remote.py DUMP WORK          as crosscheck/run.py calls it
"""
import base64
import hashlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path(sys.argv[2])
AMN = os.environ["CROSSCHECK_AMN"]
DEMO = ROOT / "testdata" / "demo"
REGISTRY = "github.com/distribution/distribution/v3/cmd/registry@v3.0.0"
MODELS = ("tiny.gguf", "checkpoint.pt", "weights.npz", "sharded", "llama-fp8")
KEY, SECRET = "AKIAIOSFODNN7EXAMPLE", "of-this-run-alone"


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait(url):
    for _ in range(600):
        try:
            return urllib.request.urlopen(url, timeout=5)
        except urllib.error.HTTPError:
            return None
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{url}: no answer")


def parsed(program, address, **env):
    """The tensors of a model, as parse lists them."""
    done = subprocess.run([program, "parse", "--json", *(["--allow-private"] if "://" in address else []), address],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | env)
    if done.returncode:
        print(address, done.stderr.strip(), file=sys.stderr)
        return None
    tensors = []
    for line in done.stdout.splitlines():
        said = json.loads(line)
        tensors += said.get("tensors", [said] if "dtype" in said else [])
    return tensors


def row(name, oracle, amn, address, **env):
    elements = differences = 0
    for model in MODELS:
        want, got = parsed(AMN, str(DEMO / model)), parsed(amn, address(model), **env)
        elements += len(want)
        if not want or got is None or [strip(t) for t in got] != [strip(t) for t in want]:
            differences += 1
            print(f"{name}: {model} is read otherwise", file=sys.stderr)
    return [f"{name}: tensors of {len(MODELS)} models", oracle, elements, differences]


def strip(tensor):
    return {k: v for k, v in tensor.items() if k not in ("path", "file")}


def buckets(amn):
    """Start moto, which checks every request against its key's rights."""
    import boto3
    import moto

    at = f"http://127.0.0.1:{port()}"
    # Users and their keys are made before signatures are asked for.
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", at.rsplit(":", 1)[1]],
                              env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "3"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait(at + "/moto-api/")
        iam = boto3.client("iam", endpoint_url=at, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        iam.create_user(UserName="me")
        rights = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        iam.put_user_policy(UserName="me", PolicyName="all", PolicyDocument=json.dumps(rights))
        key = iam.create_access_key(UserName="me")["AccessKey"]
        s3 = boto3.client("s3", endpoint_url=at, region_name="us-east-1", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"])
        s3.create_bucket(Bucket="models")
        for f in sorted(DEMO.rglob("*")):
            if f.is_file():
                s3.upload_file(str(f), "models", "a b+c/" + str(f.relative_to(DEMO)))
        env = {"AWS_ENDPOINT_URL_S3": at, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
        found = row("s3://", "moto " + moto.__version__, amn, lambda m: f"s3://models/a b+c/{m}", **env)
        if parsed(amn, "s3://models/a b+c/tiny.gguf", **env | {"AWS_SECRET_ACCESS_KEY": "another"}) is not None:
            print("s3://: a wrong key is taken", file=sys.stderr)
            found[3] += 1
        return found
    finally:
        server.terminate()


def push(base, repository, folder, auth):
    """Pushes files as ORAS does: a layer each, with its name."""

    def send(method, url, data, **headers):
        request = urllib.request.Request(url, data=data, method=method, headers=headers | {"Authorization": auth})
        return urllib.request.urlopen(request, timeout=60)

    def blob(data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        place = send("POST", f"{base}/v2/{repository}/blobs/uploads/", b"").headers["Location"]
        send("PUT", place + ("&" if "?" in place else "?") + "digest=" + digest, data, **{"Content-Type": "application/octet-stream"})
        return {"digest": digest, "size": len(data)}

    files = [folder] if folder.is_file() else sorted(f for f in folder.iterdir() if f.is_file())
    manifest = {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(b"{}") | {"mediaType": "application/vnd.oci.empty.v1+json"},
        "layers": [blob(f.read_bytes()) | {"mediaType": "application/octet-stream", "annotations": {"org.opencontainers.image.title": f.name}} for f in files],
    }
    send("PUT", f"{base}/v2/{repository}/manifests/v1", json.dumps(manifest).encode(), **{"Content-Type": manifest["mediaType"]})


def registry(amn):
    """distribution's, which knows one name and its password."""
    import bcrypt

    at = f"127.0.0.1:{port()}"
    (WORK / "htpasswd").write_bytes(b"me:" + bcrypt.hashpw(SECRET.encode(), bcrypt.gensalt(4)) + b"\n")
    (WORK / "registry.yml").write_text(json.dumps({
        "version": 0.1, "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": str(WORK / "registry")}},
        "http": {"addr": at}, "auth": {"htpasswd": {"realm": "here", "path": str(WORK / "htpasswd")}},
    }))
    program = os.environ.get("CROSSCHECK_REGISTRY") or str(WORK / "bin" / "registry")
    if not os.path.exists(program):
        subprocess.run(["go", "install", REGISTRY], check=True, cwd=WORK, env=os.environ | {"GOBIN": str(WORK / "bin")}, stdout=sys.stderr)
    server = subprocess.Popen([program, "serve", str(WORK / "registry.yml")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait(f"http://{at}/v2/")
        auth = base64.b64encode(f"me:{SECRET}".encode()).decode()
        for m in MODELS:
            push(f"http://{at}", "team/" + m.replace(".", "-"), DEMO / m, "Basic " + auth)
        (WORK / "config.json").write_text(json.dumps({"auths": {at: {"auth": auth}}}))
        found = row("oci://", REGISTRY.split("/")[2] + " " + REGISTRY.split("@")[1], amn, lambda m: f"oci://{at}/team/{m.replace('.', '-')}:v1", DOCKER_CONFIG=str(WORK))
        if parsed(amn, f"oci://{at}/team/tiny-gguf:v1", DOCKER_CONFIG="/nowhere") is not None:
            print("oci://: no password is asked for", file=sys.stderr)
            found[3] += 1
        return found
    finally:
        server.terminate()


def main():
    amn = str(WORK / "amn-remote")
    subprocess.run(["go", "build", "-o", amn, "./cmd/amn"], cwd=ROOT / "remote", check=True)
    print(json.dumps([buckets(amn), registry(amn)]))


main()
