// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-prune: weights of a model to zero, and what that costs in accuracy.

#ifndef ASHLAR_PIPELINES_PRUNE_H
#define ASHLAR_PIPELINES_PRUNE_H

namespace ashlar::pipelines {

/// The whole of ashlar-prune; returns the exit code.
int pruneMain(int argc, char **argv);

} // namespace ashlar::pipelines

#endif // ASHLAR_PIPELINES_PRUNE_H
