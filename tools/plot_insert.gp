# plot_insert.gp: edges a second over the size of a batch, for new and existing edges and for deletions.
types = system("awk '/^# (pattern|fp64):/ {sub(\":\", \"\", $2); print $2}' " . data)
set multiplot layout words(types),3 title foot("Batches into and out of a large graph: million edges a second")
set logscale xy
set format x "10^{%T}"
set format y "10^{%T}"
set xlabel "edges a batch"
set key bottom right
# A line is a column, on a GPU of the rows with arrays in one place.
if (gpu eq "") {
    columns = "dcsr_meps view_meps stream_meps peer_meps"
    titles = "'dcsr, waited for' 'dcsr + resolved view' 'dcsr, streamed' 'GraphBLAS'"
    colours = "1 7 3 4"
    points = "7 6 5 9"
    here(i) = 1
} else {
    columns = "dcsr_meps stream_meps dcsr_meps stream_meps view_meps"
    titles = "'host arrays, waited for' 'host arrays, streamed' 'device arrays, waited for' " . \
             "'device arrays, streamed' 'device arrays + resolved view'"
    colours = "1 3 1 3 7"
    points = "6 4 7 5 7"
    here(i) = strcol("from") eq word("host host device device device", i)
}
of(what, i) = here(i) ? only("operation", what, word(columns, i)) : NaN
do for [type in types] {
    do for [what in "new existing remove"] {
        set title sprintf("%s, %s", type, what)
        plot for [i = 1:words(columns)] data index type using "batch":(of(what, i)) \
                 with linespoints lc rgb colour[int(word(colours, i))] pt int(word(points, i)) \
                 title word(titles, i)
    }
}
unset multiplot
