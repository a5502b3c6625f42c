#!/usr/bin/env bash
# bundle.sh: gathers what a machine with a GPU needs to run our programs, and nothing else; `make bundle` runs it.
#
# usage: tools/bundle.sh BUILD FOLDER     programs are taken from BUILD; FOLDER is made anew
#
#   FOLDER/dcsr       FOLDER/tests/       FOLDER/bench/      the programs, stripped; tests/test_SUITE runs test_all
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

# A suite is test_all with a filter, so that tools/test.sh can run several of them at the same time.
"$folder/tests/test_all" --list 2>/dev/null | sed -n 's/^\([a-z_0-9]*\): .*/\1/p' | while read -r suite; do
    cat >"$folder/tests/test_$suite" <<END
#!/bin/sh
exec "\${0%/*}/test_all" --filter '$suite/*' -j2 "\$@"
END
    chmod +x "$folder/tests/test_$suite"
done

cat >"$folder/run-tests" <<'END'
#!/usr/bin/env bash
# usage: run-tests [cuda|cpu]... [SUITE...]     these suites on these devices, by default all on both
#
# TEST_JOBS suites at the same time, as tools/test.sh says; on cuda with smaller inputs (DCSR_TEST_SMALL=1), or as on a
# cpu with DCSR_TEST_SMALL=0.
# What they print: DEVICE.logs/.
cd "$(dirname "$0")" || exit 2
devices=() suites=() status=0
for word; do
    case $word in
    cuda | cpu) devices+=("$word") ;;
    *) suites+=("./tests/test_$word") ;;
    esac
done
[ ${#devices[@]} -gt 0 ] || devices=(cuda cpu)
if [ ${#suites[@]} -eq 0 ]; then
    for program in ./tests/test_*; do
        if ! [[ $program =~ test_all|\.log$ ]]; then suites+=("$program"); fi
    done
fi
for device in "${devices[@]}"; do
    small=()
    if [ "${DCSR_TEST_SMALL:-$device}" = cuda ] || [ "${DCSR_TEST_SMALL:-0}" != 0 ]; then
        small=("DCSR_TEST_SMALL=${DCSR_TEST_SMALL:-1}")
    fi
    echo "== the suites with --device $device"
    env -u DCSR_TEST_SMALL DCSR_DEVICE="$device" "${small[@]}" tools/test.sh "${suites[@]}" || status=1
    mkdir -p "$device.logs"
    mv tests/*.log "$device.logs"
done
exit $status
END
cat >"$folder/run-bench" <<'END'
#!/usr/bin/env bash
# usage: run-bench [NAME...]     the benchmarks on the GPU, by default all; results in bench/. Settings: tools/bench.sh.
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
