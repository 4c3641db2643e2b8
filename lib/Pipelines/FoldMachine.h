// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine as the fold phase sees it. Private to the pipelines.

#ifndef ASHLAR_LIB_PIPELINES_FOLDMACHINE_H
#define ASHLAR_LIB_PIPELINES_FOLDMACHINE_H

#include "ashlar/Machine/Description.h"
#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Transforms/NN/Passes.h"

#include <string>

namespace ashlar::pipelines {

/// What folds are told of the machine and of the formats that most products of
/// the network have; `foldWidth` is the option --fold-w.
nn::FoldOptions foldOptions(const machine::Description &machine,
                            const numerics::FormatTable &formats,
                            const std::string &foldWidth);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_FOLDMACHINE_H
