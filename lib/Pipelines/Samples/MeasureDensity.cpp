// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a model on the dense array and counts. Assumption: the cluster changes
// no bit, so every program has the same tensors.

#include "MeasureDensity.h"

#include "RunSamples.h"

#include "ashlar/Analysis/Sparse/DataProfile.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace ashlar::pipelines {
namespace {

/// Counts of one feature map while samples are added.
struct Counts {
  std::vector<uint64_t> channels; ///< non-zeros by channel
  uint64_t perChannel = 0;        ///< values that were counted
  partition::CountMap places;     ///< of feature maps of rank 4
};

/// Adds one sample's map, batch, channel, then spatial dimensions.
void add(const container::TensorPlacement &placement,
         const emulator::TensorDump &dump, Counts &counts) {
  llvm::ArrayRef<int64_t> shape = placement.shape;
  const int64_t positions = std::accumulate(
      shape.begin() + 2, shape.end(), int64_t(1), std::multiplies<int64_t>());
  const size_t bytes = placement.elementBytes();
  counts.channels.resize(shape[1]);
  counts.perChannel += shape[0] * positions;
  const bool plane = shape.size() == 4;
  if (plane && counts.places.rows == 0)
    counts.places = partition::CountMap::zeros(shape[2], shape[3], 0);
  counts.places.capacity += shape[0] * shape[1];
  size_t at = 0;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t c = 0; c < shape[1]; ++c)
      for (int64_t i = 0; i < positions; ++i, at += bytes) {
        const uint8_t *value = dump.data.data() + at;
        if (value[0] == 0 && (bytes == 1 || value[1] == 0))
          continue;
        ++counts.channels[c];
        if (plane)
          ++counts.places.counts[i];
      }
}

} // namespace

llvm::Error measureDensity(CompileOptions &options,
                           const SampleArchive &archive,
                           mlir::MLIRContext &context) {
  auto evaluator = Evaluator::create(options, context);
  if (!evaluator)
    return evaluator.takeError();
  auto samples = readSamples(evaluator->folded(), archive);
  if (!samples)
    return samples.takeError();
  CompileOptions plain = options;
  // One profile whatever formats are chosen, by the user or by a search: a
  // program is the same from the formats that a search wrote.
  plain.formats = numerics::FormatTable();
  plain.sparse = SparseOptions();
  plain.sparse.mode = "off";
  plain.mapCompression = "off";
  llvm::StringMap<Counts> all;
  auto count = [&](const container::Program &program,
                   const emulator::RunResult &result) {
    for (const emulator::TensorDump &dump : result.dumps) {
      const auto &placement = program.dumps[dump.placement];
      if (placement.encoded && placement.shape.size() >= 3)
        add(placement, dump, all[placement.name]);
    }
  };
  if (llvm::Error error = runSamples(evaluator->folded(), std::move(plain),
                                     *samples, context, count))
    return error;
  analysis::DataProfiles &profiles = options.sparse.profile;
  for (auto &entry : all) {
    analysis::DataProfile profile;
    profile.source = analysis::ProfileSource::Measured;
    profile.density.clear();
    for (uint64_t count : entry.second.channels)
      profile.density.push_back(
          static_cast<int32_t>((count * 1000 + entry.second.perChannel / 2) /
                               std::max<uint64_t>(entry.second.perChannel, 1)));
    profile.counts = std::move(entry.second.places);
    profiles[entry.first()] = std::move(profile);
  }
  if (!samples->empty())
    options.sparse.sample = std::move(samples->front());
  return llvm::Error::success();
}

} // namespace ashlar::pipelines
