"""The server of the loaders: imports everything once, then forks a child for each
batch, so that no input sees more than the traces of the few before it.

A request is a frame of JSON lines on standard input: the number of inputs, then
for each the names of its loaders and the length of its bytes, which follow. The
answer is one line of JSON for each input: {loader: {...}}, where each has either
"rows", or "error" (class and message), or "died"; and "effects", if there were any.
"""
import json
import os
import resource
import select
import signal
import struct
import sys
import time

SECONDS = 20       # without an answer to one input
MEMORY = 4 << 30   # beyond what the libraries take
NOBODY = 65534


def read(f, n):
    data = f.read(n)
    if len(data) != n:
        sys.exit(0)
    return data


def requests(f):
    while True:
        (count,) = struct.unpack("<I", read(f, 4))
        batch = []
        for _ in range(count):
            names, size = struct.unpack("<HI", read(f, 6))
            batch.append((json.loads(read(f, names)), read(f, size)))
        yield batch


class Child:
    """A process that answers for the inputs of a batch from the first one on."""

    def __init__(self, loaders, batch, first, folder, skip):
        self.loaders, self.batch, self.folder = loaders, batch, folder
        self.out, w = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(w)
            return
        try:
            os.close(self.out)
            self.work(w, first, skip)
        finally:
            os._exit(0)

    def work(self, w, first, skip):
        bounded()
        from audit import Watch
        watch = Watch()
        path = os.path.join(self.folder, "input")
        for i in range(first, len(self.batch)):
            names, data = self.batch[i]
            with open(path, "wb") as f:
                f.write(data)
            for name in names:
                if i == first and name in skip:
                    continue
                # Which loader has it, should this process die of it.
                os.write(w, json.dumps([i, name]).encode() + b"\n")
                answer = ask(watch, self.loaders[name], path)
                os.write(w, json.dumps([i, name, answer]).encode() + b"\n")


def bounded():
    with open("/proc/self/statm") as f:
        now = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def ask(watch, load, path):
    answer = {}
    try:
        rows = watch.run(path, load)
        answer["rows"] = rows
    except BaseException as e:
        watch.on = False
        answer["error"] = [type(e).__name__, str(e)[:800]]
    if watch.effects:
        answer["effects"] = watch.effects[:10]
    return answer


def serve_batch(loaders, batch, folder):
    answers = [{} for _ in batch]
    first, skip = 0, set()
    while first < len(batch):
        child = Child(loaders, batch, first, folder, skip)
        at, ended = follow(child, answers)
        if at is None:
            return answers if ended == 0 else [a or {n: {"died": ended} for n in names} for a, (names, _) in zip(answers, batch)]
        i, name = at
        answers[i][name] = {"died": ended}
        first, skip = i, set(answers[i])
    return answers


def follow(child, answers):
    """Takes the answers of a child. Returns the input and loader that it died of,
    or None, and how it ended."""
    at, buffer, hung = None, b"", False
    end = time.monotonic() + SECONDS
    while True:
        if not select.select([child.out], [], [], max(0, end - time.monotonic()))[0]:
            os.kill(child.pid, signal.SIGKILL)
            hung = True
            break
        part = os.read(child.out, 1 << 16)
        if not part:
            break
        buffer += part
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            i, name, *answer = json.loads(line)
            at = (i, name)
            if answer:
                answers[i][name], at = answer[0], None
        end = time.monotonic() + SECONDS
    os.close(child.out)
    _, status = os.waitpid(child.pid, 0)
    return at, "hangs" if hung else -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main():
    folder = sys.argv[1]
    import torch
    torch.set_num_threads(1)
    os.environ["GGML_NO_BACKTRACE"] = "1"
    import loaders
    known = loaders.table()
    errors, null = os.dup(2), os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)  # what loaders say of what they refuse
    loaders.warm(known)
    os.dup2(errors, 2)
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    out.write(json.dumps([loaders.versions(), sorted(known)]).encode() + b"\n")
    out.flush()
    for batch in requests(sys.stdin.buffer):
        for answer in serve_batch(known, batch, folder):
            out.write(json.dumps(answer).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
