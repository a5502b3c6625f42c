#!/usr/bin/env bash
# bundle.sh: gathers what a machine with a GPU needs to run our programs, and nothing else; `make bundle` runs it.
#
# usage: tools/bundle.sh BUILD FOLDER     programs are taken from BUILD; FOLDER is made anew
#
#   FOLDER/dcsr       FOLDER/tests/       FOLDER/bench/      the programs, stripped
#   FOLDER/lib/       the shared libraries that they need, but for glibc's: those go with the machine's loader
#   FOLDER/tools/     the scripts behind these three:
#   FOLDER/run-tests  FOLDER/run-bench    FOLDER/run-sanitizer
set -euo pipefail

build=$1 folder=$2 tools=$(dirname "$0")
glibc='^(linux-vdso|ld-linux-.*|lib(c|m|dl|rt|pthread|resolv|util|anl))\.so'

rm -rf "$folder"
mkdir -p "$folder"/{tests,bench,lib,tools}
cp -L "$build/libdcsr.so.0" "$folder/lib"
strip -o "$folder/dcsr" "$build/dcsr"
for program in "$build"/tests/test_all{,_forked} "$build"/bench/bench_*; do
    if [ -x "$program" ]; then strip -o "$folder/${program#"$build"/}" "$program"; fi
done
programs=("$folder/dcsr" "$folder"/tests/* "$folder"/bench/*)

if missing=$(ldd "${programs[@]}" | grep 'not found'); then
    printf 'bundle.sh: libraries that are not on this machine either:\n%s\n' "$missing" >&2
    exit 1
fi
ldd "${programs[@]}" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u | while read -r name path; do
    if ! [[ $name =~ $glibc || $name =~ ^libdcsr ]]; then cp -L "$path" "$folder/lib/$name"; fi
done
strip --strip-unneeded "$folder"/lib/*
cp "$tools"/{test,bench,sanitize}.sh "$tools"/plot_*.gp "$folder/tools"

cat >"$folder/run-tests" <<'END'
#!/usr/bin/env bash
# usage: run-tests [cuda|cpu]...     all suites on these devices, by default on both; what they print: DEVICE.log
cd "$(dirname "$0")" || exit 2
[ $# -gt 0 ] || set -- cuda cpu
status=0
for device; do
    echo "== the suites with --device $device"
    DCSR_DEVICE=$device tools/test.sh ./tests/test_all || status=1
    mv tests/test_all.log "$device.log"
done
exit $status
END
cat >"$folder/run-bench" <<'END'
#!/usr/bin/env bash
# usage: run-bench [NAME...]     the benchmarks on the GPU, by default all; results in bench/. tools/bench.sh has settings.
cd "$(dirname "$0")" || exit 2
export DCSR_DEVICE=${DCSR_DEVICE:-cuda} BENCH_PAGES=${BENCH_PAGES:-huge}
BUILD=. exec tools/bench.sh "$@"
END
cat >"$folder/run-sanitizer" <<'END'
#!/usr/bin/env bash
# usage: run-sanitizer [TOOL...]     chosen suites under compute-sanitizer, by default under all its tools
cd "$(dirname "$0")" || exit 2
exec tools/sanitize.sh . "$@"
END
chmod +x "$folder"/run-*
du -sm "$folder" | awk '{ print "the bundle is " $2 ", " $1 " MiB" }'
