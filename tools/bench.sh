#!/bin/bash
# bench.sh: runs the benchmarks; `make bench` runs it.
#
# usage: tools/bench.sh [NAME...]     for the programs BUILD/bench/bench_NAME; default: those of one device
#
#   DCSR_DEVICE=cuda     on the GPU (default cpu; auto is cpu too)
#   BENCH_QUICK=1        small inputs, to see that everything works; results go to build/bench/quick
#   BENCH_PAGES="huge"   page settings of the programs with peers (default "huge small"; on the GPU huge); others use
#                        the first
#   BENCH_THREADS=N      threads of every competitor
#   BENCH_SECONDS=N      for all programs together; what is not begun by then is left out (default on the GPU 300)
#   BUILD=DIR            the programs are in DIR/bench (default build)
#
# For each program and page setting: NAME.PAGES.txt (what it printed), .json, and with gnuplot .png; on the GPU
# NAME.cuda.txt and so on.
set -euo pipefail

tools=$(dirname "$0")
programs=${BUILD:-build}/bench
results=$programs
options=()
case ${DCSR_DEVICE:-cpu} in
cuda) device=cuda default_pages=huge left=${BENCH_SECONDS:-300} ;;
*) device=cpu default_pages='huge small' left=${BENCH_SECONDS:-} ;;
esac
read -ra pages <<<"${BENCH_PAGES:-$default_pages}"
if [ -n "${BENCH_QUICK:-}" ]; then
    results=$programs/quick
    options+=(--quick)
fi
[ -z "${BENCH_THREADS:-}" ] || options+=(--threads "$BENCH_THREADS")
if [ $# -eq 0 ]; then
    # The longest first.
    for name in amg ops_products ops_vectors ops_matrices mxm spmv portfolio insert fresh bfs graph closure defragment \
        concurrent memory iterate aging levels choice small build store; do
        if [ -x "$programs/bench_$name" ]; then set -- "$@" "$name"; fi
    done
fi
mkdir -p "$results"

runs=() failed=()
for name; do
    case $name in
    spmv | insert | iterate) for setting in "${pages[@]}"; do runs+=("$name $setting"); done ;;
    *) runs+=("$name ${pages[0]}") ;;
    esac
done

run() { # run NAME PAGES [SECONDS]
    local stem=$results/$1.$2
    if [ $device = cuda ]; then stem=$results/$1.cuda; fi
    printf '\n==== %s on %s, %s pages ====\n' "$1" $device "$2"
    if ! "$programs/bench_$1" "${options[@]}" --device $device --pages "$2" ${3:+--seconds "$3"} --json "$stem.json" |
        tee "$stem.txt.part"; then
        failed+=("$1")
        return
    fi
    mv "$stem.txt.part" "$stem.txt"
    if command -v gnuplot >/dev/null && [ -f "$tools/plot_${1%%_*}.gp" ]; then
        gnuplot -e "data='$stem.txt'; out='$stem.png'; pages='$2'" "$tools/plot_common.gp" "$tools/plot_${1%%_*}.gp" ||
            echo "no plot of $stem.txt: too much was left out"
    fi
}

# Of the time that is left each run may take twice its share; what it leaves, the others have.
begun=$SECONDS
for ((i = 0; i < ${#runs[@]}; i++)); do
    share=
    if [ -n "$left" ]; then
        share=$((2 * (left - SECONDS + begun) / (${#runs[@]} - i + 1)))
        if [ "$share" -lt 1 ]; then share=1; fi
    fi
    # shellcheck disable=SC2086 # a run is two words
    run ${runs[i]} $share
done
printf '\nresults: %s/*.txt, *.json, *.png\n' "$results"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s; what they printed is in *.txt.part\n' "${failed[*]}"
    exit 1
fi
