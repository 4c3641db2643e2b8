// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text generation: ashlar-run --generate.

#ifndef ASHLAR_LIB_REPORT_GENERATE_GENERATE_H
#define ASHLAR_LIB_REPORT_GENERATE_GENERATE_H

#include "ashlar/Report/Runner.h"

namespace ashlar::report {

/// Runs a language model until the tokens requested are there; prints the text,
/// and how long the machine took. Errors: Usage for prompts and programs that
/// do not fit together, Malformed for tokens outside the vocabulary and caches
/// of other models, Capacity for a cache that is full.
llvm::Error generate(const RunOptions &options);

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_GENERATE_GENERATE_H
