"""Benchmarks: the same problem to every library, each solution scored by one independent judge.

    python -m benchmarks kernel --peers sklearn,sklearnex,thundersvm
    python -m benchmarks small | import | memory | firstfit | family | learners | solvers | linear

| module | is |
|---|---|
| `data` | data sets by name: from the folder in ``MERCER_DATA``, else from OpenML |
| `cases` | what is fitted: data set, preparation, parameters |
| `peers` | who fits: how each library is built and its solution read |
| `worker` | one fit of one peer, in a process of its own |
| `judge` | float64 score of a solution, sharing no code with any peer |
| `runs` | starts workers and judges one after the other, keeps the JSON |
| `floor` | one pass of Mercer's own tiles over n × n_sv elements |
| `report` | ratios, geometric means, the Markdown table |
| `learners` | kernel k-means, perceptron and logistic regression, against theirs |
| `family` | kernel ridge and kernel PCA against scikit-learn's |
| `linear`, `linear_cases`, `linear_fits`, `linear_report` | linear models, to the same gap |
| `small`, `imports`, `memory`, `firstfit`, `solvers` | the other questions |
"""
