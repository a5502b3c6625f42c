#!/usr/bin/env bash
# lint.sh: the rules of the sources that a machine can check; `make lint` runs it.
#
# usage: tools/lint.sh [CHECK...]     by default all: format includes folders names lengths columns words examples
#
# Prints FILE:LINE: what is wrong, and exits with 1 when anything was.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

MOST_FILE_LINES=600
MOST_FUNCTION_LINES=100
# Longer than that, with the reason.
LONG_FILES=()
LONG_FUNCTIONS=() # FILE:FUNCTION

MOST_FILES=40 # of a folder
MOST_COLUMNS=120

# Who may include whom, by the longest folder that a file is in. Headers of include/dcsr/ may be included by all.
declare -A MAY_INCLUDE=(
    [include]=''
    [dcsr/base]='dcsr/base'
    [dcsr/device]='dcsr/base dcsr/device'
    [dcsr/store]='dcsr/base dcsr/device dcsr/store'
    [dcsr/store/cpu]='dcsr/base dcsr/device dcsr/store dcsr/store/cpu'
    [dcsr/store/cuda]='dcsr/base dcsr/device dcsr/store dcsr/store/cuda'
    [dcsr/nut]='dcsr/base dcsr/device dcsr/store dcsr/store/cuda dcsr/nut'
    [dcsr/view]='dcsr/base dcsr/device dcsr/store dcsr/store/cuda dcsr/nut dcsr/view'
    [dcsr/vector]='dcsr/base dcsr/device dcsr/vector'
    [dcsr/names]='dcsr/base dcsr/names'
    [dcsr/io]='dcsr/base dcsr/store dcsr/io'
    [ops/algebra]='dcsr ops/algebra'
    [ops/rows]='dcsr ops/algebra ops/rows'
    [ops/vector]='dcsr ops/algebra ops/vector'
    [ops/matrix]='dcsr ops/algebra ops/rows ops/vector ops/matrix'
    [ops/choice]='dcsr ops/algebra ops/rows ops/choice'
    [ops/nut]='dcsr ops/algebra ops/nut'
    [ops/spmv]='dcsr ops/algebra ops/rows ops/vector ops/spmv'
    [ops/spmv/portfolio]='dcsr ops/algebra ops/rows ops/vector ops/choice ops/nut ops/spmv'
    [ops/spmv/portfolio/cuda]='dcsr ops/algebra ops/rows ops/vector ops/spmv'
    [ops/mxv]='dcsr ops/algebra ops/rows ops/vector ops/choice ops/nut ops/spmv ops/mxv'
    [ops/spmm]='dcsr ops/algebra ops/rows ops/vector ops/spmv ops/mxv ops/spmm'
    [ops/mxm]='dcsr ops/algebra ops/rows ops/vector ops/matrix ops/mxv ops/mxm'
    [ops/traverse]='dcsr ops/algebra ops/rows ops/traverse'
    [algos]='algos'
    [algos/graph/cuda]='dcsr/base dcsr/device dcsr/store dcsr/store/cuda algos'
    [algos/multi/cuda]='dcsr/base dcsr/device dcsr/store dcsr/store/cuda algos'
    [amg]='amg'
    [amg/cuda]='dcsr/base dcsr/device amg'
    [multi]='dcsr ops/algebra ops/rows ops/spmv ops/traverse multi'
    [persist]='dcsr persist'
    [cli]='dcsr persist cli'
    [cli/amg]='dcsr persist cli'
    [cli/graph]='dcsr persist cli'
    [cli/ingest]='dcsr persist cli'
    [cli/tune]='dcsr persist cli'
    [tools]='tools'
    [bench]='dcsr ops multi bench'
    [tests]='dcsr ops algos amg multi persist cli tests'
)

mapfile -t sources < <(tools/sources.sh)
mapfile -t library < <(tools/sources.sh dcsr ops algos amg multi)
mapfile -t everything < <(git ls-files -co --exclude-standard 2>/dev/null |
    while read -r f; do [ -f "$f" ] && echo "$f"; done)
wrong=0

complain() { # complain TEXT
    echo "$1"
    wrong=1
}

check_format() {
    clang-format-14 --dry-run -Werror "${sources[@]}" || wrong=1
}

# Of a folder's headers, those in bold in its README.md are for others too; tests and benchmarks may look at
# all.
is_for_others() { # is_for_others FILE
    grep -qF "**\`${1##*/}\`**" "${1%/*}/README.md" 2>/dev/null
}

check_includes() {
    local file line path rule allowed folder
    for file in "${sources[@]}"; do
        rule=${file%/*}
        while [ -z "${MAY_INCLUDE[$rule]+x}" ] && [[ $rule == */* ]]; do rule=${rule%/*}; done
        allowed=${MAY_INCLUDE[$rule]-}
        while IFS=: read -r line path; do
            folder=${path%/*}
            if [ ! -f "$path" ]; then
                complain "$file:$line: \"$path\" is not written from the root of the repository"
                continue
            fi
            while [[ " $allowed " != *" $folder "* ]] && [[ $folder == */* ]]; do folder=${folder%/*}; done
            if [[ " $allowed " != *" $folder "* ]]; then
                complain "$file:$line: $rule/ may not include $path (only <dcsr/...>, $allowed)"
            elif [ "${file%/*}" != "${path%/*}" ] && [[ $file != @(tests|bench)/* ]] && ! is_for_others "$path"; then
                complain "$file:$line: $path is internal to its folder; see ${path%/*}/README.md"
            fi
        done < <(awk -F '"' '/^[ \t]*#[ \t]*include[ \t]*"/ { print FNR ":" $2 }' "$file")
    done
}

# The README.md of a folder of sources names its files, all of them and no others.
check_folders() {
    local folder file files
    for folder in $(printf '%s\n' "${sources[@]}" | sed 's|/[^/]*$||' | sort -u); do
        mapfile -t files < <(printf '%s\n' "${sources[@]}" | grep "^$folder/[^/]*$" | sed 's|.*/||')
        if [ "${#files[@]}" -gt $MOST_FILES ]; then
            complain "$folder: ${#files[@]} files; at most $MOST_FILES, so merge or split"
        fi
        case $folder in include/* | tests* | bench* | tools) continue ;; esac
        head -n 1 "$folder/README.md" | grep -q '^# [A-Z]' || complain "$folder/README.md:1: it has no title"
        for file in "${files[@]}"; do
            # In a row of the table: elsewhere the table is broken.
            grep '^|.*|$' "$folder/README.md" | grep -qF "\`$file\`" ||
                complain "$folder/README.md: $file is not named in its table"
        done
        while read -r file; do
            [ -f "$folder/$file" ] || complain "$folder/README.md: there is no $file"
        done < <(sed -n 's/^|\([^|]*\)|.*/\1/p' "$folder/README.md" | grep -o '`[^`]*`' | tr -d '`')
    done
}

# Rows of tables and what stands in a code block of a document cannot be broken.
check_columns() {
    local file match
    for file in "${everything[@]}"; do
        case $file in
        *.c | *.h | *.inc | *.def | *.cu | *.cuh | *.cpp | *.md | *.sh | *.mk | Makefile | .ci/run) ;;
        *) continue ;;
        esac
        while read -r match; do complain "$match"; done < <(awk -v most=$MOST_COLUMNS -v file="$file" '
            /^```/ { code = !code }
            length($0) > most && !/^\|/ && !(file ~ /\.md$/ && (code || /^    /)) {
                print file ":" FNR ": " length($0) " columns; at most " most }' "$file")
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
    done < <(ctags --quiet --langmap=c:.c.h.inc,c++:.cpp.cu.cuh --c-kinds=f --c++-kinds=f --fields=+ne -o - \
        "${sources[@]}" |
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
    forbid 'cudaMallocManaged|cudaDeviceSynchronize' 'memory is placed by us, and streams wait for events' \
        "${library[@]}"
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

[ $# -gt 0 ] || set -- format includes folders names lengths columns words examples
for check; do
    "check_$check"
done
if [ $wrong -eq 0 ]; then echo "lint: ${#sources[@]} sources are in order"; fi
exit $wrong
