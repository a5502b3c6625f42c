# plot_ops.gp: operations beside GraphBLAS: the ratio of each group, and how the cost of products follows what there is to do.
groups = system("awk '/^# summary/ {on = 1; next} on && $1 == \"all\" {print $2}' " . data)
sparse = system("awk '$1 != \"all\" && $2 ~ /^(mxv_sparse|mxv_masked)$/ && !seen[$1]++ {print $1}' " . data)
set multiplot layout 1,(1 + 2 * (words(sparse) > 0)) title foot("Operations (ratio: GraphBLAS's time over ours)")
set boxwidth 0.8
set yrange [0:*]
set ylabel "geometric mean of the ratios"
set xtics rotate by -60 noenhanced
unset key
set xtics (word(groups, 1) 1)
set for [i = 2:words(groups)] xtics add (word(groups, i) i)
set xrange [0.4:words(groups) + 0.6]
plot data index "summary" using (place(groups, strcol("group"))):(column("geometric_mean")) with boxes lc rgb colour[1], \
     1 with lines lc rgb "#444444"
if (words(sparse) > 0) {
    set key top left
    set logscale xy
    set xtics auto norotate enhanced
    set format "10^{%T}"
    set xrange [*:*]
    set yrange [*:*]
    set ylabel "seconds"
    of(group, name) = strcol("group") eq group ? only("matrix", word(sparse, k), name) : NaN
    do for [group in "mxv_sparse mxv_masked"] {
        set title group noenhanced
        set xlabel group eq "mxv_sparse" ? "share of the vector" : "share of the mask"
        plot for [k = 1:words(sparse)] data index "ops" using (column("share")):(of(group, "seconds")) \
                 with linespoints lc rgb colour[k] pt 7 title word(sparse, k), \
             for [k = 1:words(sparse)] data index "ops" using (column("share")):(of(group, "peer_s")) \
                 with linespoints lc rgb colour[k] pt 6 dt 2 title word(sparse, k) . ", GraphBLAS"
    }
}
unset multiplot
