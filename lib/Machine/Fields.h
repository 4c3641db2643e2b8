// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one table of description parameters: YAML names, limits and units. The
// parser, the printer and validate() walk it, so a parameter is added in one
// place.
//
// Limits are what instructions can address (24-bit offsets, 12-bit row and
// column counts, 10-bit registers, 40-bit DRAM addresses) or, for rates and
// latencies, far beyond anything built; they keep every later product inside
// 64 bits.

#ifndef ASHLAR_LIB_MACHINE_FIELDS_H
#define ASHLAR_LIB_MACHINE_FIELDS_H

#include "ashlar/Machine/Description.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <iterator>
#include <optional>

namespace ashlar::machine {

struct Field {
  const char *section; ///< "" for the top level.
  const char *key;
  const char *unit; ///< The comment in toYaml().
  uint64_t *(*access)(Description &);
  uint64_t minimum;
  uint64_t maximum;
  bool isSize; ///< Above the maximum is a Capacity error.
  /// Of values that have names: the name of the minimum and those after it.
  llvm::ArrayRef<llvm::StringLiteral> names = {};

  bool isBoolean() const;
};

/// Names of a parameter that is either off or on; JSON has it as a boolean.
inline constexpr llvm::StringLiteral booleanNames[] = {"false", "true"};

inline bool Field::isBoolean() const {
  return names.data() == std::data(booleanNames);
}

/// The line of a description in which a parameter ("section.key") is set;
/// nothing for one that it leaves to its base.
using LineOf = llvm::function_ref<std::optional<unsigned>(llvm::StringRef)>;

/// Description::validate(), whose findings name the lines of the parameters
/// that they are about. \p lineOf may be null.
llvm::Error validateWithLines(const Description &machine, LineOf lineOf);

/// Every parameter but the name, grouped by section.
llvm::ArrayRef<Field> fields();

} // namespace ashlar::machine

#endif // ASHLAR_LIB_MACHINE_FIELDS_H
