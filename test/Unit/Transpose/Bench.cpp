// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of transposes.

#include "Bench.h"
#include "ashlar/Support/ElementType.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using isa::Queue;

// Semaphores of the pipeline of tiles.
static constexpr uint32_t loaded = 0, swapped = 1, streamed = 2, drained = 3;

Bytes test::randomBytes(uint64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(n);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random());
  return bytes;
}

Bytes test::transposed(const Bytes &matrix, uint64_t m, uint64_t n,
                       unsigned bytes) {
  Bytes result(matrix.size());
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < n; ++j)
      for (unsigned b = 0; b < bytes; ++b)
        result[(j * m + i) * bytes + b] = matrix[(i * n + j) * bytes + b];
  return result;
}

Bench::Bench(const std::string &machineName)
    : Bench(llvm::cantFail(machine::load(machineName))) {}

Bench::Bench(const machine::Description &machine) {
  program.machine = machine;
  program.modelName = "transpose";
}

void Bench::node(const std::string &name) {
  program.nodes.push_back({name, "Transpose", "pe", {}, 0, {}});
}

void Bench::add(const isa::Instruction &inst) {
  code.push_back(inst);
  program.nodeOfInstruction.push_back(
      program.nodes.empty() ? container::Program::noNode
                            : static_cast<uint32_t>(program.nodes.size() - 1));
}

void Bench::signal(Queue queue, uint32_t semaphore) {
  isa::SemSignal op;
  op.queue = queue;
  op.sem = semaphore;
  add(op);
}

void Bench::wait(Queue queue, uint32_t semaphore) {
  isa::SemWait op;
  op.queue = queue;
  op.sem = semaphore;
  add(op);
}

void Bench::order(Queue from, Queue to) {
  signal(from, nextSemaphore);
  wait(to, nextSemaphore++);
}

uint64_t Bench::space(uint64_t bytes) {
  const uint64_t at = dramEnd;
  dramEnd += (bytes + 63) / 64 * 64;
  return at;
}

uint64_t Bench::constant(const Bytes &bytes) {
  const uint64_t at = space(bytes.size());
  program.addConstant(at, bytes);
  return at;
}

void Bench::output(uint64_t at, uint64_t bytes) {
  program.outputs.push_back({"y" + std::to_string(program.outputs.size()),
                             support::ElementType::U8,
                             {static_cast<int64_t>(bytes)},
                             at});
}

/// Copies of one block of partitions each, from or to a matrix in DRAM. Cells
/// of XM are a matrix with a row for each group of partitions.
static void blockCopies(const machine::Description &machine, uint64_t dram,
                        uint64_t m, uint64_t n, unsigned bytes, uint64_t offset,
                        isa::Memory memory, bool toDram,
                        std::vector<isa::Instruction> &out) {
  const uint64_t rows = memory == isa::Memory::Xm
                            ? machine.sb.partitions / machine.xmGroup
                            : machine.sb.partitions;
  for (uint64_t i = 0; i < m; i += rows) {
    isa::DmaCopy op;
    op.elemBytes = bytes;
    op.n3 = static_cast<uint32_t>(std::min(rows, m - i));
    op.n4 = static_cast<uint32_t>(n);
    op.srcMem = toDram ? memory : isa::Memory::Dram;
    op.dstMem = toDram ? isa::Memory::Dram : memory;
    const uint64_t chip = offset + i / rows * n * bytes;
    const uint64_t far = dram + i * n * bytes;
    op.srcBase = toDram ? chip : far;
    op.dstBase = toDram ? far : chip;
    const auto row = static_cast<int64_t>(n * bytes);
    const auto partition = static_cast<int64_t>(machine.sb.bytesPerPartition);
    op.srcStride3 = toDram ? partition : row;
    op.dstStride3 = toDram ? row : partition;
    op.srcStride4 = op.dstStride4 = bytes;
    out.push_back(op);
  }
}

void Bench::load(uint64_t dram, uint64_t m, uint64_t n, unsigned bytes,
                 uint64_t offset, isa::Memory memory) {
  std::vector<isa::Instruction> copies;
  blockCopies(machine(), dram, m, n, bytes, offset, memory, false, copies);
  for (const isa::Instruction &copy : copies)
    add(copy);
}

void Bench::store(uint64_t m, uint64_t n, unsigned bytes, uint64_t offset,
                  isa::Memory memory) {
  const uint64_t at = space(m * n * bytes);
  order(Queue::Act, Queue::Dma0);
  std::vector<isa::Instruction> copies;
  blockCopies(machine(), at, m, n, bytes, offset, memory, true, copies);
  for (const isa::Instruction &copy : copies)
    add(copy);
  output(at, m * n * bytes);
}

void Bench::loadIdentity(uint64_t offset, const Bytes &one) {
  const uint64_t p = partitions();
  Bytes identity(p * p * one.size(), 0);
  for (uint64_t i = 0; i < p; ++i)
    std::copy(one.begin(), one.end(),
              identity.begin() +
                  static_cast<ptrdiff_t>((i * p + i) * one.size()));
  load(constant(identity), p, p, static_cast<unsigned>(one.size()), offset);
}

void Bench::ready() {
  for (Queue queue : {Queue::Peload, Queue::Pe, Queue::Act})
    order(Queue::Dma0, queue);
}

void Bench::tile(const isa::PeLoad &load, isa::PeMatmul matmul,
                 isa::ActDrain drain) {
  const uint64_t banks = machine().psum.banks;
  matmul.psum = drain.psum =
      static_cast<uint32_t>(tiles % banks * machine().psum.entriesPerBank);
  if (tiles > 0)
    wait(Queue::Peload, swapped);
  add(load);
  signal(Queue::Peload, loaded);
  wait(Queue::Pe, loaded);
  if (tiles >= banks)
    wait(Queue::Pe, drained);
  add(isa::PeSwap());
  signal(Queue::Pe, swapped);
  add(matmul);
  signal(Queue::Pe, streamed);
  wait(Queue::Act, streamed);
  add(drain);
  signal(Queue::Act, drained);
  ++tiles;
}

namespace {

/// The instructions of one tile, before their places are filled in.
struct TileOps {
  isa::PeLoad load;
  isa::PeMatmul matmul;
  isa::ActDrain drain;
};

} // namespace

/// What all tiles of a transpose share.
static TileOps commonOps(const TileOptions &options) {
  TileOps ops;
  const bool encoded = options.type == isa::ElemType::Bfp;
  const bool words = options.mode != isa::OperandMode::Int;
  ops.load.mode = ops.matmul.mode = options.mode;
  ops.load.type = options.bytePlanes ? isa::ElemType::U8 : options.type;
  ops.load.mantissa = options.mantissa;
  ops.load.orientation = options.source;
  // Elements of an identity are bytes, but those of an arithmetic mode.
  ops.matmul.type = options.mode == isa::OperandMode::Float ? options.type
                                                            : isa::ElemType::U8;
  ops.matmul.window = options.window;
  ops.drain.order = options.order;
  ops.drain.mode = words ? isa::DrainMode::Raw64 : isa::DrainMode::Int;
  if (!words)
    ops.drain.overflow = options.overflow;
  ops.drain.dstType = ops.load.type;
  ops.drain.dstMantissa = options.mantissa;
  if (encoded && options.source == isa::Orientation::P)
    ops.drain.dstOrientation = isa::Orientation::F;
  if (options.function != isa::Function::Copy ||
      (options.mode == isa::OperandMode::Float &&
       options.type != isa::ElemType::F32)) {
    ops.drain.typed = true;
    ops.drain.resType = options.mode == isa::OperandMode::Float
                            ? isa::ElemType::F32
                            : options.type;
    ops.drain.resMantissa = options.mantissa;
    ops.drain.function = options.function;
  }
  return ops;
}

void Bench::transpose(uint64_t m, uint64_t n, uint64_t source, uint64_t target,
                      uint64_t identity, const TileOptions &options) {
  const unsigned bytes =
      options.type == isa::ElemType::Bfp
          ? (options.mantissa <= 8 ? 1 : 2)
          : support::byteSize(static_cast<support::ElementType>(options.type));
  const unsigned planes = options.bytePlanes ? bytes : 1;
  const unsigned step = options.mode == isa::OperandMode::Float ? bytes : 1;
  const uint64_t p = partitions();
  TileOps ops = commonOps(options);
  for (uint64_t i = 0; i < m; i += machine().pe.rows)
    for (uint64_t c = 0; c < n; c += machine().pe.columns)
      for (unsigned plane = 0; plane < planes; ++plane) {
        isa::PeLoad &load = ops.load;
        load.part = ops.matmul.part = static_cast<uint32_t>(i % p);
        load.rows = ops.matmul.rows = ops.matmul.n2 = ops.drain.n2 =
            static_cast<uint32_t>(std::min<uint64_t>(machine().pe.rows, m - i));
        load.cols = ops.matmul.cols = ops.drain.cols = static_cast<uint32_t>(
            std::min<uint64_t>(machine().pe.columns, n - c));
        load.offset = static_cast<uint32_t>(source + i / p * n * bytes +
                                            c * bytes + plane);
        load.colStride = static_cast<int32_t>(bytes);
        ops.matmul.offset = static_cast<int32_t>(identity + i % p * step);
        ops.matmul.stride2 = static_cast<int32_t>(step);
        ops.matmul.psumStride2 = ops.drain.psumStride2 = 1;
        ops.matmul.hi0 = ops.matmul.hi1 = 1;
        ops.matmul.hi2 = static_cast<int32_t>(load.rows);
        ops.drain.dstPart = static_cast<uint32_t>(c % p);
        ops.drain.dstOffset = static_cast<uint32_t>(target + c / p * m * bytes +
                                                    i * bytes + plane);
        ops.drain.dstStride2 = static_cast<int32_t>(bytes);
        tile(load, ops.matmul, ops.drain);
      }
}

container::Program Bench::finish() const {
  container::Program result = program;
  llvm::SmallVector<uint64_t, 0> words;
  for (const isa::Instruction &inst : code)
    llvm::cantFail(isa::encode(inst, words));
  result.code.assign(words.begin(), words.end());
  result.dramBytes = std::max<uint64_t>(dramEnd, 64);
  result.semaphores = nextSemaphore;
  return result;
}

emulator::RunResult Bench::run(const emulator::Options &options) const {
  llvm::Expected<emulator::LoadedProgram> ready =
      emulator::load(finish(), options);
  if (!ready) {
    std::fprintf(stderr, "%s\n", llvm::toString(ready.takeError()).c_str());
    std::abort();
  }
  llvm::Expected<emulator::RunResult> result =
      emulator::run(*ready, {}, options);
  if (!result) {
    std::fprintf(stderr, "%s\n", llvm::toString(result.takeError()).c_str());
    std::abort();
  }
  return std::move(*result);
}

emulator::Fault Bench::fault() const {
  emulator::Fault fault;
  fault.kind = emulator::FaultKind::Race;
  llvm::Expected<emulator::LoadedProgram> ready =
      emulator::load(finish(), {}, &fault);
  if (!ready)
    llvm::consumeError(ready.takeError());
  return fault;
}

Bytes test::transposeOnArray(const std::string &machineName,
                             const Bytes &matrix, uint64_t m, uint64_t n,
                             unsigned bytes, const TileOptions &options) {
  Bench bench(machineName);
  const uint64_t p = bench.partitions();
  Bytes one = {1};
  if (options.mode == isa::OperandMode::Float)
    one = options.type == isa::ElemType::F32   ? Bytes{0, 0, 0x80, 0x3f}
          : options.type == isa::ElemType::F16 ? Bytes{0, 0x3c}
                                               : Bytes{0x80, 0x3f};
  const uint64_t identity = 0, source = 4 * p;
  const uint64_t target = source + (m + p - 1) / p * n * bytes;
  bench.load(bench.constant(matrix), m, n, bytes, source);
  bench.loadIdentity(identity, one);
  bench.ready();
  bench.transpose(m, n, source, target, identity, options);
  bench.store(n, m, bytes, target);
  return bench.run().outputs[0].data;
}
