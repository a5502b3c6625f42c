# plot_defragment.gp: the cost of defragmentation in products, a panel a matrix.
kinds = "keep_2 keep_3 keep_4 keep_0 last_4"
kind(policy) = sprintf("%s_%d", policy, column("portions"))
set multiplot layout 1,words(matrices) title foot("Defragmentation in units of one product")
set boxwidth 0.8
set yrange [0:*]
set ylabel "products"
set xtics rotate by -40
set xtics ("2 portions" 1, "3 portions" 2, "4 portions" 3, "a tenth of the rows" 4, \
           "4, duplicates sought" 5)
unset key
do for [matrix in matrices] {
    set title matrix noenhanced
    plot data index "defragment" using (place(kinds, kind(strcol("policy")))):\
             (only("matrix", matrix, "products")) with boxes lc rgb colour[1]
}
unset multiplot
