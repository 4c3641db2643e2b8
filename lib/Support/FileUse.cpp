// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are compared by what they are if they exist, by their path without
// links if they do not.

#include "ashlar/Support/FileUse.h"
#include "ashlar/Support/Console.h"
#include "ashlar/Support/FileIO.h"

#include "llvm/Support/Path.h"
#include <optional>
#include <sys/stat.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

bool isWritten(FileUse use) {
  return use == FileUse::Writes || use == FileUse::WritesDump;
}

bool isFolder(FileUse use) {
  return use == FileUse::ReadsDump || use == FileUse::WritesDump;
}

/// One thing in the file system.
struct Place {
  explicit Place(llvm::StringRef path)
      : path(resolveDestination(path)),
        exists(::stat(this->path.c_str(), &status) == 0) {}

  bool operator==(const Place &other) const {
    if (exists && other.exists)
      return status.st_dev == other.status.st_dev &&
             status.st_ino == other.status.st_ino;
    return !exists && !other.exists && path == other.path;
  }
  bool isDevice() const { return exists && S_ISCHR(status.st_mode); }

  std::string path;
  struct stat status = {};
  bool exists;
};

struct Entry {
  const UsedFile &file;
  Place place;
};

/// Whether a dump in \p folder may have a file where \p other lies.
bool mayHold(const Entry &folder, const Entry &other) {
  if (!isFolder(folder.file.use) || isFolder(other.file.use))
    return false;
  llvm::StringRef path = other.place.path;
  llvm::StringRef name = llvm::sys::path::filename(path);
  return (name.ends_with(".npy") || name == "plan.json" ||
          name == "index.json") &&
         Place(llvm::sys::path::parent_path(path)) == folder.place;
}

llvm::Error checkPair(const Entry &a, const Entry &b) {
  const bool aWrites = isWritten(a.file.use), bWrites = isWritten(b.file.use);
  if (!aWrites && !bWrites)
    return llvm::Error::success();
  auto verb = [](bool writes) { return writes ? "writes" : "reads"; };
  if (a.place == b.place && !a.place.isDevice())
    return makeError(ErrorClass::Usage,
                     "{} {} '{}' and {} {} '{}', which is the same file; "
                     "expected another path",
                     a.file.option, verb(aWrites), a.file.path, b.file.option,
                     verb(bWrites), b.file.path);
  const bool aHolds = mayHold(a, b);
  if (!aHolds && !mayHold(b, a))
    return llvm::Error::success();
  const Entry &folder = aHolds ? a : b, &inner = aHolds ? b : a;
  return makeError(
      ErrorClass::Usage,
      "{} {} '{}' in the folder '{}', where {} has files of such names; "
      "expected another path",
      inner.file.option, verb(isWritten(inner.file.use)), inner.file.path,
      folder.file.path, folder.file.option);
}

/// What the last checkFiles() found that the tool will write.
std::vector<UsedFile> &filesToWrite() {
  static std::vector<UsedFile> files;
  return files;
}

} // namespace

llvm::Error support::checkRead(const UsedFile &file) {
  const Entry read{file, Place(file.path)};
  for (const UsedFile &written : filesToWrite())
    if (llvm::Error error = checkPair({written, Place(written.path)}, read))
      return error;
  return llvm::Error::success();
}

llvm::Error support::checkFiles(llvm::ArrayRef<UsedFile> files) {
  const UsedFile *out = nullptr;
  std::vector<Entry> entries;
  for (const UsedFile &file : files) {
    if (file.use == FileUse::WritesDump && file.path == "-")
      return makeError(ErrorClass::Usage,
                       "{} is '-', expected a folder: standard output holds "
                       "one file",
                       file.option);
    if (file.use != FileUse::Writes || file.path != "-") {
      entries.push_back({file, Place(file.path)});
      continue;
    }
    if (out)
      return makeError(ErrorClass::Usage,
                       "{} and {} both write to standard output, expected "
                       "another path for one of them",
                       out->option, file.option);
    out = &file;
  }
  for (size_t i = 0; i < entries.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (llvm::Error error = checkPair(entries[j], entries[i]))
        return error;
  filesToWrite().clear();
  for (const Entry &entry : entries)
    if (isWritten(entry.file.use))
      filesToWrite().push_back(entry.file);
  if (out)
    takeOut();
  return llvm::Error::success();
}
