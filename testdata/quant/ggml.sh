#!/bin/sh
# Decodes with ggml's C what gguf-py cannot: writes ggml_TYPE.raw and .f32 for
# Q8_K, Q1_0 and Q2_0, and checks that C and gguf-py agree on every other golden.
#
# Run: LLAMA=<llama.cpp source> LIB=<folder of libggml-base.a> sh testdata/quant/ggml.sh
# Written with ggml 0.25.3 (llama.cpp 0c1e57098, from llama-cpp-python 0.3.36),
# built with -ffp-contract=off.
set -eu
cd "$(dirname "$0")"
tool=$(mktemp)
cc -O1 -ffp-contract=off -I"$LLAMA/ggml/include" -I"$LLAMA/ggml/src" ggml.c "$LIB/libggml-base.a" -lstdc++ -lm -lpthread -o "$tool"
python3 - <<'PY'
import random, struct
random.seed(20261121)
special = [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x3C00]
for name, size, head in [("Q1_0", 18, "<H"), ("Q2_0", 18, "<H"), ("Q8_K", 292, "<f")]:
    out = b"".join(random.randbytes(size) for _ in range(12))
    for bits in special:
        scale = struct.pack("<H", bits)
        if head == "<f":
            scale = struct.pack("<f", struct.unpack("<e", scale)[0])
        out += scale + random.randbytes(size - len(scale))
    open(f"ggml_{name}.raw", "wb").write(out)
PY
id() {
    case $1 in
    Q4_0) echo 2 ;; Q4_1) echo 3 ;; Q5_0) echo 6 ;; Q5_1) echo 7 ;; Q8_0) echo 8 ;; Q2_K) echo 10 ;; Q3_K) echo 11 ;;
    Q4_K) echo 12 ;; Q5_K) echo 13 ;; Q6_K) echo 14 ;; Q8_K) echo 15 ;; IQ2_XXS) echo 16 ;; IQ2_XS) echo 17 ;; IQ3_XXS) echo 18 ;;
    IQ1_S) echo 19 ;; IQ4_NL) echo 20 ;; IQ3_S) echo 21 ;; IQ2_S) echo 22 ;; IQ4_XS) echo 23 ;; IQ1_M) echo 29 ;;
    TQ1_0) echo 34 ;; TQ2_0) echo 35 ;; MXFP4) echo 39 ;; NVFP4) echo 40 ;; Q1_0) echo 41 ;; Q2_0) echo 42 ;;
    esac
}
for t in Q8_K Q1_0 Q2_0; do "$tool" "$(id $t)" <"ggml_$t.raw" >"ggml_$t.f32"; done
for raw in ggml_*.raw; do
    t=${raw#ggml_} t=${t%.raw}
    [ "$t" = Q8_1 ] && continue # ggml has no decoder for it
    "$tool" "$(id "$t")" <"$raw" >"$tool.out"
    python3 - "$t" "ggml_$t.f32" "$tool.out" <<'PY'
import struct, sys
t, a, b = sys.argv[1], open(sys.argv[2], "rb").read(), open(sys.argv[3], "rb").read()
assert len(a) == len(b), t
n = len(a) // 4
bad = sum(1 for x, y in zip(struct.unpack(f"<{n}I", a), struct.unpack(f"<{n}I", b))
          if x != y and not (x & 0x7FFFFFFF > 0x7F800000 and y & 0x7FFFFFFF > 0x7F800000))
print(f"{t}: {n} elements, {bad} differ")
sys.exit(bad > 0)
PY
done
rm -f "$tool" "$tool.out"
