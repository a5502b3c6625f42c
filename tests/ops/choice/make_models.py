"""make_models.py: models that scikit-learn has trained on made-up matrices, and what it predicts with them.

usage: python3 tests/ops/choice/make_models.py FOLDER SEED

Writes FOLDER/forest.model, bagging.model, and for each .expected: a line a case, the inputs and behind them the
probabilities of the kernels; svm.expected has the inputs and the value of the decision function, of the support vector
machine in forest.model. What is in this folder was written with seed 1.
"""
import os
import sys

import numpy as np
from sklearn.ensemble import BaggingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../cli/tune"))
import train  # noqa: E402

FEATURES = ["rows", "nnz", "max_row", "row_std", "clustering_128", "near"]
KERNELS = ["segments", "csr", "csr16", "sell", "column_tiles"]
TRAINED, CASES = 90, 60


def write_cases(path, inputs, outputs):
    with open(path, "w", encoding="ascii") as file:
        for x, y in zip(inputs, outputs):
            file.write(" ".join(float(v).hex() for v in [*x, *np.atleast_1d(y)]) + "\n")


def main():
    folder, seed = sys.argv[1], int(sys.argv[2])
    random = np.random.RandomState(seed)
    X = random.lognormal(3, 3, (TRAINED, len(FEATURES)))
    # The best kernel depends on some features, but not by them alone.
    signs = np.sign(np.log(X[:, [1, 3, 4]]) - 3) + random.normal(0, 0.7, (TRAINED, 3))
    cost = np.exp(np.column_stack([np.zeros(TRAINED), signs, 0.3 * signs.sum(axis=1)]))
    cost[::7, 3] = np.nan
    y = train.best_of(cost)
    # Thresholds themselves are among the cases, and what is next to them in fp32.
    cases = random.lognormal(3, 3, (CASES, len(FEATURES))).astype(np.float32)
    notes = {"device": "cpu", "machine": "made up", "made": "by make_models.py"}
    forest = train.Forest(X, cost, np.abs(cost), seed)
    for i, tree in enumerate(forest.model.estimators_[:20]):
        t = np.float32(tree.tree_.threshold[0])
        cases[3 * i:3 * i + 3, tree.tree_.feature[0]] = [t, np.nextafter(t, np.float32(0)),
                                                         np.nextafter(t, np.float32(1e30))]
    scaler = StandardScaler().fit(np.log1p(np.column_stack([X, random.uniform(0, 1, TRAINED)])))
    dense = np.column_stack([X, random.uniform(0, 1, TRAINED)])
    svm = SVC(kernel="rbf", gamma=0.2, C=4).fit(scaler.transform(np.log1p(dense)), y > 0)
    parts = []
    train.write_forest(parts, "time", forest.model, KERNELS, leaves_of(forest.model, forest.leaves))
    train.write_svm(parts, svm, scaler)
    train.write_model(os.path.join(folder, "forest.model"), notes, FEATURES, KERNELS, parts)
    write_cases(os.path.join(folder, "forest.expected"), cases, full(forest.model, cases))
    write_cases(os.path.join(folder, "svm.expected"), dense, svm.decision_function(scaler.transform(np.log1p(dense))))
    bagging = BaggingClassifier(DecisionTreeClassifier(), n_estimators=7, max_samples=0.3, random_state=seed).fit(X, y)
    parts = []
    train.write_forest(parts, "time", bagging, KERNELS, leaves_of(bagging))
    train.write_model(os.path.join(folder, "bagging.model"), notes, FEATURES, KERNELS, parts)
    write_cases(os.path.join(folder, "bagging.expected"), cases, full(bagging, cases))


def leaves_of(model, expected=None):
    """Of each tree, by node, what is expected there, if anything is, and how probable the classifier takes each kernel to be.
    Classes of a tree are numbers among those of the forest; those are kernels."""
    leaves = []
    for t, estimator in enumerate(model.estimators_):
        values = estimator.tree_.value[:, 0]
        values = values / values.sum(axis=1)[:, None]  # weights of samples; since scikit-learn 1.3 shares
        shares = np.zeros((len(values), len(KERNELS)))
        shares[:, [model.classes_[int(c)] for c in estimator.classes_]] = values
        nothing = np.full(len(KERNELS), np.nan)
        leaves.append({node: (*(expected[t][node][:2] if expected and node in expected[t] else (nothing, nothing)), share)
                       for node, share in enumerate(shares)})
    return leaves


def full(model, cases):
    """The probabilities of all kernels, those that were never the best included."""
    probability = np.zeros((len(cases), len(KERNELS)))
    probability[:, model.classes_] = model.predict_proba(cases)
    return probability


if __name__ == "__main__":
    main()
