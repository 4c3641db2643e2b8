// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Program -> program text. What has its default value is omitted.

#include "Directive.h"
#include "ashlar/Container/Assembly.h"
#include "ashlar/Isa/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace ashlar::container {

namespace {
constexpr size_t bytesPerLine = 32;

class Disassembler {
public:
  explicit Disassembler(const Program &program) : program(program) {}
  llvm::Expected<std::string> run();

private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args &&...args) {
    text += fmt::vformat(format, fmt::make_format_args(args...)) + '\n';
  }
  void putHeader();
  void putTensors();
  void putConstants();
  void putNodes();
  void putDumps();
  llvm::Error putCode();

  const Program &program;
  std::string text;
};

std::string list(llvm::ArrayRef<int64_t> values) {
  return "[" +
         llvm::join(llvm::map_range(
                        values, [](int64_t v) { return std::to_string(v); }),
                    ", ") +
         "]";
}

std::string list(const std::vector<std::string> &values) {
  return "[" +
         llvm::join(llvm::map_range(
                        values, [](const std::string &v) { return quoted(v); }),
                    ", ") +
         "]";
}

void Disassembler::putHeader() {
  if (!program.modelName.empty() || !program.producer.empty())
    line(".model name={} producer={}", quoted(program.modelName),
         quoted(program.producer));
  bool builtin = false;
  if (llvm::is_contained(machine::builtinNames(), program.machine.name)) {
    auto known = machine::load(program.machine.name);
    builtin = known && *known == program.machine;
    if (!known)
      llvm::consumeError(known.takeError());
  }
  if (builtin)
    line(".machine name={}", quoted(program.machine.name));
  else
    line(".machine yaml={}", quoted(machine::toYaml(program.machine)));
  line(".memory dram={}", program.dramBytes);
  if (program.semaphores)
    line(".semaphores count={}", program.semaphores);
  if (!program.numericPlanJson.empty())
    line(".plan text={}", quoted(program.numericPlanJson));
  if (!program.decisionsJson.empty())
    line(".decisions text={}", quoted(program.decisionsJson));
}

void Disassembler::putTensors() {
  for (const auto *bindings : {&program.inputs, &program.outputs})
    for (const TensorBinding &binding : *bindings)
      line("{} name={} type={} shape={} at={}{}",
           bindings == &program.inputs ? ".input" : ".output",
           quoted(binding.name), support::name(binding.type).str(),
           list(binding.shape), binding.dramOffset,
           binding.hasRunTimeExtent()
               ? fmt::format(" extentAxis={} extentAt={}", binding.extentAxis,
                             binding.extentOffset)
               : "");
  if (!program.cache.empty())
    line(".cache model={} position={}", program.cache.model,
         quoted(program.cache.position));
  for (const KeptTensor &kept : program.cache.tensors)
    line(".kept name={} output={} type={} shape={} at={} axis={} rows={}",
         quoted(kept.name), quoted(kept.output), support::name(kept.type).str(),
         list(kept.shape), kept.dramOffset, kept.axis, kept.rows);
  if (!program.state.initial.empty())
    line(".state at={} initial={}", program.state.dramOffset,
         list(std::vector<int64_t>(program.state.initial.begin(),
                                   program.state.initial.end())));
}

void Disassembler::putConstants() {
  for (const Segment &segment : program.constants) {
    size_t size = segment.bytes.size();
    for (size_t pos = 0; pos == 0 || pos < size; pos += bytesPerLine) {
      std::string hex = llvm::toHex(
          segment.bytes.slice(pos, std::min(bytesPerLine, size - pos)),
          /*LowerCase=*/true);
      if (pos == 0)
        line(".data at={} hex=\"{}\"", segment.dramOffset, hex);
      else
        line(".more hex=\"{}\"", hex);
    }
  }
}

void Disassembler::putNodes() {
  for (const NodeInfo &node : program.nodes)
    line(".node name={} op={} engine={} macs={} absorbed={} planned={}",
         quoted(node.name), quoted(node.opType), quoted(node.engine), node.macs,
         list(node.absorbed), list(node.plannedTensors));
  for (const AccumulatorProof &proof : program.proofs)
    line(".proof node={} terms={} bits={}", quoted(proof.node), proof.terms,
         proof.boundBits);
}

void Disassembler::putDumps() {
  for (const TensorPlacement &p : program.dumps) {
    std::string format =
        p.encoded ? fmt::format("mantissa={} block={} range={} axis={} xr={}{}",
                                p.mantissa, p.block, p.range, p.blockAxis, p.xr,
                                p.storesSigns() ? "" : " unsigned=1")
                  : "type=" + support::name(p.type).str();
    std::string exponents;
    if (p.exponentBase || !p.exponentStrides.empty())
      exponents = fmt::format(" exponentsAt={} exponentStrides={}",
                              p.exponentBase, list(p.exponentStrides));
    std::string lanes;
    if (p.lanes > 1)
      lanes = fmt::format(" lanes={} lanePitch={}", p.lanes, p.lanePitch);
    if (p.laneAxis >= 0)
      lanes += fmt::format(" laneAxis={}", p.laneAxis);
    std::string cells;
    if (p.cellPitch)
      cells = fmt::format(" cellPitch={} cellBytes={} cellChannels={}",
                          p.cellPitch, p.cellBytes, p.cellChannels);
    line(".dump name={} {} shape={} memory={} at={} part={} channelAxis={} "
         "tileStride={} strides={}{}{}{} after={}",
         quoted(p.name), format, list(p.shape),
         p.memory == PlacementMemory::Sb ? "sb" : "dram", p.baseOffset,
         p.basePartition, p.channelAxis, p.tileStride, list(p.strides), lanes,
         exponents, cells, p.afterInstruction);
  }
}

llvm::Error Disassembler::putCode() {
  uint32_t node = Program::noNode;
  size_t index = 0;
  for (size_t pos = 0; pos < program.code.size(); ++index) {
    llvm::Expected<isa::Instruction> inst = isa::decode(program.code, pos);
    if (!inst)
      return inst.takeError();
    if (!program.nodeOfInstruction.empty()) {
      uint32_t next = program.nodeOfInstruction[index];
      if (index == 0 || next != node)
        line(".for node={}", next == Program::noNode ? -1 : int64_t(next));
      node = next;
    }
    line("{}", isa::print(*inst));
  }
  return llvm::Error::success();
}

llvm::Expected<std::string> Disassembler::run() {
  putHeader();
  putTensors();
  putConstants();
  putNodes();
  putDumps();
  if (llvm::Error error = putCode())
    return error;
  return std::move(text);
}
} // namespace

llvm::Expected<std::string> disassemble(const Program &program) {
  return Disassembler(program).run();
}

} // namespace ashlar::container
