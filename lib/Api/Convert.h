// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the types of the public headers and those of the project.

#ifndef ASHLAR_LIB_API_CONVERT_H
#define ASHLAR_LIB_API_CONVERT_H

#include "ashlar/Api/Program.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Npz.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <new>

namespace ashlar::detail {

/// An error of the project as a value of the interface; \p error is a failure.
api::Error toApi(llvm::Error error);

/// Copies arrays of the caller. Malformed: unknown types, negative extents,
/// sizes that do not fit, null pointers.
llvm::Expected<std::vector<support::NamedTensor>>
copyArrays(std::span<const api::ArrayView> views);

/// \p bytes with an owner.
std::shared_ptr<llvm::MemoryBuffer> makeBuffer(std::vector<uint8_t> bytes,
                                               const std::string &name);

/// The result of \p body, which may run out of memory.
template <typename Function>
auto guarded(Function body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return api::Error{api::ErrorCode::Capacity, "out of memory"};
  } catch (const std::exception &error) {
    return api::Error{api::ErrorCode::Internal, error.what()};
  }
}

} // namespace ashlar::detail

#endif // ASHLAR_LIB_API_CONVERT_H
