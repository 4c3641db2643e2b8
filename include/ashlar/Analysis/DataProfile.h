// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many data of a feature map are not zero, as the compiler knows it:
// measured on samples (--calibrate), or followed from the operations that made
// the feature map (docs/SparseTiles.md 6).

#ifndef ASHLAR_ANALYSIS_DATAPROFILE_H
#define ASHLAR_ANALYSIS_DATAPROFILE_H

#include "ashlar/Partition/Map.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ashlar::analysis {

/// Where the knowledge comes from.
enum class ProfileSource : uint8_t {
  Unknown,  ///< taken as dense
  Producer, ///< a producer that makes zeros, no places known
  Measured, ///< samples
};

/// Non-zero data of one feature map.
struct DataProfile {
  ProfileSource source = ProfileSource::Unknown;
  /// Per 1000 data, by channel; one entry stands for all channels.
  std::vector<int32_t> density{1000};
  /// Non-zeros per position, all channels and samples together; no rows if
  /// places are not known.
  partition::CountMap counts;

  bool hasPlaces() const { return counts.rows > 0; }
  int32_t of(int64_t channel) const {
    return density.size() == 1 ? density.front() : density[channel];
  }
  /// Of the whole feature map, per 1000.
  int32_t mean() const;

  npu::ProfileAttr toAttr(mlir::MLIRContext *context) const;
  static DataProfile fromAttr(npu::ProfileAttr attr);
};

/// Profiles by name of the planned tensor.
using DataProfiles = llvm::StringMap<DataProfile>;

/// Profiles as JSON text, and back; Malformed errors.
std::string toJson(const DataProfiles &profiles);
llvm::Expected<DataProfiles> parseProfiles(llvm::StringRef text);

/// What is known of `map`, the operand of an npu operation: its profile, or
/// what its producers say. After a relu half of the data is taken to be zero; a
/// maximum over a window is zero only where all of its data are; data movement
/// keeps, concatenation mixes.
DataProfile profileOf(mlir::Value map, const DataProfiles &profiles);

llvm::StringRef name(ProfileSource source);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_DATAPROFILE_H
