// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter table of a description as text, for those who have a syntax of
// their own.

#ifndef ASHLAR_MACHINE_PARAMETERS_H
#define ASHLAR_MACHINE_PARAMETERS_H

#include "ashlar/Machine/Description.h"
#include "llvm/ADT/Hashing.h"

#include <string>
#include <vector>

namespace ashlar::machine {

/// One parameter with the name and value that it has in YAML.
struct Parameter {
  llvm::StringRef section; ///< empty at the top level
  llvm::StringRef key;
  std::string value; ///< a number, true, false or a name
};

/// Every parameter but the name, sections together, in the order of toYaml().
std::vector<Parameter> parametersOf(const Description &description);

/// Equal descriptions have equal hashes.
llvm::hash_code // NOLINTNEXTLINE(readability-identifier-naming): LLVM's name
hash_value(const Description &description);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_PARAMETERS_H
