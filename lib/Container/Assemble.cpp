// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Program text -> Program.

#include "Directive.h"
#include "ashlar/Container/Assembly.h"
#include "ashlar/Isa/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include <algorithm>

namespace ashlar::container {

namespace {
class Assembler {
public:
  explicit Assembler(llvm::StringRef name) : name(name) {}
  llvm::Expected<Program> run(llvm::StringRef text);

private:
  using Handler = llvm::Error (Assembler::*)(Directive &);

  llvm::Error addLine(llvm::StringRef line, const std::string &where);
  llvm::Error addInstruction(llvm::StringRef line, const std::string &where);
  llvm::Error addDirective(llvm::StringRef line, const std::string &where);
  llvm::Error addMachine(Directive &d);
  llvm::Error addBinding(Directive &d);
  llvm::Error addData(Directive &d);
  llvm::Error addMore(Directive &d);
  llvm::Error addFloats(Directive &d);
  llvm::Error addNode(Directive &d);
  llvm::Error addFor(Directive &d);
  llvm::Error addDump(Directive &d);
  llvm::Error addProof(Directive &d);
  llvm::Error addState(Directive &d);
  llvm::Error addKept(Directive &d);
  llvm::Error addSimple(Directive &d);

  static support::ElementType elementType(Directive &d);
  static void appendHex(Directive &d, std::vector<uint8_t> &bytes);
  void finish();

  llvm::StringRef name;
  Program program;
  llvm::SmallVector<uint64_t, 0> code;
  std::vector<std::pair<uint64_t, std::vector<uint8_t>>> segments;
  std::vector<uint32_t> nodes;
  uint32_t currentNode = Program::noNode;
  bool hasDebugMap = false, hasMemory = false;
};

support::ElementType Assembler::elementType(Directive &d) {
  std::string text;
  d.get("type", text);
  auto type = support::parseElementType(text);
  if (!type)
    d.fail("type",
           fmt::format("'type' is '{}', which is not an element type", text));
  return type.value_or(support::ElementType::F32);
}

void Assembler::appendHex(Directive &d, std::vector<uint8_t> &bytes) {
  std::string text, decoded;
  d.get("hex", text);
  if (text.size() % 2 || !llvm::tryGetFromHex(text, decoded))
    return d.fail("hex", "'hex' must be an even number of hexadecimal digits");
  bytes.insert(bytes.end(), decoded.begin(), decoded.end());
}

llvm::Error Assembler::addMachine(Directive &d) {
  std::string text;
  bool yaml = d.has("yaml");
  d.get(yaml ? "yaml" : "name", text);
  if (llvm::Error error = d.finish())
    return error;
  // Only names of built-in machines: assembling must not open files.
  if (!yaml && !llvm::is_contained(machine::builtinNames(), text)) {
    d.fail("name", fmt::format("'{}' is not a built-in machine", text));
    return d.finish();
  }
  auto machine = yaml ? machine::parseYaml(text, name.str() + ": machine")
                      : machine::load(text);
  if (!machine)
    return machine.takeError();
  program.machine = std::move(*machine);
  return llvm::Error::success();
}

llvm::Error Assembler::addBinding(Directive &d) {
  TensorBinding binding;
  d.get("name", binding.name);
  binding.type = elementType(d);
  d.getNumbers("shape", binding.shape);
  d.getNumber("at", binding.dramOffset);
  if (d.has("extentAxis")) {
    d.getNumber("extentAxis", binding.extentAxis);
    d.getNumber("extentAt", binding.extentOffset);
  }
  (d.name() == ".input" ? program.inputs : program.outputs)
      .push_back(std::move(binding));
  return d.finish();
}

llvm::Error Assembler::addData(Directive &d) {
  auto &[offset, bytes] = segments.emplace_back();
  d.getNumber("at", offset);
  appendHex(d, bytes);
  return d.finish();
}

llvm::Error Assembler::addMore(Directive &d) {
  if (segments.empty())
    d.fail("hex", ".more continues .data, but there is none");
  else
    appendHex(d, segments.back().second);
  return d.finish();
}

llvm::Error Assembler::addFloats(Directive &d) {
  auto &[offset, bytes] = segments.emplace_back();
  std::vector<std::string> values;
  d.getNumber("at", offset);
  d.get("values", values);
  // The decimal syntax is that of instruction fields.
  constexpr isa::FieldInfo field = {
      "values", isa::FieldKind::Float, 0, 0, 32, 0, 0, 0, {}, nullptr, "", ""};
  for (const std::string &text : values) {
    auto bits = isa::parseValue(isa::instructions().front(), field, text);
    if (!bits) {
      d.fail("values", llvm::toString(bits.takeError()));
      break;
    }
    for (unsigned shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<uint8_t>(*bits >> shift));
  }
  return d.finish();
}

llvm::Error Assembler::addNode(Directive &d) {
  NodeInfo node;
  d.get("name", node.name);
  d.getOptional("op", node.opType);
  d.getOptional("engine", node.engine);
  d.getOptional("macs", node.macs);
  d.getOptional("absorbed", node.absorbed);
  d.getOptional("planned", node.plannedTensors);
  program.nodes.push_back(std::move(node));
  return d.finish();
}

llvm::Error Assembler::addFor(Directive &d) {
  int64_t node = -1;
  d.getNumber("node", node);
  if (node < -1 || node >= static_cast<int64_t>(Program::noNode))
    d.fail("node", fmt::format("'node' is {}, expected -1 or an index", node));
  currentNode = static_cast<uint32_t>(node);
  hasDebugMap = true;
  return d.finish();
}

llvm::Error Assembler::addDump(Directive &d) {
  TensorPlacement p;
  std::string memory;
  d.get("name", p.name);
  d.get("memory", memory);
  if (memory != "sb" && memory != "dram")
    d.fail("memory",
           fmt::format("'memory' is '{}', expected sb or dram", memory));
  p.memory = memory == "sb" ? PlacementMemory::Sb : PlacementMemory::Dram;
  p.encoded = d.has("mantissa");
  if (p.encoded) {
    d.getNumber("mantissa", p.mantissa);
    d.getNumber("block", p.block);
    d.getNumber("range", p.range);
    d.getNumber("axis", p.blockAxis);
    d.getNumber("xr", p.xr);
    uint32_t isUnsigned = 0;
    d.getOptional("unsigned", isUnsigned);
    if (isUnsigned)
      p.type = support::ElementType::U8;
  } else {
    p.type = elementType(d);
  }
  d.getNumbers("shape", p.shape);
  d.getNumbers("strides", p.strides);
  d.getNumber("at", p.baseOffset);
  d.getOptional("part", p.basePartition);
  d.getOptional("channelAxis", p.channelAxis);
  d.getOptional("tileStride", p.tileStride);
  d.getOptional("lanes", p.lanes);
  d.getOptional("lanePitch", p.lanePitch);
  d.getOptional("laneAxis", p.laneAxis);
  d.getOptional("exponentsAt", p.exponentBase);
  d.getOptional("cellPitch", p.cellPitch);
  d.getOptional("cellBytes", p.cellBytes);
  d.getOptional("cellChannels", p.cellChannels);
  if (d.has("exponentStrides"))
    d.getNumbers("exponentStrides", p.exponentStrides);
  d.getNumber("after", p.afterInstruction);
  program.dumps.push_back(std::move(p));
  return d.finish();
}

llvm::Error Assembler::addProof(Directive &d) {
  AccumulatorProof proof;
  d.get("node", proof.node);
  d.getNumber("terms", proof.terms);
  d.getNumber("bits", proof.boundBits);
  program.proofs.push_back(std::move(proof));
  return d.finish();
}

llvm::Error Assembler::addState(Directive &d) {
  std::vector<int64_t> initial;
  d.getNumber("at", program.state.dramOffset);
  d.getNumbers("initial", initial);
  for (int64_t value : initial) {
    if (value < INT16_MIN || value > INT16_MAX)
      d.fail("initial", fmt::format("'initial' has {}, expected numbers of 16 "
                                    "bits",
                                    value));
    program.state.initial.push_back(static_cast<int16_t>(value));
  }
  return d.finish();
}

llvm::Error Assembler::addKept(Directive &d) {
  KeptTensor kept;
  d.get("name", kept.name);
  d.get("output", kept.output);
  kept.type = elementType(d);
  d.getNumbers("shape", kept.shape);
  d.getNumber("at", kept.dramOffset);
  d.getNumber("axis", kept.axis);
  d.getNumber("rows", kept.rows);
  program.cache.tensors.push_back(std::move(kept));
  return d.finish();
}

/// Directives that set single members.
llvm::Error Assembler::addSimple(Directive &d) {
  if (d.name() == ".model") {
    d.get("name", program.modelName);
    d.getOptional("producer", program.producer);
  } else if (d.name() == ".memory") {
    hasMemory = true;
    d.getNumber("dram", program.dramBytes);
  } else if (d.name() == ".semaphores") {
    d.getNumber("count", program.semaphores);
  } else if (d.name() == ".cache") {
    d.getNumber("model", program.cache.model);
    d.get("position", program.cache.position);
  } else if (d.name() == ".plan") {
    d.get("text", program.numericPlanJson);
  } else {
    d.get("text", program.decisionsJson);
  }
  return d.finish();
}

llvm::Error Assembler::addDirective(llvm::StringRef line,
                                    const std::string &where) {
  llvm::Expected<Directive> d = Directive::parse(line, where);
  if (!d)
    return d.takeError();
  Handler handler = llvm::StringSwitch<Handler>(d->name())
                        .Case(".machine", &Assembler::addMachine)
                        .Cases({".input", ".output"}, &Assembler::addBinding)
                        .Case(".data", &Assembler::addData)
                        .Case(".more", &Assembler::addMore)
                        .Case(".f32", &Assembler::addFloats)
                        .Case(".node", &Assembler::addNode)
                        .Case(".for", &Assembler::addFor)
                        .Case(".dump", &Assembler::addDump)
                        .Case(".proof", &Assembler::addProof)
                        .Case(".state", &Assembler::addState)
                        .Case(".kept", &Assembler::addKept)
                        .Cases({".model", ".memory", ".semaphores", ".plan",
                                ".decisions", ".cache"},
                               &Assembler::addSimple)
                        .Default(nullptr);
  if (!handler)
    return makeError(ErrorClass::Malformed, "{}:1: unknown directive '{}'",
                     where, d->name().str());
  return (this->*handler)(*d);
}

llvm::Error Assembler::addInstruction(llvm::StringRef line,
                                      const std::string &where) {
  llvm::Expected<isa::Instruction> inst = isa::parse(line, where);
  if (!inst)
    return inst.takeError();
  nodes.push_back(currentNode);
  return withContext(isa::encode(*inst, code), where);
}

llvm::Error Assembler::addLine(llvm::StringRef line, const std::string &where) {
  llvm::StringRef trimmed = line.trim();
  if (trimmed.empty() || trimmed.starts_with(";"))
    return llvm::Error::success();
  return trimmed.starts_with(".") ? addDirective(line, where)
                                  : addInstruction(line, where);
}

void Assembler::finish() {
  program.code.assign(code.begin(), code.end());
  if (hasDebugMap)
    program.nodeOfInstruction = std::move(nodes);
  for (auto &[offset, bytes] : segments)
    program.addConstant(offset, std::move(bytes));
  if (hasMemory)
    return;
  auto grow = [&](uint64_t offset, uint64_t bytes) {
    // Sums that wrap are left to check(), which refuses such offsets.
    if (offset + bytes >= offset)
      program.dramBytes = std::max(program.dramBytes, offset + bytes);
  };
  for (const Segment &segment : program.constants)
    grow(segment.dramOffset, segment.bytes.size());
  grow(program.state.dramOffset, 2 * program.state.initial.size());
  auto growTensor = [&](const auto &tensor) {
    uint64_t bytes = byteSize(tensor.type);
    for (int64_t extent : tensor.shape)
      bytes *= static_cast<uint64_t>(extent);
    grow(tensor.dramOffset, bytes);
  };
  for (const KeptTensor &kept : program.cache.tensors)
    growTensor(kept);
  for (const auto *list : {&program.inputs, &program.outputs})
    for (const TensorBinding &binding : *list) {
      growTensor(binding);
      if (binding.hasRunTimeExtent())
        grow(binding.extentOffset, sizeof(int64_t));
    }
}

llvm::Expected<Program> Assembler::run(llvm::StringRef text) {
  for (size_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (llvm::Error error =
            addLine(line, fmt::format("{}:{}", name.str(), number)))
      return error;
  }
  finish();
  if (llvm::Error error = check(program))
    return withContext(std::move(error), name.str());
  return std::move(program);
}
} // namespace

llvm::Expected<Program> assemble(llvm::StringRef text, llvm::StringRef name) {
  return Assembler(name).run(text);
}

} // namespace ashlar::container
