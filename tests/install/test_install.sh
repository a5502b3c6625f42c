#!/bin/bash
# test_install.sh: what `make install` puts into an empty folder, and what can be done with that alone: every header is
# compiled by itself, and the example of README.md is built by what pkg-config says, shared and static; the shared
# library is loaded by a program, and by an interpreter, that have no jemalloc. Nothing here looks into the source tree
# but for that example and what loads.
#
# usage: test_install.sh DESTDIR PREFIX     where it was installed to
#
#   CC, CXX   the compilers to use
#
# The last line is as Criterion's, for tools/test.sh.
# shellcheck disable=SC2046,SC2086  # $CC and what pkg-config prints are lists of words
# shellcheck disable=SC2016         # the quotes of Markdown
set -uo pipefail

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root=$1$2
: "${CC:=cc}" "${CXX:=c++}"
strict=(-Wall -Wextra -Wpedantic -Werror)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0

# This installation's dcsr.pc and no other.
export PKG_CONFIG_LIBDIR=$root/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$1 PKG_CONFIG_PATH=
includes=$(pkg-config --cflags-only-I dcsr | sed 's/^-I//; s/ *$//')

check() { # check NAME: runs the function of that name
    local status
    (
        set -e # which would mean nothing within a condition
        "$1"
    ) >"$1.log" 2>&1
    status=$?
    if [ $status -eq 0 ]; then
        passed=$((passed + 1))
        echo "[PASS] install::$1"
        grep '^skipped' "$1.log"
    else
        failed=$((failed + 1))
        echo "[FAIL] install::$1"
        sed 's/^/[----]   /' "$1.log"
    fi
}

headers() { # what is installed, as it is included
    (cd "$includes" && find . -name '*.h' | sed 's|^\./||' | sort)
}

every_header_is_c11() {
    [ "$(headers | wc -l)" -gt 0 ]
    headers | while read -r header; do
        echo "#include <$header>"
        echo "#include <$header>" >alone.c
        $CC -std=c11 "${strict[@]}" $(pkg-config --cflags dcsr) -fsyntax-only alone.c
    done
}

every_header_is_cxx17() {
    headers | while read -r header; do
        echo "#include <$header>"
        echo "#include <$header>" >alone.cpp
        $CXX -std=c++17 "${strict[@]}" $(pkg-config --cflags dcsr) -fsyntax-only alone.cpp
    done
}

all_headers_go_together() {
    headers | sed 's/.*/#include <&>/' >all.c
    headers | sort -r | sed 's/.*/#include <&>/' >all.cpp
    $CC -std=c11 "${strict[@]}" $(pkg-config --cflags dcsr) -fsyntax-only all.c
    $CXX -std=c++17 "${strict[@]}" $(pkg-config --cflags dcsr) -fsyntax-only all.cpp
}

every_exported_name_is_declared() {
    headers | sed 's/.*/#include <&>/' >all.c
    $CC -std=c11 $(pkg-config --cflags dcsr) -E -P all.c | grep -o '\<dcsr_[a-z0-9_]*\>' | sort -u >declared
    nm -D --defined-only "$root/lib/libdcsr.so" |
        awk '$3 ~ /^dcsr_/ { sub(/@.*/, "", $3); print $3 }' | sort -u >exported
    [ -s exported ]
    comm -13 declared exported >undeclared
    cat undeclared
    [ ! -s undeclared ]
}

every_header_of_the_readme_is_there() {
    grep -o '](\(include\|dcsr\|ops\|algos\|persist\)/[^)]*\.h)' "$sources/README.md" |
        sed 's/^](\(include\/\)\{0,1\}//; s/)$//' >named
    [ -s named ]
    while read -r header; do
        echo "$header"
        [ -f "$includes/$header" ]
    done <named
}

# The first program of README.md: lines that include stand before main(), the others in it. It has to find the levels
# that it says it finds.
example() {
    sed -n '/^## In C$/,$p' "$sources/README.md" |
        sed -n '/^```c$/,/^```$/p' | sed '/^```$/q' | sed '1d;$d' >example.txt
    [ -s example.txt ]
    {
        grep '^#include' example.txt
        echo 'int main(void) {'
        grep -v '^#include' example.txt
        echo 'return !(level[0] == 0 && level[1] == 1 && level[2] == 2 && level[3] == 2); }'
    } >bfs.c
}

example_runs_with_the_shared_library() {
    example
    $CC -std=c11 "${strict[@]}" bfs.c $(pkg-config --cflags --libs dcsr) -o shared
    LD_LIBRARY_PATH=$root/lib ldd shared | grep "libdcsr.so.* => $root/lib/"
    LD_LIBRARY_PATH=$root/lib ./shared
}

example_runs_with_the_static_library() {
    example
    $CC -std=c11 "${strict[@]}" bfs.c \
        $(pkg-config --static --cflags --libs dcsr | sed 's/-ldcsr\>/-l:libdcsr.a/') -o static
    if ldd static | grep libdcsr; then return 1; fi
    ./static
}

# Into a process that is running, by a program linked with nothing of ours.
a_program_loads_the_library_late() {
    $CC -std=c11 -D_GNU_SOURCE "${strict[@]}" $(pkg-config --cflags dcsr) "$sources/tests/install/load_late.c" \
        -ldl -o late
    if ldd late | grep 'dcsr\|jemalloc'; then return 1; fi
    ./late "$root/lib/libdcsr.so"
}

an_interpreter_loads_the_library_late() {
    if ! python3 -c 'import ctypes'; then
        echo 'skipped: there is no python3'
        return 0
    fi
    python3 "$sources/tests/install/load_late.py" "$root/lib/libdcsr.so"
}

program_says_its_version() {
    "$root/bin/dcsr" info path:2
    [ "$("$root/bin/dcsr" --version | grep -o '[0-9.]*$')" = "$(pkg-config --modversion dcsr)" ]
}

for name in every_header_is_c11 every_header_is_cxx17 all_headers_go_together every_exported_name_is_declared \
    every_header_of_the_readme_is_there example_runs_with_the_shared_library example_runs_with_the_static_library \
    a_program_loads_the_library_late an_interpreter_loads_the_library_late program_says_its_version; do
    check "$name"
done
echo "[====] Synthesis: Tested: $((passed + failed)) | Passing: $passed | Failing: $failed | Crashing: 0"
[ $failed -eq 0 ]
