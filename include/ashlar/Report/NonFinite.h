// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that no block format holds: NaN and infinities in arrays.

#ifndef ASHLAR_REPORT_NONFINITE_H
#define ASHLAR_REPORT_NONFINITE_H

#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace ashlar::report {

/// "2 of 784 elements are not finite (1 NaN, 1 infinite), the first at
/// [0,3]"; empty if all are finite.
std::string describeNonFinite(const support::HostTensor &tensor);

/// Writes "TOOL: warning: WHAT 'NAME': ..." to standard error if an element of
/// \p tensor is not finite.
void warnNonFinite(llvm::StringRef tool, llvm::StringRef what,
                   llvm::StringRef name, const support::HostTensor &tensor);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_NONFINITE_H
