# plot_concurrent.gp: the latency of readers and the rate of insertion, alone and together.
name(who, reads) = sprintf("%s_%s_%s", who, reads, who eq "reader" ? "0" : sprintf("%d", column("batch")))
at(list) = place(list, name(strcol("who"), strcol("reads")))
set multiplot layout 1,3 title foot("One thread inserts, one reads")
set yrange [0:*]
set boxwidth 0.25
set xrange [0.5:3.5]
set xtics rotate by -30
set xtics ("alone" 1, "beside batches of 10^4" 2, "beside batches of 10^6" 3)
set ylabel "milliseconds"
set key top left
columns = "read_p50 read_p90 read_p99"
do for [reads in "bfs spmv"] {
    set title (reads eq "bfs" ? "Breadth-first search" : "Product")
    order = sprintf("reader_%s_0 both_%s_10000 both_%s_1000000", reads, reads, reads)
    plot for [i = 1:3] data index "concurrent" using (at(order) + 0.25 * (i - 2)):(column(word(columns, i))) \
             with boxes lc rgb colour[i] title word("median '90 percent' '99 percent'", i)
}
set boxwidth 0.8
set xrange [0.5:6.5]
set xtics ("10^4, alone" 1, "10^4, beside searches" 2, "10^4, beside products" 3, \
           "10^6, alone" 4, "10^6, beside searches" 5, "10^6, beside products" 6)
order = "writer_-_10000 both_bfs_10000 both_spmv_10000 writer_-_1000000 both_bfs_1000000 both_spmv_1000000"
set title "Insertion"
set ylabel "million edges a second"
unset key
plot data index "concurrent" using (at(order)):(column("write_meps")) with boxes lc rgb colour[1]
unset multiplot
