// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one error type of the project. Whatever a user's file or flag can cause
// travels as an llvm::Error that carries a class, and the class is the exit
// code of the tool. Messages follow the LLVM style: lower case, no final
// period, what was found and what was expected.

#ifndef ASHLAR_SUPPORT_ERROR_H
#define ASHLAR_SUPPORT_ERROR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <fmt/core.h>
#include <string>
#include <utility>

namespace ashlar::support {

/// What kind of thing went wrong; the values are the tools' exit codes.
enum class ErrorClass {
  Internal = 1,    ///< A broken invariant of our own.
  Usage = 2,       ///< A wrong flag or a missing argument.
  Unsupported = 3, ///< Well formed, but outside what we compile or run.
  Malformed = 4,   ///< A file or array that is not what it claims to be.
  Capacity = 5,    ///< More memory or space than there is or was allowed.
  Mismatch = 6,    ///< Computed and expected results differ.
};

/// The lower-case name of a class, as reports print it.
llvm::StringRef errorClassName(ErrorClass kind);

/// An error of the project: a class and one paragraph of text.
class AshlarError : public llvm::ErrorInfo<AshlarError> {
public:
  static char ID;

  AshlarError(ErrorClass kind, std::string message)
      : kind(kind), text(std::move(message)) {}

  ErrorClass errorClass() const { return kind; }
  const std::string &getText() const { return text; }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  ErrorClass kind;
  std::string text;
};

/// An error of class \p kind with a finished message.
llvm::Error makeErrorFromText(ErrorClass kind, std::string message);

/// An error of class \p kind whose message is formatted by fmt. StringRefs are
/// passed as `.str()`.
template <typename... Args>
llvm::Error makeError(ErrorClass kind, fmt::format_string<Args...> format,
                      Args &&...args) {
  return makeErrorFromText(
      kind, fmt::vformat(format, fmt::make_format_args(args...)));
}

/// Puts "\p context: " before every message in \p error; the class stays.
/// Success passes through.
llvm::Error withContext(llvm::Error error, std::string context);

/// The class of the first AshlarError in \p error; foreign errors (LLVM's own)
/// count as \p foreign. Does not consume the error's meaning: call it on an
/// error that is consumed afterwards.
ErrorClass classify(const llvm::Error &error,
                    ErrorClass foreign = ErrorClass::Internal);

/// Prints each message of \p error as "\p tool: error: ..." to stderr and
/// returns the exit code; 0 and silence for success.
int reportAndExitCode(llvm::StringRef tool, llvm::Error error);

} // namespace ashlar::support

namespace ashlar {
using support::AshlarError;
using support::ErrorClass;
using support::makeError;
using support::reportAndExitCode;
using support::withContext;
} // namespace ashlar

#endif // ASHLAR_SUPPORT_ERROR_H
