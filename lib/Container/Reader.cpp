// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// File image -> Program. Nothing in the file is believed: magic and versions
// first, then checksums, bounds, the FlatBuffers verifier, and at last the
// consistency of the tables (Check.cpp).

#include "Layout.h"
#include "ashlar/Container/Bundle.h"
#include "ashlar/Container/program_generated.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

namespace ashlar::container {

namespace {
using Bytes = llvm::ArrayRef<uint8_t>;

llvm::Error malformed(std::string text) {
  return support::makeErrorFromText(ErrorClass::Malformed, std::move(text));
}

llvm::Expected<FileHeader> readHeader(Bytes file) {
  if (file.size() < sizeof(FileHeader))
    return malformed(fmt::format("file has {} bytes, the header needs {}",
                                 file.size(), sizeof(FileHeader)));
  FileHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  if (std::memcmp(header.magic, magic, sizeof(magic)) != 0)
    return malformed("not an Ashlar program: wrong first bytes, expected a "
                     "file that ashlarc wrote");
  // Before the checksum: a newer format may compute it differently.
  if (header.formatVersion != formatVersion)
    return malformed(fmt::format("format version {}, this reader knows {}",
                                 header.formatVersion, formatVersion));
  if (header.isaMajor != isa::versionMajor ||
      header.isaMinor > isa::versionMinor)
    return malformed(
        fmt::format("instruction set version {}.{}, this reader knows {}.{}",
                    header.isaMajor, header.isaMinor, isa::versionMajor,
                    isa::versionMinor));
  if (header.fileBytes != file.size())
    return malformed(fmt::format("file has {} bytes, its header says {}",
                                 file.size(), header.fileBytes));
  if (header.headerBytes != sizeof(FileHeader))
    return malformed(fmt::format("header of {} bytes, expected {}",
                                 header.headerBytes, sizeof(FileHeader)));
  return header;
}

llvm::Expected<std::vector<SectionEntry>> readTable(Bytes file,
                                                    const FileHeader &header) {
  uint64_t tableBytes = uint64_t(header.sectionCount) * sizeof(SectionEntry);
  if (tableBytes > file.size() - sizeof(FileHeader))
    return malformed(fmt::format("table of {} sections does not fit the file",
                                 header.sectionCount));
  uint64_t tableEnd = sizeof(FileHeader) + tableBytes;
  if (headerChecksum(file.take_front(tableEnd)) != header.checksum)
    return malformed("header checksum does not match");
  std::vector<SectionEntry> table(header.sectionCount);
  if (!table.empty())
    std::memcpy(table.data(), file.data() + sizeof(FileHeader), tableBytes);
  return table;
}

/// Kinds and programs in their order: those of a program follow each other,
/// one of each kind and then constants.
llvm::Error checkOrder(llvm::ArrayRef<SectionEntry> table) {
  uint32_t program = 0, kind = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    const SectionEntry &entry = table[i];
    const bool next =
        kind >= firstConstants - 1 && entry.program == program + 1;
    program += next;
    kind = next ? 1 : std::min(kind + 1, firstConstants);
    if (entry.kind != kind)
      return malformed(fmt::format("section {} has kind {}, expected {}", i,
                                   entry.kind, kind));
    if (entry.program != program ||
        (kind != firstConstants && entry.dramOffset))
      return malformed(fmt::format("section {}: reserved field is set", i));
  }
  if (kind < firstConstants - 1)
    return malformed(fmt::format("{} sections, expected at least {}",
                                 table.size(), firstConstants - 1));
  return llvm::Error::success();
}

/// Checks place and padding of every section: each byte of the file belongs to
/// the header, the table, a section or zero padding. Only constants may be
/// those of an earlier program, as a whole. Adds the numbers of the others to
/// \p own, until the first error.
llvm::Error checkPlaces(Bytes file, llvm::ArrayRef<SectionEntry> table,
                        std::vector<size_t> &own) {
  uint64_t end = sizeof(FileHeader) + table.size() * sizeof(SectionEntry);
  std::map<uint64_t, const SectionEntry *> constants;
  for (size_t i = 0; i < table.size(); ++i) {
    const SectionEntry &entry = table[i];
    if (entry.kind == firstConstants && entry.bytes > 0) {
      auto [before, added] = constants.try_emplace(entry.offset, &entry);
      if (!added && before->second->program != entry.program &&
          before->second->bytes == entry.bytes &&
          before->second->checksum == entry.checksum)
        continue;
    }
    if (entry.offset != alignSection(end) || entry.offset > file.size() ||
        entry.bytes > file.size() - entry.offset)
      return malformed(
          fmt::format("section {}: {} bytes at {} are outside their place", i,
                      entry.bytes, entry.offset));
    for (uint8_t byte : file.slice(end, entry.offset - end))
      if (byte != 0)
        return malformed(
            fmt::format("section {}: padding before it is not zero", i));
    own.push_back(i);
    end = entry.offset + entry.bytes;
  }
  if (end != file.size())
    return malformed(
        fmt::format("{} bytes follow the last section", file.size() - end));
  return llvm::Error::success();
}

/// The first of the sections \p numbers whose checksum does not match.
std::optional<size_t> findDamage(Bytes file, llvm::ArrayRef<SectionEntry> table,
                                 llvm::ArrayRef<size_t> numbers,
                                 unsigned threads) {
  const auto isDamaged = [&](size_t number) {
    const SectionEntry &entry = table[number];
    return llvm::xxh3_64bits(file.slice(entry.offset, entry.bytes)) !=
           entry.checksum;
  };
  // A new thread takes about as long as a megabyte.
  constexpr size_t worthThreads = 4 << 20;
  if (threads < 2 || file.size() < worthThreads) {
    const auto *found = llvm::find_if(numbers, isDamaged);
    return found == numbers.end() ? std::nullopt : std::optional(*found);
  }
  std::atomic<size_t> first{table.size()};
  support::ThreadPool(threads).parallelFor(numbers.size(), [&](uint64_t i) {
    size_t least = first.load();
    if (numbers[i] < least && isDamaged(numbers[i]))
      while (numbers[i] < least &&
             !first.compare_exchange_weak(least, numbers[i])) {
      }
  });
  return first == table.size() ? std::nullopt : std::optional(first.load());
}

/// Checks place, padding and checksum of every section. The first section that
/// is wrong is named, whatever \p threads is.
llvm::Error checkSections(Bytes file, llvm::ArrayRef<SectionEntry> table,
                          unsigned threads) {
  if (llvm::Error error = checkOrder(table))
    return error;
  std::vector<size_t> own;
  llvm::Error misplaced = checkPlaces(file, table, own);
  const std::optional<size_t> damaged = findDamage(file, table, own, threads);
  if (!damaged)
    return misplaced;
  llvm::consumeError(std::move(misplaced));
  return malformed(
      fmt::format("section {}: checksum does not match", *damaged));
}

llvm::Expected<support::ElementType> elementType(uint8_t number) {
  if (number >= support::numElementTypes)
    return malformed(fmt::format("unknown element type {}", number));
  return static_cast<support::ElementType>(number);
}

/// Copies the verified tables. Offsets of a hostile file may all point to the
/// same long string, so what is copied is charged against the section's size:
/// the writer shares nothing, and its files always pay.
class MetadataReader {
public:
  MetadataReader(const fb::Metadata &metadata, uint64_t sectionBytes,
                 Program &program)
      : metadata(metadata), budget(sectionBytes), program(program) {}

  llvm::Error read();

private:
  template <typename T>
  using Tables = flatbuffers::Vector<flatbuffers::Offset<T>>;

  /// Grants \p bytes; after the first refusal nothing more is granted.
  bool charge(uint64_t bytes) {
    exhausted = exhausted || bytes > budget;
    budget -= exhausted ? 0 : bytes;
    return !exhausted;
  }
  std::string text(const flatbuffers::String *string) {
    return string && charge(string->size()) ? string->str() : std::string();
  }
  template <typename T>
  std::vector<T> numbers(const flatbuffers::Vector<T> *list) {
    if (!list || !charge(uint64_t(list->size()) * sizeof(T)))
      return {};
    // Not by iterator: the verifier leaves elements unaligned.
    std::vector<T> result(list->size());
    if (!result.empty())
      std::memcpy(result.data(), list->Data(), result.size() * sizeof(T));
    return result;
  }
  std::vector<std::string> texts(const Tables<flatbuffers::String> *list);
  /// Calls \p visit for every table of a list while the budget lasts.
  template <typename T, typename F>
  llvm::Error forEach(const Tables<T> *list, F visit);

  llvm::Error readBindings(const Tables<fb::Binding> *list,
                           std::vector<TensorBinding> &out);
  llvm::Error readCache(const fb::Cache *cache);
  llvm::Error readPlacement(const fb::Placement &entry);

  const fb::Metadata &metadata;
  uint64_t budget;
  bool exhausted = false;
  Program &program;
};

template <typename T, typename F>
llvm::Error MetadataReader::forEach(const Tables<T> *list, F visit) {
  if (!list)
    return llvm::Error::success();
  for (const T *entry : *list) {
    // An offset and the table's own offset to its vtable.
    if (charge(8))
      if (llvm::Error error = visit(*entry))
        return error;
    if (exhausted)
      return malformed("metadata uses the same bytes more than once");
  }
  return llvm::Error::success();
}

std::vector<std::string>
MetadataReader::texts(const Tables<flatbuffers::String> *list) {
  std::vector<std::string> result;
  if (list)
    for (const flatbuffers::String *string : *list)
      if (charge(8))
        result.push_back(text(string));
  return result;
}

llvm::Error MetadataReader::readBindings(const Tables<fb::Binding> *list,
                                         std::vector<TensorBinding> &out) {
  return forEach(list, [&](const fb::Binding &entry) -> llvm::Error {
    auto type = elementType(entry.type());
    if (!type)
      return type.takeError();
    out.push_back({text(entry.name()), *type, numbers(entry.shape()),
                   entry.dram_offset(), entry.extent_axis(),
                   entry.extent_offset()});
    return llvm::Error::success();
  });
}

llvm::Error MetadataReader::readCache(const fb::Cache *cache) {
  if (!cache)
    return llvm::Error::success();
  program.cache.model = cache->model();
  program.cache.position = text(cache->position());
  return forEach(cache->tensors(), [&](const fb::Kept &entry) -> llvm::Error {
    auto type = elementType(entry.type());
    if (!type)
      return type.takeError();
    program.cache.tensors.push_back({text(entry.name()), text(entry.output()),
                                     *type, numbers(entry.shape()),
                                     entry.dram_offset(), entry.axis(),
                                     entry.rows()});
    return llvm::Error::success();
  });
}

llvm::Error MetadataReader::readPlacement(const fb::Placement &entry) {
  auto type = elementType(entry.type());
  if (!type)
    return type.takeError();
  if (entry.memory() > 1)
    return malformed(
        fmt::format("unknown placement memory {}", entry.memory()));
  TensorPlacement p;
  p.name = text(entry.name());
  p.encoded = entry.encoded();
  p.type = *type;
  p.mantissa = entry.mantissa();
  p.block = entry.block();
  p.range = entry.range();
  p.blockAxis = entry.block_axis();
  p.xr = entry.xr();
  p.shape = numbers(entry.shape());
  p.memory = static_cast<PlacementMemory>(entry.memory());
  p.baseOffset = entry.base_offset();
  p.basePartition = entry.base_partition();
  p.channelAxis = entry.channel_axis();
  p.tileStride = entry.tile_stride();
  p.strides = numbers(entry.strides());
  p.exponentBase = entry.exponent_base();
  p.exponentStrides = numbers(entry.exponent_strides());
  p.afterInstruction = entry.after_instruction();
  p.lanes = entry.lanes();
  p.lanePitch = entry.lane_pitch();
  p.laneAxis = entry.lane_axis();
  p.cellPitch = entry.cell_pitch();
  p.cellBytes = entry.cell_bytes();
  p.cellChannels = entry.cell_channels();
  program.dumps.push_back(std::move(p));
  return llvm::Error::success();
}

llvm::Error MetadataReader::read() {
  llvm::Expected<machine::Description> machine =
      machine::parseYaml(text(metadata.machine_yaml()), "embedded machine");
  if (!machine)
    return machine.takeError();
  program.machine = std::move(*machine);
  program.modelName = text(metadata.model_name());
  program.producer = text(metadata.producer());
  program.dramBytes = metadata.dram_bytes();
  program.semaphores = metadata.semaphores();
  if (const fb::State *state = metadata.state()) {
    program.state.dramOffset = state->dram_offset();
    if (const auto *initial = state->initial())
      program.state.initial.assign(initial->begin(), initial->end());
  }
  if (llvm::Error error = readCache(metadata.cache()))
    return error;
  if (llvm::Error error = readBindings(metadata.inputs(), program.inputs))
    return error;
  if (llvm::Error error = readBindings(metadata.outputs(), program.outputs))
    return error;
  if (llvm::Error error = forEach(metadata.nodes(), [&](const fb::Node &node) {
        program.nodes.push_back({text(node.name()), text(node.op_type()),
                                 text(node.engine()), texts(node.absorbed()),
                                 node.macs(), texts(node.planned_tensors())});
        return llvm::Error::success();
      }))
    return error;
  if (llvm::Error error =
          forEach(metadata.dumps(), [&](const fb::Placement &entry) {
            return readPlacement(entry);
          }))
    return error;
  return forEach(metadata.proofs(), [&](const fb::Proof &proof) {
    program.proofs.push_back(
        {text(proof.node()), proof.terms(), proof.bound_bits()});
    return llvm::Error::success();
  });
}

llvm::Error readMetadata(Bytes bytes, Program &program) {
  // Every table costs at least four bytes of the file: a limit on their number
  // beyond that would only refuse large models.
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/16,
                                 /*max_tables=*/1u << 30);
  if (bytes.size() < 8 || !fb::VerifyMetadataBuffer(verifier))
    return malformed("metadata is not a valid FlatBuffer of its schema");
  return MetadataReader(*fb::GetMetadata(bytes.data()), bytes.size(), program)
      .read();
}

/// Copies a section of whole numbers.
template <typename T>
llvm::Error readNumbers(Bytes bytes, const char *what, std::vector<T> &out) {
  if (bytes.size() % sizeof(T))
    return malformed(fmt::format("{} has {} bytes, expected a multiple of {}",
                                 what, bytes.size(), sizeof(T)));
  out.resize(bytes.size() / sizeof(T));
  if (!bytes.empty())
    std::memcpy(out.data(), bytes.data(), bytes.size());
  return llvm::Error::success();
}

std::string textOf(Bytes bytes) {
  return std::string(reinterpret_cast<const char *>(bytes.data()),
                     bytes.size());
}

/// One program of a file that checkSections() has accepted.
llvm::Expected<Program> parseProgram(Bytes file,
                                     llvm::ArrayRef<SectionEntry> table) {
  auto section = [&](SectionKind kind) {
    const SectionEntry &entry = table[static_cast<uint32_t>(kind) - 1];
    return file.slice(entry.offset, entry.bytes);
  };
  Program program;
  if (llvm::Error error = readMetadata(section(SectionKind::Metadata), program))
    return error;
  if (llvm::Error error =
          readNumbers(section(SectionKind::Code), "code", program.code))
    return error;
  if (llvm::Error error = readNumbers(section(SectionKind::DebugMap),
                                      "debug map", program.nodeOfInstruction))
    return error;
  program.numericPlanJson = textOf(section(SectionKind::NumericPlan));
  program.decisionsJson = textOf(section(SectionKind::Decisions));
  for (const SectionEntry &entry : table.drop_front(firstConstants - 1))
    program.constants.push_back(
        {entry.dramOffset, file.slice(entry.offset, entry.bytes)});
  if (llvm::Error error = check(program))
    return error;
  return program;
}

llvm::Expected<std::vector<Program>> parseFile(Bytes file, unsigned threads) {
  llvm::Expected<FileHeader> header = readHeader(file);
  if (!header)
    return header.takeError();
  auto table = readTable(file, *header);
  if (!table)
    return table.takeError();
  for (uint8_t byte : header->reserved)
    if (byte != 0)
      return malformed("reserved bytes of the header are not zero");
  if (llvm::Error error = checkSections(file, *table, threads))
    return error;
  std::vector<Program> programs;
  llvm::ArrayRef<SectionEntry> rest = *table;
  while (!rest.empty()) {
    auto own = rest.take_while([&](const SectionEntry &entry) {
      return entry.program == rest.front().program;
    });
    llvm::Expected<Program> program = parseProgram(file, own);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
    rest = rest.drop_front(own.size());
  }
  return programs;
}
} // namespace

llvm::Expected<std::vector<Program>>
parseAll(std::shared_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef name,
         unsigned threads) {
  llvm::StringRef contents = buffer->getBuffer();
  // FlatBuffers reads in place and expects the file's alignment in memory.
  if (reinterpret_cast<uintptr_t>(contents.data()) % alignof(uint64_t)) {
    auto copy = llvm::WritableMemoryBuffer::getNewUninitMemBuffer(
        contents.size(), name, llvm::Align(sectionAlignment));
    if (!copy)
      return makeError(ErrorClass::Capacity, "{}: no memory for {} bytes",
                       name.str(), contents.size());
    llvm::copy(contents, copy->getBufferStart());
    buffer = std::move(copy);
    contents = buffer->getBuffer();
  }
  auto programs = parseFile(
      {reinterpret_cast<const uint8_t *>(contents.data()), contents.size()},
      threads);
  if (!programs)
    return withContext(programs.takeError(), name.str());
  std::shared_ptr<const void> owner = std::move(buffer);
  for (Program &program : *programs)
    program.storage.push_back(owner);
  return programs;
}

llvm::Expected<Program> parse(std::shared_ptr<llvm::MemoryBuffer> buffer,
                              llvm::StringRef name) {
  auto programs = parseAll(std::move(buffer), name);
  if (!programs)
    return programs.takeError();
  if (programs->size() == 1)
    return std::move(programs->front());
  return makeError(ErrorClass::Usage,
                   "{}: {} programs of one model, expected one; ashlar-run "
                   "--generate takes several",
                   name.str(), programs->size());
}

llvm::Expected<Program> read(llvm::StringRef path) {
  auto buffer = support::readFile(path);
  if (!buffer)
    return buffer.takeError();
  return parse(std::move(*buffer), path);
}

llvm::Expected<std::vector<Program>> readAll(llvm::StringRef path,
                                             unsigned threads) {
  std::optional<support::FileState> state;
  auto read = support::readFile(path, threads, &state);
  if (!read)
    return read.takeError();
  const std::shared_ptr<llvm::MemoryBuffer> buffer = std::move(*read);
  auto programs = parseAll(buffer, path, threads);
  if (programs && state)
    for (Program &program : *programs)
      program.source = SourceFile{support::contents(*buffer), *state};
  return programs;
}

} // namespace ashlar::container
