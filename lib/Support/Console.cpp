// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Terminal output through C streams, which report errors as values.

#include "ashlar/Support/Console.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"

#include <cerrno>
#include <cstdio>

using namespace ashlar;

namespace {

/// errno of the first failed write to standard output.
int outFailure = 0;

} // namespace

void support::printOut(llvm::StringRef text) {
  if (outFailure == 0 &&
      std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    outFailure = errno ? errno : EIO;
}

void support::printErr(llvm::StringRef text) {
  (void)!std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

llvm::Error support::finishOut() {
  if (outFailure == 0 && std::fflush(stdout) != 0)
    outFailure = errno ? errno : EIO;
  if (outFailure == 0 || outFailure == EPIPE)
    return llvm::Error::success();
  return makeError(ErrorClass::Capacity, "cannot write to standard output: {}",
                   std::generic_category().message(outFailure));
}

llvm::Error support::writeText(llvm::StringRef path, llvm::StringRef text) {
  if (!path.empty() && path != "-")
    return writeFileAtomically(path, text);
  printOut(text);
  return finishOut();
}
