# plot_iterate.gp: seconds of updates and of products, stacked, a panel a matrix.
names = "csr_rebuilt dcsr_sum dcsr_keep graphblas_set graphblas_build"
set multiplot layout 1,words(matrices) title foot("50 x (0.2% new entries, then 5 products), fp64")
set boxwidth 0.8
set yrange [0:*]
set ylabel "seconds"
set xtics rotate by -60 noenhanced
set xtics (word(names, 1) 1)
set for [i = 2:words(names)] xtics add (word(names, i) i)
set xrange [0.4:words(names) + 0.6]
set offsets 0, 0, graph 0.15, 0
set key top left
do for [matrix in matrices] {
    set title matrix noenhanced
    plot for [i = 1:2] data index "iterate" using (place(names, strcol("competitor"))):\
             (only("matrix", matrix, word("total_s products_s", i))) with boxes lc rgb colour[3 - i] \
             title word("updates products", i)
}
unset multiplot
