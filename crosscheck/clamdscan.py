"""ClamAV's own client asks `amn serve --clamd`, as `clamdscan --fdpass` (FILDES), `--stream`
(INSTREAM) and `--reload` (RELOAD) do.

    python3 crosscheck/clamdscan.py AMN

Prints the version of the service as the client reads it and a line for each question; the exit
code is 1 if an answer is not the expected one.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
HONEST = b"\x02\0\0\0\0\0\0\0{}"
EVIL = b"cos\nsystem\n(S'id'\ntR."


def main():
    amn = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "ours.safetensors").write_bytes(HONEST)
        (work / "evil.bin").write_bytes(EVIL)
        policy = work / "policy.json"
        policy.write_text("{}")
        conf = work / "clamd.conf"
        conf.write_text(f"LocalSocket {work}/socket\n")
        said = open(work / "said", "w+")
        service = subprocess.Popen([amn, "serve", "--clamd", f"unix:{work}/socket", "--limits", policy], stderr=said, stdout=said)
        try:
            return ask(work, conf, policy, said, service)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(20)


def ask(work, conf, policy, said, service):
    until = time.monotonic() + 60
    while not (work / "socket").exists() and time.monotonic() < until:
        time.sleep(0.05)
    client = ["clamdscan", f"--config-file={conf}", "--no-summary"]
    print(subprocess.run(["clamdscan", "--version", f"--config-file={conf}"], capture_output=True, text=True).stdout.strip())
    good = True

    def expect(what, args, code, text, where=None):
        nonlocal good
        run = subprocess.run([*client, *args], capture_output=True, text=True)
        out = where() if where else run.stdout + run.stderr
        ok = run.returncode == code and text in out
        good = good and ok
        print(f"{what}: exit code {run.returncode}, {'as expected' if ok else 'but expected ' + str(code) + ' and ' + text + ': ' + out.strip()}")

    for way in ("--fdpass", "--stream"):
        expect(f"{way} of a model", [way, str(work / "ours.safetensors")], 0, "ours.safetensors: OK")
        expect(f"{way} of a pickle that runs a command", [way, str(work / "evil.bin")], 1, "evil.bin: Anamnesis.pickle.global FOUND")
    expect("--fdpass of both", ["--fdpass", "--multiscan", str(work / "ours.safetensors"), str(work / "evil.bin")], 1, "evil.bin: Anamnesis.pickle.global FOUND")

    def log():
        time.sleep(1)
        said.flush()
        return (work / "said").read_text()

    policy.write_text('{"refuse_formats": ["safetensors"]}')
    expect("--reload of a policy that refuses safetensors", ["--reload"], 0, "", log)
    expect("--fdpass of a model afterwards", ["--fdpass", str(work / "ours.safetensors")], 1, "FOUND")
    policy.write_text('{"no_such_member": 1}')
    expect("--reload of a broken policy", ["--reload"], 2, "no_such_member", log)
    expect("--fdpass of a model: the last policy is kept", ["--fdpass", str(work / "ours.safetensors")], 1, "FOUND")
    return 0 if good else 1


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
