// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the parameter table.

#include "ashlar/Machine/Parameters.h"

#include "Fields.h"

namespace ashlar::machine {

std::vector<Parameter> parametersOf(const Description &description) {
  Description copy = description;
  std::vector<Parameter> result;
  for (const Field &field : fields()) {
    const uint64_t value = *field.access(copy);
    result.push_back({field.section, field.key,
                      field.names.empty()
                          ? std::to_string(value)
                          : field.names[value - field.minimum].str()});
  }
  return result;
}

llvm::hash_code hash_value(const Description &description) {
  Description copy = description;
  llvm::hash_code hash = llvm::hash_value(description.name);
  for (const Field &field : fields())
    hash = llvm::hash_combine(hash, *field.access(copy));
  return hash;
}

} // namespace ashlar::machine
