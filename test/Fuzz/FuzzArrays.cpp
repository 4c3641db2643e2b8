// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Archives and arrays: any bytes are refused, or give arrays that can be
// written again and are read back equal.

#include "ashlar/Support/Npy.h"
#include "ashlar/Support/Npz.h"
#include <cstdlib>

using namespace ashlar::support;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const llvm::ArrayRef<uint8_t> bytes(data, size);
  if (auto array = parseNpy(bytes, "fuzz")) {
    auto again = parseNpy(formatNpy(*array), "fuzz");
    if (!again || again->data != array->data || again->shape != array->shape)
      std::abort();
  } else {
    llvm::consumeError(array.takeError());
  }
  auto archive = parseNpz(bytes, "fuzz", /*maxBytes=*/uint64_t(64) << 20);
  if (!archive) {
    llvm::consumeError(archive.takeError());
    return 0;
  }
  auto written = formatNpz(*archive);
  if (!written ||
      llvm::cantFail(parseNpz(*written, "fuzz")).size() != archive->size())
    std::abort();
  return 0;
}
