#!/bin/bash
# What OSS-Fuzz runs in its image to build the targets. It needs Go and clang alone, so it
# runs anywhere; names of targets build those alone:
#
#   SRC=.. WORK=/tmp/work OUT=/tmp/out CXX=clang++ CXXFLAGS=-fsanitize=address \
#     LIB_FUZZING_ENGINE=-fsanitize=fuzzer fuzz/ossfuzz/build.sh FuzzGGUF
#
# A target is one of fuzz/*_test.go that takes one []byte; a test compares the rows with the
# targets.
set -eu
targets='
FuzzArch
FuzzAttest
FuzzBack
FuzzBaseline
FuzzBzip2
FuzzClamd
FuzzDCP
FuzzDeepSpeed
FuzzEncode
FuzzGGML
FuzzGGUF
FuzzImportance
FuzzIndex
FuzzJinja
FuzzKeras
FuzzLegacy
FuzzMsgpack
FuzzNPY
FuzzNPZ
FuzzHDF5
FuzzONNX
FuzzPTH
FuzzPickle
FuzzPolicy
FuzzRanks
FuzzRecipe
FuzzSPM
FuzzSafetensors
FuzzScan
FuzzStrictJSON
FuzzTFBundle
FuzzTFLite
FuzzTensorsOnly
FuzzTokenizer
FuzzTorchCode
FuzzUpload
FuzzWrap
FuzzZip
'
# OSS-Fuzz asks for a coverage build, which its report needs: there is none.
if [ "${SANITIZER:-address}" = coverage ]; then
  echo "no coverage build: make cover-corpus reports what the corpus reaches" >&2
  exit 1
fi
[ $# -eq 0 ] || targets="$*"

module=github.com/anamnesis-go/anamnesis
cd "$SRC/anamnesis"
mkdir -p "$WORK" "$OUT"

# Go's testing has no place for another engine: the tests become a package of their own that
# takes F and T from fuzz/libfuzzer.
rm -rf fuzz/targets
mkdir -p fuzz/targets/seeds
trap 'rm -rf fuzz/targets' EXIT
for file in fuzz/*_test.go; do
  grep -q '^package fuzz_test' "$file" || continue
  sed -e 's/^package fuzz_test/package targets/' \
    -e "s#^\\(import \\|\t\\)\"testing\"\$#\\1testing \"$module/fuzz/libfuzzer\"#" \
    "$file" >"fuzz/targets/$(basename "$file" _test.go).go"
done

# What the targets add is written as files: the engine knows no F.Add.
{
  printf 'package main\n\nimport (\n\t"os"\n\n\t"%s/fuzz/libfuzzer"\n\t"%s/fuzz/targets"\n)\n\n' "$module" "$module"
  printf 'func main() {\n\terr := libfuzzer.WriteSeeds(os.Args[1], map[string]func(*libfuzzer.F){\n'
  for target in $targets; do printf '\t\t"%s": targets.%s,\n' "$target" "$target"; done
  printf '\t})\n\tif err != nil {\n\t\tpanic(err)\n\t}\n}\n'
} >fuzz/targets/seeds/main.go
rm -rf "$WORK/seeds"
(cd fuzz && go run ./targets/seeds "$WORK/seeds")

for target in $targets; do
  mkdir -p "fuzz/targets/$target"
  cat >"fuzz/targets/$target/main.go" <<EOF
package main

// #include <stdlib.h>
import "C"

import (
	"unsafe"

	"$module/fuzz/libfuzzer"
	"$module/fuzz/targets"
)

var run func([]byte)

//export LLVMFuzzerInitialize
func LLVMFuzzerInitialize(*C.int, ***C.char) C.int {
	libfuzzer.Guard(abort, func() { run = libfuzzer.Load(targets.$target) })
	return 0
}

//export LLVMFuzzerTestOneInput
func LLVMFuzzerTestOneInput(data *C.char, size C.size_t) C.int {
	libfuzzer.Guard(abort, func() { run(C.GoBytes(unsafe.Pointer(data), C.int(size))) })
	return 0
}

func abort() { C.abort() }

func main() {}
EOF
  go build -buildmode=c-archive -trimpath -tags libfuzzer -gcflags=all=-d=libfuzzer \
    -gcflags=runtime/cgo=-d=libfuzzer=0 -gcflags=syscall=-d=libfuzzer=0 \
    -o "$WORK/$target.a" "./fuzz/targets/$target"
  # CXXFLAGS and the engine are lists of words.
  # shellcheck disable=SC2086
  $CXX $CXXFLAGS $LIB_FUZZING_ENGINE "$WORK/$target.a" -o "$OUT/$target"
  rm "$WORK/$target.a" "$WORK/$target.h"
  if [ -d "$WORK/seeds/$target" ]; then
    rm -f "$OUT/${target}_seed_corpus.zip"
    zip -q -j -r "$OUT/${target}_seed_corpus.zip" "$WORK/seeds/$target"
  fi
done
