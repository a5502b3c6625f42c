# plot_common.gp: what the plots share; `data`, `out` and `pages` come from the command line.
#
# Each table of a benchmark is a data set that is selected by its name; rows are filtered by their labels, and
# what a filter leaves out is "missing", so that lines go on over it.
set terminal pngcairo size 1280,720 font ",11"
set output out
set datafile missing NaN
set grid back lc rgb "#dddddd"
set key noenhanced
set style fill solid 0.85 border rgb "#444444"
array colour[8] = [0x1f77b4, 0xff7f0e, 0x2ca02c, 0xd62728, 0x9467bd, 0x8c564b, 0x17becf, 0x7f7f7f]
# Where it was measured: the GPU's name, or the pages on the host.
gpu = system("awk '/^# on / {sub(/^# on /, \"\"); sub(/:.*/, \"\"); print; exit}' " . data)
foot(text) = text . "; " . (gpu eq "" ? pages . " pages" : gpu)
# The number in a column when the label in another is the wanted one.
only(label, wanted, name) = strcol(label) eq wanted ? column(name) : NaN
# The place of a word in a list; 0 when it is not there.
place(list, word) = sum [i = 1:words(list)] (word(list, i) eq word ? i : 0)
# The different words of a label column, counted from 1, in a benchmark whose tables all begin with `matrix`.
labels(k) = system(sprintf("awk 'NF > 5 && !/^#/ && $1 != \"matrix\" && !seen[$%d]++ {print $%d}' ", k, k) . data)
matrices = labels(1)
