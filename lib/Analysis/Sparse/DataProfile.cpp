// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profiles of data: attributes, and what producers say.

#include "ashlar/Analysis/Sparse/DataProfile.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace ashlar::analysis {

/// What a function that cuts negative values off leaves, per 1000.
static constexpr int32_t kAfterRelu = 500;
/// Producers looked through before a feature map is taken as it is.
static constexpr unsigned kDepth = 64;

int32_t DataProfile::mean() const {
  int64_t sum = std::accumulate(density.begin(), density.end(), int64_t(0));
  return static_cast<int32_t>(sum / static_cast<int64_t>(density.size()));
}

llvm::StringRef name(ProfileSource source) {
  switch (source) {
  case ProfileSource::Unknown:
    return "unknown";
  case ProfileSource::Producer:
    return "producer";
  case ProfileSource::Measured:
    return "measured";
  }
  llvm_unreachable("unknown source");
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

npu::ProfileAttr DataProfile::toAttr(MLIRContext *context) const {
  DenseI32ArrayAttr places;
  if (hasPlaces())
    places = DenseI32ArrayAttr::get(
        context,
        std::vector<int32_t>(counts.counts.begin(), counts.counts.end()));
  return npu::ProfileAttr::get(
      context, static_cast<int64_t>(source),
      DenseI32ArrayAttr::get(context, density), places,
      places ? counts.rows : 0, places ? counts.cols : 0,
      places ? static_cast<int64_t>(counts.capacity) : 0);
}

DataProfile DataProfile::fromAttr(npu::ProfileAttr attr) {
  DataProfile profile;
  profile.source = static_cast<ProfileSource>(attr.getSource());
  profile.density.assign(attr.getDensity().asArrayRef().begin(),
                         attr.getDensity().asArrayRef().end());
  if (!attr.getPlaces())
    return profile;
  profile.counts =
      partition::CountMap::zeros(attr.getRows(), attr.getColumns(),
                                 static_cast<uint64_t>(attr.getCapacity()));
  for (auto [to, from] :
       llvm::zip(profile.counts.counts, attr.getPlaces().asArrayRef()))
    to = static_cast<uint32_t>(from);
  return profile;
}

DictionaryAttr toAttr(MLIRContext *context, const DataProfiles &profiles) {
  SmallVector<NamedAttribute> entries;
  for (const auto &entry : profiles)
    entries.emplace_back(StringAttr::get(context, entry.first()),
                         entry.second.toAttr(context));
  return entries.empty() ? DictionaryAttr()
                         : DictionaryAttr::get(context, entries);
}

DataProfiles profilesOf(DictionaryAttr attr) {
  DataProfiles profiles;
  if (attr)
    for (NamedAttribute entry : attr)
      profiles[entry.getName().getValue()] =
          DataProfile::fromAttr(cast<npu::ProfileAttr>(entry.getValue()));
  return profiles;
}

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

/// True for functions that map all negative values to zero.
static bool cutsNegatives(llvm::StringRef function, double lower) {
  return function == "relu" || (function == "clip" && lower == 0);
}

/// That of the maxima of windows, of independent values.
static int32_t densityOfMaxima(int32_t density,
                               llvm::ArrayRef<int64_t> kernel) {
  double zeros = 1 - density / 1000.0, all = 1;
  for (int64_t extent : kernel)
    for (int64_t i = 0; i < extent; ++i)
      all *= zeros;
  return static_cast<int32_t>(1000 - all * 1000);
}

/// Share of values that are not zero, per 1000, as far as producers say it.
static int32_t densityOf(Value map, unsigned depth) {
  Operation *producer = map.getDefiningOp();
  if (!producer || depth == 0)
    return 1000;
  if (auto conv = dyn_cast<npu::PeConvOp>(producer))
    return cutsNegatives(conv.getFunction(), conv.getAlpha().convertToDouble())
               ? kAfterRelu
               : 1000;
  if (auto conv = dyn_cast<npu::TcuConvOp>(producer)) {
    const bool cuts =
        cutsNegatives(conv.getFunction(), conv.getAlpha().convertToDouble());
    const int32_t density = cuts ? kAfterRelu : 1000;
    const npu::PoolingAttr pooling = conv.getPoolingAttr();
    return pooling ? densityOfMaxima(density, pooling.getKernel()) : density;
  }
  if (auto product = dyn_cast<npu::PeMatmulOp>(producer))
    return cutsNegatives(product.getFunction(),
                         product.getAlpha().convertToDouble())
               ? kAfterRelu
               : 1000;
  // The zeros of npu.vec.requantise are those of its zero point.
  if (auto function = dyn_cast<npu::VecMapOp>(producer)) {
    if (cutsNegatives(function.getOp(), function.getAlpha().convertToDouble()))
      return kAfterRelu;
    return function.isConversion()
               ? densityOf(function.getInputs().front(), depth - 1)
               : 1000;
  }
  if (auto pool = dyn_cast<npu::VecPoolOp>(producer))
    return densityOfMaxima(densityOf(pool.getX(), depth - 1), pool.getKernel());
  if (auto move = dyn_cast<npu::DmaMoveOp>(producer)) {
    double sum = 0, elements = 0;
    for (Value input : move.getInputs()) {
      auto type = cast<RankedTensorType>(input.getType());
      double own = static_cast<double>(type.getNumElements());
      sum += own * densityOf(input, depth - 1);
      elements += own;
    }
    return elements > 0 ? static_cast<int32_t>(sum / elements) : 1000;
  }
  return 1000;
}

DataProfile profileOf(Value map, const DataProfiles &profiles) {
  if (Operation *producer = map.getDefiningOp())
    if (npu::OriginAttr origin = npu::originOf(producer);
        origin && origin.getName()) {
      auto found = profiles.find(origin.getName().getValue());
      auto shape = shapeOf(map);
      if (found != profiles.end()) {
        DataProfile profile = found->second;
        bool fits = shape.size() == 4 && profile.counts.rows == shape[2] &&
                    profile.counts.cols == shape[3];
        if (!fits)
          profile.counts = partition::CountMap();
        if (static_cast<int64_t>(profile.density.size()) != shape[1])
          profile.density = {profile.mean()};
        return profile;
      }
    }
  DataProfile profile;
  profile.density = {densityOf(map, kDepth)};
  if (profile.density.front() < 1000)
    profile.source = ProfileSource::Producer;
  return profile;
}

} // namespace ashlar::analysis
