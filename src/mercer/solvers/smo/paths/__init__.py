"""SMO on many related problems that share a Gram: paths along C, folds, leave-one-out.

====================  ==============================================================
_fold_paths.py        decision values of held-out rows on a shared Gram
_held_out_pairs.py    compiled: folds of class pairs, on the whole matrix of a pair
_matrix_path.py       problems along C on a kernel matrix that is at hand
_matrix_rounds.py     compiled: its rounds of decomposition
_active_block.py      compiled: the block of active variables, kept from round to round
_active_set.py        solutions without a point, predicted from that with all points
_leave_out.py         the problems of leave-one-out, from the solution with all points
====================  ==============================================================
"""
