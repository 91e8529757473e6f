#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds every fuzz target as OSS-Fuzz wants it: $OUT gets fuzz_NAME, fuzz_NAME_seed_corpus.zip and fuzz_NAME.dict for
# each, and in lib/ the shared libraries that the targets load, because they run where these are not installed.
#
# Environment, as of OSS-Fuzz's base-builder: CC, CXX, CFLAGS with the sanitizer and -fsanitize=fuzzer-no-link,
# LIB_FUZZING_ENGINE, OUT; WORK, a folder for object files (build/oss). JOBS: how many at once.
#
# As OSS-Fuzz's build.sh for a project of this source: install the libraries by `scripts/install-deps` (in its
# Dockerfile), then call this.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${CC:?}" "${CXX:?}" "${CFLAGS?}" "${LIB_FUZZING_ENGINE:?}" "${OUT:?}"
work=${WORK:-build/oss}
mkdir -p "$OUT/lib"

# Of the old kind (not RUNPATH), which holds for the libraries' libraries, too.
# shellcheck disable=SC2016 # the linker's own variable, with make's escape
rpath='-Wl,--disable-new-dtags,-rpath,'\''$$ORIGIN/lib'\'
make "-j${JOBS:-$(nproc)}" FLAVOUR=oss BUILD="$work" CC="$CC" CXX="$CXX" CFLAGS="$CFLAGS" LDFLAGS="$rpath" \
    LIB_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" fuzzers

rm -f "$work/libraries"
for source in tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    name=${target#fuzz_}
    cp "$work/tests/fuzz/$target" "$OUT/"
    rm -f "$OUT/${target}_seed_corpus.zip"
    [ ! -d "tests/fuzz/corpus/$name" ] ||
        find "tests/fuzz/corpus/$name" -type f | LC_ALL=C sort | zip -q -X -j -@ "$OUT/${target}_seed_corpus.zip"
    tests/fuzz/dictionary "$name" >"$OUT/$target.dict"
    [ -s "$OUT/$target.dict" ] || rm "$OUT/$target.dict"
    # All but those of libc, which have to be those of the system.
    ldd "$OUT/$target" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
        grep -vE '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv|gcc_s|stdc\+\+))\.so' >>"$work/libraries" || true
done
sort -u "$work/libraries" | while read -r library; do
    [ "$(dirname "$library")" = "$(realpath "$OUT/lib")" ] || cp -L "$library" "$OUT/lib/"
done
rm "$work/libraries"
