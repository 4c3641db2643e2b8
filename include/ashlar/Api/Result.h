// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of the library as values. Needs only the C++ standard library, as all
// headers of ashlar/Api do.

#ifndef ASHLAR_API_RESULT_H
#define ASHLAR_API_RESULT_H

#include <string>
#include <utility>
#include <variant>

namespace ashlar::api {

/// What kind of thing went wrong; the values are the exit codes of the tools.
enum class ErrorCode {
  Internal = 1,    ///< A bug of Ashlar: please report it.
  Usage = 2,       ///< A wrong option, name or argument.
  Unsupported = 3, ///< Well formed, but outside what is compiled or run.
  Malformed = 4,   ///< A file or an array that is not what it claims to be.
  Capacity = 5,    ///< More memory or space than there is or was allowed.
  Mismatch = 6,    ///< Computed and expected results differ.
};

/// "internal", "usage", ...
const char *errorName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message; ///< One paragraph without a final period.
};

/// A value, or why there is none. Access to what is not there throws
/// std::bad_variant_access.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : content(std::move(value)) {}
  Result(Error error) : content(std::move(error)) {}

  explicit operator bool() const { return content.index() == 0; }
  T &operator*() { return std::get<0>(content); }
  const T &operator*() const { return std::get<0>(content); }
  T *operator->() { return &std::get<0>(content); }
  const T *operator->() const { return &std::get<0>(content); }
  const Error &error() const { return std::get<1>(content); }

private:
  std::variant<T, Error> content;
};

/// Success, or why not.
using Status = Result<std::monostate>;

} // namespace ashlar::api

#endif // ASHLAR_API_RESULT_H
