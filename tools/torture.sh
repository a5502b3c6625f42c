#!/usr/bin/env bash
# torture.sh: the tests of stores that draw by chance, many times as often as in `make test`; `make torture` runs it.
#
# usage: tools/torture.sh FOLDER       with the programs test_store_*, test_durable_* and powerloss.so in it
#
#   DCSR_TORTURE=20     times as many rounds, and every byte of the files that are damaged
#   DCSR_TEST_SEED      is not for this: run the suite that failed by itself (docs/RELIABILITY.md)
#
# Prints what each test counted, and at last one line with the numbers of tests. Everything that the programs print is
# kept in FOLDER/torture.log. The exit status is 1 when something failed.
set -uo pipefail

folder=${1:?usage: tools/torture.sh FOLDER}
export DCSR_TORTURE=${DCSR_TORTURE:-20}
log=$folder/torture.log
passed=0 failed=0
: >"$log"
for program in "$folder"/test_store_{kill,power,damage,pages,full,processes,readers,opening} \
    "$folder"/test_durable_{kill,damage}; do
    [ -x "$program" ] || continue
    started=$SECONDS
    output=$("$program" --ignore-warnings --timeout 7200 2>&1)
    echo "$output" >>"$log"
    counts='s/.*Synthesis: Tested: [0-9]* | Passing: \([0-9]*\) | Failing: \([0-9]*\) |.*/\1 \2/p'
    read -r good bad <<<"$(sed -n "$counts" <<<"$output" | tail -n 1)"
    printf '%s: %d passed, %d failed  (%d s)\n' "${program##*/}" "${good:-0}" "${bad:-1}" $((SECONDS - started))
    grep -E 'times|cuts|pages|calls|bytes|rounds' <<<"$output" | grep -v '^\[' | sed 's/^/    /'
    grep -A 3 '^\[----\]' <<<"$output" | sed 's/^/    /'
    passed=$((passed + ${good:-0})) failed=$((failed + ${bad:-1}))
done
echo
echo "torture: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
