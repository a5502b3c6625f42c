"""train.py: trains the models that choose kernels on a table that `dcsr tune` has measured, and says how good they are.

usage: python3 - TABLE... [--model FILE] [--report] [--json] [--made TEXT] [--seed N]

The table has a line a matrix: its name and family, its features, and for each kernel K the columns seconds:K, build:K
and joules:K, "-" where it does not apply; the first kernel reads the store in place; then for products P with sparse
vectors the seconds of columns:P, rows:P, tiles:P and auto:P, the number taken:P of the one that the library takes, and
what there is to do, elements:P, entries:P and wanted:P (cli/tune/tune.h). Lines "# key value" before it tell device and
machine. `dcsr tune` runs this, and docs/SELECTION.md describes the model file. It needs scikit-learn.
"""
import argparse
import copy
import datetime
import json
import os
import sys
import zlib

import numpy as np
import sklearn
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

TREES = 30  # as many as Dufrechou et al. use
LEAVES = 96  # of a tree, at most: what is beyond hardly helps, and the file has to be small
LEAST_MATRICES = 20
LEAST_ENERGY = 0.2  # of the matrices of which energy must be known; else what was learnt of time serves better
LEAST_SHARE = 0.01  # of the matrices of which a kernel is the best, for it to be in the model
MOST_LOSS = 0.7  # the logarithm of what a kernel costs beside the best, where more is as bad
LEAST_GAIN, LEAST_SAVED = 0.03, 2  # as in ops/choice/choice.c
DOUBT, TRIAL_COST, MOST_TRIALS, LEAST_VOTES, RUNS = 0.03, 10, 3, 0.2, 6  # as in ops/spmv/portfolio/spmv_plan.c
TIE = 1.05
DENSITY_UNITS = 1e6  # as in ops/choice/model_data.h
MOST_DOUBT = 0.1  # the weight of a product whose two directions cost the same, beside one where one is e times slower
READ, DIRECTIONS = ("columns", "rows", "tiles"), ("push", "pull", "tiles")  # in tables, in models
SUMS = ("some", "all", "early")  # as in ops/choice/directions.c
FEW, WORTH_COUNTING = 32, 10e-6  # as in ops/mxv/mxv_cuda.c
WORK = ("elements", "entries", "wanted")
CHEAP = ["rows", "cols", "nnz", "ratio", "mean_row"]


def read_table(path):
    """Its notes, its head, and its lines, in words."""
    notes, lines = {}, []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("# "):
                    key, _, value = line[2:].rstrip("\n").partition(" ")
                    notes[key] = value
                elif line.strip():
                    lines.append(line.rstrip("\n").split("\t"))
    except OSError as error:
        fail("%s: cannot be read: %s" % (path, error.strerror))
    head = lines[0] if lines else []
    # A last line that was cut off when measuring was stopped is measured again.
    return notes, head, [line for line in lines[1:] if len(line) == len(head)]


class Table:
    """What was measured: features X, and a row a matrix and a column a kernel of seconds, build and joules."""

    def __init__(self, paths):
        self.notes, head, lines = read_table(paths[0])
        known = {line[0] for line in lines}
        for path in paths[1:]:
            notes, its_head, more = read_table(path)
            if (notes, its_head) != (self.notes, head):
                fail("%s is of another machine than %s, or of other kernels or features" % (path, paths[0]))
            lines += [line for line in more if line[0] not in known]
            known.update(line[0] for line in more)
        first = next((k for k, name in enumerate(head) if ":" in name), len(head))
        measured = [name[8:] for name in head if name.startswith("seconds:")]
        # Kernels that are taken by name only; what they cost is told, but nothing is learnt of it.
        varies = self.notes.get("varies", "").split(",")
        self.kernels = [name for name in measured if name not in varies]
        self.others = [name for name in measured if name in varies]
        self.features = head[2:first]
        self.names = [line[0] for line in lines]
        self.families = np.array([line[1] for line in lines])
        # A matrix and what was made from it are one group: its name up to the first blank.
        self.groups = np.unique([line[0].split(" ")[0] for line in lines], return_inverse=True)[1]
        self.X = np.array([[float(x) for x in line[2:first]] for line in lines], dtype=np.float64)
        column = {name: k for k, name in enumerate(head)}

        def of(kind, kernels=self.kernels):
            numbers = [numbers_of(line, column, [kind], kernels) for line in lines]
            return np.array(numbers, dtype=np.float64).reshape(len(lines), len(kernels))

        self.seconds, self.build, self.joules = of("seconds"), of("build"), of("joules")
        self.other = {"time": of("seconds", self.others), "energy": of("joules", self.others)}
        self.vectors = Vectors(self, head, lines)

    def check(self):
        if len(self.names) < LEAST_MATRICES:
            fail("the table has %d matrices, and %d at least are needed; let `dcsr tune` measure more"
                 % (len(self.names), LEAST_MATRICES))
        if len(set(best_of(self.seconds))) < 2:
            fail("%s is the fastest kernel for all matrices, so there is nothing to learn; measure other matrices"
                 % self.kernels[best_of(self.seconds)[0]])

    def with_energy(self):
        """The part whose energy was measured; None where that is too little. A kernel that took far longer than others was
        left out of that, and is taken to draw as much power as the fastest: it is not chosen either way."""
        rows = np.flatnonzero(~np.isnan(self.joules[:, 0]))
        if len(rows) < LEAST_MATRICES:
            return None
        part = copy.copy(self)
        for name in ("X", "families", "groups", "seconds", "build", "joules"):
            setattr(part, name, getattr(self, name)[rows])
        part.names = [self.names[i] for i in rows]
        part.other = {kind: costs[rows] for kind, costs in self.other.items()}
        part.groups = np.unique(part.groups, return_inverse=True)[1]
        power = (part.joules / part.seconds)[np.arange(len(rows)), best_of(part.seconds)]
        part.joules = np.where(np.isnan(part.joules), part.seconds * power[:, None], part.joules)
        return part if len(set(best_of(part.joules))) > 1 else None


class Vectors:
    """Products with sparse vectors: the number of the matrix, the seconds of each of DIRECTIONS and of what the library takes by
    itself; sums, as an index of SUMS; what there is to do, by name; and of those with elements anywhere (`anywhere`) the
    inputs X of a support vector machine: the features, and the density in millionths."""

    def __init__(self, table, head, lines):
        column = {name: k for k, name in enumerate(head)}
        products = [name[8:] for name in head if name.startswith("columns:")]
        matrix, costs, taken, sums, work, densities = [], [], [], [], [], []
        for i, line in enumerate(lines):
            for name in products:
                word, seconds = line[column["taken:" + name]], numbers_of(line, column, READ, [name])
                if word == "-":  # not measured, as the matrix is large
                    continue
                taken_here = int(word)
                # Tiles of fp32 may be taken, but have not been measured.
                if np.isnan(seconds[:2]).any() or np.isnan(seconds[taken_here]):
                    continue
                matrix.append(i)
                costs.append(seconds)
                taken.append(seconds[taken_here])
                sums.append(SUMS.index("early" if name.startswith("search") else "all" if name == "1" else "some"))
                work.append(numbers_of(line, column, WORK, [name]))
                densities.append(float(name) * DENSITY_UNITS if name[0].isdigit() else np.nan)
        self.matrix, self.sums = np.array(matrix, dtype=int), np.array(sums)
        self.costs, self.taken = np.array(costs), np.array(taken)
        self.work = dict(zip(WORK, np.array(work).reshape(-1, len(WORK)).T))  # entries: of the columns of the elements
        self.groups = table.groups[self.matrix]
        self.size = {name: table.X[self.matrix, table.features.index(name)] for name in ("rows", "cols", "nnz")}
        self.anywhere = ~np.isnan(np.array(densities, dtype=float))
        self.X = np.column_stack([table.X[self.matrix], densities])

    def two(self):
        """Columns beside rows or tiles, whichever is faster."""
        return np.column_stack([self.costs[:, 0], np.nanmin(self.costs[:, 1:], axis=1)])

    def terms(self, entries):
        """Of each of DIRECTIONS the terms of its costs (ops/choice/directions.c), for so many entries."""
        rows, nnz, wanted = self.size["rows"], self.size["nnz"], self.work["wanted"]
        mean = nnz / np.maximum(rows, 1)
        looks = np.where(self.sums == SUMS.index("early"), np.minimum(mean, nnz / (entries + 1)), mean)
        third = (self.work["elements"], wanted * looks, nnz)
        return [np.column_stack([np.ones(len(rows)), rows, t, entries]) for t in third]

    def mean_entries(self):
        """As many as there are if the columns of the elements are as long as others."""
        return self.work["elements"] * self.size["nnz"] / np.maximum(self.size["cols"], 1)

    def teach(self):
        """Whether there is something to learn: enough matrices, and both directions win."""
        return len(set(self.matrix)) >= LEAST_MATRICES and len(set(best_of(self.two()[self.anywhere]))) == 2


def numbers_of(line, column, kinds, names):
    words = [line[column["%s:%s" % (kind, name)]] for kind in kinds for name in names]
    return [np.nan if word == "-" else float(word) for word in words]


def fail(text):
    sys.exit(text)


def best_of(costs):
    return np.nanargmin(costs, axis=1)


def often_best(costs):
    """The kernels that are the best of a hundredth of the matrices, or more."""
    wins = np.bincount(best_of(costs), minlength=costs.shape[1])
    return [k for k, n in enumerate(wins) if n and n >= LEAST_SHARE * len(costs)]


# -- Forests ---------------------------------------------------------------------------------------------------------

class Forest:
    """Bagged trees for the best kernel, whose leaves also have the mean costs of all kernels, relative to the first."""

    def __init__(self, X, costs, build, seed):
        self.model = RandomForestClassifier(n_estimators=TREES, max_leaf_nodes=LEAVES, random_state=seed, n_jobs=1)
        self.model.fit(X, best_of(costs))
        self.note(X, costs, build)

    def note(self, X, costs, build):
        self.best = best_of(costs)
        self.kernels = costs.shape[1]
        self.product = costs / costs[:, :1]
        self.build = build
        self.X = X
        self.made = None

    @property
    def leaves(self):
        """Of each tree, by node: what its leaves expect."""
        if self.made is None:
            self.made = [self.expect(tree, self.X) for tree in self.model.estimators_]
        return self.made

    def expect(self, tree, X):
        """Of each node that is a leaf, the means over the matrices that come there: (product, build) of each kernel, of
        products the geometric mean, as one is as often half as twice what is expected; and how often each is best."""
        where = tree.apply(X.astype(np.float32))
        out = {}
        for leaf in np.unique(where):
            here = where == leaf
            with np.errstate(invalid="ignore", divide="ignore"):
                out[leaf] = (np.exp(mean(np.log(self.product[here]))), mean(self.build[here]),
                             np.round(np.bincount(self.best[here], minlength=self.kernels) / here.sum(), 3))
        return out

    def expected(self, X):
        """What the evaluator gives: the means of the trees' means, and their votes."""
        product, build, votes = np.full((3, len(self.leaves), len(X), self.kernels), np.nan)
        for t, tree in enumerate(self.model.estimators_):
            for i, leaf in enumerate(tree.apply(X.astype(np.float32))):
                product[t, i], build[t, i], votes[t, i] = self.leaves[t][leaf]
        return np.exp(mean(np.log(product))), mean(build), mean(votes)


class CostForest(Forest):
    """The same, but split so that in a leaf kernels lose alike beside the best one: which one that is changes from run
    to run where several are close, and says nothing of those that are far behind."""

    def __init__(self, X, costs, build, seed):
        loss = np.log(costs / np.nanmin(costs, axis=1)[:, None])
        loss = np.minimum(np.where(np.isnan(loss), MOST_LOSS, loss), MOST_LOSS)
        self.model = RandomForestRegressor(n_estimators=TREES, max_leaf_nodes=LEAVES, min_samples_leaf=2,
                                           max_features=0.4, random_state=seed, n_jobs=1)
        self.model.fit(X, loss)
        self.note(X, costs, build)


def mean(values):
    """Along the first axis, of what is known; NaN where nothing is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def choose(product, build, products, possible):
    product, build = product.copy(), build.copy()
    product[:, 0], build[:, 0] = 1, 0
    total = product + build / products if products else product
    total = np.where(possible & ~np.isnan(total), total, np.inf)
    total[:, 1:][total[:, 1:] + (LEAST_SAVED / products if products else 0) > 1 - LEAST_GAIN] = np.inf
    return total.argmin(axis=1)


def with_trials(table, product, build, votes, products, possible):
    """What choices cost for so many products where what is chosen is tried, and then others, the last for its votes, as
    ops/spmv/portfolio/spmv_plan.c does it; in products that read in place, building and trials shared out over the
    products."""
    true, true_build = table.seconds / table.seconds[:, :1], relative_build(table)
    first = choose(product, build, products, possible)
    cost = np.empty(len(first))
    for i, k in enumerate(first):
        spent, best, left = true_build[i, k] if k else 0, true[i, k], possible[i].copy()
        promised = product[i, k] if k else 0
        if DOUBT * promised * products >= 2 * TRIAL_COST:
            spent += RUNS * (1 + best)
            left[k] = False
            for _ in range(MOST_TRIALS):
                left[0] = True
                k = choose(product[i:i + 1], build[i:i + 1], products, left[None])[0]
                if not k or (best - (1 - DOUBT) * product[i, k]) * products < build[i, k] + TRIAL_COST:
                    break
                left[k] = False
                spent += true_build[i, k] + RUNS * true[i, k]
                best = min(best, true[i, k])
            left[0] = False
            voted = np.where(left & (build[i] > 0), votes[i], 0)
            k = voted.argmax()
            if voted[k] >= LEAST_VOTES and build[i, k] + TRIAL_COST <= DOUBT * best * products:
                spent += true_build[i, k] + RUNS * true[i, k]
                best = min(best, true[i, k])
            best = min(best, 1)
        cost[i] = best + spent / products
    return cost * table.seconds[:, 0]


def write_forest(lines, name, model, kernels, leaves):
    """The trees of a forest; leaves[t]: of each node of tree t that is a leaf (product, build, share), see Forest."""
    trees = [estimator.tree_ for estimator in model.estimators_]
    counts = [(int((t.children_left >= 0).sum()), int((t.children_left < 0).sum())) for t in trees]
    lines.append("forest %s %d %d %d" % (name, len(trees), sum(c[0] for c in counts), sum(c[1] for c in counts)))
    for tree, count, its_leaves in zip(trees, counts, leaves):
        lines.append("tree %d %d" % count)
        inner = np.flatnonzero(tree.children_left >= 0)
        ends = np.flatnonzero(tree.children_left < 0)
        number = {node: k for k, node in enumerate(inner)}
        number.update({node: -1 - k for k, node in enumerate(ends)})
        for node in inner:
            lines.append("node %d %r %d %d" % (tree.feature[node], float(tree.threshold[node]),
                                               number[tree.children_left[node]], number[tree.children_right[node]]))
        for node in ends:
            product, build, share = its_leaves[node]
            words = [number_word(p) for p in share]
            for k in range(len(kernels)):
                words += ["- -" if np.isnan(product[k] + build[k]) else "%.3g %.3g" % (product[k], build[k])]
            lines.append("leaf " + " ".join(words))


def number_word(value):
    return "%d" % value if value in (0, 1) else repr(float(value))


def write_svm(lines, svm, scaler):
    """A fitted SVC with a numeric gamma over what the scaler makes of log1p of the features."""
    lines.append("svm %r %r %d" % (float(svm.gamma), float(svm.intercept_[0]), len(svm.support_vectors_)))
    lines.append("mean " + " ".join("%.9g" % x for x in scaler.mean_))
    lines.append("scale " + " ".join("%.9g" % x for x in scaler.scale_))
    for coefficient, vector in zip(svm.dual_coef_[0], svm.support_vectors_):
        lines.append("vector " + " ".join("%.7g" % x for x in [coefficient, *vector]))


def fit_svm(X, costs):
    """For what is faster: columns (0) or rows (1). A product weighs as much as the wrong one would lose."""
    scaler = StandardScaler().fit(np.log1p(X))
    weight = np.minimum(MOST_DOUBT + np.abs(np.log(costs[:, 0] / costs[:, 1])), 2)
    svm = SVC(kernel="rbf", C=30, gamma=0.03)
    return svm.fit(scaler.transform(np.log1p(X)), best_of(costs), sample_weight=weight), scaler


def fit_directions(vectors, rows):
    """Of SUMS and DIRECTIONS the factors of terms, none negative, that fit best by the ratio of what is expected to what it took."""
    factors, terms = {}, vectors.terms(vectors.work["entries"])
    for s in range(len(SUMS)):
        for w in range(len(DIRECTIONS)):
            here = rows[(vectors.sums[rows] == s) & ~np.isnan(vectors.costs[rows, w])]
            if len(here) < LEAST_MATRICES:
                continue
            X = terms[w][here] / vectors.costs[here, w, None]
            scale = X.max(axis=0)
            line = LinearRegression(positive=True, fit_intercept=False).fit(X / scale, np.ones(len(here)))
            factors[s, w] = line.coef_ / scale
    return factors


def estimate(vectors, factors, entries):
    """What each direction takes by that, of those that were measured, for so many entries."""
    takes, terms = np.where(np.isnan(vectors.costs), np.inf, np.nan), vectors.terms(entries)
    for (s, w), factor in factors.items():
        here = (vectors.sums == s) & np.isnan(takes[:, w])
        takes[here, w] = terms[w][here] @ factor
    return np.nan_to_num(takes, nan=np.inf)


def choose_directions(vectors, factors):
    """By columns of mean length; by what they really have; and as dcsr_mxv() does it (ops/mxv/mxv_cuda.c): by the former,
    unless a push would have to count anyway, or there is something at stake."""
    mean, real = vectors.mean_entries(), vectors.work["entries"]
    by_mean = estimate(vectors, factors, mean).argmin(axis=1)
    by_real = estimate(vectors, factors, real).argmin(axis=1)
    counts = (by_mean == 0) & (mean < vectors.size["rows"] / FEW)
    for bound in (np.zeros(len(mean)), np.minimum(vectors.size["nnz"], vectors.work["elements"] * vectors.size["rows"])):
        takes = estimate(vectors, factors, bound)
        counts |= takes[np.arange(len(mean)), by_mean] > takes.min(axis=1) + WORTH_COUNTING
    return {"mean columns": by_mean, "entries known": by_real, "estimates": np.where(counts, by_real, by_mean)}


def write_directions(lines, factors):
    """In microseconds."""
    for (s, w), factor in sorted(factors.items()):
        lines.append("direction %s %s " % (SUMS[s], DIRECTIONS[w]) + " ".join("%.5g" % (1e6 * f) for f in factor))


def write_model(path, notes, features, kernels, parts):
    lines = ["device " + notes["device"], "machine " + notes["machine"], "made " + notes["made"],
             "features " + " ".join(features), "kernels " + " ".join(kernels), *parts, "end"]
    text = ("\n".join(lines) + "\n").encode()
    temporary = "%s.%d.tmp" % (path, os.getpid())
    with open(temporary, "wb") as file:
        file.write(b"dcsr-model 1\ncrc32 %08x\n" % zlib.crc32(text) + text)
    os.replace(temporary, path)


# -- How good --------------------------------------------------------------------------------------------------------

def judge(costs, chosen):
    """Of a choice for each matrix: how often right, R (Dufrechou et al.: the sum of costs over that of the best), how
    often right where ties within 5 % count, and the mean loss against the best."""
    return judge_costs(costs, costs[np.arange(len(costs)), chosen])


def judge_costs(costs, cost):
    """The same of what the choices cost."""
    least = np.nanmin(costs, axis=1)
    return {"accuracy": float(np.mean(cost == least)), "R": float(cost.sum() / least.sum()),
            "within5": float(np.mean(cost <= TIE * least)), "loss": float(np.mean(cost / least) - 1)}


def relative_build(table):
    """Of the formats, in products that read in place."""
    return table.build / table.seconds[:, :1]


def folds(groups, seed):
    """Five of about as many groups each, drawn at random: (the numbers of all others, its own)."""
    order = np.random.RandomState(seed).permutation(groups.max() + 1) % 5
    return [(np.flatnonzero(order[groups] != k), np.flatnonzero(order[groups] == k)) for k in range(5)]


def cross_validate(table, costs, columns, seed):
    """Five-fold: what forests that have seen neither a matrix nor what was made from it say of it: the kernel by class; and with all features, what
    they expect of each kernel: the costs of a product and of building, and votes."""
    build = relative_build(table)
    possible = ~np.isnan(costs)
    X = table.X[:, columns]
    by_class = np.zeros(len(X), dtype=int)
    product, expected_build, votes = np.full((3, *costs.shape), np.nan)
    for train, test in folds(table.groups, seed):
        forest = Forest(X[train], costs[train], build[train], seed)
        probability = np.zeros((len(test), costs.shape[1]))
        probability[:, forest.model.classes_.astype(int)] = forest.model.predict_proba(X[test])
        probability[~possible[test]] = -1
        by_class[test] = probability.argmax(axis=1)
        if len(columns) == len(table.features):
            forest = CostForest(X[train], costs[train], build[train], seed)
            product[test], expected_build[test], votes[test] = forest.expected(X[test])
    return by_class, product, expected_build, votes


def report_totals(table, costs, product, build, votes, possible):
    """Of choices by what is expected, for some numbers of products, with building and trials."""
    totals = {}
    true_build = np.nan_to_num(relative_build(table), nan=np.inf)
    for products in (1, 10, 100, 1000, 10000):
        true = np.where(possible, costs + true_build * costs[:, :1] / products, np.nan)
        true[:, 0] = costs[:, 0]
        in_place = judge(true, np.zeros(len(costs), dtype=int))["R"]
        totals["%d" % products] = {**judge(true, choose(product, build, products, possible)), "in place": in_place}
        if products >= 100 and costs is table.seconds:
            cost = with_trials(table, product, build, votes, products, possible)
            totals["%d, tried" % products] = judge_costs(true, cost)
    return totals


def report_choice(table, kind, costs, seed):
    everything = list(range(len(table.features)))
    by_class, product, build, votes = cross_validate(table, costs, everything, seed)
    possible = ~np.isnan(costs)
    rows = {"best": judge(costs, best_of(costs)), "trees, by class": judge(costs, by_class),
            "trees, by cost": judge(costs, choose(product, build, 0, possible))}
    for k, kernel in enumerate(table.kernels):
        always = np.where(possible[:, k], k, 0)
        rows["always " + kernel] = dict(judge(costs, always), wins=float(np.mean(best_of(costs) == k)))
    for kernel, other in zip(table.others, table.other[kind].T):
        rows["always " + kernel] = judge_costs(costs, np.where(np.isnan(other), costs[:, 0], other))
    groups, cheap = table.notes["groups"].split(","), [k for k in everything if table.features[k] in CHEAP]
    parts = {"without " + group: [k for k in everything if groups[k] != group] for group in sorted(set(groups))}
    parts["cheap features"] = cheap
    for name in ("min_row", "max_row", "row_std", "bandwidth"):
        parts["cheap and " + name] = [*cheap, table.features.index(name)]
    ablations = {name: judge(costs, cross_validate(table, costs, part, seed)[0]) for name, part in parts.items()}
    return {"choices": rows, "ablations": ablations,
            "totals": report_totals(table, costs, product, build, votes, possible)}


def validate_svm(vectors, columns, seed):
    """Five-fold, of products with elements anywhere: by machines that have seen neither a matrix nor what was made of it."""
    X, costs, groups = vectors.X[vectors.anywhere], vectors.two()[vectors.anywhere], vectors.groups[vectors.anywhere]
    chosen = np.zeros(len(X), dtype=int)
    for train, test in folds(np.unique(groups, return_inverse=True)[1], seed):
        svm, scaler = fit_svm(X[train][:, columns], costs[train])
        chosen[test] = svm.predict(scaler.transform(np.log1p(X[test][:, columns])))
    return chosen


def report_directions(vectors, seed):
    """Five-fold, of all products, with three directions and with two; of what there are too few of to fit, nothing."""
    rows, seconds = {}, vectors.costs
    for views, factor in (("", 1), (", no tiles", [1, 1, np.nan])):
        vectors.costs = costs = seconds * factor
        chosen = {}
        for train, test in folds(vectors.groups, seed):
            for how, directions in choose_directions(vectors, fit_directions(vectors, train)).items():
                chosen.setdefault(how, np.zeros(len(costs), dtype=int))[test] = directions[test]
        for s, name in enumerate(SUMS):
            part = vectors.sums == s
            for how, directions in chosen.items():
                if not np.isnan(costs[part, directions[part]]).any():
                    rows["%s, %s%s" % (how, name, views)] = judge(costs[part], directions[part])
            if not views:
                rows["mxv, " + name] = judge_costs(costs[part], vectors.taken[part])
    vectors.costs = seconds
    return rows


def report_vectors(table, seed):
    """As table VII of Hong et al."""
    vectors, names = table.vectors, table.features
    everything = list(range(vectors.X.shape[1]))
    groups = {"nnz": ["nnz"], "rows, cols": ["rows", "cols"], "col_std": ["col_std"],
              "clustering": [n for n in names if n.startswith("clustering")]}
    costs = vectors.two()[vectors.anywhere]
    rows = {"best": judge(costs, best_of(costs)),
            "machine": judge(costs, validate_svm(vectors, everything, seed)),
            "what mxv takes": judge_costs(costs, vectors.taken[vectors.anywhere]),
            "always columns": judge(costs, np.zeros(len(costs), dtype=int)),
            "always rows": judge(costs, np.ones(len(costs), dtype=int))}
    for group, left_out in groups.items():
        keep = [k for k in everything if k >= len(names) or names[k] not in left_out]
        rows["without " + group] = judge(costs, validate_svm(vectors, keep, seed))
    return rows


def print_rows(title, rows, symbol):
    print("\n%-28s %8s %8s %12s %10s" % (title, "right", symbol, "within 5 %", "mean loss"))
    for name, r in rows.items():
        wins = "   best of %.0f %%" % (100 * r["wins"]) if "wins" in r else ""
        place = "   in place %.3f" % r["in place"] if "in place" in r else ""
        print("%-28s %7.1f%% %8.3f %11.1f%% %9.1f%%%s%s" % (name, 100 * r["accuracy"], r["R"], 100 * r["within5"],
                                                         100 * r["loss"], wins, place))


def print_report(report):
    for kind, symbol in (("time", "R_T"), ("energy", "R_E")):
        if kind not in report:
            print("\nenergy: not measured, as this machine does not tell it")
            continue
        part = report[kind]
        if part["matrices"] != report["matrices"]:
            print("\n%s was measured of %d of them" % (kind, part["matrices"]))
        print_rows("by " + kind, part["choices"], symbol)
        print_rows("trees, by class", part["ablations"], symbol)
        print_rows("products, with building", part["totals"], symbol)
    if "vectors" in report:
        print_rows("with sparse vectors", report["vectors"], "R_T")
        print_rows("and searches, of three directions", report["directions"], "R_T")


# -- The program -----------------------------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(prog="train")
    parser.add_argument("table", nargs="+")
    parser.add_argument("--model")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--made", default="")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = Table(options.table)
    table.check()
    measured = {"time": (table, table.seconds)}
    part = table.with_energy()
    if part:
        measured["energy"] = (part, part.joules)
    if options.model:
        notes = dict(table.notes, made="%s, %sscikit-learn %s, %d matrices" % (
            datetime.date.today().isoformat(), options.made and options.made + ", ", sklearn.__version__,
            len(table.names)))
        parts = []
        # The first kernel, and those that are the best of some; others need not be known.
        keep = sorted({0}.union(*(often_best(costs) for _, costs in measured.values())))
        kernels = [table.kernels[k] for k in keep]
        for name, (part, costs) in measured.items():
            if len(part.names) < LEAST_ENERGY * len(table.names):
                continue
            forest = CostForest(part.X, costs[:, keep], relative_build(part)[:, keep], options.seed)
            write_forest(parts, name, forest.model, kernels, forest.leaves)
        if table.vectors.teach():
            vectors = table.vectors
            # On the cpu estimates look at the vector and the rows, and the machine helps them.
            if notes["device"] == "cuda":
                write_directions(parts, fit_directions(vectors, np.arange(len(vectors.costs))))
            else:
                write_svm(parts, *fit_svm(vectors.X[vectors.anywhere], vectors.two()[vectors.anywhere]))
        write_model(options.model, notes, table.features, kernels, parts)
    if options.report:
        report = {name: dict(report_choice(part, name, costs, options.seed), matrices=len(part.names))
                  for name, (part, costs) in measured.items()}
        report["matrices"] = len(table.names)
        if table.vectors.teach():
            report["vectors"] = report_vectors(table, options.seed)
            report["directions"] = report_directions(table.vectors, options.seed)
        if options.json:
            print(json.dumps(report))
        else:
            print("%d matrices, %d kernels, five-fold cross-validation" % (len(table.names), len(table.kernels)))
            print_report(report)


if __name__ == "__main__":
    main()
