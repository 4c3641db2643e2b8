// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of passes in words of somebody who knows the model and not the
// compiler's intermediate form.

#ifndef ASHLAR_LIB_PIPELINES_PLAINMESSAGE_H
#define ASHLAR_LIB_PIPELINES_PLAINMESSAGE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace ashlar::pipelines {

/// `text` without the names of operations and the types of the intermediate
/// form: "'nn.mul' op has" becomes "has", `tensor<1x3xf32>` becomes 1x3xf32 and
/// `'npu.pe.conv'` a convolution on the array.
std::string plainMessage(llvm::StringRef text);

/// The same errors with plain messages.
llvm::Error inPlainWords(llvm::Error error);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_PLAINMESSAGE_H
