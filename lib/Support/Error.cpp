// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors with classes and exit codes.

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Console.h"

#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <memory>

using namespace ashlar;
using namespace ashlar::support;

char AshlarError::ID = 0;

llvm::StringRef support::errorClassName(ErrorClass kind) {
  switch (kind) {
  case ErrorClass::Internal:
    return "internal";
  case ErrorClass::Usage:
    return "usage";
  case ErrorClass::Unsupported:
    return "unsupported";
  case ErrorClass::Malformed:
    return "malformed";
  case ErrorClass::Capacity:
    return "capacity";
  case ErrorClass::Mismatch:
    return "mismatch";
  }
  return "internal";
}

void AshlarError::log(llvm::raw_ostream &os) const { os << text; }

std::error_code AshlarError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error support::makeErrorFromText(ErrorClass kind, std::string message) {
  return llvm::make_error<AshlarError>(kind, std::move(message));
}

llvm::Error support::withContext(llvm::Error error, std::string context) {
  llvm::Error result = llvm::Error::success();
  llvm::handleAllErrors(
      std::move(error),
      [&](const AshlarError &info) {
        result = llvm::joinErrors(
            std::move(result),
            makeErrorFromText(info.errorClass(),
                              context + ": " + info.getText()));
      },
      [&](const llvm::ErrorInfoBase &info) {
        result = llvm::joinErrors(
            std::move(result),
            makeErrorFromText(ErrorClass::Internal,
                              context + ": " + info.message()));
      });
  return result;
}

ErrorClass support::classify(const llvm::Error &error, ErrorClass foreign) {
  ErrorClass kind = foreign;
  bool found = false;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    if (found || !info.isA<AshlarError>())
      return;
    kind = static_cast<const AshlarError &>(info).errorClass();
    found = true;
  });
  return kind;
}

int support::reportAndExitCode(llvm::StringRef tool, llvm::Error error) {
  if (!error)
    return 0;
  const int code = static_cast<int>(classify(error));
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    printErr(fmt::format("{}: error: {}\n", tool.str(), info.message()));
  });
  return code;
}
