#!/usr/bin/env bash
# test.sh: runs test programs and fuzzers, says what each did, and sums up; `make test` and its kin run it.
#
# usage: tools/test.sh PROGRAM...
#
# A program is BUILD/tests/test_NAME, BUILD/VARIANT/tests/test_NAME or BUILD/fuzz/fuzz_NAME; the variant decides about
# the sanitizer's settings. Those of the variants asan and tsan run on the emulator of a GPU, with cpu: before them on
# the cpu. What a program printed is kept in PROGRAM.log, on the emulator in PROGRAM.seedN.log. The last line is "N
# passed, N failed", counting test cases and, of fuzzers, runs; the exit status is 1 when something failed.
#
# In the variant simt, suites in which the order of a GPU's threads may matter run with several seeds for it, the others
# with the first.
#
#   TEST_JOBS=N          programs that run at the same time; as many as there are cores, 8 at most
#   FUZZ_SECONDS=20      for all fuzzers together
#   TEST_SECONDS=1800    after which a program counts as failed
#   SIMT_SEEDS=2         seeds, from 1 on, for the suites that get several
#   SIMT_SEED=N          this one alone, for all suites
set -uo pipefail

# Suites that between them call most of what there is.
guarded='test_view test_matrix test_defragment test_result test_diff test_nut test_vector_ops test_mxv'
guarded+=' test_mxm_calls test_spmv test_spmm test_traverse test_matrix_calls test_matrix_ops test_components'
guarded+=' test_triangles test_multi_products'
fuzzers=0
jobs=${TEST_JOBS:-$(($(nproc) < 8 ? $(nproc) : 8))}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
seeded='test_model test_threads test_view test_matrix test_defragment test_device test_prim test_insert_device'
seeded+=' test_stage_device test_amg_follow_device test_mxm_alike_device test_simt'
for program in "$@"; do
    if [[ $program == */fuzz/* ]]; then fuzzers=$((fuzzers + 1)); fi
done
# Archer, which comes with clang's OpenMP, tells ThreadSanitizer how OpenMP synchronises; what is not compiled for the
# sanitizer (OpenMP's own library) is not looked at. Both are needed for reports that are all true.
version=$("${CLANG:-clang}" -dumpversion 2>/dev/null)
archer=/usr/lib/llvm-${version%%.*}/lib/libarcher.so

# What the settings are for: plain, simt, coverage or fuzz; asan or tsan on the cpu, simt-asan or simt-tsan on the
# emulator.
kind_of() { # kind_of [cpu:]PROGRAM
    local kind=plain
    if [[ $1 =~ /(asan|tsan|simt|coverage|fuzz)/(tests/)?[^/]*$ ]]; then kind=${BASH_REMATCH[1]}; fi
    if [[ $kind == [at]san && $1 != cpu:* ]]; then kind=simt-$kind; fi
    echo "$kind"
}

# The seeds to run a program with; 0 where seeds have no meaning.
seeds() { # seeds KIND PROGRAM
    if [[ $1 != simt* ]]; then
        echo 0
    elif [ -n "${SIMT_SEED:-}" ]; then
        echo "$SIMT_SEED"
    elif [ "$1" = simt ] && [[ " $seeded " == *" ${2##*/} "* ]]; then
        seq "${SIMT_SEEDS:-2}"
    else
        echo 1
    fi
}

# Whether to catch the host at touching device memory. That takes time, so only some suites do it, plain and once.
guards() { # guards KIND PROGRAM SEED
    [[ $2 == */test_simt ]] ||
        [[ $1 == simt && $3 -le 1 && ($2 == *_device || " $guarded " == *" ${2##*/} "*) ]]
}

run_suite() { # run_suite KIND PROGRAM SEED
    local folder=${2%/tests/*}
    local settings=("DCSR_PROGRAM=$folder/dcsr") options=() frames=1
    case $1 in
    simt*)
        settings+=("DCSR_SIMT_CASES=$folder/tests/simt_cases" "SIMT_SEED=$3")
        guards "$@" || settings+=("SIMT_GUARD=${SIMT_GUARD:-0}")
        ;;
    esac
    case $1 in
    simt-*san) settings+=("DCSR_TEST_SMALL=${DCSR_TEST_SMALL:-1}") ;;&
    [at]san) settings+=(DCSR_DEVICE=cpu "SIMT_GUARD=${SIMT_GUARD:-0}") ;;&
    plain | simt) options=(--ignore-warnings --timeout 900) ;; # a warning says that a test was skipped
    *asan)
        # The emulator's threads change stacks at each step, and would get frames of their own on each of them.
        [ "$1" != simt-asan ] || frames=0
        settings+=("ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=$frames:${ASAN_OPTIONS:-}"
            "UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}")
        ;;
    *tsan)
        settings+=("TSAN_OPTIONS=ignore_noninstrumented_modules=1:${TSAN_OPTIONS:-}" "OMP_TOOL_LIBRARIES=$archer"
            "OMP_NUM_THREADS=${OMP_NUM_THREADS:-3}" "KMP_BLOCKTIME=${KMP_BLOCKTIME:-0}")
        ;;
    esac
    env "${settings[@]}" timeout -k 10 "${TEST_SECONDS:-1800}" "$2" "${options[@]}"
}

run_fuzzer() { # run_fuzzer PROGRAM: new inputs go to PROGRAM.corpus, what was found wrong beside it
    local name=${1##*/} seconds=$((${FUZZ_SECONDS:-20} / fuzzers))
    local seeds=() words=()
    mkdir -p "$1.corpus"
    if [ -d "tests/corpus/$name" ]; then seeds=("tests/corpus/$name"); fi
    if [ -f "tests/corpus/$name.dict" ]; then words=("-dict=tests/corpus/$name.dict"); fi
    "$1" -max_total_time=$((seconds > 0 ? seconds : 1)) -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="$1-" "${words[@]}" "$1.corpus" "${seeds[@]}"
}

# The numbers of passing and of failing (crashing ones included) tests in the summary of a suite.
counts() { # counts LOG
    sed -n 's/.*Synthesis: Tested: [0-9]* | Passing: \([0-9]*\) | Failing: \([0-9]*\) |.*/\1 \2/p' "$1" | tail -n 1
}

show_failure() { # show_failure LOG
    local telling='\[FAIL\]|\[----\] *[^ ]|runtime error|ERROR: |WARNING: ThreadSanitizer|SUMMARY: '
    grep -E "$telling|Assertion.*failed|TIMEOUT" "$1" |
        head -n 40 | cut -c 1-200 | sed 's/^/        /'
    echo "        all of it: $1"
}

# Runs a program and prints one block about it; appends "good bad", and its line for the list of failures, to RESULTS.
run_program() { # run_program KIND PROGRAM SEED RESULTS
    local kind=$1 program=$2 seed=$3 name=${2##*/} log=$2.log note='' good=0 bad=0 started=$SECONDS status
    if [ "$seed" -gt 0 ]; then log=$program.seed$seed.log name="$name, seed $seed"; fi
    if [ "$kind" = fuzz ]; then run_fuzzer "$program"; else run_suite "$kind" "$program" "$seed"; fi >"$log" 2>&1
    status=$?
    if [ "$kind" = fuzz ]; then
        if [ $status -eq 0 ]; then good=1; else bad=1; fi
        note=", $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
    else
        read -r good bad <<<"$(counts "$log")" || true
        good=${good:-0} bad=${bad:-0}
        # A program that ended badly without saying why, or that has no tests at all.
        if [ "$bad" -eq 0 ] && { [ $status -ne 0 ] || [ "$good" -eq 0 ]; }; then bad=1 note=", exit status $status"; fi
    fi
    printf '%-9s %-28s ' "$kind" "$name"
    if [ "$bad" -eq 0 ]; then
        printf '%4d passed%s  (%d s)\n' "$good" "$note" $((SECONDS - started))
        grep -h 'skipped' "$log" | sort -u | sed 's/^/        /'
    else
        printf '%4d passed, %d FAILED%s  (%d s)\n' "$good" "$bad" "$note" $((SECONDS - started))
        {
            show_failure "$log"
            if [ "$seed" -gt 0 ]; then echo "        again:     SIMT_SEED=$seed $0 $program"; fi
        } | tee "$4.told"
        { echo "$kind $name: $bad failed" && cat "$4.told"; } >>"$4.failures"
    fi
    echo "$good $bad" >"$4.counts"
}

number=0
for word in "$@"; do
    kind=$(kind_of "$word") program=${word#cpu:}
    for seed in $(seeds "$kind" "$program"); do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
        number=$((number + 1))
        # What it prints is shown when it has ended, in one piece.
        (run_program "$kind" "$program" "$seed" "$results/$number" >"$results/$number.text" &&
            cat "$results/$number.text") &
    done
done
wait

echo
cat "$results"/*.failures 2>/dev/null
awk -v programs="$number" '
    { passed += $1; failed += $2 }
    END {
        failed += programs - NR # of those that left no count
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0
    }' "$results"/*.counts
