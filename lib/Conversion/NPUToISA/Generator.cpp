// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program around the tiles: places of tensors and constants, the order of
// the nodes, what begins and ends a node.

#include "Generator.h"
#include "Emit/EmitKept.h"
#include "EmitSequence.h"

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Cost/ProgramSize.h"
#include "ashlar/Analysis/Layout/BufferViews.h"
#include "ashlar/Analysis/Layout/InPlace.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/ResidentConstants.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Sparse/KeptMaps.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Half.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::shapeOf;
using analysis::storageOf;
using analysis::TilingModel;

Generator::Generator(ModuleOp module, const machine::Description &machine)
    : builder(machine), machine(machine), weights(builder), scales(machine),
      streams(builder), sums(machine), module(module) {}

llvm::Error Generator::unsupported(Operation *op,
                                   const std::string &what) const {
  return makeError(ErrorClass::Unsupported, "'{}' (node '{}'): {}",
                   op->getName().getStringRef().str(),
                   analysis::getNodeName(op->getLoc()), what);
}

static View dramAllocation(ProgramBuilder &builder, Value value,
                           const analysis::MapForm *form = nullptr) {
  analysis::StorageType type = storageOf(value);
  auto shape = shapeOf(value);
  int64_t base = builder.allocateDram(form ? form->bytes(shape)
                                           : analysis::dramBytes(type, shape));
  int64_t cells = builder.allocateDram(
      analysis::dramCellBytes(type, shape, builder.machine));
  return analysis::denseDramView(type, shape, base, cells, builder.machine);
}

void Generator::placeConstantsAndArguments() {
  func::FuncOp main = *module.getOps<func::FuncOp>().begin();
  for (BlockArgument argument : main.getArguments())
    allocations[argument] = dramAllocation(builder, argument);
}

static int64_t elementsOf(llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

/// Constants are placed when an operation first reads them: most weights never
/// appear as tensors.
View Generator::allocationOf(Value value) {
  auto found = allocations.find(value);
  if (found != allocations.end())
    return found->second;
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  nn::ElementStorage storage;
  auto bytes =
      constant ? nn::rawElements(constant.getValue(), storage) : std::nullopt;
  if (!bytes)
    return {};
  int64_t address = builder.addConstant({bytes->begin(), bytes->end()},
                                        &NodeStorage::tensors, builder.node);
  builder.storage[builder.node].weights += elementsOf(shapeOf(value));
  View view = analysis::denseDramView(storageOf(value), shapeOf(value), address,
                                      0, machine);
  allocations[value] = view;
  return view;
}

bool Generator::sharesDram(Operation *op) const {
  auto move = dyn_cast<npu::DmaMoveOp>(op);
  if (!move || !analysis::keepsPlaceInDram(move, machine) ||
      analysis::MapForm::of(op))
    return false;
  Value source = move.getInputs()[0];
  Operation *producer = source.getDefiningOp();
  if (!mlir::isa_and_nonnull<npu::DecisionInterface>(producer) ||
      analysis::isUnstored(producer) || analysis::isView(producer) ||
      npu::memoryOf(producer).getSb() || forms.contains(source))
    return false;
  return llvm::none_of(source.getUsers(), [](Operation *user) {
    return mlir::isa<func::ReturnOp>(user);
  });
}

llvm::Error Generator::placeResults() {
  for (Operation *op : nodes) {
    Value result = op->getResult(0);
    int64_t offset = npu::memoryOf(op).getSb().value_or(-1);
    if (offset < 0 && sharesDram(op)) {
      const View source = allocations[op->getOperand(0)];
      allocations[result] =
          analysis::denseDramView(storageOf(result), shapeOf(result),
                                  source.base, source.cellBase, machine);
      reshaped.insert(op);
      continue;
    }
    if (offset < 0 && !analysis::isView(op)) {
      if (auto form = analysis::MapForm::of(op))
        forms[result] = *form;
      allocations[result] = dramAllocation(builder, result, formOf(result));
      continue;
    }
    auto source = op->getNumOperands() > 0 ? allocations.find(op->getOperand(0))
                                           : allocations.end();
    auto view = analysis::resultView(
        op, offset, source == allocations.end() ? nullptr : &source->second,
        machine);
    if (!view)
      return withContext(view.takeError(),
                         "node '" + analysis::getNodeName(op->getLoc()) + "'");
    allocations[result] = *view;
  }
  return llvm::Error::success();
}

unsigned Generator::scaleRegister(Value value) const {
  return scales.of(value);
}

EncodeRegisters Generator::resultScale(Operation *op) {
  return scales.resultOf(op);
}

size_t Generator::streamedProduct(Operation *op) {
  auto found = productIndex.find(op);
  if (found != productIndex.end())
    return found->second;
  StreamedProduct product;
  product.op = op;
  product.node = builder.node;
  product.shape = analysis::productShape(op);
  product.columns = stationaryPlans[op];
  if (product.columns.empty()) {
    product.columns = analysis::planStationary(product.shape, machine);
    // Tiles of zeros need neither load nor stream.
    if (analysis::hasStreamedWeights(op) && !product.shape.weightsMove &&
        !product.shape.recordsOnly) {
      const analysis::WeightPattern encoded(op);
      analysis::dropZeroTiles(product.columns, op, encoded);
      analysis::markChosenPatterns(product.columns, op, encoded, machine);
    }
    product.columns =
        analysis::cutChunks(std::move(product.columns), product.shape,
                            analysis::hasStreamedWeights(op));
    stationaryPlans[op] = product.columns;
  }
  product.elementBytes = product.shape.weightFormat.mantissaBytes();
  product.streamsTiles = analysis::hasStreamedWeights(op);
  product.findBottleneck(machine);
  if (auto program = tilePrograms.find(op); program != tilePrograms.end())
    product.sources = analysis::sourceLanes(program->second->problem);
  product.setTiles(shapeOf(op->getResult(0)), npu::tilingOf(op).getTile(),
                   analysis::buildTilingModel(op, machine).outputAxis);
  return productIndex[op] = weights.addProduct(std::move(product));
}

llvm::Expected<TileProgram *> Generator::tileProgram(Operation *op) {
  std::unique_ptr<TileProgram> &program = tilePrograms[op];
  if (program)
    return program.get();
  auto tile = npu::tilingOf(op).getTile().asArrayRef();
  Shape extent{tile[0]};
  extent.append(tile.begin() + 2, tile.end());
  auto built = buildTileProgram(op, extent, machine);
  if (!built)
    return withContext(built.takeError(),
                       "node '" + analysis::getNodeName(op->getLoc()) + "'");
  program = std::move(*built);
  program->node = builder.node;
  return program.get();
}

/// A moved encoded tensor keeps the scale exponent of its sources; the parts
/// of a concat merge theirs (docs/Numerics.md 5).
void Generator::mergeConcatScales(Operation *op) {
  if (!mlir::isa<npu::DmaMoveOp>(op) || !storageOf(op->getResult(0)).encoded)
    return;
  for (Value input : op->getOperands()) {
    if (!storageOf(input).encoded)
      return;
    isa::XrMerge merge{};
    const EncodeRegisters registers = resultScale(op);
    merge.dst = registers.xr;
    merge.clear = registers.clear;
    merge.src = scaleRegister(input);
    builder.emit(merge);
  }
}

/// The program has the order of the sequences.
llvm::Error Generator::findSequences() {
  llvm::DenseMap<Operation *, size_t> indexOf;
  for (auto [i, op] : llvm::enumerate(nodes))
    indexOf[op] = i;
  module.walk([&](tile::SequenceOp sequence) {
    Operation *op = sequence.getNode().getDefiningOp();
    sequences[op] = sequence;
    order.push_back(indexOf[op]);
  });
  if (sequences.size() == nodes.size() && order.size() == nodes.size())
    return llvm::Error::success();
  return makeError(ErrorClass::Internal,
                   "the module has {} planned operations and {} sequences of "
                   "tile operations",
                   nodes.size(), order.size());
}

llvm::Error Generator::run() {
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<npu::NPUDialect>(op->getDialect()))
      nodes.push_back(op);
  });
  builder.mostEntries = analysis::mostInstructions(module);
  if (limit)
    builder.mostEntries = std::min<uint64_t>(builder.mostEntries, limit->most);
  placeConstantsAndArguments();
  if (llvm::Error error = placeResults())
    return error;
  if (llvm::Error error = checkDram())
    return error;
  if (llvm::Error error = findSequences())
    return error;
  if (llvm::Error error = scales.assign(llvm::map_to_vector(
          order, [&](size_t index) { return nodes[index]; })))
    return error;
  weights.reserveRecords(analysis::movingRecordBytes(nodes, machine));
  if (llvm::Error error = planCounters())
    return error;
  if (llvm::Error error = emitAll())
    return error;
  // Only the order of weight requests is kept from the first run.
  builder.restart();
  completions.clear();
  productIndex.clear();
  scales.restart();
  weights.replay();
  streams.replay();
  tiles = TileState();
  sums = SumBanks(machine);
  // All products are known before the first load, so that prefetching may
  // cross operations.
  for (auto [i, op] : llvm::enumerate(nodes))
    if (analysis::isProduct(op)) {
      builder.node = i;
      streamedProduct(op);
    }
  return emitAll();
}

/// What lies in DRAM is known before the first instruction.
llvm::Error Generator::checkDram() {
  const auto used = static_cast<uint64_t>(builder.dramEnd());
  if (used <= machine.dram.bytes)
    return llvm::Error::success();
  Value largest;
  int64_t most = -1;
  auto consider = [&](Value value) {
    const int64_t bytes =
        allocations.lookup(value).inStateBuffer()
            ? 0
            : analysis::dramBytes(storageOf(value), shapeOf(value));
    if (bytes > most) {
      most = bytes;
      largest = value;
    }
  };
  func::FuncOp main = *module.getOps<func::FuncOp>().begin();
  llvm::for_each(main.getArguments(), consider);
  for (Operation *node : nodes)
    consider(node->getResult(0));
  Operation *op = largest ? largest.getDefiningOp() : nullptr;
  return makeError(
      ErrorClass::Capacity,
      "tensors take {} bytes of DRAM, the machine {} has {}; the largest is {}",
      used, machine.name, machine.dram.bytes,
      op ? "the result of node '" + analysis::getNodeName(op->getLoc()) + "'"
         : std::string("a graph input"));
}

/// Instructions of a program grow with the extents of a model and not with its
/// size: a small file may not ask for a large program.
llvm::Error Generator::checkInstructions(Operation *op) const {
  if (!builder.full())
    return llvm::Error::success();
  if (limit && builder.mostEntries == limit->most)
    limit->exceeded = true;
  return makeError(
      ErrorClass::Capacity,
      "node '{}': the program has more than the {} instructions that a model "
      "of this size may become; make its extents smaller or use a machine with "
      "more memory",
      analysis::getNodeName(op->getLoc()), builder.mostEntries);
}

/// Counters for the feature maps whose cuts are chosen at run time.
llvm::Error Generator::planCounters() {
  std::vector<analysis::CountedMap> maps;
  for (auto [i, op] : llvm::enumerate(nodes)) {
    auto conv = dyn_cast<npu::TcuConvOp>(op);
    if (!conv || !conv.getScatterAttr())
      continue;
    builder.node = i;
    auto program = tileProgram(op);
    if (!program)
      return program.takeError();
    if (!(*program)->plan.cutAtRunTime)
      continue;
    maps.push_back(analysis::CountedMap::of(
        op,
        [&](Operation *node) -> size_t {
          return std::distance(nodes.begin(), llvm::find(nodes, node));
        },
        machine));
  }
  counters = analysis::CounterAllocation(
      maps, static_cast<int64_t>(machine.sparse.countEntries));
  return llvm::Error::success();
}

int64_t Generator::floatIdentityOffset() const {
  return identityOffset() + llvm::alignTo(machine.sb.partitions, 64);
}

/// The identities that all transposes share, made once without DRAM. They are
/// no weights: nothing prunes or skips them.
void Generator::storeIdentities() {
  bool words = false, floats = false;
  for (Operation *op : nodes) {
    auto transpose = dyn_cast<npu::PeTransposeOp>(op);
    const bool multiplies = transpose && transpose.getFloatProducts();
    floats |= multiplies;
    words |= (transpose && !multiplies) || npu::transposesBlocks(op);
  }
  if (words)
    storeIdentity(identityOffset(), 1, 1);
  if (floats)
    storeIdentity(floatIdentityOffset(), 2, support::floatToBfloat(1.0f));
}

void Generator::storeIdentity(int64_t offset, uint32_t bytes, uint64_t one) {
  isa::DmaFill fill{};
  fill.queue = isa::Queue::Dma0;
  fill.elemBytes = bytes;
  fill.dstMem = isa::Memory::Sb;
  fill.dstBase = offset;
  fill.n0 = fill.n1 = fill.n2 = 1;
  fill.n3 = fill.n4 = machine.sb.partitions;
  fill.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  fill.dstStride4 = bytes;
  builder.emit(fill);
  fill.n3 = 1;
  fill.dstStride3 = 0;
  fill.dstStride4 = static_cast<int64_t>(machine.sb.bytesPerPartition) + bytes;
  fill.value = one;
  builder.emit(fill);
}

/// Small constants that stay, loaded before anything waits for them.
void Generator::loadConstants() {
  auto area = module->getAttrOfType<npu::RegionAttr>(npu::kConstantsAttr);
  if (!area)
    return;
  llvm::DenseMap<Operation *, uint32_t> indexOf;
  for (auto [i, op] : llvm::enumerate(nodes))
    indexOf[op] = static_cast<uint32_t>(i);
  for (const analysis::ResidentConstant &constant : analysis::residentConstants(
           module, machine, area.getBegin(), area.getBytes())) {
    // Its load belongs to the first node that reads it.
    std::optional<uint32_t> reader;
    for (Operation *user : constant.value.getUsers())
      if (auto found = indexOf.find(user); found != indexOf.end())
        reader = std::min(reader.value_or(found->second), found->second);
    builder.node = reader.value_or(0);
    emitCopy(builder, allocationOf(constant.value), constant.view);
    constants[{constant.value, constant.axis}] = constant.view;
  }
}

llvm::Error Generator::emitNode(size_t index) {
  Operation *op = nodes[index];
  builder.node = index;
  weights.setBase(npu::tilingOf(op).getRing());
  // A product begins with the first rows of an operand whose scale exponent is
  // known; otherwise the last ones have a longer way than weights.
  if (bfp::getScalePolicy(op).isKnownAhead())
    weights.loadFirst();
  if (llvm::Error error = emitOperation(op))
    return error;
  Value result = op->getResult(0);
  if (analysis::isUnstored(op))
    return llvm::Error::success();
  completions.push_back({result, allocations[result], scales.of(result),
                         builder.entries.size() - 1});
  return llvm::Error::success();
}

llvm::Error Generator::emitAll() {
  builder.node = 0;
  scales.emitConstants(builder);
  storeIdentities();
  loadConstants();
  for (size_t index : order)
    if (llvm::Error error = emitNode(index))
      return error;
  emitKept(*this, module);
  scales.storeState(builder);
  return llvm::Error::success();
}

/// Where an operand lies that is read in place across `axis`.
View Generator::residentOf(Value value, int64_t axis, bool folded) {
  View home = allocationOf(value);
  auto found = constants.find({value, axis});
  return found == constants.end() || folded ? home : found->second;
}

llvm::Expected<ChunkPlace> Generator::acquireWeights(size_t product,
                                                     size_t column) {
  auto place = weights.acquire(product, column);
  // DRAM serves in program order, and so does the queue of weights: what the
  // first product waits for, inputs and weights of the array, goes before the
  // streams of all later layers, and these before weights that have to wait for
  // their room.
  streams.pump();
  return place;
}

llvm::Error Generator::emitOperation(Operation *op) {
  if (npu::isAliased(op) || reshaped.contains(op)) {
    mergeConcatScales(op);
    return llvm::Error::success();
  }
  if (llvm::Error error = emitSequence(*this, sequences.lookup(op)))
    return error;
  mergeConcatScales(op);
  scales.finish(builder, op);
  if (productIndex.count(op))
    weights.finish(productIndex[op]);
  return llvm::Error::success();
}

} // namespace ashlar::codegen
