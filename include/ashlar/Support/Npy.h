// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numpy's array file. Reads versions 1 to 3, both byte orders and both memory
// orders into little-endian row-major arrays; writes version 1. A header is a
// claim: nothing is allocated before it agrees with the bytes that follow.

#ifndef ASHLAR_SUPPORT_NPY_H
#define ASHLAR_SUPPORT_NPY_H

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/ArrayRef.h"

namespace ashlar::support {

/// Whether an array of a file holds elements of \p type: its type is the same,
/// or it is U16 and \p type BF16, which numpy lacks.
inline bool isStoredAs(ElementType file, ElementType type) {
  return file == type ||
         (file == ElementType::U16 && type == ElementType::BF16);
}

/// Decodes a whole .npy file. Malformed errors start with "\p what: ".
llvm::Expected<HostTensor> parseNpy(llvm::ArrayRef<uint8_t> bytes,
                                    llvm::StringRef what);

/// Encodes \p tensor; the same tensor gives the same bytes.
std::vector<uint8_t> formatNpy(const HostTensor &tensor);

/// Reads the .npy file at \p path.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_NPY_H
