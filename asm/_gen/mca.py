#!/usr/bin/env python3
"""What a model of the processors says of the kernels' inner loops: cycles, and
elements a second, from llvm-mca. It is a model: every load hits the first cache,
no store waits, no branch is missed. It serves to compare kernels, and stands in
for a measurement where no processor of the level is at hand.

    asm/_gen/mca.py            every kernel to BF16
    asm/_gen/mca.py q4_K F32   those whose names have these in them
    RUN=4 asm/_gen/mca.py codebook kernels of runs, each of so many chunks, with what
                               is done once per run
    LOOPS=1 asm/_gen/mca.py symmetric  each loop of such kernels in order, those inside it left
                               out: cycles of a pass, as searches have them

LLVM=directory names one with llvm-mca and llvm-objdump, 19 or newer for Zen 4.
"""
import os
import re
import subprocess
import sys
import tempfile

GHZ = 3.7
MODELS = {
    "AVX512": ("znver4", "icelake-server", "sapphirerapids"),
    "AVX2": ("znver3", "znver4", "icelake-server", "sapphirerapids"),
}
here = os.path.dirname(os.path.abspath(__file__))


def tool(name):
    return os.path.join(os.environ["LLVM"], name) if "LLVM" in os.environ else name


def functions():
    """Names and instructions (address, text) of the kernels of the package."""
    with tempfile.TemporaryDirectory() as d:
        binary = os.path.join(d, "asm.test")
        env = dict(os.environ, CGO_ENABLED="0", GOARCH="amd64", GOOS="linux")
        subprocess.run(["go", "test", "-c", "-o", binary, "."], cwd=os.path.join(here, ".."), env=env, check=True)
        command = [tool("llvm-objdump"), "-d", "--no-show-raw-insn", "--no-leading-headers", binary]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = set()  # a kernel comes before the wrapper of its name
    for part in out.split("\n\n"):
        head = re.search(r"<\S*/asm\.(\w+(?:AVX2|AVX512(?:BF16)?))(?:\.abi0)?>:", part)
        if head and head[1] not in found:
            found.add(head[1])
            rows = re.findall(r"^\s*([0-9a-f]+):\s+(\S.*)$", part, re.M)
            yield head[1], [(int(a, 16), re.sub(r"\s*(<.*>|#.*)$", "", t)) for a, t in rows]


def loops(code):
    """(first, last) indices of the jumps back and their targets."""
    at = {a: i for i, (a, _) in enumerate(code)}
    found = set()
    for i, (_, text) in enumerate(code):
        jump = re.match(r"j\w+\s+(?:0x)?([0-9a-f]+)", text)
        if jump and at.get(int(jump[1], 16), i) < i:
            found.add((at[int(jump[1], 16)], i))
    return sorted(found)


def within(a, b):
    return a != b and b[0] <= a[0] and a[1] <= b[1]


def written(code, loop, dst):
    """Bytes that a loop moves the destination on by, but where a loop inside it does."""
    rows = [t for _, t in code[loop[0]:loop[1] + 1]]
    return sum(int(m[1], 0) for t in rows if (m := re.match(r"(?:addq\s+\$|subq\s+\$-)(\w+), %" + dst + "$", t)))


def bodies(code, dst):
    """Bytes and instructions of the innermost loops that write. Loops inside them
    that do not write mend what is rare, and are left out."""
    all = loops(code)
    for l in all:
        inside = [m for m in all if within(m, l)]
        if written(code, l, dst) and not any(written(code, m, dst) for m in inside):
            rows = range(l[0], l[1] + 1)
            yield written(code, l, dst), [code[i] for i in rows if not any(m[0] <= i <= m[1] for m in inside)]


def runs(code, dst, chunks):
    """Bytes and instructions of one run: what stands before the loop of chunks, that
    loop so many times, and what comes behind it."""
    all, at = loops(code), {a: i for i, (a, _) in enumerate(code)}
    chunk = next((l for l in all if written(code, l, dst) and not any(within(m, l) for m in all)), None)
    outer = [l for l in all if chunk and within(chunk, l) and l[0] < chunk[0]]
    if not outer:
        return
    run, behind = min(outer, key=lambda l: l[1] - l[0]), chunk[1] + 1
    if jump := re.match(r"jmp\s+(?:0x)?([0-9a-f]+)", code[behind][1]):
        behind = at[int(jump[1], 16)]
    inner = code[chunk[0]:chunk[1] + 1]
    yield written(code, chunk, dst) * chunks, code[run[0]:chunk[0]] + inner * chunks + code[behind:run[1] + 1]


def destination(code):
    """The register of the first parameter."""
    return next((m[1] for _, t in code if (m := re.match(r"movq\s+\S*\(%rsp\), %(\w+)", t))), "rax")


def cycles(body, cpu):
    """Cycles of one iteration, the jump back left out."""
    text = "\n".join(t for _, t in body[:-1])
    command = [tool("llvm-mca"), "-mcpu=" + cpu, "-mtriple=x86_64", "-iterations=200"]
    out = subprocess.run(command, input=text, capture_output=True, text=True)
    total = re.search(r"Total Cycles:\s+(\d+)", out.stdout)
    if not total:
        sys.exit("llvm-mca -mcpu=%s: %s" % (cpu, out.stderr[:500]))
    return int(total[1]) / 200


def main():
    words = sys.argv[1:] or ["BF16"]
    print("| kernel | model | elements | cycles | elements a second, 10^9, at %.1f GHz |" % GHZ)
    print("|---|---|---|---|---|")
    for name, code in sorted(functions(), key=lambda f: f[0].lower()):
        if not all(w in name for w in words):
            continue
        if "LOOPS" in os.environ:
            found = loops(code)
            for n, l in enumerate(found):
                inside = [m for m in found if within(m, l)]
                body = [code[i] for i in range(l[0], l[1] + 1) if not any(m[0] <= i <= m[1] for m in inside)]
                for cpu in MODELS[name[name.index("AVX"):]]:
                    print("| %s, loop %d | %s | | %.1f | |" % (name, n, cpu, cycles(body, cpu)), flush=True)
            continue
        width = 4 if "F32AVX" in name else 2
        dst = destination(code)
        for size, body in runs(code, dst, int(os.environ["RUN"])) if "RUN" in os.environ else bodies(code, dst):
            elems = size // width
            level = name[name.index("AVX"):]
            for cpu in MODELS[level]:
                c = cycles(body, cpu)
                print("| %s | %s | %d | %.1f | %.1f |" % (name, cpu, elems, c, elems / c * GHZ), flush=True)


main()
