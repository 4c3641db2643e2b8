// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Program -> file image. Deterministic: no time, no path, no addresses.

#include "Layout.h"
#include "ashlar/Container/Bundle.h"
#include "ashlar/Container/program_generated.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Support/FileIO.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>
#include <map>

namespace ashlar::container {

void Program::addConstant(uint64_t dramOffset, std::vector<uint8_t> bytes) {
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  constants.push_back({dramOffset, llvm::ArrayRef<uint8_t>(*owner)});
  storage.push_back(std::move(owner));
}

namespace {
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <typename T>
using TableVector = Offset<flatbuffers::Vector<Offset<T>>>;

// Strings and vectors are created in statements of their own: the order in
// which arguments are evaluated is the compiler's choice and would show in the
// bytes of the file.

TableVector<fb::Binding> writeBindings(FlatBufferBuilder &builder,
                                       const std::vector<TensorBinding> &list) {
  std::vector<Offset<fb::Binding>> offsets;
  for (const TensorBinding &binding : list) {
    auto name = builder.CreateString(binding.name);
    auto shape = builder.CreateVector(binding.shape);
    offsets.push_back(fb::CreateBinding(
        builder, name, static_cast<uint8_t>(binding.type), shape,
        binding.dramOffset, binding.extentAxis, binding.extentOffset));
  }
  return builder.CreateVector(offsets);
}

TableVector<fb::Node> writeNodes(FlatBufferBuilder &builder,
                                 const std::vector<NodeInfo> &list) {
  std::vector<Offset<fb::Node>> offsets;
  for (const NodeInfo &node : list) {
    auto name = builder.CreateString(node.name);
    auto opType = builder.CreateString(node.opType);
    auto engine = builder.CreateString(node.engine);
    auto absorbed = builder.CreateVectorOfStrings(node.absorbed);
    auto planned = builder.CreateVectorOfStrings(node.plannedTensors);
    offsets.push_back(fb::CreateNode(builder, name, opType, engine, absorbed,
                                     node.macs, planned));
  }
  return builder.CreateVector(offsets);
}

TableVector<fb::Placement>
writePlacements(FlatBufferBuilder &builder,
                const std::vector<TensorPlacement> &list) {
  std::vector<Offset<fb::Placement>> offsets;
  for (const TensorPlacement &p : list) {
    auto name = builder.CreateString(p.name);
    auto shape = builder.CreateVector(p.shape);
    auto strides = builder.CreateVector(p.strides);
    auto exponentStrides = builder.CreateVector(p.exponentStrides);
    offsets.push_back(fb::CreatePlacement(
        builder, name, p.encoded, static_cast<uint8_t>(p.type), p.mantissa,
        p.block, p.range, p.blockAxis, p.xr, shape,
        static_cast<uint8_t>(p.memory), p.baseOffset, p.basePartition,
        p.channelAxis, p.tileStride, strides, p.exponentBase, exponentStrides,
        p.afterInstruction, p.lanes, p.lanePitch, p.cellPitch, p.cellBytes,
        p.cellChannels, p.laneAxis));
  }
  return builder.CreateVector(offsets);
}

TableVector<fb::Proof> writeProofs(FlatBufferBuilder &builder,
                                   const std::vector<AccumulatorProof> &list) {
  std::vector<Offset<fb::Proof>> offsets;
  for (const AccumulatorProof &proof : list) {
    auto node = builder.CreateString(proof.node);
    offsets.push_back(
        fb::CreateProof(builder, node, proof.terms, proof.boundBits));
  }
  return builder.CreateVector(offsets);
}

/// Programs without state have no table.
Offset<fb::State> writeState(FlatBufferBuilder &builder,
                             const StateBinding &state) {
  if (state.initial.empty())
    return 0;
  auto initial = builder.CreateVector(state.initial);
  return fb::CreateState(builder, state.dramOffset, initial);
}

/// Programs that keep no tensors have no table.
Offset<fb::Cache> writeCache(FlatBufferBuilder &builder, const Cache &cache) {
  if (cache.empty())
    return 0;
  std::vector<Offset<fb::Kept>> offsets;
  for (const KeptTensor &kept : cache.tensors) {
    auto name = builder.CreateString(kept.name);
    auto output = builder.CreateString(kept.output);
    auto shape = builder.CreateVector(kept.shape);
    offsets.push_back(fb::CreateKept(builder, name, output,
                                     static_cast<uint8_t>(kept.type), shape,
                                     kept.dramOffset, kept.axis, kept.rows));
  }
  auto position = builder.CreateString(cache.position);
  auto tensors = builder.CreateVector(offsets);
  return fb::CreateCache(builder, cache.model, position, tensors);
}

void writeMetadata(FlatBufferBuilder &builder, const Program &program) {
  auto yaml = builder.CreateString(machine::toYaml(program.machine));
  auto modelName = builder.CreateString(program.modelName);
  auto producer = builder.CreateString(program.producer);
  auto inputs = writeBindings(builder, program.inputs);
  auto outputs = writeBindings(builder, program.outputs);
  auto nodes = writeNodes(builder, program.nodes);
  auto dumps = writePlacements(builder, program.dumps);
  auto proofs = writeProofs(builder, program.proofs);
  auto state = writeState(builder, program.state);
  auto cache = writeCache(builder, program.cache);
  fb::FinishMetadataBuffer(
      builder, fb::CreateMetadata(builder, yaml, modelName, producer, inputs,
                                  outputs, program.dramBytes, nodes, dumps,
                                  program.semaphores, proofs, state, cache));
}

/// Upper bound of the metadata's size. FlatBuffers asserts at 2 GiB, so the
/// question has to be asked first.
uint64_t estimateMetadata(const Program &program) {
  constexpr uint64_t perEntry = 256;
  uint64_t bytes = 1 << 16;
  auto addText = [&](llvm::StringRef text) { bytes += text.size() + 16; };
  addText(program.modelName);
  addText(program.producer);
  bytes += 2 * program.state.initial.size();
  for (const auto *list : {&program.inputs, &program.outputs})
    for (const TensorBinding &binding : *list) {
      addText(binding.name);
      bytes += perEntry + 8 * binding.shape.size();
    }
  for (const KeptTensor &kept : program.cache.tensors) {
    addText(kept.name);
    addText(kept.output);
    bytes += perEntry + 8 * kept.shape.size();
  }
  for (const NodeInfo &node : program.nodes) {
    bytes += perEntry;
    for (llvm::StringRef text : {node.name, node.opType, node.engine})
      addText(text);
    for (const std::string &name : node.absorbed)
      addText(name);
    for (const std::string &name : node.plannedTensors)
      addText(name);
  }
  for (const TensorPlacement &p : program.dumps) {
    addText(p.name);
    bytes += perEntry +
             8 * (p.shape.size() + p.strides.size() + p.exponentStrides.size());
  }
  for (const AccumulatorProof &proof : program.proofs) {
    addText(proof.node);
    bytes += perEntry;
  }
  return bytes;
}

/// A section before it has an offset.
struct PendingSection {
  SectionKind kind;
  uint32_t program;
  llvm::ArrayRef<uint8_t> bytes;
  uint64_t dramOffset;
};

llvm::ArrayRef<uint8_t> bytesOf(llvm::StringRef text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

template <typename T>
llvm::ArrayRef<uint8_t> bytesOf(const std::vector<T> &list) {
  return {reinterpret_cast<const uint8_t *>(list.data()),
          list.size() * sizeof(T)};
}

/// The entry of a constant section of an earlier program with the same bytes.
const SectionEntry *storedBefore(llvm::ArrayRef<PendingSection> sections,
                                 llvm::ArrayRef<SectionEntry> table,
                                 const std::multimap<uint64_t, size_t> &byHash,
                                 uint64_t hash) {
  const PendingSection &section = sections[table.size()];
  auto [first, last] = byHash.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (sections[it->second].program != section.program &&
        sections[it->second].bytes == section.bytes)
      return &table[it->second];
  return nullptr;
}

/// The table; constants that an earlier program has already take no place.
std::vector<SectionEntry> layOut(llvm::ArrayRef<PendingSection> sections,
                                 uint64_t &end) {
  std::vector<SectionEntry> table;
  table.reserve(sections.size());
  std::multimap<uint64_t, size_t> byHash;
  for (const PendingSection &section : sections) {
    const uint64_t hash = llvm::xxh3_64bits(section.bytes);
    SectionEntry entry{static_cast<uint32_t>(section.kind),
                       section.program,
                       alignSection(end),
                       section.bytes.size(),
                       section.dramOffset,
                       hash};
    const bool constant = section.kind == SectionKind::Constants;
    const SectionEntry *before =
        constant && !section.bytes.empty()
            ? storedBefore(sections, table, byHash, hash)
            : nullptr;
    if (before)
      entry.offset = before->offset;
    else
      end = entry.offset + entry.bytes;
    if (constant)
      byHash.emplace(hash, table.size());
    table.push_back(entry);
  }
  return table;
}

/// A file before it is written: its own bytes and references to those of the
/// programs, which are larger than all else and never copied.
struct Image {
  std::deque<FlatBufferBuilder> metadata;
  std::vector<uint8_t> head; ///< Header and table.
  std::vector<llvm::ArrayRef<uint8_t>> parts;
  uint64_t bytes = 0;
  SharedBytes shared;

  void lay(llvm::ArrayRef<PendingSection> sections);

private:
  void append(llvm::ArrayRef<uint8_t> part) {
    if (!part.empty())
      parts.push_back(part);
    bytes += part.size();
  }
};

/// Lays the sections out, with header and table before them.
void Image::lay(llvm::ArrayRef<PendingSection> sections) {
  static constexpr uint8_t zeros[sectionAlignment] = {};
  const uint64_t tableEnd =
      sizeof(FileHeader) + sections.size() * sizeof(SectionEntry);
  uint64_t end = tableEnd;
  const std::vector<SectionEntry> table = layOut(sections, end);
  FileHeader header = {};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.formatVersion = formatVersion;
  header.isaMajor = isa::versionMajor;
  header.isaMinor = isa::versionMinor;
  header.headerBytes = sizeof(FileHeader);
  header.sectionCount = static_cast<uint32_t>(sections.size());
  header.fileBytes = end;
  head.resize(tableEnd);
  std::memcpy(head.data(), &header, sizeof(header));
  std::memcpy(head.data() + sizeof(header), table.data(),
              table.size() * sizeof(SectionEntry));
  header.checksum = headerChecksum(head);
  std::memcpy(head.data(), &header, sizeof(header));
  append(head);
  for (auto [entry, section] : llvm::zip_equal(table, sections)) {
    const bool constant = section.kind == SectionKind::Constants;
    shared.constants += constant ? entry.bytes : 0;
    // An earlier program has these bytes.
    if (entry.offset < bytes)
      continue;
    shared.stored += constant ? entry.bytes : 0;
    if (entry.bytes == 0)
      continue;
    append(llvm::ArrayRef(zeros).take_front(entry.offset - bytes));
    append(section.bytes);
  }
  append(llvm::ArrayRef(zeros).take_front(end - bytes));
}
} // namespace

/// Adds the sections of a program; what they refer to is the program's and
/// \p metadata's.
static llvm::Error addSections(const Program &program, uint32_t index,
                               FlatBufferBuilder &metadata,
                               std::vector<PendingSection> &sections) {
  if (llvm::Error error = check(program))
    return error;
  constexpr uint64_t maxMetadata = uint64_t(1) << 30;
  if (uint64_t bytes = estimateMetadata(program); bytes > maxMetadata)
    return makeError(ErrorClass::Capacity,
                     "metadata needs {} bytes, the format holds {}", bytes,
                     maxMetadata);
  writeMetadata(metadata, program);
  auto add = [&](SectionKind kind, llvm::ArrayRef<uint8_t> bytes,
                 uint64_t dramOffset = 0) {
    sections.push_back({kind, index, bytes, dramOffset});
  };
  add(SectionKind::Metadata,
      llvm::ArrayRef<uint8_t>(metadata.GetBufferPointer(), metadata.GetSize()));
  add(SectionKind::Code, bytesOf(program.code));
  add(SectionKind::NumericPlan, bytesOf(program.numericPlanJson));
  add(SectionKind::Decisions, bytesOf(program.decisionsJson));
  add(SectionKind::DebugMap, bytesOf(program.nodeOfInstruction));
  for (const Segment &segment : program.constants)
    add(SectionKind::Constants, segment.bytes, segment.dramOffset);
  return llvm::Error::success();
}

static llvm::Error addPrograms(llvm::ArrayRef<Program> programs, Image &image) {
  std::vector<PendingSection> sections;
  for (auto [index, program] : llvm::enumerate(programs))
    if (llvm::Error error =
            addSections(program, static_cast<uint32_t>(index),
                        image.metadata.emplace_back(1 << 16), sections))
      return error;
  image.lay(sections);
  return llvm::Error::success();
}

llvm::Expected<std::vector<uint8_t>>
serializeAll(llvm::ArrayRef<Program> programs, SharedBytes *shared) {
  Image image;
  if (llvm::Error error = addPrograms(programs, image))
    return error;
  if (shared)
    *shared = image.shared;
  std::vector<uint8_t> file;
  file.reserve(image.bytes);
  for (llvm::ArrayRef<uint8_t> part : image.parts)
    file.insert(file.end(), part.begin(), part.end());
  return file;
}

llvm::Expected<std::vector<uint8_t>> serialize(const Program &program) {
  return serializeAll(program);
}

llvm::Error writeAll(llvm::ArrayRef<Program> programs, llvm::StringRef path,
                     SharedBytes *shared) {
  Image image;
  if (llvm::Error error = addPrograms(programs, image))
    return error;
  if (shared)
    *shared = image.shared;
  return support::writePartsAtomically(path, image.parts);
}

llvm::Error write(const Program &program, llvm::StringRef path) {
  return writeAll(program, path);
}

} // namespace ashlar::container
