# plot_spmv.gp: GFLOP/s of each kernel, a panel a matrix.
kernels = "graphblas eigen librsb plain_csr dcsr_csr dcsr_defragmented dcsr_1_portion dcsr_2_portions " . \
          "dcsr_4_portions dcsr_8_portions dcsr_streamed"
set multiplot layout 1,words(matrices) title foot("y = A x, fp64 (orange: others, blue: dcsr)")
set boxwidth 0.8
set yrange [0:*]
set ylabel "GFLOP/s"
set xtics rotate by -60 noenhanced
unset key
set xtics (word(kernels, 1) 1)
set for [i = 2:words(kernels)] xtics add (word(kernels, i) i)
set xrange [0.4:words(kernels) + 0.6]
do for [matrix in matrices] {
    set title matrix noenhanced
    plot data index "spmv" using (place(kernels, strcol("kernel"))):(only("matrix", matrix, "gflops")):\
             (strcol("kernel")[1:4] eq "dcsr" ? colour[1] : colour[2]) with boxes lc rgb variable
}
unset multiplot
