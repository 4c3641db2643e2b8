// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built-in machines and loading by name or path.

#include "Presets.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Nearest.h"

#include "llvm/Support/FileSystem.h"
#include <string>
#include <vector>

using namespace ashlar;
using namespace ashlar::machine;

llvm::ArrayRef<llvm::StringRef> machine::builtinNames() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> list;
    for (const Preset &preset : presets())
      list.push_back(preset.name);
    return list;
  }();
  return names;
}

llvm::Error machine::requireCluster(const Description &machine,
                                    llvm::StringRef what) {
  if (machine.sparse.exists())
    return llvm::Error::success();
  return makeError(ErrorClass::Usage,
                   "{} needs the sparse cluster, but machine '{}' has none "
                   "(sparse.tcus is 0)",
                   what.str(), machine.name);
}

llvm::Expected<Description> machine::load(llvm::StringRef nameOrPath) {
  for (const Preset &preset : presets())
    if (preset.name == nameOrPath)
      return preset.make();
  if (!llvm::sys::fs::exists(nameOrPath)) {
    if (nameOrPath.contains('/') || nameOrPath.ends_with(".yaml") ||
        nameOrPath.ends_with(".yml"))
      return makeError(ErrorClass::Usage,
                       "no file '{}', expected a machine description; "
                       "--dump-machine=NAME prints one to start from",
                       nameOrPath.str());
    std::string known;
    for (llvm::StringRef name : builtinNames())
      known += (known.empty() ? "" : ", ") + name.str();
    return makeError(ErrorClass::Usage,
                     "unknown machine '{}', expected one of {} or the path of "
                     "a YAML description{}",
                     nameOrPath.str(), known,
                     support::didYouMean(nameOrPath, builtinNames()));
  }
  auto buffer = support::readFile(nameOrPath);
  if (!buffer)
    return buffer.takeError();
  return parseYaml((*buffer)->getBuffer(), nameOrPath);
}
