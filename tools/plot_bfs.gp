# plot_bfs.gp: entries looked at a second, fragmented and not.
set title foot("Breadth-first search")
set boxwidth 0.35
set yrange [0:*]
set ylabel "million entries a second"
set key top right
set xtics (word(matrices, 1) 1) noenhanced
set for [i = 2:words(matrices)] xtics add (word(matrices, i) i)
set xrange [0.4:words(matrices) + 0.6]
states = "fragmented defragmented"
plot for [i = 1:2] data index "bfs" using (place(matrices, strcol("matrix")) + 0.4 * (i - 1.5)):\
         (only("state", word(states, i), "mteps")) with boxes lc rgb colour[3 - i] title word(states, i)
