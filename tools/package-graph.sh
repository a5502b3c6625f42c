#!/bin/sh
# package-graph.sh: the dependency graph of the packages that this machine knows, as an edge list.
#
# usage: tools/package-graph.sh FOLDER
#
# Writes FOLDER/packages.el, a line `A B` for each package number A that depends on package number B (Depends and
# Pre-Depends), and FOLDER/packages.names, the names in the order of their numbers, from 0. Packages come from apt's
# lists where there are any, and from what dpkg has installed. Of alternatives (a | b) the first that exists is taken,
# as is or through the first package that provides it. Prints one line that says where they come from; fails where there
# is no dpkg.
set -eu

folder=$1
status=/var/lib/dpkg/status
fields='^(Package|Status|Pre-Depends|Depends|Provides): |^$'

if ! [ -r "$status" ]; then
    echo "package-graph.sh: no $status: this machine has no dpkg" >&2
    exit 1
fi
mkdir -p "$folder"

{
    if command -v apt-cache >/dev/null; then apt-cache dumpavail 2>/dev/null | grep -E "$fields" || true; fi
    echo
    grep -E "$fields" "$status"
    echo
} | awk -v edges="$folder/packages.el" -v names="$folder/packages.names" '
    BEGIN { count = local = total = 0 }
    function strip(dependency) {
        sub(/^[ \t]+/, "", dependency)
        sub(/[ \t(:\[].*/, "", dependency)
        return dependency
    }
    /^Package: /     { name = $2 }
    /^Status: /      { listed = 1; installed = / installed$/ }
    /^Depends: /     { needs = needs ", " substr($0, 10) }
    /^Pre-Depends: / { needs = needs ", " substr($0, 14) }
    /^Provides: /    { provides = substr($0, 11) }
    /^$/ {
        if (name != "" && !(name in number) && (!listed || installed)) {
            if (listed) local++
            number[name] = count
            package[count] = name
            need[count] = needs
            parts = split(provides, virtual, ",")
            for (i = 1; i <= parts; i++) {
                v = strip(virtual[i])
                if (!(v in provider)) provider[v] = count
            }
            count++
        }
        name = needs = provides = ""
        listed = installed = 0
    }
    END {
        printf "" > edges
        printf "" > names
        for (a = 0; a < count; a++) {
            print package[a] > names
            split("", seen)
            clauses = split(need[a], clause, ",")
            for (c = 1; c <= clauses; c++) {
                choices = split(clause[c], choice, "|")
                for (i = 1; i <= choices; i++) {
                    want = strip(choice[i])
                    if (want in number) b = number[want]
                    else if (want in provider) b = provider[want]
                    else continue
                    if (b != a && !(b in seen)) {
                        seen[b] = 1
                        print a, b > edges
                        total++
                    }
                    break
                }
            }
        }
        if (count == local) where = "what dpkg has installed here (apt-get update fetches the full lists)"
        else where = "the package lists of this machine"
        print "Depends and Pre-Depends, from " where "."
    }'
