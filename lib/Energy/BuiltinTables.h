// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of the tables that ship (lib/Energy/tables).

#ifndef ASHLAR_LIB_ENERGY_BUILTINTABLES_H
#define ASHLAR_LIB_ENERGY_BUILTINTABLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ashlar::energy {

struct BuiltinTable {
  llvm::StringLiteral name;
  const char *text;
};
llvm::ArrayRef<BuiltinTable> builtinTexts();

} // namespace ashlar::energy

#endif // ASHLAR_LIB_ENERGY_BUILTINTABLES_H
