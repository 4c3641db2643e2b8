// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How files that have no name yet get one: a few steps that no signal to the
// tool can leave half done.

#ifndef ASHLAR_LIB_SUPPORT_PUBLISH_H
#define ASHLAR_LIB_SUPPORT_PUBLISH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::support {

/// Opens a file without a name in \p folder, or returns -1 with errno. It
/// vanishes with its last descriptor unless a Publication links it.
int openUnlinked(const char *folder);

/// Whether \p code of openUnlinked says that this file system, or the limit of
/// open files, has no such file: it has to have a name at once.
bool needsName(int code);

/// A name in \p folder that nothing else takes and no listing shows; short, so
/// that every final name may be as long as the file system allows.
std::string hiddenName(llvm::StringRef folder);

/// Steps that are all taken or, after an error, all undone as far as they can
/// be (a file that was replaced stays replaced).
class Publication {
public:
  /// Makes the folder \p path.
  void makeFolder(std::string path);
  /// Names the file of \p descriptor. An older file of this name is replaced
  /// in one moment.
  void link(int descriptor, std::string path);
  /// Renames; an older file of the name \p to is replaced in one moment.
  void rename(std::string from, std::string to);

  /// Takes the steps in a process of its own that no signal to this one
  /// reaches, SIGKILL included, and waits for it. The errno, 0 for success.
  int run();

private:
  enum class Kind { Folder, Link, Rename };
  struct Step {
    Kind kind;
    std::string from, to;
    std::string hidden; ///< Link: the first name where `to` is in use.
    bool fresh = true;  ///< Nothing of the name `to` was there before.
  };

  static int runDetached(void *self);
  int take();
  static int take(Step &step);
  static void undo(const Step &step);

  std::vector<Step> steps;
  int result = 0;
};

} // namespace ashlar::support

#endif // ASHLAR_LIB_SUPPORT_PUBLISH_H
