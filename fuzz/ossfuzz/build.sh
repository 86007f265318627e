#!/bin/bash -eu
# What OSS-Fuzz runs in its image to build the targets. A target is one of fuzz/*_test.go
# that takes one []byte; beside it stand the formats whose files are its seeds, since the
# build there calls no F.Add. A test compares the rows with the targets.
targets='
FuzzArch
FuzzAttest
FuzzBack
FuzzClamd
FuzzEncode gguf
FuzzGGUF gguf
FuzzImportance
FuzzIndex
FuzzLegacy pth pickle
FuzzNPY npy
FuzzNPZ npz zip
FuzzONNX onnx
FuzzPTH pth
FuzzPickle pickle
FuzzPolicy
FuzzRecipe
FuzzSPM
FuzzSafetensors safetensors
FuzzScan pickle
FuzzStrictJSON
FuzzTensorsOnly pth
FuzzTokenizer
FuzzUpload
FuzzWrap wrap
FuzzZip zip
'

cd "$SRC/anamnesis"
go run ./corpus/amn-corpus seeds "$WORK/seeds"

# The targets stand in a package of tests, which the build does not take: here they are
# one of their own, with the tests left out.
mkdir -p fuzz/targets
for file in fuzz/*_test.go; do
  if grep -q '^package fuzz_test' "$file"; then
    sed 's/^package fuzz_test/package targets/' "$file" >"fuzz/targets/$(basename "$file")"
  fi
done
printf 'package targets\n\nimport _ "github.com/AdamKorcz/go-118-fuzz-build/testing"\n' >fuzz/targets/needs.go
go mod tidy

while read -r target formats; do
  [ -n "$target" ] || continue
  compile_native_go_fuzzer_v2 github.com/anamnesis-go/anamnesis/fuzz/targets "$target" "$target"
  zips=()
  for format in $formats; do zips+=("$WORK/seeds/$format.zip"); done
  if [ ${#zips[@]} -gt 0 ]; then
    folder=$(mktemp -d)
    for one in "${zips[@]}"; do unzip -q -o -d "$folder" "$one"; done
    zip -q -j -r "$OUT/${target}_seed_corpus.zip" "$folder"
    rm -rf "$folder"
  fi
done <<<"$targets"
