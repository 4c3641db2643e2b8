// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a program together: instructions with semaphores, bindings, constants,
// node table and debug placements.

#include "ashlar/Conversion/NPUToISA/NPUToISA.h"

#include "Generator.h"
#include "Sync.h"
#include "ashlar/Analysis/NodeNames.h"
#include "ashlar/Analysis/StationaryPlan.h"
#include "ashlar/Conversion/NNToNPU/NNToNPU.h"
#include "ashlar/Numerics/Format.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Version.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::shapeOf;
using analysis::storageOf;

namespace {

std::string textAttr(Operation *op, llvm::StringRef name) {
  auto attr = op->getAttrOfType<StringAttr>(name);
  return attr ? attr.str() : std::string();
}

/// Multiply-accumulates of a product operation; 0 for others.
uint64_t macsOf(Operation *op) {
  if (!mlir::isa<npu::PeConvOp, npu::PeMatmulOp>(op))
    return 0;
  analysis::ProductShape product = analysis::productShape(op);
  uint64_t results = 1;
  for (int64_t extent : shapeOf(op->getResult(0)))
    results *= extent;
  return results * (product.channels / product.groups) * product.taps;
}

std::string engineOf(Operation *op) {
  return op->getName().stripDialect().split('.').first.str();
}

/// One node per ONNX node: operations that one node was lowered to share it.
class NodeTable {
public:
  explicit NodeTable(llvm::ArrayRef<Operation *> operations) {
    for (Operation *op : operations)
      add(op);
  }
  std::vector<container::NodeInfo> nodes;
  std::vector<uint32_t> nodeOfOperation;

private:
  void add(Operation *op) {
    auto names = analysis::getNodeNames(op->getLoc());
    std::string name = names.empty() ? "node" : names.front();
    auto [entry, inserted] = index.insert({name, nodes.size()});
    if (inserted) {
      container::NodeInfo info;
      info.name = name;
      info.opType = textAttr(op, kSourceOpAttr);
      info.engine = engineOf(op);
      nodes.push_back(std::move(info));
    }
    container::NodeInfo &info = nodes[entry->second];
    if (macsOf(op) > 0) {
      info.engine = engineOf(op);
      info.opType = textAttr(op, kSourceOpAttr);
    }
    info.macs += macsOf(op);
    for (const std::string &other : llvm::drop_begin(names))
      if (!llvm::is_contained(info.absorbed, other))
        info.absorbed.push_back(other);
    if (std::string planned = textAttr(op, kPlanNameAttr); !planned.empty())
      info.plannedTensors.push_back(planned);
    nodeOfOperation.push_back(entry->second);
  }
  llvm::StringMap<uint32_t> index;
};

container::TensorBinding bindingOf(const View &view, llvm::StringRef name) {
  container::TensorBinding binding;
  binding.name = name.str();
  binding.type = view.type.plain;
  binding.shape.assign(view.shape.begin(), view.shape.end());
  binding.dramOffset = view.base;
  return binding;
}

void addBindings(ModuleOp module, Generator &generator,
                 container::Program &program) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (auto [i, argument] : llvm::enumerate(main.getArguments()))
    program.inputs.push_back(bindingOf(
        generator.homes[argument],
        main.getArgAttrOfType<StringAttr>(i, nn::nameAttr).getValue()));
  auto result = cast<func::ReturnOp>(main.getBody().front().getTerminator());
  for (auto [i, value] : llvm::enumerate(result.getOperands()))
    program.outputs.push_back(bindingOf(
        generator.homes[value],
        main.getResultAttrOfType<StringAttr>(i, nn::nameAttr).getValue()));
}

container::TensorPlacement placementOf(const Completion &completion,
                                       const SynchronisedProgram &program) {
  const View &view = completion.view;
  container::TensorPlacement placement;
  placement.name = textAttr(completion.value.getDefiningOp(), kPlanNameAttr);
  placement.encoded = view.type.encoded;
  placement.type = view.type.plain;
  if (view.type.encoded) {
    placement.mantissa = view.type.format.mantissa;
    placement.block = view.type.format.block;
    placement.range = view.type.format.range;
    placement.blockAxis = static_cast<int32_t>(view.type.blockAxis);
    placement.xr = completion.scaleRegister;
  }
  placement.shape.assign(view.shape.begin(), view.shape.end());
  placement.memory = view.inStateBuffer() ? container::PlacementMemory::Sb
                                          : container::PlacementMemory::Dram;
  placement.baseOffset = view.base;
  placement.basePartition = static_cast<uint32_t>(view.part);
  placement.channelAxis = static_cast<int32_t>(view.axis);
  placement.tileStride = view.tileStride;
  placement.strides.assign(view.strides.begin(), view.strides.end());
  if (view.type.encoded && !view.inStateBuffer()) {
    placement.exponentBase = view.cellBase;
    placement.exponentStrides.assign(view.cellStrides.begin(),
                                     view.cellStrides.end());
  }
  placement.afterInstruction =
      static_cast<uint32_t>(program.newIndex[completion.entry]);
  return placement;
}

void addProofs(Generator &generator, container::Program &program) {
  for (Operation *op : generator.nodes) {
    if (!mlir::isa<npu::PeConvOp, npu::PeMatmulOp>(op))
      continue;
    analysis::ProductShape product = analysis::productShape(op);
    numerics::BlockFormat a = storageOf(op->getOperand(0)).format;
    numerics::BlockFormat w = product.weightFormat;
    container::AccumulatorProof proof;
    proof.node = analysis::getNodeName(op->getLoc());
    proof.terms = product.channels / product.groups * product.taps;
    proof.boundBits = numerics::accumulatorBits(a.mantissa, a.range, w.mantissa,
                                                w.range, proof.terms);
    program.proofs.push_back(std::move(proof));
  }
}

} // namespace

llvm::Expected<GeneratedProgram> generateProgram(ModuleOp module) {
  auto machine = npu::machineOf(module);
  if (failed(machine))
    return makeError(ErrorClass::Internal, "the module names no machine");
  Generator generator(module, *machine);
  if (llvm::Error error = generator.run())
    return error;
  SynchronisedProgram synchronised =
      insertSemaphores(generator.builder.entries, *machine);
  GeneratedProgram result;
  container::Program &program = result.program;
  program.machine = *machine;
  if (auto name = module->getAttrOfType<StringAttr>(nn::modelNameAttr))
    program.modelName = name.str();
  program.producer = std::string("ashlarc ") + support::versionString().str();
  program.dramBytes = generator.builder.dramEnd();
  program.semaphores = synchronised.semaphores;
  addBindings(module, generator, program);
  NodeTable table(generator.nodes);
  program.nodes = std::move(table.nodes);
  for (Entry &entry : synchronised.entries) {
    program.nodeOfInstruction.push_back(
        table.nodeOfOperation.empty() ? container::Program::noNode
                                      : table.nodeOfOperation[entry.node]);
    result.instructions.push_back(std::move(entry.instruction));
  }
  for (const Completion &completion : generator.completions)
    if (completion.value.getDefiningOp()->hasAttr(kPlanNameAttr))
      program.dumps.push_back(placementOf(completion, synchronised));
  addProofs(generator, program);
  llvm::sort(generator.builder.constants,
             [](const ConstantBytes &a, const ConstantBytes &b) {
               return a.address < b.address;
             });
  for (ConstantBytes &constant : generator.builder.constants)
    if (!constant.bytes.empty())
      program.addConstant(constant.address, std::move(constant.bytes));
  return result;
}

} // namespace ashlar::codegen
