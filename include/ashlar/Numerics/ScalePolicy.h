// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an encode event finds its scale exponent E (docs/Numerics.md 5):
// parameters and text form.

#ifndef ASHLAR_NUMERICS_SCALEPOLICY_H
#define ASHLAR_NUMERICS_SCALEPOLICY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ashlar::numerics {

/// Who chooses E.
enum class ScaleKind {
  RunMax,  ///< The running maximum of the tensor itself.
  Fixed,   ///< A constant of the program.
  Table,   ///< A constant in a table that the program loads.
  Stats,   ///< Mean + k deviations of the previous iteration's |values|.
  Predict, ///< From the maxima of earlier iterations.
};

/// One policy with its parameters. The default is `runmax`.
struct ScalePolicy {
  ScaleKind kind = ScaleKind::RunMax;
  /// stats, predict: deviations above the mean, in sixteenths: 0..255.
  int sixteenths = 64;
  /// stats: values sampled, in (n, h, w, c) order; 0 for all.
  uint32_t samples = 0;
  /// predict: iterations of the window, 1..16.
  int depth = 8;
  /// fixed, table: E in units of e, if it is decided.
  std::optional<int> exponent;

  bool operator==(const ScalePolicy &other) const = default;

  /// True if E is a constant.
  bool isConstant() const {
    return kind == ScaleKind::Fixed || kind == ScaleKind::Table;
  }
  /// True if E depends on earlier iterations.
  bool isStateful() const {
    return kind == ScaleKind::Stats || kind == ScaleKind::Predict;
  }
};

/// "runmax", "fixed", "table", "stats", "predict".
llvm::StringRef scaleKindName(ScaleKind kind);

/// Parses `runmax`, `fixed`, `fixed(e=-7)`, `table`, `table(e=-7)`,
/// `stats(k=4,n=8192)` or `predict(k=3,depth=8)`; every parameter may be
/// absent, k is a multiple of 1/16. Errors are usage errors.
llvm::Expected<ScalePolicy> parseScalePolicy(llvm::StringRef text);

/// Canonical text; parseScalePolicy reads it back.
std::string toString(const ScalePolicy &policy);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_SCALEPOLICY_H
