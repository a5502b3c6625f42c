# plot_spmv.gp: GFLOP/s of each kernel, a panel a type and matrix.
types = labels(2)
kernels = labels(3)
set multiplot layout words(types),words(matrices) title foot("y = A x (orange: others, blue: dcsr)")
set boxwidth 0.8
set yrange [0:*]
set ylabel "GFLOP/s"
set xtics rotate by -60 noenhanced
unset key
set xtics (word(kernels, 1) 1)
set for [i = 2:words(kernels)] xtics add (word(kernels, i) i)
set xrange [0.4:words(kernels) + 0.6]
of(type, matrix) = strcol("type") eq type ? only("matrix", matrix, "gflops") : NaN
do for [type in types] {
    do for [matrix in matrices] {
        set title sprintf("%s, %s", matrix, type) noenhanced
        plot data index "spmv" using (place(kernels, strcol("kernel"))):(of(type, matrix)):\
                 (strcol("kernel")[1:4] eq "dcsr" ? colour[1] : colour[2]) with boxes lc rgb variable
    }
}
unset multiplot
