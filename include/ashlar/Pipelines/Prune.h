// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ashlar-prune: sets weights of a model to zero and measures the loss of
// accuracy.

#ifndef ASHLAR_PIPELINES_PRUNE_H
#define ASHLAR_PIPELINES_PRUNE_H

namespace ashlar::pipelines {

/// The whole of ashlar-prune; returns the exit code.
int pruneMain(int argc, char **argv);

} // namespace ashlar::pipelines

#endif // ASHLAR_PIPELINES_PRUNE_H
