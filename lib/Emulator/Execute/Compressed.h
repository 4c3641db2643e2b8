// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cells of compressed feature maps in DRAM.

#ifndef ASHLAR_LIB_EMULATOR_EXECUTE_COMPRESSED_H
#define ASHLAR_LIB_EMULATOR_EXECUTE_COMPRESSED_H

#include "ashlar/Partition/Compress.h"

namespace ashlar::emulator {

/// A cell that was read: its plane and the bytes that it takes.
struct StoredCell {
  partition::Plane plane;
  uint64_t bytes = 0;
};

/// The plane in `room`, the bytes that a cell may take. Malformed or Capacity
/// errors for bytes that dma.compress does not write for a plane of
/// rows x cols elements of `bytes` bytes.
llvm::Expected<StoredCell> readCell(llvm::ArrayRef<uint8_t> room, uint64_t rows,
                                    uint64_t cols, unsigned bytes);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_EXECUTE_COMPRESSED_H
