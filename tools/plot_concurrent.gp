# plot_concurrent.gp: latency of searches and the rate of insertion, alone and together.
names = "reader both_10000 both_1000000 writer_10000 writer_1000000"
name(who) = who eq "reader" ? who : sprintf("%s_%d", who, column("batch"))
set multiplot layout 1,2 title foot("One thread inserts, one searches")
set boxwidth 0.25
set yrange [0:*]
set xtics ("alone" 1, "beside batches of 10^4" 2, "beside batches of 10^6" 3)
set xrange [0.5:3.5]
set title "Breadth-first search"
set ylabel "milliseconds"
set key top left
at(shift) = place(names, name(strcol("who"))) + shift
columns = "bfs_p50 bfs_p90 bfs_p99"
plot for [i = 1:3] data index "concurrent" using (at(0.25 * (i - 2))):(column(word(columns, i))) \
         with boxes lc rgb colour[i] title word("median '90 percent' '99 percent'", i)
order = "writer_10000 both_10000 writer_1000000 both_1000000"
set boxwidth 0.8
set xrange [0.5:4.5]
set xtics ("10^4, alone" 1, "10^4, beside searches" 2, "10^6, alone" 3, "10^6, beside searches" 4)
set xtics rotate by -30
set title "Insertion"
set ylabel "million edges a second"
unset key
plot data index "concurrent" using (place(order, name(strcol("who")))):(column("write_meps")) \
         with boxes lc rgb colour[1]
unset multiplot
