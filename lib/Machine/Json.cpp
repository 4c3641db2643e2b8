// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter table as JSON.

#include "ashlar/Machine/Json.h"

#include "Fields.h"

using namespace ashlar::machine;

llvm::json::Object ashlar::machine::toJson(const Description &description) {
  Description copy = description;
  llvm::json::Object result;
  result["name"] = llvm::json::fixUTF8(description.name);
  for (const Field &field : fields()) {
    llvm::json::Object *section = &result;
    if (*field.section) {
      llvm::json::Value &entry = result[field.section];
      if (!entry.getAsObject())
        entry = llvm::json::Object();
      section = entry.getAsObject();
    }
    const uint64_t value = *field.access(copy);
    if (field.isBoolean())
      (*section)[field.key] = value != 0;
    else if (field.names.empty())
      (*section)[field.key] = value;
    else
      (*section)[field.key] = field.names[value - field.minimum];
  }
  return result;
}
