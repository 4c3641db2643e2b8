// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which files a command line names.

#include "ashlar/Support/CommandLine.h"

using namespace ashlar::support;

void UsedFiles::add(std::string option, llvm::StringRef value, FileUse use) {
  if (use == FileUse::None)
    return;
  if (use == FileUse::ReadsNamed) {
    // As the options read it: NAME may hold '='.
    files.push_back({std::move(option), value.rsplit('=').second.str(), use});
    return;
  }
  for (UsedFile &file : files)
    if (file.option == option) {
      file.path = value.str();
      return;
    }
  files.push_back({std::move(option), value.str(), use});
}
