"""check_model.py: how good a model that is there is on tables of `dcsr tune`, of matrices that it has not learnt from.

usage: /usr/bin/python3 tools/check_model.py MODEL TABLE...

As `dcsr tune --report` prints it, but nothing is trained: a table of another seed than the model's holds out all of what
the model was trained on, settings that were found by cross-validation included.
"""
import os
import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../cli/tune"))
import train  # noqa: E402


class Tree:
    """Arrays of nodes: feature, threshold, two children; and of leaves: what is expected of each kernel."""

    def __init__(self, lines, kernels):
        nodes = [line for line in lines if line[0] == "node"]
        self.feature = np.array([int(n[1]) for n in nodes], dtype=int)
        self.threshold = np.array([float(n[2]) for n in nodes])
        self.child = np.array([[int(n[3]), int(n[4])] for n in nodes], dtype=int).reshape(-1, 2)
        leaves = [[np.nan if word == "-" else float(word) for word in line[1 + kernels:]]
                  for line in lines if line[0] == "leaf"]
        self.expected = np.array(leaves).reshape(-1, kernels, 2)
        self.votes = np.array([[float(word) for word in line[1:1 + kernels]]
                               for line in lines if line[0] == "leaf"]).reshape(-1, kernels)

    def apply(self, x):
        """Of each kernel what a product and building cost, and its votes."""
        at = 0 if len(self.feature) else -1
        while at >= 0:
            at = self.child[at][int(not x[self.feature[at]] <= self.threshold[at])]
        return np.column_stack([self.expected[-1 - at], self.votes[-1 - at]])


class Model:
    """What a file (docs/SELECTION.md) says, in the order of a table's features and kernels."""

    def __init__(self, path, table):
        with open(path, encoding="utf-8") as file:
            lines = [line.split() for line in file]
        head = {line[0]: line[1:] for line in lines[:8]}
        self.inputs = [table.features.index(name) for name in head["features"]]
        self.kernels = [table.kernels.index(name) for name in head["kernels"]]
        self.count = len(table.kernels)
        begins = [i for i, line in enumerate(lines) if line[0] in ("forest", "tree", "svm", "direction", "end")]
        forest = [i for i, line in enumerate(lines) if line[:2] == ["forest", "time"]][0]
        trees = begins[begins.index(forest) + 1:][:int(lines[forest][2])]
        self.trees = [Tree(lines[i:begins[begins.index(i) + 1]], len(self.kernels)) for i in trees]
        self.vectors = np.array([[float(x) for x in line[1:]] for line in lines if line[0] == "vector"])
        self.svm = {line[0]: np.array([float(x) for x in line[1:]]) for line in lines
                    if line[0] in ("svm", "mean", "scale")}
        self.factors = {(train.SUMS.index(line[1]), train.DIRECTIONS.index(line[2])): np.array(line[3:], dtype=float)
                        for line in lines if line[0] == "direction"}

    def expected(self, X):
        """Of each matrix and kernel what a product and building cost, in products that read in place; and votes."""
        leaves = np.array([[tree.apply(x) for tree in self.trees] for x in X[:, self.inputs].astype(np.float32)])
        product, build, votes = (np.full((len(X), self.count), np.nan) for _ in range(3))
        product[:, self.kernels] = np.exp(train.mean(np.log(leaves[..., 0]).swapaxes(0, 1)))
        build[:, self.kernels] = train.mean(leaves[..., 1].swapaxes(0, 1))
        votes[:, self.kernels] = leaves[..., 2].mean(axis=1)
        return product, build, votes

    def decide(self, X):
        """Whether the support vector machine has rows read, of features and a density each."""
        scaled = (np.log1p(X[:, [*self.inputs, -1]]) - self.svm["mean"]) / self.svm["scale"]
        gamma, intercept = self.svm["svm"][:2]
        return np.array([intercept + self.vectors[:, 0] @ np.exp(-gamma * ((self.vectors[:, 1:] - x) ** 2).sum(axis=1))
                         for x in scaled]) > 0


def check_kernels(model, table):
    product, build, votes = model.expected(table.X)
    possible, costs = ~np.isnan(table.seconds), table.seconds
    rows = {"best": train.judge(costs, train.best_of(costs)),
            "the model": train.judge(costs, train.choose(product, build, 0, possible))}
    for k, kernel in enumerate(table.kernels):
        rows["always " + kernel] = dict(train.judge(costs, np.where(possible[:, k], k, 0)),
                                        wins=float(np.mean(train.best_of(costs) == k)))
    train.print_rows("by time", rows, "R_T")
    train.print_rows("products, with building", train.report_totals(table, costs, product, build, votes, possible), "R_T")
    if table.with_energy():
        part = table.with_energy()
        product, build, _ = model.expected(part.X)
        chosen = train.choose(product, build, 0, ~np.isnan(part.joules))
        train.print_rows("by energy, of %d" % len(part.names),
                         {"the model": train.judge(part.joules, chosen),
                          "in place": train.judge(part.joules, np.zeros(len(part.names), dtype=int))}, "R_E")


def check_vectors(model, vectors):
    costs = vectors.two()[vectors.anywhere]
    rows = {"best": train.judge(costs, train.best_of(costs))}
    if len(model.vectors):
        rows["machine"] = train.judge(costs, model.decide(vectors.X[vectors.anywhere]).astype(int))
    rows["always columns"] = train.judge(costs, np.zeros(len(costs), dtype=int))
    train.print_rows("with sparse vectors, of two directions", rows, "R_T")
    rows, chosen = {}, train.choose_directions(vectors, model.factors) if model.factors else {}
    for s, name in enumerate(train.SUMS):
        part = vectors.sums == s
        for how, directions in chosen.items():
            rows["%s, %s" % (how, name)] = train.judge(vectors.costs[part], directions[part])
        rows["what mxv takes, " + name] = train.judge_costs(vectors.costs[part], vectors.taken[part])
    train.print_rows("of three directions", rows, "R_T")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    table = train.Table(sys.argv[2:])
    model = Model(sys.argv[1], table)
    print("%d matrices, %d kernels" % (len(table.names), len(table.kernels)))
    check_kernels(model, table)
    check_vectors(model, table.vectors)


if __name__ == "__main__":
    main()
