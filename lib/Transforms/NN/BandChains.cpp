// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes chains that change layout in the middle band by band of rows (see
// Passes.td). Input: simplified `nn`; output: the chains of a local response
// normalisation and its like as one chain per band between slices of what they
// read and a concat.
//
// Rows of one value are ranges of one axis of another: a reshape that joins
// rows and columns makes row r the indices r * width .. (r + 1) * width - 1.

#include "MachineView.h"
#include "Rewrite.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

#include <queue>

namespace ashlar::nn {
#define GEN_PASS_DEF_BANDCHAINS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Row r of a chain is the indices [r * unit, (r + 1) * unit) of `axis`.
struct Rows {
  int64_t axis = 0, unit = 1;
  bool operator==(const Rows &) const = default;
};

int64_t product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

/// True for operations on elements at equal indices, with broadcasting.
bool isElementwise(Operation *op) {
  return isa<UnaryOp, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp, PReluOp>(
      op);
}

/// The rows of what a reshape reads, given those of its result.
std::optional<Rows> rowsBefore(ReshapeOp reshape, Rows rows) {
  ArrayRef<int64_t> x = shapeOf(reshape.getX()), y = shapeOf(reshape.getY());
  const int64_t before = product(y.take_front(rows.axis));
  const int64_t elements = rows.unit * product(y.drop_front(rows.axis + 1));
  const int64_t count = y[rows.axis] / rows.unit;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    const int64_t inner = product(x.drop_front(axis + 1));
    if (product(x.take_front(axis)) == before && elements % inner == 0 &&
        x[axis] == count * (elements / inner))
      return Rows{static_cast<int64_t>(axis), elements / inner};
  }
  return std::nullopt;
}

/// True if the windows of a pool have one index of `axis` and keep it.
template <typename Pool>
bool keepsRows(Pool pool, int64_t axis) {
  if (axis < 2)
    return false;
  const auto s = static_cast<size_t>(axis - 2);
  const size_t spatial = pool.getKernel().size();
  return pool.getKernel()[s] == 1 && pool.getStrides()[s] == 1 &&
         pool.getPads()[s] == 0 && pool.getPads()[s + spatial] == 0;
}

/// True if the assign phase may sum the windows of a pool over channels with
/// the channels across partitions, where the operations around it have them.
bool sumsChannels(AvgPoolOp pool) {
  const size_t spatial = pool.getKernel().size();
  for (size_t s = 1; s < spatial; ++s)
    if (!keepsRows(pool, static_cast<int64_t>(s) + 2))
      return false;
  return (pool.getSums() || pool.getCountIncludePad()) &&
         pool.getStrides()[0] == 1 &&
         shapeOf(pool.getX())[2] == shapeOf(pool.getY())[2];
}

/// True for a function that the drain of the product before it applies.
bool isEpilogue(Operation *op) {
  auto unary = dyn_cast<UnaryOp>(op);
  return unary &&
         isa_and_nonnull<ConvOp, MatMulOp>(unary.getX().getDefiningOp()) &&
         unary.getX().hasOneUse();
}

/// A set of operations with one result that others read, each of which computes
/// a row from the same row of what it reads.
class Chain {
public:
  /// The largest chain that ends with `root`, whose rows are its axis 2, of at
  /// most kMostOperations. `orderOf` numbers the operations of the block.
  Chain(Operation *root, const llvm::DenseMap<Operation *, size_t> &orderOf)
      : root(root) {
    // What the chain reads, last operation first: an operation belongs to the
    // chain if all of its readers do.
    std::priority_queue<std::pair<size_t, Operation *>> read;
    auto addWithOperands = [&](Operation *op) {
      if (!add(op))
        return;
      for (Value operand : op->getOperands())
        if (Operation *before = operand.getDefiningOp();
            before && rowsOf.contains(operand))
          read.emplace(orderOf.lookup(before), before);
    };
    rowsOf[root->getResult(0)] = Rows{2, 1};
    addWithOperands(root);
    while (!read.empty() && ops.size() < kMostOperations) {
      Operation *op = read.top().second;
      read.pop();
      if (op->getNumResults() == 1 && !ops.contains(op) && !isEpilogue(op) &&
          llvm::all_of(op->getUsers(),
                       [&](Operation *user) { return ops.contains(user); }))
        addWithOperands(op);
    }
  }

  /// True if a pool of the chain works in another layout than its last
  /// operation: the two alternate with changes of layout.
  bool changesLayout() const {
    return llvm::any_of(ops, [&](Operation *op) {
      return isa<MaxPoolOp, AvgPoolOp>(op) &&
             rowsOf.lookup(op->getResult(0)) != Rows{2, 1};
    });
  }

  /// True if the copies between those layouts may be omitted.
  bool staysInLayout() const {
    return llvm::all_of(ops, [&](Operation *op) {
      auto mean = dyn_cast<AvgPoolOp>(op);
      return !isa<MaxPoolOp>(op) && (!mean || sumsChannels(mean));
    });
  }

  int64_t rows() const { return shapeOf(root->getResult(0))[2]; }
  size_t size() const { return ops.size(); }

  /// Operations of the chain, and the shapes of their results in a band.
  template <typename Visit>
  void forEach(int64_t count, Visit visit) const {
    for (Operation *op : ops)
      visit(op, bandShape(op->getResult(0), count));
  }

  /// Rows `start` to `start + count - 1` of what the chain reads.
  IRMapping read(OpBuilder &builder, int64_t start, int64_t count) const {
    IRMapping mapping;
    for (Operation *op : llvm::reverse(ops))
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand) &&
            !ops.contains(operand.getDefiningOp()))
          mapping.map(operand, slice(builder, op, operand, start, count));
    return mapping;
  }

  /// Computes `count` rows of what was read.
  Value emit(OpBuilder &builder, IRMapping mapping, int64_t count) const {
    for (Operation *op : llvm::reverse(ops)) {
      Operation *band = builder.clone(*op, mapping);
      Value result = band->getResult(0);
      result.setType(typeOf(result).clone(bandShape(op->getResult(0), count)));
    }
    return mapping.lookup(root->getResult(0));
  }

  Operation *last() const { return root; }

private:
  /// Longer chains than those of any known network would only make compiling
  /// long ones slow.
  static constexpr size_t kMostOperations = 64;

  /// Takes the operation if each of its rows needs the same row of what it
  /// reads.
  bool add(Operation *op) {
    const Rows rows = rowsOf.lookup(op->getResult(0));
    llvm::SmallVector<std::pair<Value, Rows>, 3> found;
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      auto before = rowsBefore(reshape, rows);
      if (!before)
        return false;
      found.emplace_back(reshape.getX(), *before);
    } else if (isElementwise(op)) {
      const auto rank = static_cast<int64_t>(shapeOf(op->getResult(0)).size());
      for (Value operand : op->getOperands()) {
        ArrayRef<int64_t> shape = shapeOf(operand);
        const int64_t axis =
            rows.axis - (rank - static_cast<int64_t>(shape.size()));
        if (axis >= 0 && shape[axis] != 1)
          found.emplace_back(operand, Rows{axis, rows.unit});
      }
    } else if (auto mean = dyn_cast<AvgPoolOp>(op);
               mean && keepsRows(mean, rows.axis)) {
      found.emplace_back(mean.getX(), rows);
    } else if (auto most = dyn_cast<MaxPoolOp>(op);
               most && keepsRows(most, rows.axis)) {
      found.emplace_back(most.getX(), rows);
    } else {
      return false;
    }
    for (auto [value, own] : found)
      if (rowsOf.contains(value) && rowsOf.lookup(value) != own)
        return false;
    for (auto [value, own] : found)
      rowsOf[value] = own;
    ops.insert(op);
    return true;
  }

  SmallVector<int64_t> bandShape(Value value, int64_t count) const {
    SmallVector<int64_t> shape(shapeOf(value));
    if (auto found = rowsOf.find(value); found != rowsOf.end())
      shape[found->second.axis] = count * found->second.unit;
    return shape;
  }

  /// The band of what comes from outside of the chain; the whole of what all
  /// rows share.
  Value slice(OpBuilder &builder, Operation *user, Value value, int64_t start,
              int64_t count) const {
    auto found = rowsOf.find(value);
    if (found == rowsOf.end())
      return value;
    SmallVector<int64_t> starts(shapeOf(value).size(), 0);
    SmallVector<int64_t> steps(starts.size(), 1);
    starts[found->second.axis] = start * found->second.unit;
    return SliceOp::create(builder, user->getLoc(),
                           typeOf(value).clone(bandShape(value, count)), value,
                           builder.getDenseI64ArrayAttr(starts),
                           builder.getDenseI64ArrayAttr(steps));
  }

  Operation *root;
  llvm::SetVector<Operation *> ops; ///< readers before what they read
  llvm::MapVector<Value, Rows> rowsOf;
};

/// Predicted cycles of chains, whole and in bands.
class BandCosts {
public:
  explicit BandCosts(const MachineView &machine) : machine(machine) {}

  /// Bands of a chain at most: each has instructions of its own.
  static constexpr int64_t kMostBands = 64;

  /// Predicted cycles of the whole chain, one operation after the other.
  int64_t wholeCycles(const Chain &chain) const {
    const Stages whole = stagesOf(chain, chain.rows());
    return whole.vector + whole.copies + spillCycles(whole) +
           whole.count *
               (whole.copies == 0 ? machine.vectorLatency : machine.handOver);
  }

  /// Predicted cycles of bands of `rows` rows: the units work side by side
  /// except for the first band and the last one.
  std::optional<int64_t> bandCycles(const Chain &chain, int64_t rows) const {
    const int64_t bands = llvm::divideCeil(chain.rows(), rows);
    const int64_t rest = chain.rows() - (bands - 1) * rows;
    const Stages band = stagesOf(chain, rows), end = stagesOf(chain, rest);
    if (bands > kMostBands ||
        band.bytes * kLiveMaps * 2 > machine.partitionBytes)
      return std::nullopt;
    if (band.copies == 0)
      return (bands - 1) * band.vector + end.vector +
             bands * band.count * machine.vectorLatency;
    return std::max((bands - 1) * band.vector + end.vector,
                    (bands - 1) * band.copies + end.copies) +
           band.vector + band.copies + bands * band.count * machine.handOver;
  }

private:
  /// Maps of a band that are alive at the same time.
  static constexpr int64_t kLiveMaps = 4;

  /// Maps that a whole chain keeps beside each other: what it reads first and
  /// last, the operand of an operation and its result.
  static constexpr int64_t kWholeMaps = 3;
  static constexpr int64_t kFloatBytes = 4;

  /// Cycles of the vector unit and of copies between layouts.
  struct Stages {
    int64_t vector = 0, copies = 0, count = 0;
    int64_t bytes = 0;    ///< of a partition, of the largest map
    int64_t elements = 0; ///< of that map
  };

  /// Lane steps of the partition axis that takes fewest.
  int64_t laneSteps(ArrayRef<int64_t> shape) const {
    const int64_t elements = product(shape);
    int64_t least = elements;
    for (int64_t extent : shape.drop_front())
      least = std::min<int64_t>(
          least, elements / std::max<int64_t>(extent, 1) *
                     llvm::divideCeil(extent, machine.partitions));
    return least;
  }

  Stages stagesOf(const Chain &chain, int64_t rows) const {
    Stages stages;
    chain.forEach(rows, [&](Operation *op, ArrayRef<int64_t> shape) {
      const int64_t steps = laneSteps(shape), elements = product(shape);
      ++stages.count;
      stages.bytes = std::max(stages.bytes, steps * kFloatBytes);
      stages.elements = std::max(stages.elements, elements);
      if (!isa<ReshapeOp>(op)) {
        stages.vector += steps * elementCycles(op);
        return;
      }
      if (chain.staysInLayout())
        return;
      // Elements change their partition one by one.
      const int64_t runs =
          machine.copyRuns > 0 ? elements / machine.copyRuns : 0;
      stages.copies +=
          std::max<int64_t>(elements * kFloatBytes / machine.copyBytes, runs) /
          machine.copyQueues;
    });
    return stages;
  }

  /// Cycles of DRAM if whole maps do not fit beside each other: one of them is
  /// written and read, or all are where not even two fit.
  int64_t spillCycles(const Stages &whole) const {
    const int64_t fitting =
        machine.partitionBytes / std::max<int64_t>(whole.bytes, 1);
    if (fitting >= kWholeMaps)
      return 0;
    const int64_t maps = fitting == kWholeMaps - 1 ? 1 : whole.count;
    return machine.dramCycles(2 * maps * whole.elements * kFloatBytes);
  }

  /// Cycles of an element of the vector unit.
  int64_t elementCycles(Operation *op) const {
    auto of = [&](llvm::StringRef name) {
      return machine.vectorCycles(
          machine::vecCostOf(name).value_or(machine::VecCost::VeryExpensive));
    };
    const int64_t visit = machine.vectorCycles(machine::VecCost::Cheap);
    if (auto pool = dyn_cast<AvgPoolOp>(op))
      return product(pool.getKernel()) * visit +
             (pool.getSums() ? 0 : of("div"));
    if (auto pool = dyn_cast<MaxPoolOp>(op))
      return product(pool.getKernel()) * visit;
    if (auto unary = dyn_cast<UnaryOp>(op))
      return of(stringifyUnaryFunction(unary.getFunction()));
    return of(op->getName().stripDialect());
  }

  const MachineView &machine;
};

struct BandChainsPass : nn::impl::BandChainsBase<BandChainsPass> {
  using BandChainsBase::BandChainsBase;

  void runOnOperation() override {
    FailureOr<MachineView> machine = MachineView::of(getOperation());
    if (failed(machine))
      return signalPassFailure();
    const BandCosts costs(*machine);
    SmallVector<Operation *> roots;
    llvm::DenseMap<Operation *, size_t> orderOf;
    getOperation().walk([&](Operation *op) {
      orderOf.try_emplace(op, orderOf.size());
      if (isElementwise(op) &&
          isa<FloatType>(typeOf(op->getResult(0)).getElementType()) &&
          shapeOf(op->getResult(0)).size() >= 4)
        roots.push_back(op);
    });
    // The last operation of a chain comes first; what it took is gone then.
    llvm::DenseSet<Operation *> taken;
    for (Operation *root : llvm::reverse(roots)) {
      if (taken.contains(root))
        continue;
      Chain chain(root, orderOf);
      if (!chain.changesLayout())
        continue;
      chain.forEach(
          1, [&](Operation *op, ArrayRef<int64_t>) { taken.insert(op); });
      decide(chain, costs);
    }
  }

private:
  void decide(const Chain &chain, const BandCosts &costs) {
    const int64_t serial = costs.wholeCycles(chain);
    int64_t least = serial, best = 0;
    // A last band of few rows would cost as much as a whole one.
    for (int64_t bands = 2;
         bands <= std::min(BandCosts::kMostBands, chain.rows()); ++bands) {
      const int64_t rows = llvm::divideCeilSigned(chain.rows(), bands);
      if (auto cycles = costs.bandCycles(chain, rows);
          cycles && *cycles < least)
        least = *cycles, best = rows;
    }
    if (best > 0)
      split(chain, best, serial, least);
  }

  void split(const Chain &chain, int64_t rows, int64_t serial, int64_t least) {
    Operation *root = chain.last();
    OpBuilder builder(root);
    SmallVector<Value> parts;
    auto countFrom = [&](int64_t start) {
      return std::min(rows, chain.rows() - start);
    };
    // What a band reads is loaded while the one before it is computed.
    IRMapping next = chain.read(builder, 0, countFrom(0));
    for (int64_t start = 0; start < chain.rows(); start += rows) {
      IRMapping own = std::move(next);
      if (start + rows < chain.rows())
        next = chain.read(builder, start + rows, countFrom(start + rows));
      parts.push_back(chain.emit(builder, std::move(own), countFrom(start)));
    }
    auto joined =
        ConcatOp::create(builder, root->getLoc(), root->getResult(0).getType(),
                         parts, builder.getI64IntegerAttr(2));
    const std::string choice = fmt::format("bands-of-{}", rows);
    records::Decision(
        builder.getContext(), choice,
        fmt::format("{} operations in {} bands of {} rows: {}", chain.size(),
                    parts.size(), rows,
                    chain.staysInLayout()
                        ? "the maps of a band stay on the chip"
                        : "one is computed while another changes its layout"))
        .alternative("whole", serial)
        .alternative(choice, least)
        .record(joined, records::kDecisionAttr);
    root->getResult(0).replaceAllUsesWith(joined.getY());
    SmallVector<Operation *> dead;
    chain.forEach(
        1, [&](Operation *op, ArrayRef<int64_t>) { dead.push_back(op); });
    for (Operation *op : dead)
      op->erase();
    ++numChains;
  }
};

} // namespace
