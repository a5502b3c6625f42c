#!/bin/bash
# bench.sh: runs the benchmarks; `make bench` runs it.
#
# usage: tools/bench.sh [NAME...]     spmv insert iterate defragment memory concurrent aging; default: all
#
#   BENCH_QUICK=1        small inputs, to see that everything works; results go to build/bench/quick
#   BENCH_PAGES="huge"   page settings of the programs with peers (default "huge small"); others use the first
#   BENCH_THREADS=N      threads of every competitor
#   BUILD=DIR            the programs are in DIR/bench (default build)
#
# For each program and page setting: NAME.PAGES.txt (what it printed), .json, and with gnuplot .png.
set -euo pipefail

tools=$(dirname "$0")
programs=${BUILD:-build}/bench
read -ra pages <<<"${BENCH_PAGES:-huge small}"
results=$programs
options=()
if [ -n "${BENCH_QUICK:-}" ]; then
    results=$programs/quick
    options+=(--quick)
fi
[ -z "${BENCH_THREADS:-}" ] || options+=(--threads "$BENCH_THREADS")
[ $# -gt 0 ] || set -- spmv insert iterate defragment memory concurrent aging
mkdir -p "$results"

run() {
    local stem=$results/$1.$2
    printf '\n==== %s, %s pages ====\n' "$1" "$2"
    "$programs/bench_$1" "${options[@]}" --pages "$2" --json "$stem.json" | tee "$stem.txt.part"
    mv "$stem.txt.part" "$stem.txt"
    if command -v gnuplot >/dev/null; then
        gnuplot -e "data='$stem.txt'; out='$stem.png'; pages='$2'" "$tools/plot_common.gp" "$tools/plot_$1.gp"
    fi
}

for name in "$@"; do
    case $name in
    spmv | insert | iterate) for setting in "${pages[@]}"; do run "$name" "$setting"; done ;;
    *) run "$name" "${pages[0]}" ;;
    esac
done
printf '\nresults: %s/*.txt, *.json, *.png\n' "$results"
