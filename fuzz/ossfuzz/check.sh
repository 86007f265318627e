#!/bin/bash
# Builds the targets as OSS-Fuzz does, from a copy of this tree, and runs each on its seeds
# and on RUNS inputs more:
#
#   fuzz/ossfuzz/check.sh [TARGET ...]
#
# It needs Go, clang with its libFuzzer, zip and unzip.
set -eu
cd "$(dirname "$0")/../.."
for tool in go clang++ zip unzip git; do
  command -v "$tool" >/dev/null || { echo "NOT RUN: no $tool is here"; exit 0; }
done
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
mkdir "$d/anamnesis"
git ls-files -co --exclude-standard | while IFS= read -r f; do if [ -f "$f" ]; then printf '%s\0' "$f"; fi; done |
  tar c --null -T - | tar x -C "$d/anamnesis"
export SRC=$d WORK=$d/work OUT=$d/out CXX=clang++ CXXFLAGS=-fsanitize=address LIB_FUZZING_ENGINE=-fsanitize=fuzzer
bash "$d/anamnesis/fuzz/ossfuzz/build.sh" "$@"

bad=0 ran=0
for seeds in "$OUT"/*_seed_corpus.zip; do
  target=$(basename "$seeds" _seed_corpus.zip)
  mkdir -p "$d/seeds/$target"
  unzip -q -d "$d/seeds/$target" "$seeds"
  n=$(find "$d/seeds/$target" -type f | wc -l)
  if (cd "$d" && "$OUT/$target" -runs=$((n + ${RUNS:-300})) -timeout=60 -rss_limit_mb=4096 -artifact_prefix="$d/" "seeds/$target") >"$d/log" 2>&1; then
    printf '%-18s %5d seeds, %s\n' "$target" "$n" "$(grep -E '^Done' "$d/log")"
    ran=$((ran + 1))
  else
    bad=1
    echo "FAIL $target"
    grep -m1 -A20 -E '^(panic|fatal error|ERROR|==[0-9]+== *ERROR)' "$d/log" || tail -n 40 "$d/log"
    for f in "$d"/crash-* "$d"/timeout-* "$d"/oom-*; do
      [ ! -f "$f" ] || cp -v "$f" "${TMPDIR:-/tmp}"
    done
    rm -f "$d"/crash-* "$d"/timeout-* "$d"/oom-*
  fi
done
for target in "$OUT"/Fuzz*; do
  case $target in *.zip) continue ;; esac
  [ -f "${target}_seed_corpus.zip" ] || { bad=1; echo "FAIL $(basename "$target"): no seeds"; }
done
echo "$ran targets ran"
exit $bad
