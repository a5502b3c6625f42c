#!/bin/sh
# demo.sh: shows what dcsr does, on a graph that this machine already has; `make demo` runs it.
#
# usage: tools/demo.sh [PACKAGE]          (make demo PACKAGE=perl)
#
# 1. The packages of this machine and what depends on what, streamed in while searches and rankings run on snapshots,
#    and what the system rests on; PACKAGE (default libc6) is the one whose loss is looked at. Where there is no dpkg
#    this part is left out.
# 2. The program `dcsr` on the same edges: figures, a stream with searches, a picture, versions on the disk.
# 3. A generated graph of four million edges at full speed, alone and with queries running.
# 4. A heat problem on a plate, solved by multigrid; then a part of the plate conducts a thousand times better.
set -eu

program=${DCSR_PROGRAM:-build/dcsr}
demo=${DCSR_DEMO:-build/tools/demo}
folder=${DCSR_DEMO_FOLDER:-build/demo}
here=$(dirname "$0")
if [ $# -eq 0 ] && [ -n "${PACKAGE:-}" ]; then set -- "$PACKAGE"; fi

title() {
    printf '\n=== %s\n\n' "$1"
}

# Shows a command and runs it.
show() {
    printf '$ dcsr'
    printf ' %s' "$@"
    printf '\n'
    "$program" "$@"
    printf '\n'
}

mkdir -p "$folder"
if what=$("$here/package-graph.sh" "$folder"); then
    title "1. The packages of this machine: a graph that is asked questions while it grows"
    printf '%s\n' "$what"
    "$demo" "$folder/packages.el" "$folder/packages.names" "$@"
    title "2. The program on the same edges ($folder/packages.el: a line for each dependency)"
    show info "$folder/packages.el"
    show ingest "$folder/packages.el" --batch 20k --read bfs
    show spy "$folder/packages.el" "$folder/packages.png"
    rm -rf "$folder/store"
    show ingest "$folder/packages.el" --batch 20k --into "$folder/store#packages" --durable
    show log "$folder/store"
else
    printf 'This machine has no dpkg, so there is no package graph; a generated one follows.\n'
fi
title "3. Four million edges of a generated graph at full speed, alone and with queries running"
show ingest rmat:18,16 --batch 200k
show ingest rmat:18,16 --batch 200k --read bfs
show ingest rmat:18,16 --batch 200k --read spmv
title "4. Heat in a plate of 400 x 400 points, solved by multigrid, and again after the plate has changed"
# Between points of a square in the middle heat flows 1000 times as well: those entries change, and their diagonal.
awk -v n=400 -v times=1000 '
    function inside(x, y) { return (x >= n / 4 && x < n / 2 && y >= n / 4 && y < n / 2) }
    function connect(x, y) { if (inside(x, y)) { print p, y * n + x + 1, -times; diagonal += times - 1 } }
    BEGIN {
        for (y = n / 4; y < n / 2; y++) for (x = n / 4; x < n / 2; x++) {
            p = y * n + x + 1
            diagonal = 4
            connect(x - 1, y); connect(x + 1, y); connect(x, y - 1); connect(x, y + 1)
            print p, p, diagonal
        }
    }' >"$folder/plate.changes"
show amg poisson2d5:400 --changes "$folder/plate.changes" --plot "$folder/plate.png" -o "$folder/heat.mtx"
