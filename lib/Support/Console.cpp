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

bool outTaken = false;

void appendOut(const void *bytes, size_t size) {
  if (outFailure == 0 && std::fwrite(bytes, 1, size, stdout) != size)
    outFailure = errno ? errno : EIO;
}

} // namespace

void support::printOut(llvm::StringRef text) {
  if (outTaken)
    printErr(text);
  else
    appendOut(text.data(), text.size());
}

void support::takeOut() { outTaken = true; }

llvm::Error support::writeOut(llvm::ArrayRef<uint8_t> bytes) {
  appendOut(bytes.data(), bytes.size());
  return finishOut();
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
  if (!path.empty())
    return writeFileAtomically(path, text);
  printOut(text);
  return finishOut();
}
