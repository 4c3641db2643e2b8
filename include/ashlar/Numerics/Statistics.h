// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact statistics of encoded values and the scale exponents chosen from them
// (docs/Numerics.md 5). Sums are kept per step exponent in integers, so they
// do not depend on the order of the samples; selectors decide by comparing
// integers, never by rounding a mean, a root or a logarithm.

#ifndef ASHLAR_NUMERICS_STATISTICS_H
#define ASHLAR_NUMERICS_STATISTICS_H

#include "ashlar/Numerics/Encode.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace ashlar::numerics {

/// How a selector turns log2 of a magnitude into an integer.
enum class Lead : uint8_t {
  Floor, ///< largest j with 2^j <= magnitude
  Ceil,  ///< smallest j with 2^j >= magnitude
};

/// The exact magnitude m * 2^e.
struct Magnitude {
  uint32_t m = 0;
  int e = 0;

  bool operator==(const Magnitude &other) const = default;
};

/// -1, 0 or 1 as the value of `a` is below, equal to or above that of `b`.
int compare(const Magnitude &a, const Magnitude &b);

/// lead(log2 magnitude) of a non-zero magnitude; exact.
int leadingExponent(const Magnitude &magnitude, Lead lead);

/// Absolute values of sampled elements. Exact for less than 2^33 samples of
/// at most 16 bits: sum of squares < 2^33 * 2^30.
class Statistics {
public:
  /// Samples |m| * 2^e. A zero counts as a sample; its exponent is not used.
  void add(int32_t m, int e);
  /// As if all samples of `other` had been added here.
  void merge(const Statistics &other);
  void clear();

  uint64_t count() const { return samples; }
  bool allZero() const { return sums.empty(); }

  /// Largest |value|, if any is not zero. Of equal values in different forms
  /// the one with the lower exponent.
  std::optional<Magnitude> maximum() const;

  /// lead(log2(mean + k/16 * deviation)) of the absolute values, decided
  /// exactly; nothing without a non-zero sample. The deviation is that of the
  /// whole population: sqrt(E(x^2) - E(x)^2).
  std::optional<int> leadOfSpread(unsigned kSixteenths, Lead lead) const;

  /// The step exponent, among `first` and those of `rest`, with which mantissas
  /// of \p mantissa bits lose the least in the measure of selectError, the
  /// earliest among equals; `first` if it loses at most 2^-tolerance of the sum
  /// of the magnitudes.
  int leastError(int first, llvm::ArrayRef<int> rest, int mantissa,
                 unsigned tolerance) const;

  bool operator==(const Statistics &other) const = default;

private:
  /// Samples of one step exponent, zeros excluded.
  struct Sums {
    uint64_t absolute = 0; ///< sum of |m|
    uint64_t squares = 0;  ///< sum of m^2
    uint32_t largest = 0;  ///< largest |m|
    /// Samples by the number of bits of |m|, 0 to 16.
    std::array<uint64_t, 17> byWidth = {};

    bool operator==(const Sums &other) const = default;
  };

  uint64_t samples = 0;
  std::map<int, Sums> sums;
};

/// Scale exponent lead(log2(mean + k/16 * deviation)) - (W-2), or
/// kClearedScale if there is no non-zero sample.
int16_t selectSpread(const Statistics &statistics, unsigned kSixteenths,
                     int mantissa, Lead lead);

/// Scale exponent lead(log2 maximum) - (W-2), or kClearedScale.
int16_t selectMaximum(const Statistics &statistics, int mantissa, Lead lead);

/// The scale exponent after `used`, by the errors that the samples would suffer
/// under it. A sample of leading place l = floor(log2 |v|) loses at most
/// 2^(l+1) - 2^(E+W-1) if it is above the limit (l > E+W-2), 2^(l+1) if it
/// vanishes (l < E-1), else 2^(E-1). `used` stays if the sum of these is at
/// most 2^-tolerance of the sum of the magnitudes; otherwise the best of
/// `used`, `used` - 1, `used` + 1 and selectMaximum follows, the first of equal
/// ones. selectMaximum if `used` is cleared or nothing but zeros was sampled.
int16_t selectError(const Statistics &statistics, int16_t used,
                    unsigned tolerance, int mantissa, Lead lead);

/// Scale exponent lead(log2 |value|) - (W-2) of one finite non-zero value;
/// kClearedScale for zero, infinities and NaN, so that mergeScale ignores it.
int16_t measureExponent(float value, int mantissa, Lead lead);

/// One step of `predict` (docs/Numerics.md 5): parameters.
struct PredictRule {
  int mantissa = 8;         ///< W
  int range = 7;            ///< D: a scale more than D too high underflows
  unsigned kSixteenths = 0; ///< k in sixteenths
  Lead lead = Lead::Floor;
};

/// What one prediction step saw and chose.
struct Prediction {
  /// Scale exponent of the next iteration; kClearedScale without history.
  int16_t next = kClearedScale;
  bool overflow = false;  ///< the scale in use was below the observed one
  bool underflow = false; ///< it was more than D above the observed one
};

/// Number of 16-bit registers of a history of `depth` maxima: fill count,
/// index of the next write, then pairs (m, e).
inline unsigned historyRegisters(unsigned depth) { return 2 + 2 * depth; }

/// Ends an iteration that ran under the scale `used` and observed the running
/// maximum scale `observed`: clears `history` on overflow or underflow, pushes
/// the maximum of `statistics` (doubled after an overflow) and predicts
/// lead(log2 max(last, mean + k/16 * deviation)) - (W-2) over the history.
/// `history` has historyRegisters(depth) elements, depth >= 1; a fill count or
/// index outside its range counts as an empty history.
Prediction predictScale(llvm::MutableArrayRef<int16_t> history,
                        const Statistics &statistics, int16_t used,
                        int16_t observed, const PredictRule &rule);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_STATISTICS_H
