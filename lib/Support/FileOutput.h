// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What writing one file and writing a folder of files share.

#ifndef ASHLAR_LIB_SUPPORT_FILEOUTPUT_H
#define ASHLAR_LIB_SUPPORT_FILEOUTPUT_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace ashlar::support {

/// Capacity for a full disk or exceeded quota, Usage otherwise.
llvm::Error writeError(llvm::StringRef path, int code);

/// Writes everything and flushes it to the disk; the errno, 0 for success.
int writeDescriptor(int descriptor,
                    llvm::ArrayRef<llvm::ArrayRef<uint8_t>> parts);

/// The same for a new file, which must not exist: opens and closes it.
int writeNewFile(const char *path,
                 llvm::ArrayRef<llvm::ArrayRef<uint8_t>> parts);

/// The folder that \p path lies in, "." for a bare name.
llvm::StringRef folderOf(llvm::StringRef path);

} // namespace ashlar::support

#endif // ASHLAR_LIB_SUPPORT_FILEOUTPUT_H
