"""Kernels on graphs, and between the nodes of one graph.

======================  =================================================================
_graph.py               `Graph`: one undirected graph, with labels and weights
_reading.py             graphs from records, networkx and adjacency matrices, checked
_graph_set.py           the graphs of a data set as flat arrays, which kernels prepare
_refinement.py          Weisfeiler–Lehman refinement of node labels
_weisfeiler_lehman.py   WeisfeilerLehman, WeisfeilerLehmanOA
_shortest_path.py       ShortestPath
_random_walk.py         RandomWalk
_nodes.py               Diffusion, RegularizedLaplacian: nodes of one graph
_reference.py           all of them once more, for `mercer.verify`
======================  =================================================================

The names are public in `mercer.kernels`.
"""
