// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several programs of one model in a file: for runs of one token and of many,
// or for inputs of several lengths. Constants that two of them have alike are
// stored once (docs/BinaryFormat.md 2).

#ifndef ASHLAR_CONTAINER_BUNDLE_H
#define ASHLAR_CONTAINER_BUNDLE_H

#include "ashlar/Container/Container.h"

namespace ashlar::container {

/// What storing constants once saves.
struct SharedBytes {
  uint64_t constants = 0; ///< Bytes of the constants of all programs.
  uint64_t stored = 0;    ///< Bytes of them in the file.
};

/// The whole file as bytes; of one program the same as serialize(). Errors as
/// there.
llvm::Expected<std::vector<uint8_t>>
serializeAll(llvm::ArrayRef<Program> programs, SharedBytes *shared = nullptr);

/// Writes \p path whole or not at all.
llvm::Error writeAll(llvm::ArrayRef<Program> programs, llvm::StringRef path,
                     SharedBytes *shared = nullptr);

/// All programs of a file, one or more. read() and parse() take only files of
/// one. Checksums are computed on \p threads threads.
llvm::Expected<std::vector<Program>>
parseAll(std::shared_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef name,
         unsigned threads = 1);
llvm::Expected<std::vector<Program>> readAll(llvm::StringRef path,
                                             unsigned threads = 1);

} // namespace ashlar::container

#endif // ASHLAR_CONTAINER_BUNDLE_H
