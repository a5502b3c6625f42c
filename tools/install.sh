#!/bin/sh
# install.sh: puts the library, its headers, the program, its manual page and its completion where others find them;
# `make install` runs it.
#
# usage: tools/install.sh BUILD DESTDIR PREFIX VERSION HEADER...
#
#   DEVICE_LIBS=...   what a program that links libdcsr.a needs besides what dcsr.pc.in names
set -eu

build=$1 root=$2$3 prefix=$3 version=$4
shift 4

man=$root/share/man/man1 bash=$root/share/bash-completion/completions zsh=$root/share/zsh/site-functions
install -d "$root/bin" "$root/lib/pkgconfig" "$man" "$bash" "$zsh"
install "$build/dcsr" "$root/bin"
"$build/dcsr" help --manual >"$man/dcsr.1"
"$build/dcsr" help --completion bash >"$bash/dcsr"
"$build/dcsr" help --completion zsh >"$zsh/_dcsr"
install -m 644 "$build/libdcsr.a" "$root/lib"
install -m 755 "$build/libdcsr.so.$version" "$root/lib"
ln -sf "libdcsr.so.$version" "$root/lib/libdcsr.so.${version%%.*}"
ln -sf "libdcsr.so.${version%%.*}" "$root/lib/libdcsr.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "/^Libs.private:/s|\$| ${DEVICE_LIBS:-}|" dcsr.pc.in \
    >"$root/lib/pkgconfig/dcsr.pc"
install -d "$root/include/dcsr"
install -m 644 "$@" "$root/include/dcsr"
echo "installed dcsr $version into $root"
