// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the ops of a program: tables are copied, instructions encoded.

#include "ashlar/Codegen/Assemble.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Version.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/NN/NNElements.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace ashlar::codegen {
namespace {

std::vector<std::string> textsOf(ArrayAttr array) {
  std::vector<std::string> texts;
  for (auto text : array.getAsRange<StringAttr>())
    texts.push_back(text.str());
  return texts;
}

class Assembler {
public:
  Assembler(container::Program &program, ConstantBytes constants,
            ConstantPool *pool)
      : program(program), constants(constants), pool(pool) {}

  llvm::Error add(Operation *op);
  void finish() { program.code.assign(words.begin(), words.end()); }

private:
  void addBinding(isadialect::BindingOp op);
  llvm::Error addData(isadialect::DataOp op);
  void takeData(uint64_t address, AsmResourceBlob &blob);
  void addState(isadialect::StateOp op);
  void addKept(isadialect::KeptOp op);
  void addNode(isadialect::NodeOp op);
  void addProof(isadialect::ProofOp op);
  void addPlanned(isadialect::PlannedOp op);
  llvm::Error addInstruction(Operation *op);

  container::Program &program;
  ConstantBytes constants;
  ConstantPool *pool;
  llvm::SmallVector<uint64_t, 0> words;
  llvm::StringMap<uint32_t> nodeIndex;
};

void Assembler::addBinding(isadialect::BindingOp op) {
  container::TensorBinding binding;
  binding.name = op.getName().str();
  binding.type = analysis::storageOf(op.getType().getElementType())
                     .value_or(analysis::f32Storage())
                     .plain;
  llvm::append_range(binding.shape, op.getType().getShape());
  binding.dramOffset = op.getAddress();
  if (auto extent = op.getExtent()) {
    binding.extentAxis = static_cast<int32_t>((*extent)[0]);
    binding.extentOffset = static_cast<uint64_t>((*extent)[1]);
  }
  (op.getOutput() ? program.outputs : program.inputs)
      .push_back(std::move(binding));
}

llvm::Error Assembler::addData(isadialect::DataOp op) {
  nn::ElementStorage storage;
  auto bytes = nn::rawElements(op.getBytes(), storage);
  if (!bytes)
    return makeError(ErrorClass::Malformed,
                     "isa.data at {}: its bytes are not available",
                     op.getAddress());
  llvm::ArrayRef<uint8_t> data(reinterpret_cast<const uint8_t *>(bytes->data()),
                               bytes->size());
  auto resource = mlir::dyn_cast<DenseResourceElementsAttr>(op.getBytes());
  if (!resource || constants == ConstantBytes::Copied) {
    program.addConstant(op.getAddress(), {data.begin(), data.end()});
    return llvm::Error::success();
  }
  if (constants == ConstantBytes::Taken)
    takeData(op.getAddress(),
             *resource.getRawHandle().getResource()->getBlob());
  else
    program.constants.push_back({op.getAddress(), data});
  return llvm::Error::success();
}

void Assembler::takeData(uint64_t address, AsmResourceBlob &blob) {
  ConstantPool::Entry entry;
  entry.bytes = {reinterpret_cast<const uint8_t *>(blob.getData().data()),
                 blob.getData().size()};
  if (ConstantPool::Entry known;
      pool && (known = pool->find(entry.bytes)).owner) {
    entry = std::move(known);
  } else {
    entry.owner = std::make_shared<AsmResourceBlob>(std::move(blob));
    if (pool)
      pool->add(entry);
  }
  blob = AsmResourceBlob();
  program.constants.push_back({address, entry.bytes});
  program.storage.push_back(std::move(entry.owner));
}

void Assembler::addState(isadialect::StateOp op) {
  program.state.dramOffset = op.getAddress();
  llvm::append_range(program.state.initial, op.getInitial());
}

void Assembler::addKept(isadialect::KeptOp op) {
  container::KeptTensor kept;
  kept.name = op.getName().str();
  kept.output = op.getResult().str();
  kept.type = analysis::storageOf(op.getType().getElementType())
                  .value_or(analysis::f32Storage())
                  .plain;
  llvm::append_range(kept.shape, op.getType().getShape());
  kept.dramOffset = op.getAddress();
  kept.axis = static_cast<int32_t>(op.getAxis());
  kept.rows = static_cast<int64_t>(op.getRows());
  program.cache.tensors.push_back(std::move(kept));
}

void Assembler::addNode(isadialect::NodeOp op) {
  nodeIndex[op.getName()] = program.nodes.size();
  container::NodeInfo node;
  node.name = op.getName().str();
  node.opType = op.getOpType().str();
  node.engine = op.getEngine().str();
  node.macs = op.getMacs();
  node.absorbed = textsOf(op.getAbsorbed());
  node.plannedTensors = textsOf(op.getPlanned());
  program.nodes.push_back(std::move(node));
}

void Assembler::addProof(isadialect::ProofOp op) {
  container::AccumulatorProof proof;
  proof.node = op.getNode().str();
  proof.terms = op.getTerms();
  proof.boundBits = static_cast<uint32_t>(op.getBits());
  program.proofs.push_back(std::move(proof));
}

void Assembler::addPlanned(isadialect::PlannedOp op) {
  analysis::StorageType storage =
      analysis::storageOf(op.getType().getElementType())
          .value_or(analysis::f32Storage());
  container::TensorPlacement placement;
  placement.name = op.getName().str();
  placement.encoded = storage.encoded;
  placement.type = storage.plain;
  if (storage.encoded) {
    placement.mantissa = storage.format.mantissa;
    if (storage.format.isUnsigned)
      placement.type = support::ElementType::U8;
    placement.block = storage.format.block;
    placement.range = storage.format.range;
    placement.blockAxis = static_cast<int32_t>(storage.blockAxis);
    placement.xr = op.getXr();
  }
  llvm::append_range(placement.shape, op.getType().getShape());
  placement.memory = op.getInDram() ? container::PlacementMemory::Dram
                                    : container::PlacementMemory::Sb;
  placement.baseOffset = op.getBase();
  placement.basePartition = static_cast<uint32_t>(op.getPartition());
  placement.channelAxis = static_cast<int32_t>(op.getChannelAxis());
  placement.tileStride = op.getTileStride();
  llvm::append_range(placement.strides, op.getStrides());
  placement.lanes = static_cast<uint32_t>(op.getLanes());
  placement.lanePitch = static_cast<uint32_t>(op.getLanePitch());
  placement.laneAxis = static_cast<int32_t>(op.getLaneAxis());
  placement.exponentBase = op.getExponentBase();
  llvm::append_range(placement.exponentStrides, op.getExponentStrides());
  if (auto cells = op.getCells(); cells && cells->size() == 3) {
    placement.cellChannels = static_cast<uint32_t>((*cells)[0]);
    placement.cellBytes = static_cast<uint64_t>((*cells)[1]);
    placement.cellPitch = static_cast<uint64_t>((*cells)[2]);
  }
  placement.afterInstruction =
      static_cast<uint32_t>(program.nodeOfInstruction.size()) - 1;
  program.dumps.push_back(std::move(placement));
}

llvm::Error Assembler::addInstruction(Operation *op) {
  uint32_t node = container::Program::noNode;
  std::string name = "?";
  if (auto location = mlir::dyn_cast<NameLoc>(op->getLoc())) {
    name = location.getName().str();
    if (auto found = nodeIndex.find(name); found != nodeIndex.end())
      node = found->second;
  }
  size_t index = program.nodeOfInstruction.size();
  program.nodeOfInstruction.push_back(node);
  auto instruction = isadialect::toInstruction(op);
  llvm::Error error =
      instruction ? isa::encode(*instruction, words) : instruction.takeError();
  return withContext(std::move(error),
                     fmt::format("node '{}', instruction {} ({})", name, index,
                                 op->getName().stripDialect().str()));
}

llvm::Error Assembler::add(Operation *op) {
  if (isadialect::isInstruction(op))
    return addInstruction(op);
  if (auto data = mlir::dyn_cast<isadialect::DataOp>(op))
    return addData(data);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](isadialect::BindingOp binding) { addBinding(binding); })
      .Case([&](isadialect::StateOp state) { addState(state); })
      .Case([&](isadialect::CacheOp cache) {
        program.cache.model = cache.getModel();
        program.cache.position = cache.getPosition().str();
      })
      .Case([&](isadialect::KeptOp kept) { addKept(kept); })
      .Case([&](isadialect::NodeOp node) { addNode(node); })
      .Case([&](isadialect::ProofOp proof) { addProof(proof); })
      .Case([&](isadialect::PlannedOp planned) { addPlanned(planned); });
  return llvm::Error::success();
}

} // namespace

/// Smaller ones are not worth a search.
static constexpr size_t kLeastShared = 4096;

ConstantPool::Entry ConstantPool::find(llvm::ArrayRef<uint8_t> bytes) const {
  if (bytes.size() < kLeastShared)
    return {};
  auto [first, last] = byHash.equal_range(llvm::xxh3_64bits(bytes));
  for (auto it = first; it != last; ++it)
    if (auto owner = it->second.owner.lock();
        owner && it->second.bytes == bytes)
      return {std::move(owner), it->second.bytes};
  return {};
}

void ConstantPool::add(const Entry &entry) {
  if (entry.bytes.size() >= kLeastShared)
    byHash.insert({llvm::xxh3_64bits(entry.bytes), {entry.owner, entry.bytes}});
}

llvm::Expected<container::Program>
assemble(ModuleOp module, ConstantBytes constants, ConstantPool *pool) {
  auto programs = module.getOps<isadialect::ProgramOp>();
  auto machine = records::machineOf(module);
  if (programs.empty() || failed(machine))
    return makeError(ErrorClass::Internal,
                     "expected a module with one isa.program and a machine");
  isadialect::ProgramOp source = *programs.begin();
  container::Program program;
  program.machine = *machine;
  program.modelName = source.getModel().str();
  program.producer = "ashlarc " + support::versionString().str();
  program.dramBytes = source.getDramBytes();
  program.semaphores = source.getSemaphores();
  Assembler assembler(program, constants, pool);
  for (Operation &op : source.getBody().front())
    if (llvm::Error error = assembler.add(&op))
      return error;
  assembler.finish();
  return program;
}

} // namespace ashlar::codegen
