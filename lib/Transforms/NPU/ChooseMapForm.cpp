// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which maps that leave the state buffer are compressed, and how (see
// Passes.td). Input: planned npu operations. Output: the same with
// `form` in `memory`, and decisions.

#include "ashlar/Analysis/Layout/InPlace.h"
#include "ashlar/Analysis/Layout/MapForm.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Sparse/DataProfile.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Partition/Compress.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSEMAPFORM
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::MapForm;
using analysis::OperandModel;
using analysis::Region;
using analysis::Shape;
using analysis::TilingModel;
using partition::Format;

namespace {

constexpr int64_t kLargestCell = int64_t(1) << 24;  ///< elements
constexpr int64_t kLargestCount = int64_t(1) << 20; ///< of a dimension
/// Operands of a reader whose reads are compared: every tile of it is looked at
/// for each of them.
constexpr unsigned kMostOperands = 256;

/// Regions of one feature map that its producer writes and its readers read.
struct Transfers {
  llvm::SmallVector<Region, 16> writes, reads;
  std::string obstacle; ///< Why no compressed form serves them; or empty.
};

/// One form and what it costs.
struct Candidate {
  std::string name;
  MapForm form;
  uint64_t bytes = 0;  ///< of the feature map
  uint64_t dram = 0;   ///< cycles of DRAM, all transfers
  uint64_t cycles = 0; ///< of all transfers one after the other
};

bool isOnDevice(Operation *op) {
  return isa_and_nonnull<NPUDialect>(op->getDialect());
}

/// The part of `region` inside a feature map.
Region clipped(const Region &region, llvm::ArrayRef<int64_t> shape) {
  Region inside = region;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t end = std::min(region.start[i] + region.size[i], shape[i]);
    inside.start[i] = std::max<int64_t>(region.start[i], 0);
    inside.size[i] = std::max<int64_t>(end - inside.start[i], 0);
  }
  return inside;
}

/// Collects what all tiles of an operation transfer.
void forTiles(Operation *op, const TilingModel &model,
              llvm::function_ref<void(const Region &)> visit) {
  auto extents = tilingOf(op).getTile().asArrayRef();
  Region out = analysis::firstTile(model.resultShape, extents);
  do
    visit(out);
  while (analysis::nextTile(out, model.resultShape, extents));
}

void addReads(OpOperand &use, llvm::ArrayRef<int64_t> shape,
              const machine::Description &machine, Transfers &transfers) {
  Operation *reader = use.getOwner();
  if (reader->getNumOperands() > kMostOperands) {
    transfers.obstacle = "a reader joins too many maps";
    return;
  }
  const TilingModel model = analysis::buildTilingModel(reader, machine);
  if (use.getOperandNumber() >= model.operands.size())
    return;
  const OperandModel &operand = model.operands[use.getOperandNumber()];
  if (operand.direct || operand.fromDram || operand.streamed ||
      operand.axis != 1 || operand.lanes.folded() || !operand.region) {
    transfers.obstacle = "a reader takes elements where they lie in DRAM";
    return;
  }
  forTiles(reader, model, [&](const Region &out) {
    const Region region = operand.region(out);
    if (region.start[1] < 0)
      transfers.obstacle = "a reader pads channels";
    Region inside = clipped(region, shape);
    if (inside.elements() > 0)
      transfers.reads.push_back(std::move(inside));
  });
}

Transfers transfersOf(Operation *op, const machine::Description &machine) {
  Transfers transfers;
  const TilingModel model = analysis::buildTilingModel(op, machine);
  const Shape &shape = model.resultShape;
  const int64_t bytes = model.resultType.bytes();
  const bool map = (shape.size() == 3 || shape.size() == 4) &&
                   model.resultAxis == 1 && !model.lanes.folded() &&
                   (bytes == 1 || bytes == 2 || bytes == 4);
  if (!map)
    transfers.obstacle = "it is not a map with channels across partitions";
  else if (model.directResult || isAliased(op) || partOf(op))
    transfers.obstacle = "it is moved element by element";
  else
    forTiles(op, model, [&](const Region &out) {
      if (out.elements() > 0)
        transfers.writes.push_back(out);
    });
  for (OpOperand &use : op->getUses())
    if (transfers.obstacle.empty())
      addReads(use, shape, machine, transfers);
  auto wholeRows = [&](const Region &region) {
    return region.size.back() == shape.back();
  };
  if (transfers.obstacle.empty() &&
      !(llvm::all_of(transfers.writes, wholeRows) &&
        llvm::all_of(transfers.reads, wholeRows)))
    transfers.obstacle = "its tiles cut rows";
  return transfers;
}

/// Channels of a cell: all, or those of a channel tile where the last tile is
/// not full or tiles cut channels. 0 if tiles cut channels elsewhere.
int64_t cellChannels(const Transfers &transfers, int64_t channels,
                     int64_t partitions) {
  if (channels <= partitions)
    partitions = channels;
  bool whole = channels % partitions == 0;
  for (const auto *list : {&transfers.writes, &transfers.reads})
    for (const Region &region : *list) {
      const int64_t begin = region.start[1], end = begin + region.size[1];
      whole &= region.size[1] == channels;
      if (begin % partitions != 0 || (end % partitions != 0 && end != channels))
        return 0;
    }
  return whole ? channels : partitions;
}

/// What copies of the dense map take.
Candidate denseCost(const Transfers &transfers, llvm::ArrayRef<int64_t> shape,
                    int64_t bytes, const machine::Description &machine) {
  Candidate dense;
  dense.name = "map-dense";
  dense.bytes = bytes;
  for (int64_t extent : shape)
    dense.bytes *= static_cast<uint64_t>(extent);
  for (const auto *list : {&transfers.writes, &transfers.reads})
    for (const Region &region : *list) {
      llvm::SmallVector<uint64_t> counts(region.size.begin(),
                                         region.size.end());
      llvm::SmallVector<int64_t> strides(shape.size(), bytes);
      for (size_t i = shape.size() - 1; i-- > 0;)
        strides[i] = strides[i + 1] * shape[i + 1];
      machine::DmaSide dram{true, counts, strides,
                            static_cast<uint64_t>(bytes)};
      // The feature map starts where a burst does.
      for (size_t i = 0; i < shape.size(); ++i)
        dram.address += static_cast<uint64_t>(region.start[i] * strides[i]);
      // On the chip, channels are mapped to partitions and rows are
      // consecutive.
      llvm::SmallVector<int64_t> own(shape.size(), bytes);
      for (size_t i = shape.size() - 1; i-- > 2;)
        own[i] = own[i + 1] * region.size[i + 1];
      own[1] = static_cast<int64_t>(machine.sb.bytesPerPartition);
      own[0] = own[2] * region.size[2];
      machine::DmaSide inside{false, counts, own, static_cast<uint64_t>(bytes),
                              machine.sb.bytesPerPartition};
      machine::Timing time = machine::dmaCopy(machine, dram, inside);
      dense.dram += time.dram;
      dense.cycles += time.complete;
    }
  return dense;
}

class ChooseMapFormPass : public impl::ChooseMapFormBase<ChooseMapFormPass> {
public:
  using ChooseMapFormBase::ChooseMapFormBase;

  void runOnOperation() override {
    constexpr llvm::StringLiteral modes[] = {"auto", "off", "bitmap", "coo",
                                             "quadtree"};
    auto found = plannedMachineOf(getOperation());
    if (failed(found))
      return signalPassFailure();
    if (!llvm::is_contained(modes, mode)) {
      getOperation().emitError() << "mode '" << mode
                                 << "', expected auto, off, bitmap, coo or "
                                    "quadtree";
      return signalPassFailure();
    }
    profiles = analysis::profilesOf(
        getOperation()->getAttrOfType<DictionaryAttr>(kProfileAttr));
    getOperation()->removeAttr(kProfileAttr);
    if (mode == "off")
      return;
    machine = std::move(*found);
    getOperation().walk([&](Operation *op) {
      MemoryAttr memory = memoryOf(op);
      // Graph outputs are dense.
      if (memory && !memory.inStateBuffer() &&
          llvm::all_of(op->getUsers(), isOnDevice))
        choose(op);
    });
  }

private:
  void choose(Operation *op);
  Candidate candidate(Format format, unsigned levels, const Shape &shape,
                      int64_t channels, const analysis::DataProfile &profile,
                      const Transfers &transfers, int64_t bytes) const;
  void record(Operation *op, const analysis::DataProfile *profile,
              llvm::ArrayRef<Candidate> candidates, llvm::StringRef choice,
              llvm::StringRef reason) const;

  analysis::DataProfiles profiles;
  machine::Description machine;
};

/// A form with the bytes that the profile lets expect.
Candidate ChooseMapFormPass::candidate(Format format, unsigned levels,
                                       const Shape &shape, int64_t channels,
                                       const analysis::DataProfile &profile,
                                       const Transfers &transfers,
                                       int64_t bytes) const {
  Candidate result;
  result.name = fmt::format(
      "map-{}", format == Format::Spt1 ? "quadtree" : name(format).str());
  MapForm &form = result.form;
  form.form = static_cast<int64_t>(format);
  form.levels = levels;
  form.cellChannels = channels;
  form.cellBytes = static_cast<int64_t>(partition::largestBytes(
      format, levels, channels, shape.back(), static_cast<unsigned>(bytes)));
  form.pitch = llvm::alignTo(
      form.cellBytes,
      std::max<int64_t>(64, static_cast<int64_t>(machine.dram.burstBytes)));
  uint64_t sum = 0;
  for (int64_t first = 0; first < shape[1]; first += channels) {
    std::vector<double> density;
    for (int64_t c = first; c < std::min(first + channels, shape[1]); ++c)
      density.push_back(profile.of(c) / 1000.0);
    sum += partition::expectedBytes(format, levels, density, shape.back(),
                                    static_cast<unsigned>(bytes));
  }
  const int64_t cells = form.groups(shape);
  form.typical = std::min<int64_t>(
      static_cast<int64_t>(llvm::divideCeil(sum, uint64_t(cells))),
      form.cellBytes);
  result.bytes =
      sum * static_cast<uint64_t>(shape[0] * analysis::rowsOf(shape));
  auto add = [&](llvm::ArrayRef<Region> regions, bool store) {
    for (const Region &region : regions) {
      auto transfer =
          analysis::compressedTransfer(form, region, bytes, store, machine);
      result.dram += transfer.dram;
      result.cycles += transfer.total;
    }
  };
  add(transfers.writes, /*store=*/true);
  add(transfers.reads, /*store=*/false);
  return result;
}

void ChooseMapFormPass::record(Operation *op,
                               const analysis::DataProfile *profile,
                               llvm::ArrayRef<Candidate> candidates,
                               llvm::StringRef choice,
                               llvm::StringRef reason) const {
  records::Decision decision(op->getContext(), choice, reason);
  if (profile) {
    records::Facts bytes(op->getContext());
    for (const Candidate &entry : candidates) {
      decision.alternative(entry.name, static_cast<int64_t>(entry.cycles));
      bytes.set(entry.name, static_cast<int64_t>(entry.bytes));
    }
    decision.facts.set("data_density", int64_t(profile->mean()))
        .set("data", analysis::name(profile->source))
        .set("bytes", bytes.get());
  }
  decision.record(op, kMapDecisionAttr);
}

void ChooseMapFormPass::choose(Operation *op) {
  const Transfers transfers = transfersOf(op, machine);
  if (!transfers.obstacle.empty())
    return record(op, nullptr, {}, "map-dense", transfers.obstacle);
  Value map = op->getResult(0);
  const Shape shape(analysis::shapeOf(map));
  const int64_t bytes = analysis::storageOf(map).bytes();
  const int64_t channels = cellChannels(
      transfers, shape[1], static_cast<int64_t>(machine.sb.partitions));
  if (channels == 0)
    return record(op, nullptr, {}, "map-dense", "its tiles cut channels");
  if (channels * shape.back() > kLargestCell || shape.back() >= kLargestCount ||
      analysis::rowsOf(shape) >= kLargestCount)
    return record(op, nullptr, {}, "map-dense", "its rows are too long");
  const analysis::DataProfile profile = analysis::profileOf(map, profiles);
  llvm::SmallVector<Candidate, 4> candidates{
      denseCost(transfers, shape, bytes, machine)};
  auto consider = [&](Format format, unsigned levels) {
    return candidate(format, levels, shape, channels, profile, transfers,
                     bytes);
  };
  candidates.push_back(consider(Format::Bitmap, 0));
  candidates.push_back(consider(Format::Coo, 0));
  // A tree whose leaves are single positions only adds bits.
  const auto deepest = llvm::Log2_64_Ceil(
      static_cast<uint64_t>(std::max(channels, shape.back())));
  Candidate tree = consider(Format::Spt1, 1);
  for (unsigned levels = 2; levels <= std::min(deepest, partition::kMaxLevels);
       ++levels)
    if (Candidate deeper = consider(Format::Spt1, levels);
        deeper.bytes < tree.bytes)
      tree = std::move(deeper);
  candidates.push_back(std::move(tree));
  const Candidate *best = &candidates.front();
  for (const Candidate &entry : candidates)
    if (mode == "auto" ? entry.cycles <= best->cycles && entry.dram < best->dram
                       : entry.name == "map-" + mode)
      best = &entry;
  const bool compresses = best != &candidates.front();
  if (compresses)
    cast<DecisionInterface>(op).setMemoryAttr(
        memoryOf(op).withForm(best->form.toAttr(&getContext())));
  numCompressed += compresses;
  record(op, &profile, candidates, best->name,
         mode != "auto" ? "requested"
         : compresses   ? "the fewest cycles of its transfers"
                        : "no form takes fewer cycles");
}

} // namespace
} // namespace ashlar::npu
