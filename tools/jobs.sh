#!/bin/sh
# jobs.sh: prints how many compilers make may run at the same time: one a core, but no more than there is memory for.
# The largest, g++ -O3 and nvcc, take some 1.5 GB each.
cores=$(nproc 2>/dev/null || echo 1)
room=$(awk '$1 == "MemAvailable:" { print int($2 / (1536 * 1024)) }' /proc/meminfo 2>/dev/null)
if [ "${room:=$cores}" -ge "$cores" ]; then
    echo "$cores"
else
    echo $((room > 1 ? room : 1))
fi
