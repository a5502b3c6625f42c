#!/usr/bin/env bash
# lint.sh: the rules of the sources that a machine can check; `make lint` runs it.
#
# usage: tools/lint.sh [CHECK...]     by default all: format includes names lengths words examples
#
# Prints FILE:LINE: what is wrong, and exits with 1 when anything was.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

MOST_FILE_LINES=600
MOST_FUNCTION_LINES=100
# Longer than that, with the reason.
LONG_FILES=()
LONG_FUNCTIONS=() # FILE:FUNCTION

# Who may include whom.
declare -A MAY_INCLUDE=(
    [dcsr]='dcsr'
    [ops]='dcsr ops'
    [algos]='dcsr ops algos'
    [amg]='dcsr ops amg'
    [persist]='dcsr persist'
    [cli]='dcsr ops algos amg persist cli'
    [tools]='dcsr ops algos amg persist tools'
    [bench]='dcsr ops algos amg persist bench'
    [tests]='dcsr ops algos amg persist cli tests'
)

mapfile -t sources < <(tools/sources.sh)
mapfile -t library < <(tools/sources.sh dcsr ops algos)
mapfile -t everything < <(git ls-files -co --exclude-standard 2>/dev/null | while read -r f; do [ -f "$f" ] && echo "$f"; done)
wrong=0

complain() { # complain TEXT
    echo "$1"
    wrong=1
}

check_format() {
    clang-format-14 --dry-run -Werror "${sources[@]}" || wrong=1
}

check_includes() {
    local file line path from to
    for file in "${sources[@]}"; do
        from=${file%%/*}
        while IFS=: read -r line path; do
            to=${path%%/*}
            if [ "$to" = "$path" ]; then
                complain "$file:$line: \"$path\" is not written from the root of the repository"
            elif [[ " ${MAY_INCLUDE[$from]} " != *" $to "* ]]; then
                complain "$file:$line: $from/ may not include $path (only ${MAY_INCLUDE[$from]})"
            fi
        done < <(awk -F '"' '/^[ \t]*#[ \t]*include[ \t]*"/ { print FNR ":" $2 }' "$file")
    done
}

check_names() {
    local name
    while read -r name; do
        complain "two files are called $name: $(printf '%s\n' "${sources[@]}" | grep "/$name\$" | paste -sd ' ')"
    done < <(printf '%s\n' "${sources[@]}" | sed 's|.*/||' | sort | uniq -d)
}

check_lengths() {
    local file lines function start end
    for file in "${sources[@]}"; do
        lines=$(wc -l <"$file")
        if [ "$lines" -gt $MOST_FILE_LINES ] && [[ " ${LONG_FILES[*]} " != *" $file "* ]]; then
            complain "$file:1: $lines lines; at most $MOST_FILE_LINES, so split it"
        fi
    done
    while read -r file start end function; do
        lines=$((end - start + 1))
        if [ "$lines" -gt $MOST_FUNCTION_LINES ] && [[ " ${LONG_FUNCTIONS[*]} " != *" $file:$function "* ]]; then
            complain "$file:$start: $function() has $lines lines; at most $MOST_FUNCTION_LINES, so split it"
        fi
    done < <(ctags --quiet --langmap=c:.c.h.inc,c++:.cpp.cu.cuh --c-kinds=f --c++-kinds=f --fields=+ne -o - "${sources[@]}" |
        awk -F '\t' '{ line = end = 0
            for (i = 4; i <= NF; i++) { if ($i ~ /^line:/) line = substr($i, 6); if ($i ~ /^end:/) end = substr($i, 5) }
            if (end) print $2, line, end, $1 }')
}

forbid() { # forbid PATTERN WHY FILE...
    local pattern=$1 why=$2 match
    shift 2
    while read -r match; do complain "$match   <- $why"; done < <(grep -nIE "$pattern" "$@" /dev/null | cut -c 1-160)
}

check_words() {
    local texts=() file
    for file in "${everything[@]}"; do if [ "$file" != tools/lint.sh ]; then texts+=("$file"); fi; done
    forbid '\<(TODO|FIXME|XXX)\>' 'a thing works or is not there' "${texts[@]}"
    forbid '(^|[^A-Za-z0-9_.])/(work|home|root|Users)/' 'a path of one machine' "${texts[@]}"
    forbid '[Tt]hrust(::|/)' 'CUB and our own code only' "${sources[@]}"
    forbid 'cudaMallocManaged|cudaDeviceSynchronize' 'memory is placed by us, and streams wait for events' "${library[@]}"
    forbid '[ 	]+$' 'blanks at the end of the line' "${sources[@]}" tools/*.sh
}

# The example in README.md is the one that a test compiles and runs.
check_examples() {
    local example
    example=$(sed -n '/^\/\* README \*\/$/,/^\/\* end \*\/$/p' tests/cli/test_readme.c | sed '1d;$d')
    if [ -z "$example" ] || [[ $(cat README.md) != *"$example"* ]]; then
        complain 'README.md:1: its example differs from that in tests/cli/test_readme.c'
    fi
}

[ $# -gt 0 ] || set -- format includes names lengths words examples
for check; do
    "check_$check"
done
if [ $wrong -eq 0 ]; then echo "lint: ${#sources[@]} sources are in order"; fi
exit $wrong
