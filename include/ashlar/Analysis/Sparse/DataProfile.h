// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The density of feature maps, as far as the compiler knows it: measured on
// samples (--calibrate), or estimated from the operations that produce the
// feature map (docs/SparseTiles.md 6).

#ifndef ASHLAR_ANALYSIS_SPARSE_DATAPROFILE_H
#define ASHLAR_ANALYSIS_SPARSE_DATAPROFILE_H

#include "ashlar/Partition/Map.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ashlar::analysis {

/// How a profile was obtained.
enum class ProfileSource : uint8_t {
  Unknown,  ///< assumed dense
  Producer, ///< estimated from the producer; positions unknown
  Measured, ///< measured on samples
};

/// The non-zero data of one feature map.
struct DataProfile {
  ProfileSource source = ProfileSource::Unknown;
  /// Non-zeros per 1000 elements, by channel; a single entry applies to all
  /// channels.
  std::vector<int32_t> density{1000};
  /// Non-zeros at each position, summed over channels and samples; without rows
  /// if positions are unknown.
  partition::CountMap counts;

  bool hasPlaces() const { return counts.rows > 0; }
  int32_t of(int64_t channel) const {
    return density.size() == 1 ? density.front() : density[channel];
  }
  /// Density of the whole feature map, per 1000.
  int32_t mean() const;

  npu::ProfileAttr toAttr(mlir::MLIRContext *context) const;
  static DataProfile fromAttr(npu::ProfileAttr attr);
};

/// Profiles by name of the planned tensor.
using DataProfiles = llvm::StringMap<DataProfile>;

/// Profiles as the module attribute npu.profile, and back; null without any.
mlir::DictionaryAttr toAttr(mlir::MLIRContext *context,
                            const DataProfiles &profiles);
DataProfiles profilesOf(mlir::DictionaryAttr attr);

/// The profile of `map`, an operand of an npu operation: the measured one, or
/// an estimate from its producers. The estimate assumes that a relu zeroes half
/// of the elements, and that a maximum is zero only if its whole window is.
/// Data movements keep the density, concatenations average it.
DataProfile profileOf(mlir::Value map, const DataProfiles &profiles);

llvm::StringRef name(ProfileSource source);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_SPARSE_DATAPROFILE_H
