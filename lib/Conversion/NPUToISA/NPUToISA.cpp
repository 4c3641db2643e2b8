// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a program together: bindings, constants, node table, and instructions
// with the places where planned tensors are complete.

#include "ashlar/Conversion/NPUToISA/NPUToISA.h"

#include "Generator.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/KeptResults.h"
#include "ashlar/Analysis/Module/ModuleForm.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Numerics/Format.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "ashlar/Transforms/Tile/Passes.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include <fmt/format.h>

using namespace mlir;

namespace ashlar {
namespace codegen {

using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// The name of a result in the numeric plan, if it has one.
std::string planNameOf(Operation *op) {
  npu::OriginAttr origin = npu::originOf(op);
  return origin && origin.getName() ? origin.getName().str() : std::string();
}

/// The operation of the model that it was made from.
std::string sourceOf(Operation *op) {
  npu::OriginAttr origin = npu::originOf(op);
  return origin && origin.getOp() ? origin.getOp().str() : std::string();
}

/// Multiply-accumulates of a product operation; 0 for others.
uint64_t macsOf(Operation *op) {
  if (!analysis::isProduct(op))
    return 0;
  if (auto macs = op->getAttrOfType<IntegerAttr>(records::kMacsAttr))
    return macs.getInt();
  analysis::ProductShape product = analysis::productShape(op);
  uint64_t results = 1;
  for (int64_t extent : shapeOf(op->getResult(0)))
    results *= extent;
  return results * (product.channels / product.groups) * product.taps;
}

/// The source node of an operation and what it has absorbed.
llvm::SmallVector<std::string> nodeNamesOf(Operation *op) {
  auto names = analysis::getNodeNames(op->getLoc());
  if (names.empty())
    names.push_back("node");
  return names;
}

std::string engineOf(Operation *op) {
  return op->getName().stripDialect().split('.').first.str();
}

/// What a node of the source model becomes.
struct Node {
  std::string name, opType, engine;
  llvm::SmallVector<std::string> absorbed, planned;
  uint64_t macs = 0;
};

/// One node per ONNX node: operations that one node was lowered to share it.
class NodeTable {
public:
  explicit NodeTable(llvm::ArrayRef<Operation *> operations) {
    for (Operation *op : operations)
      add(op);
  }
  std::vector<Node> nodes;
  std::vector<uint32_t> nodeOfOperation;

private:
  void add(Operation *op) {
    auto names = nodeNamesOf(op);
    std::string name = names.front();
    auto [entry, inserted] = index.insert({name, nodes.size()});
    if (inserted) {
      Node info;
      info.name = name;
      info.opType = sourceOf(op);
      info.engine = engineOf(op);
      nodes.push_back(std::move(info));
    }
    Node &info = nodes[entry->second];
    if (macsOf(op) > 0) {
      info.engine = engineOf(op);
      info.opType = sourceOf(op);
    }
    info.macs += macsOf(op);
    for (const std::string &other : llvm::drop_begin(names))
      if (!llvm::is_contained(info.absorbed, other))
        info.absorbed.push_back(other);
    if (std::string planned = planNameOf(op); !planned.empty())
      info.planned.push_back(planned);
    nodeOfOperation.push_back(entry->second);
  }
  llvm::StringMap<uint32_t> index;
};

/// Writes the tables and instructions of one program.
class ProgramWriter {
public:
  ProgramWriter(Generator &generator, ModuleOp module, llvm::StringRef dataName)
      : generator(generator), module(module), dataName(dataName),
        table(generator.nodes),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  llvm::Error write();

private:
  void writeBindings();
  void writeCache(func::FuncOp main, ValueRange results);
  void writeData();
  void writeNodes();
  void writeProofs();
  void writePlanned(const Completion &completion);
  llvm::Error checkFields(const Entry &entry) const;
  llvm::Error writeInstructions();
  void writeInput(Value value, llvm::StringRef name);
  void writeOutput(func::FuncOp main, ValueRange results, unsigned index);

  Generator &generator;
  ModuleOp module;
  llvm::StringRef dataName;
  NodeTable table;
  OpBuilder builder;
};

void ProgramWriter::writeInput(Value value, llvm::StringRef name) {
  isadialect::BindingOp::create(builder, module.getLoc(), /*output=*/false,
                                name, TypeAttr::get(value.getType()),
                                generator.allocations[value].base,
                                DenseI64ArrayAttr());
}

/// Extents are outputs of the module and belong to those whose extents they
/// are.
void ProgramWriter::writeOutput(func::FuncOp main, ValueRange results,
                                unsigned index) {
  DenseI64ArrayAttr extent;
  if (auto numbers =
          main.getResultAttrOfType<DenseI64ArrayAttr>(index, nn::extentAttr))
    extent = builder.getDenseI64ArrayAttr(
        {numbers[0], generator.allocations[results[numbers[1]]].base});
  isadialect::BindingOp::create(
      builder, module.getLoc(), /*output=*/true,
      main.getResultAttrOfType<StringAttr>(index, nn::nameAttr).getValue(),
      TypeAttr::get(results[index].getType()),
      generator.allocations[results[index]].base, extent);
}

void ProgramWriter::writeBindings() {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  const llvm::DenseSet<unsigned> kept = analysis::keptArguments(main);
  for (auto [i, argument] : llvm::enumerate(main.getArguments()))
    if (!kept.contains(i))
      writeInput(argument,
                 main.getArgAttrOfType<StringAttr>(i, nn::nameAttr).getValue());
  auto result = cast<func::ReturnOp>(main.getBody().front().getTerminator());
  const llvm::DenseSet<unsigned> extents = analysis::extentsOf(main);
  for (unsigned i = 0; i < result.getNumOperands(); ++i)
    if (!extents.contains(i) && !analysis::keptOf(main, i))
      writeOutput(main, result.getOperands(), i);
  writeCache(main, result.getOperands());
}

/// The argument that a result only hands back, by copies.
BlockArgument argumentOf(Value value) {
  for (auto move = value.getDefiningOp<npu::DmaMoveOp>();
       move && move->getNumOperands() == 1 &&
       move->getOperand(0).getType() == value.getType();
       move = value.getDefiningOp<npu::DmaMoveOp>())
    value = move->getOperand(0);
  return dyn_cast<BlockArgument>(value);
}

/// Arguments that results replace, and the argument that says where.
void ProgramWriter::writeCache(func::FuncOp main, ValueRange results) {
  std::string position;
  for (unsigned i = 0; i < results.size(); ++i) {
    auto kept = analysis::keptOf(main, i);
    if (!kept)
      continue;
    BlockArgument argument = main.getArgument(kept->input);
    const int64_t axis = kept->axis;
    isadialect::KeptOp::create(
        builder, module.getLoc(),
        main.getArgAttrOfType<StringAttr>(kept->input, nn::nameAttr).getValue(),
        main.getResultAttrOfType<StringAttr>(i, nn::nameAttr).getValue(),
        TypeAttr::get(argument.getType()), generator.allocations[argument].base,
        axis, axis < 0 ? 0 : shapeOf(results[i])[axis]);
    if (axis < 0)
      continue;
    if (BlockArgument place = argumentOf(results[kept->position]))
      position =
          main.getArgAttrOfType<StringAttr>(place.getArgNumber(), nn::nameAttr)
              .str();
  }
  if (auto checksum = module->getAttrOfType<IntegerAttr>(nn::modelChecksumAttr))
    isadialect::CacheOp::create(builder, module.getLoc(), checksum.getInt(),
                                position);
}

/// The bytes move into resources of the context without a copy. The context
/// numbers resources of the same name by trying all numbers: each has its own.
void ProgramWriter::writeData() {
  auto &constants = generator.builder.constants;
  llvm::sort(constants, [](const ConstantBytes &a, const ConstantBytes &b) {
    return a.address < b.address;
  });
  for (ConstantBytes &constant : constants) {
    if (constant.bytes.empty())
      continue;
    auto owner =
        std::make_unique<std::vector<uint8_t>>(std::move(constant.bytes));
    llvm::ArrayRef<char> data(reinterpret_cast<const char *>(owner->data()),
                              owner->size());
    auto type = RankedTensorType::get({static_cast<int64_t>(data.size())},
                                      builder.getI8Type());
    AsmResourceBlob blob(
        data, alignof(uint64_t),
        [owner = std::move(owner)](void *, size_t, size_t) mutable {
          owner.reset();
        },
        /*dataIsMutable=*/false);
    isadialect::DataOp::create(
        builder, module.getLoc(), constant.address,
        DenseResourceElementsAttr::get(
            type, fmt::format("{}_{}", dataName.str(), constant.address),
            std::move(blob)));
  }
}

void ProgramWriter::writeNodes() {
  auto texts = [&](llvm::ArrayRef<std::string> list) {
    llvm::SmallVector<llvm::StringRef> views(list.begin(), list.end());
    return builder.getStrArrayAttr(views);
  };
  for (const Node &node : table.nodes)
    isadialect::NodeOp::create(builder, module.getLoc(), node.name, node.opType,
                               node.engine, node.macs, texts(node.absorbed),
                               texts(node.planned));
}

void ProgramWriter::writeProofs() {
  for (Operation *op : generator.nodes) {
    if (!analysis::isProduct(op))
      continue;
    analysis::ProductShape product = analysis::productShape(op);
    analysis::StorageType x = storageOf(op->getOperand(0));
    numerics::BlockFormat a = x.format, w = product.weightFormat;
    if (!x.encoded) {
      // Integers of 8 or 16 bits as the cells hold them, sign included.
      a.mantissa = x.storedBits() + 1;
      ++w.mantissa;
      a.range = w.range = 0;
    }
    uint64_t terms = product.channels / product.groups * product.taps;
    isadialect::ProofOp::create(
        builder, module.getLoc(), analysis::getNodeName(op->getLoc()), terms,
        numerics::accumulatorBits(a.mantissa, a.range, w.mantissa, w.range,
                                  terms));
  }
}

void ProgramWriter::writePlanned(const Completion &completion) {
  const View &view = completion.view;
  Operation *op = completion.value.getDefiningOp();
  bool inDram = !view.inStateBuffer();
  bool cells = view.type.encoded && inDram;
  analysis::Lanes lanes = analysis::lanesOf(op);
  int64_t laneAxis = lanes.spread() ? lanes.axis : -1;
  if (view.outer >= 0) {
    lanes.count = view.shape[view.outer];
    lanes.pitch = view.outerStep;
    laneAxis = view.outer;
  }
  DenseI64ArrayAttr compressed;
  if (const analysis::MapForm *form = generator.formOf(completion.value))
    compressed = builder.getDenseI64ArrayAttr(
        {form->cellChannels, form->cellBytes, form->pitch});
  isadialect::PlannedOp::create(
      builder, op->getLoc(), planNameOf(op),
      TypeAttr::get(completion.value.getType()), inDram, view.base, view.part,
      view.axis, view.tileStride, view.strides, lanes.count, lanes.pitch,
      laneAxis, cells ? view.cellBase : 0,
      cells ? llvm::ArrayRef<int64_t>(view.cellStrides)
            : llvm::ArrayRef<int64_t>(),
      completion.scaleRegister, compressed);
}

/// Emitters cut what they can into instructions that fit; what is left is
/// refused here, before the instruction is built.
llvm::Error ProgramWriter::checkFields(const Entry &entry) const {
  llvm::Error error = isa::verify(entry.instruction);
  if (!error || generator.nodes.empty())
    return error;
  Operation *op = generator.nodes[entry.node];
  std::string shape;
  llvm::raw_string_ostream(shape) << op->getResult(0).getType();
  return makeError(
      ErrorClass::Capacity,
      "node '{}': '{}' with result {}: {}; the instruction set goes no further "
      "(docs/Isa.md), cut the operation in the model into several smaller ones",
      analysis::getNodeName(op->getLoc()), op->getName().getStringRef().str(),
      shape, llvm::toString(std::move(error)));
}

llvm::Error ProgramWriter::writeInstructions() {
  llvm::SmallVector<Location> locations;
  for (const Node &node : table.nodes)
    locations.push_back(NameLoc::get(builder.getStringAttr(node.name)));
  llvm::DenseMap<size_t, llvm::SmallVector<const Completion *, 1>> complete;
  for (const Completion &completion : generator.completions)
    if (!planNameOf(completion.value.getDefiningOp()).empty())
      complete[completion.entry].push_back(&completion);
  for (auto [i, entry] : llvm::enumerate(generator.builder.entries)) {
    Location location = table.nodeOfOperation.empty()
                            ? Location(builder.getUnknownLoc())
                            : locations[table.nodeOfOperation[entry.node]];
    if (llvm::Error error = checkFields(entry))
      return error;
    isadialect::createOp(builder, location, entry.instruction);
    for (const Completion *completion : complete.lookup(i))
      writePlanned(*completion);
  }
  return llvm::Error::success();
}

llvm::Error ProgramWriter::write() {
  auto name = module->getAttrOfType<StringAttr>(nn::modelNameAttr);
  auto program = isadialect::ProgramOp::create(
      builder, module.getLoc(), name ? name.getValue() : "",
      generator.builder.dramEnd(), /*semaphores=*/0);
  builder.setInsertionPointToStart(&program.getBody().emplaceBlock());
  writeBindings();
  writeData();
  if (std::vector<int16_t> state = generator.scales.initialState();
      !state.empty())
    isadialect::StateOp::create(builder, module.getLoc(),
                                generator.scales.stateAddress(), state);
  writeNodes();
  writeProofs();
  return writeInstructions();
}

} // namespace

/// Weights of a product without the zeros that folds have added.
static int64_t weightsOf(Operation *op) {
  if (auto own = op->getAttrOfType<IntegerAttr>(records::kWeightsAttr))
    return own.getInt();
  const analysis::ProductShape product = analysis::productShape(op);
  return product.outputs * (product.channels / product.groups) * product.taps;
}

/// What the constants take by source node. Weights that several products share
/// are stored for each and count once.
static WeightStorage accountStorage(const Generator &generator) {
  std::map<uint32_t, NodeStorage> found = generator.builder.storage;
  llvm::DenseSet<Value> known;
  for (auto [i, op] : llvm::enumerate(generator.nodes)) {
    if (!analysis::hasStreamedWeights(op))
      continue;
    Value weights = op->getOperand(1);
    if (storageOf(weights).encoded)
      weights = weights.getDefiningOp()->getOperand(0);
    // Tensors that are stored as they are have been counted.
    if (!generator.allocations.contains(weights) &&
        known.insert(weights).second)
      found[i].weights += weightsOf(op);
  }
  WeightStorage result;
  llvm::StringMap<size_t> index;
  for (const auto &[owner, bytes] : found) {
    const std::string name =
        owner == kNoNode ? "" : nodeNamesOf(generator.nodes[owner]).front();
    auto [entry, inserted] = index.insert({name, result.nodes.size()});
    if (inserted)
      result.nodes.emplace_back().node = name;
    result.nodes[entry->second] += bytes;
  }
  return result;
}

} // namespace codegen

NodeStorage &NodeStorage::operator+=(const NodeStorage &other) {
  for (auto member :
       {&NodeStorage::weights, &NodeStorage::mantissas, &NodeStorage::exponents,
        &NodeStorage::coefficients, &NodeStorage::parameters,
        &NodeStorage::tensors, &NodeStorage::padding, &NodeStorage::omitted})
    this->*member += other.*member;
  return *this;
}

NodeStorage WeightStorage::total() const {
  NodeStorage sum;
  for (const NodeStorage &node : nodes)
    sum += node;
  return sum;
}

/// A module that was printed without its constants cannot be encoded.
static llvm::Error checkConstants(ModuleOp module) {
  llvm::Error error = llvm::Error::success();
  module.walk([&](nn::ConstantOp constant) {
    if (nn::hasElements(constant.getValue()))
      return WalkResult::advance();
    error = makeError(ErrorClass::Malformed,
                      "constant '{}': its elements are not available; print "
                      "the module with its resources",
                      analysis::getNodeName(constant.getLoc()));
    return WalkResult::interrupt();
  });
  return error;
}

llvm::Error convertNPUToISA(ModuleOp module, WeightStorage *storage,
                            WeightForm form, llvm::StringRef dataName,
                            InstructionLimit *limit) {
  auto machine = records::machineOf(module);
  if (failed(machine))
    return makeError(ErrorClass::Internal, "the module names no machine");
  if (llvm::Error error = checkConstants(module))
    return error;
  codegen::Generator generator(module, *machine);
  generator.builder.weightForm = form;
  generator.limit = limit;
  if (llvm::Error error = generator.run())
    return error;
  if (llvm::Error error =
          codegen::ProgramWriter(generator, module, dataName).write())
    return error;
  if (storage)
    *storage = codegen::accountStorage(generator);
  module.lookupSymbol("main")->erase();
  return llvm::Error::success();
}

namespace {
struct ConvertNPUToISAPass
    : PassWrapper<ConvertNPUToISAPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ConvertNPUToISAPass)

  StringRef getArgument() const final { return "ashlar-convert-npu-to-isa"; }
  StringRef getDescription() const final {
    return "generate the instructions of sequences of tile operations";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<isadialect::ISADialect>();
  }
  void runOnOperation() override {
    if (!getOperation().lookupSymbol<func::FuncOp>("main"))
      return;
    if (failed(analysis::verifyForm(getOperation())))
      return signalPassFailure();
    auto machine = npu::plannedMachineOf(getOperation());
    if (failed(machine) ||
        failed(tile::verifySequences(getOperation(), *machine)))
      return signalPassFailure();
    if (llvm::Error error = convertNPUToISA(getOperation())) {
      getOperation().emitError() << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }
};
} // namespace

std::unique_ptr<Pass> createConvertNPUToISAPass() {
  return std::make_unique<ConvertNPUToISAPass>();
}

void registerConvertNPUToISAPass() { PassRegistration<ConvertNPUToISAPass>(); }

} // namespace ashlar
