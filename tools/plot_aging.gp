# plot_aging.gp: memory and speed over a long log.
logs = "random_auto random_off window_auto window_off"
set multiplot layout 2,2 title foot("A long log of insertions and deletions")
set xlabel "rounds (a batch in, a batch out)"
set yrange [0:*]
set key outside right center
columns = "bytes/edge in_meps out_meps read_ms"
labels = "'bytes a live edge' 'million edges/s in' 'million edges/s out' 'ms a view and product'"
do for [what in columns] {
    set ylabel word(labels, place(columns, what))
    plot for [i = 1:words(logs)] data index word(logs, i) using "round":(column(what)) \
             with linespoints lc rgb colour[i] pt (4 + i) title word(logs, i)
}
unset multiplot
