#!/bin/sh
# deps.sh: installs the Debian packages that are missing; quick when none is.
#
# usage: tools/deps.sh build|test|bench|cuda
#
#   build   the library and the program           test   also compilers, sanitizers and tools of `make test` and `lint`
#   bench   also the competitors of `make bench`  cuda   what compiles for GPUs, as Python wheels
#
# On systems without apt-get it says what to install and goes on.
set -eu

# The wheels go into .cuda: that is found without any setting, outlives `make clean`, as it is large, and goes with the
# clone. CUDA 13.0, since what is built with it runs with every later driver.
if [ "${1:-}" = cuda ]; then
    folder=$(cd "$(dirname "$0")/.." && pwd)/.cuda
    python3 -m pip --version >/dev/null 2>&1 || {
        echo 'this needs Python and its pip; on Debian: apt-get install python3-pip' >&2
        exit 1
    }
    exec python3 -m pip install --upgrade --target "$folder" 'cuda-toolkit[nvcc,cudart,cccl,cusparse,sanitizer]==13.0.*'
fi

build='gcc libc6-dev make libjemalloc-dev liblapack-dev liblmdb-dev libxxhash-dev libzstd-dev zlib1g-dev libjansson-dev
libpng-dev gnuplot-nox'
test='g++ clang libclang-rt-dev libomp-dev libcriterion-dev clang-format-14 universal-ctags gcovr man-db pkgconf zsh
python3-sklearn'
bench='libgraphblas-dev libeigen3-dev librsb-dev petsc-dev libhypre-dev mpi-default-bin mpi-default-dev'

case ${1:-} in
build) wanted=$build ;;
test) wanted="$build $test" ;;
bench) wanted="$build $test $bench" ;;
*)
    echo 'usage: tools/deps.sh build|test|bench|cuda' >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    printf 'This is not a Debian system. Please see to it that the equivalents of these are installed:\n  %s\n' \
        "$wanted" >&2
    exit 0
fi

missing=
for package in $wanted; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
    *' installed') ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

echo "installing:$missing"
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        printf 'This needs root, and there is no sudo. As root, run:\n  apt-get install%s\n' "$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
$as_root apt-get update || echo 'apt-get update failed; trying with the package lists that are there' >&2
# $missing is a list of words.
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
