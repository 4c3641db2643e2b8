// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numpy's archive of arrays: a zip file with one .npy per key. Reads stored
// and deflated members, zip64 and data descriptors; writes stored members with
// fixed dates, so the same arrays give the same bytes.

#ifndef ASHLAR_SUPPORT_NPZ_H
#define ASHLAR_SUPPORT_NPZ_H

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace ashlar::support {

/// An array with its key (the member's name without ".npy").
struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

/// Decodes a whole archive, in the order of its directory. Duplicate keys,
/// encrypted members and members that inflate to more than \p maxBytes in sum
/// are errors.
llvm::Expected<std::vector<NamedTensor>>
parseNpz(llvm::ArrayRef<uint8_t> bytes, llvm::StringRef what,
         uint64_t maxBytes = uint64_t(1) << 34);

/// Encodes an archive in the given order.
llvm::Expected<std::vector<uint8_t>>
formatNpz(llvm::ArrayRef<NamedTensor> tensors);

/// Reads the .npz file at \p path.
llvm::Expected<std::vector<NamedTensor>> readNpz(llvm::StringRef path);

/// Writes the archive to \p path, whole or not at all.
llvm::Error writeNpz(llvm::StringRef path, llvm::ArrayRef<NamedTensor> tensors);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_NPZ_H
