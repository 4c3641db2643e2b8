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
  Error,   ///< The former one while the errors of its values are small.
};

/// Where a policy's exponent takes effect.
enum class ScalePlace {
  Fetch, ///< Readers align to it; every block keeps its own exponent.
  Store, ///< It is the exponent of all blocks of the tensor.
};

/// What becomes of values beyond an exponent that was chosen before them.
enum class StoreOverflow {
  Saturate, ///< The nearest limit.
  Wrap,     ///< Modulo 2^W.
  Repair,   ///< Their block is shifted to its own exponent and stored again.
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
  /// error: bits that errors may lie below the mean magnitude, 0..31.
  int tolerance = 4;
  /// stats, error: logarithms of magnitudes are rounded up, not down: one bit
  /// less precision, but headroom.
  bool ceiling = false;
  /// fixed, table: E in units of e, if it is decided.
  std::optional<int> exponent;
  ScalePlace place = ScalePlace::Fetch;
  /// With ScalePlace::Store.
  StoreOverflow overflow = StoreOverflow::Saturate;

  bool operator==(const ScalePolicy &other) const = default;

  /// True if E is a constant.
  bool isConstant() const {
    return kind == ScaleKind::Fixed || kind == ScaleKind::Table;
  }
  /// True if E depends on earlier iterations.
  bool isStateful() const {
    return kind == ScaleKind::Stats || kind == ScaleKind::Predict ||
           kind == ScaleKind::Error;
  }
  /// True if it sets the stored exponents.
  bool isStored() const { return place == ScalePlace::Store; }
  bool repairs() const {
    return isStored() && overflow == StoreOverflow::Repair;
  }
  /// True if E is known before the tensor is.
  bool isKnownAhead() const { return isConstant() && !repairs(); }
};

/// "runmax", "fixed", "table", "stats", "predict", "error".
llvm::StringRef scaleKindName(ScaleKind kind);

/// "saturate", "wrap", "repair".
llvm::StringRef storeOverflowName(StoreOverflow overflow);

/// Parses `runmax`, `fixed`, `fixed(e=-7)`, `table`, `table(e=-7)`,
/// `stats(k=4,n=8192)`, `predict(k=3,depth=8)` or `error(t=4,n=0)`; every
/// parameter may be absent, k is a multiple of 1/16. stats and error take
/// `lead=floor` or `lead=ceil` (default floor). All but runmax take
/// `at=fetch` or `at=store` (default fetch; error: always store) and, at=store,
/// `overflow=saturate`, `wrap` or `repair` (default saturate for constants,
/// else repair). Errors are usage errors.
llvm::Expected<ScalePolicy> parseScalePolicy(llvm::StringRef text);

/// Canonical text; parseScalePolicy reads it back.
std::string toString(const ScalePolicy &policy);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_SCALEPOLICY_H
