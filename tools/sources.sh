#!/bin/sh
# sources.sh: lists the C, C++ and CUDA sources of the tree; with arguments, those under these folders.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- include dcsr ops algos amg multi persist cli tests bench tools
find "$@" -name '*.[ch]' -o -name '*.inc' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort
