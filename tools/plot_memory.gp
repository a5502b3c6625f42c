# plot_memory.gp: bytes a nonzero over the mean row length, for random matrices.
set multiplot layout 1,2 title foot("Bytes a nonzero, rows of random length")
set logscale x 2
set xrange [0.9:36]
set yrange [0:*]
set xlabel "mean row length"
set ylabel "bytes a nonzero"
set key top right
columns = "streamed tight csr hyb ell"
titles = "'dcsr, streamed in' 'dcsr, defragmented' CSR HYB ELL"
colours = "1 7 8 2 4"
points = "7 6 5 9 11"
of(wanted, name) = strcol("matrix")[1:3] eq "er:" ? only("type", wanted, name) : NaN
do for [type in "pattern fp64"] {
    set title type
    plot for [i = 1:5] data index "memory" using "mean_row":(of(type, word(columns, i))) \
             with linespoints lc rgb colour[int(word(colours, i))] pt int(word(points, i)) \
             title word(titles, i)
}
unset multiplot
