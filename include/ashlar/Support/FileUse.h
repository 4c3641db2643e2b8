// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a command line does to files: no file may be written twice, or written
// and read. The tools' option files (Options.td) say which options name files.

#ifndef ASHLAR_SUPPORT_FILEUSE_H
#define ASHLAR_SUPPORT_FILEUSE_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace ashlar::support {

/// What an option's value is to the file system.
enum class FileUse : uint8_t {
  None,
  Reads,      ///< A file; what does not exist (a machine's name) counts too.
  ReadsNamed, ///< NAME=FILE; the option may be repeated.
  Writes,     ///< A file, or "-" for standard output.
  ReadsDump,  ///< A folder that WritesDump has made.
  WritesDump, ///< A folder of .npy files, plan.json and index.json.
};

/// A file that a command line names.
struct UsedFile {
  std::string option; ///< As messages call it: "-o", "--report", "the input".
  std::string path;
  FileUse use;
};

/// A usage error if two of \p files are one file, whatever its spelling or
/// links, and one of the two is written. Devices like /dev/null may be written
/// any number of times. If a file goes to standard output, messages go to
/// standard error from here on (takeOut).
llvm::Error checkFiles(llvm::ArrayRef<UsedFile> files);

/// The same for a file that no option names because another file does, as a
/// model its external data: a usage error if what checkFiles() has seen last
/// writes \p file. To be called before the file is read.
llvm::Error checkRead(const UsedFile &file);

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_FILEUSE_H
