// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions of passes as text for readers.

#ifndef ASHLAR_LIB_PIPELINES_EXPLAIN_H
#define ASHLAR_LIB_PIPELINES_EXPLAIN_H

#include "llvm/Support/JSON.h"
#include <string>

namespace ashlar::pipelines {

/// What --explain prints of the `decisions` of a report (docs/ReportSchema.md):
/// a line with node, choice and reason, below it the cycles of the
/// alternatives, cheapest first, and everything else that the pass recorded,
/// sorted by key.
std::string explain(const llvm::json::Array &decisions);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_EXPLAIN_H
