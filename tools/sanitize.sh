#!/usr/bin/env bash
# sanitize.sh: runs chosen suites on a GPU under compute-sanitizer; `make sanitize-gpu` runs it.
#
# usage: tools/sanitize.sh BUILD [TOOL...]     by default memcheck racecheck initcheck synccheck
#
# The program is BUILD/tests/test_all_forked. For each tool and suite there is a line; what was printed is kept in
# BUILD/sanitizer/TOOL.SUITE.log. The last line is "N passed, N failed", counting such pairs.
#
#   SUITES="matrix view"     other suites
#   SANITIZE_SECONDS=900     after which a suite counts as failed
set -uo pipefail

build=$1
shift
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
read -ra suites <<<"${SUITES:-matrix insert remove resize policy view store defragment spmv bfs}"
logs=$build/sanitizer passed=0 failed=0

find_sanitizer() {
    local folder
    for folder in ${CUDA_ROOT:+"$CUDA_ROOT"} ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda .cuda/nvidia/cu*; do
        if [ -x "$folder/bin/compute-sanitizer" ]; then echo "$folder/bin/compute-sanitizer" && return; fi
    done
    command -v compute-sanitizer
}

run_suite() { # run_suite TOOL SUITE
    local options=(--tool "$1" --target-processes all --error-exitcode 99 --print-limit 20)
    if [ "$1" = memcheck ]; then options+=(--leak-check full); fi
    env DCSR_DEVICE=cuda DCSR_TEST_SMALL=1 DCSR_PROGRAM="$build/dcsr" timeout -k 10 "${SANITIZE_SECONDS:-900}" \
        "$sanitizer" "${options[@]}" "$build/tests/test_all_forked" "$2::"
}

# Whether all tests passed, and the tool was at work in them and found nothing.
is_good() { # is_good STATUS LOG
    [ "$1" -eq 0 ] && grep -q 'Synthesis: Tested: [1-9].* | Failing: 0 |' "$2" && grep -q ' SUMMARY: ' "$2" &&
        ! grep -q ' SUMMARY: [1-9]' "$2"
}

sanitizer=$(find_sanitizer) || {
    echo 'sanitize.sh: there is no compute-sanitizer in CUDA_HOME, /usr/local/cuda, .cuda or on PATH; it comes with the CUDA' \
        'toolkit and with "make deps-cuda"' >&2
    exit 1
}
"$build/dcsr" --device cuda info path:2 >/dev/null || exit 1
mkdir -p "$logs"
for tool; do
    for suite in "${suites[@]}"; do
        log=$logs/$tool.$suite.log started=$SECONDS
        printf '%-10s %-20s ' "$tool" "$suite"
        run_suite "$tool" "$suite" >"$log" 2>&1
        if is_good $? "$log"; then
            passed=$((passed + 1))
            printf 'passed  (%d s)\n' $((SECONDS - started))
        else
            failed=$((failed + 1))
            printf 'FAILED  (%d s)\n' $((SECONDS - started))
            grep -E '^=========|\[FAIL\]' "$log" | head -n 20 | cut -c 1-160 | sed 's/^/        /'
            echo "        all of it: $log"
        fi
    done
done
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
