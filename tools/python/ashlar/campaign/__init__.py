# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What evaluations and sweeps share: plans of points, shards, results, tools.

A plan lists points. Every point is computed alone and leaves one result file,
so that any number of processes or machines can share the work; a merge puts
the results together and gives the same bytes, whichever process computed them.
"""
