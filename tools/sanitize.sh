#!/usr/bin/env bash
# sanitize.sh: runs chosen suites on a GPU under compute-sanitizer; `make sanitize-gpu` runs it.
#
# usage: tools/sanitize.sh BUILD [TOOL...]     by default memcheck racecheck initcheck synccheck
#
# The program is BUILD/tests/test_all_forked. For each tool and suite there is a line; what was printed is kept in
# BUILD/sanitizer/TOOL.SUITE.log. The last line is "N passed, N failed", counting such pairs.
#
#   SUITES="matrix view"     other suites
#   TEST_JOBS=N              how many run at the same time; as many as there are cores, 8 at most; of initcheck one
#   SANITIZE_SECONDS=900     after which a suite counts as failed
set -uo pipefail

build=$1
shift
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
# Suites that between them reach all kernels, the longest first.
read -ra suites <<<"${SUITES:-amg_device mxm_device mxm_rows_device mxm_places_device csc_device csr_device \
    diff_device matrix_device reduce_device twin_device algebra_products algebra_vectors \
    spmv_device spmm_device mxv_device vxm_device arrays defragment pieces together bfs_device view read_device \
    vector_device prim vector_moves_device resize_device resolve rows walk batches memory vector insert remove resize \
    policy matrix store mapping}"
logs=$build/sanitizer
jobs=${TEST_JOBS:-$(($(nproc) < 8 ? $(nproc) : 8))}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

find_sanitizer() {
    local folder
    for folder in ${CUDA_ROOT:+"$CUDA_ROOT"} ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda .cuda/nvidia/cu*; do
        if [ -x "$folder/bin/compute-sanitizer" ]; then echo "$folder/bin/compute-sanitizer" && return; fi
    done
    command -v compute-sanitizer
}

# The tool and its programs talk through ports, of which each run gets some of its own.
run_suite() { # run_suite TOOL SUITE NUMBER
    local options=(--tool "$1" --target-processes all --error-exitcode 99 --print-limit 20)
    options+=(--port $((49152 + 16 * ($3 % 512))))
    if [ "$1" = memcheck ]; then options+=(--leak-check full); fi
    env DCSR_DEVICE=cuda DCSR_TEST_SMALL=2 DCSR_PROGRAM="$build/dcsr" \
        timeout -k 10 "${SANITIZE_SECONDS:-900}" \
        "$sanitizer" "${options[@]}" "$build/tests/test_all_forked" "$2::"
}

# Whether all tests passed, and the tool was at work in them and found nothing.
is_good() { # is_good STATUS LOG
    [ "$1" -eq 0 ] && grep -q 'Synthesis: Tested: [1-9].* | Failing: 0 |' "$2" && grep -q ' SUMMARY: ' "$2" &&
        ! grep -q ' SUMMARY: [1-9]' "$2"
}

# Runs a suite and prints its block; leaves a file named passed.NUMBER or failed.NUMBER.
check_suite() { # check_suite TOOL SUITE NUMBER
    local log=$logs/$1.$2.log started=$SECONDS verdict=FAILED
    run_suite "$1" "$2" "$3" >"$log" 2>&1
    if is_good $? "$log"; then verdict=passed; fi
    printf '%-10s %-20s %s  (%d s)\n' "$1" "$2" "$verdict" $((SECONDS - started))
    touch "$results/$verdict.$3"
    if [ $verdict = passed ]; then return; fi
    grep -E '^=========|\[FAIL\]' "$log" | head -n 20 | cut -c 1-160 | sed 's/^/        /'
    echo "        all of it: $log"
}

sanitizer=$(find_sanitizer) || {
    echo 'sanitize.sh: there is no compute-sanitizer in CUDA_HOME, /usr/local/cuda, .cuda or on PATH; it comes with' \
        'the CUDA toolkit and with "make deps-cuda"' >&2
    exit 1
}
"$build/dcsr" --device cuda info path:2 >/dev/null || exit 1
mkdir -p "$logs"
number=0
for tool; do
    # Beside other processes initcheck reports reads of what has been written (tools/initcheck.cu).
    most=$jobs
    if [ "$tool" = initcheck ] && wait; then most=1; fi
    for suite in "${suites[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do wait -n; done
        number=$((number + 1))
        # What it prints is shown when it has ended, in one piece.
        (check_suite "$tool" "$suite" $number >"$results/text.$number"; cat "$results/text.$number") &
    done
    if [ "$tool" = initcheck ]; then wait; fi
done
wait
passed=$(find "$results" -name 'passed.*' | wc -l)
echo
echo "$passed passed, $((number - passed)) failed"
[ "$passed" -eq "$number" ]
