// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A description for reports.

#ifndef ASHLAR_MACHINE_JSON_H
#define ASHLAR_MACHINE_JSON_H

#include "ashlar/Machine/Description.h"
#include "llvm/Support/JSON.h"

namespace ashlar::machine {

/// Every parameter of \p description under its name in YAML, sections as
/// objects: what a file with this content says is the same machine.
llvm::json::Object toJson(const Description &description);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_JSON_H
