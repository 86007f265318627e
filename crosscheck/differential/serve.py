"""The server of the loaders: imports everything once, then forks a child for each
thousand inputs, so that none sees more than the traces of the few before it.

A request is a frame of JSON lines on standard input: the number of inputs, then
for each the names of its loaders and the length of its bytes, which follow. The
answer is one line of JSON for each input: {loader: {...}}, where each has either
"rows", or "error" (class and message), or "died"; and "effects", if there were any.
"""
import gc
import json
import mmap
import os
import resource
import select
import signal
import struct
import sys
import time

SECONDS = 30       # without an answer to as many inputs as are answered together
TOGETHER = 16
FORK = 1000        # inputs of one child
PLACE = struct.Struct("<iI")  # input and loader
NOWHERE = -1
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
    """A process that answers for the inputs of a batch from the first one on. died
    has for an input the loaders that a child died of, which it is not given to again."""

    def __init__(self, loaders, batch, first, folder, died):
        self.loaders, self.batch, self.folder, self.died = loaders, batch, folder, died
        self.place = mmap.mmap(-1, PLACE.size)  # what it is at, should it die of it
        self.place[:] = PLACE.pack(NOWHERE, 0)
        self.out, w = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(w)
            return
        try:
            os.close(self.out)
            self.work(w, first)
        finally:
            os._exit(0)

    def work(self, w, first):
        bounded()
        from audit import Watch
        watch = Watch()
        path = os.path.join(self.folder, "input")
        lines = []
        for i in range(first, len(self.batch)):
            names, data = self.batch[i]
            with open(path, "wb") as f:
                f.write(data)
            answers = dict(self.died.get(i, {}))
            for k, name in enumerate(names):
                if name in answers:
                    continue
                self.place[:] = PLACE.pack(i, k)
                answers[name] = ask(watch, self.loaders[name], path)
                self.place[:] = PLACE.pack(NOWHERE, 0)
            lines.append(json.dumps(answers).encode() + b"\n")
            if len(lines) == TOGETHER or i + 1 == len(self.batch):
                send(w, b"".join(lines))
                lines = []


def send(w, data):
    while data:
        data = data[os.write(w, data):]


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
    """The answers, each as a line of JSON."""
    answers, died = [], {}
    while len(answers) < len(batch):
        child = Child(loaders, batch, len(answers), folder, died)
        i, k, ended = follow(child, answers)
        if len(answers) == len(batch):
            break
        if i == NOWHERE:  # not of a file
            return answers + [json.dumps({n: {"died": ended} for n in names}).encode() + b"\n" for names, _ in batch[len(answers):]]
        died.setdefault(i, {})[batch[i][0][k]] = {"died": ended}
    return answers


def follow(child, answers):
    """Takes the answers of a child. Returns the input and the loader that it died
    of, and how it ended."""
    buffer, hung = b"", False
    end = time.monotonic() + SECONDS
    while True:
        if not select.select([child.out], [], [], max(0, end - time.monotonic()))[0]:
            os.kill(child.pid, signal.SIGKILL)
            hung = True
            break
        part = os.read(child.out, 1 << 16)
        if not part:
            break
        *lines, buffer = (buffer + part).split(b"\n")
        answers += [line + b"\n" for line in lines]
        end = time.monotonic() + SECONDS
    os.close(child.out)
    _, status = os.waitpid(child.pid, 0)
    i, k = PLACE.unpack(child.place[:])
    child.place.close()
    return i, k, "hangs" if hung else -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def forget(torch):
    """torch keeps the sparse tensors of a load that failed, and validates them after the
    next one, which then fails for what another file holds. Each load begins without."""
    load, kept = torch.load, torch.serialization._serialization_tls

    def alone(*args, **kwargs):
        kept.sparse_tensors_to_validate.clear()
        return load(*args, **kwargs)
    torch.load = alone


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
    forget(torch)
    os.dup2(errors, 2)
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    gc.collect()
    gc.freeze()  # what is here stays, and no child walks through it
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    out.write(json.dumps([loaders.versions(), sorted(known)]).encode() + b"\n")
    out.flush()
    for batch in requests(sys.stdin.buffer):
        for at in range(0, len(batch), FORK):
            out.writelines(serve_batch(known, batch[at:at + FORK], folder))
        out.flush()


if __name__ == "__main__":
    main()
