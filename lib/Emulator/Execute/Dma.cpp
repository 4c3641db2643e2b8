// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DMA: strided copies, fills, unpacking and gathering. Neighbouring dimensions
// that are contiguous on both sides become one memcpy, or one call that
// unpacks.

#include "../Cost/DramRequests.h"
#include "../State/LinearAddress.h"
#include "Indices.h"
#include "ashlar/Isa/Operands.h"
#include "ashlar/Numerics/PackedCodes.h"
#include "ashlar/Support/CacheLines.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

/// One side of a descriptor, translated to the host.
struct HostSide {
  uint8_t *base = nullptr;
  std::array<int64_t, 5> stride = {};
};

/// A descriptor: counts outermost first, bytes of the innermost run.
struct Descriptor {
  std::array<uint64_t, 5> count = {};
  HostSide source, destination;
  uint64_t runBytes = 0;
};

} // namespace

static std::array<uint64_t, 5> countsOf(const isa::Operand &operand) {
  std::array<uint64_t, 5> counts;
  for (unsigned i = 0; i < 5; ++i)
    counts[i] = operand.loops[i].count;
  return counts;
}

static std::array<int64_t, 5> stridesOf(const isa::Operand &operand) {
  std::array<int64_t, 5> strides;
  for (unsigned i = 0; i < 5; ++i)
    strides[i] = operand.loops[i].stride;
  return strides;
}

/// A side whose addresses are base + sum i*stride on the host as well: in DRAM
/// XR and weight memory always, in SB and XM if no index step carries from one
/// row into the next.
static std::optional<HostSide> affineSide(emulator::Memory &memory,
                                          const isa::LinearOperand &operand) {
  HostSide side;
  side.base = translate(memory, operand.mem, operand.base);
  if (operand.mem == isa::Memory::Dram || operand.mem == isa::Memory::Xr ||
      operand.mem == isa::Memory::Wm) {
    side.stride = stridesOf(operand);
    return side;
  }
  const int64_t row = static_cast<int64_t>(memory.bytesPerPartition());
  const int64_t offset = static_cast<int64_t>(operand.base) % row;
  int64_t low = offset, high = offset + static_cast<int64_t>(operand.bytes);
  for (unsigned i = 0; i < 5; ++i) {
    const auto [count, stride] = operand.loops[i];
    if (count == 1)
      continue;
    // The nearest multiple of the row, so that small negative strides stay so.
    int64_t rows = (stride + (stride >= 0 ? row / 2 : -(row / 2))) / row;
    int64_t inside = stride - rows * row;
    side.stride[i] = rows * static_cast<int64_t>(memory.pitch()) + inside;
    (inside < 0 ? low : high) += inside * static_cast<int64_t>(count - 1);
  }
  if (low < 0 || high > row)
    return std::nullopt;
  return side;
}

/// What `bytes` in runs of equal length take, in units of Engine::split's work.
static uint64_t moveWork(uint64_t bytes, uint64_t runBytes) {
  return bytes / runBytes * 4 + bytes / 4;
}

/// Merges innermost dimensions that are contiguous on both sides into the run
/// and drops dimensions of one element.
static void mergeRun(Descriptor &d, bool hasSource) {
  for (unsigned i = 5; i-- > 0;) {
    if (d.count[i] == 1)
      continue;
    int64_t run = static_cast<int64_t>(d.runBytes);
    if (d.destination.stride[i] != run ||
        (hasSource && d.source.stride[i] != run))
      return;
    d.runBytes *= d.count[i];
    d.count[i] = 1;
  }
}

template <typename T>
static void copyRow(uint8_t *dst, int64_t dstStride, const uint8_t *src,
                    int64_t srcStride, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    std::memcpy(dst + static_cast<int64_t>(i) * dstStride,
                src + static_cast<int64_t>(i) * srcStride, sizeof(T));
}

/// Rows of SB are far from each other, and another processor may have read or
/// written them last: lines are asked for some rows ahead, because stores wait
/// for them one after another.
static void copyRuns(uint8_t *dst, int64_t dstStride, const uint8_t *src,
                     int64_t srcStride, uint64_t n, uint64_t bytes) {
  constexpr uint64_t ahead = 8;
  const auto rowOf = [&](uint64_t i) {
    return dst + static_cast<int64_t>(i) * dstStride;
  };
  for (uint64_t i = 0; i < std::min(n, ahead); ++i)
    support::takeLines(rowOf(i), bytes);
  for (uint64_t i = 0; i < n; ++i) {
    if (i + ahead < n)
      support::takeLines(rowOf(i + ahead), bytes);
    std::memcpy(rowOf(i), src + static_cast<int64_t>(i) * srcStride, bytes);
  }
}

static void copyInner(uint8_t *dst, int64_t dstStride, const uint8_t *src,
                      int64_t srcStride, uint64_t n, uint64_t bytes) {
  switch (bytes) {
  case 1:
    return copyRow<uint8_t>(dst, dstStride, src, srcStride, n);
  case 2:
    return copyRow<uint16_t>(dst, dstStride, src, srcStride, n);
  case 4:
    return copyRow<uint32_t>(dst, dstStride, src, srcStride, n);
  case 8:
    return copyRow<uint64_t>(dst, dstStride, src, srcStride, n);
  default:
    return copyRuns(dst, dstStride, src, srcStride, n, bytes);
  }
}

/// Calls fn(dst offset, src offset) for every index of the four outer
/// dimensions with the outermost one in [begin, end).
template <typename Fn>
static void forOuter(const Descriptor &d, uint64_t begin, uint64_t end, Fn fn) {
  auto at = [&](unsigned dim, uint64_t i, int64_t &dst, int64_t &src) {
    dst += static_cast<int64_t>(i) * d.destination.stride[dim];
    src += static_cast<int64_t>(i) * d.source.stride[dim];
  };
  for (uint64_t i0 = begin; i0 < end; ++i0)
    for (uint64_t i1 = 0; i1 < d.count[1]; ++i1)
      for (uint64_t i2 = 0; i2 < d.count[2]; ++i2)
        for (uint64_t i3 = 0; i3 < d.count[3]; ++i3) {
          int64_t dst = 0, src = 0;
          at(0, i0, dst, src);
          at(1, i1, dst, src);
          at(2, i2, dst, src);
          at(3, i3, dst, src);
          fn(dst, src);
        }
}

static void swapDimensions(Descriptor &d, unsigned a, unsigned b) {
  std::swap(d.count[a], d.count[b]);
  std::swap(d.source.stride[a], d.source.stride[b]);
  std::swap(d.destination.stride[a], d.destination.stride[b]);
}

/// A dimension whose elements are neighbours on both sides becomes the
/// innermost one, so that it can merge into the run.
static void contiguousInside(Descriptor &d) {
  for (unsigned i = 5; i-- > 0;)
    if (d.count[i] > 1 &&
        d.destination.stride[i] == static_cast<int64_t>(d.runBytes) &&
        d.source.stride[i] == static_cast<int64_t>(d.runBytes))
      return swapDimensions(d, i, 4);
}

/// Orders dimensions of more than one element by their steps in the
/// destination, the largest first, where the threads split, and the smallest in
/// the inner loop: a thread fills its partitions of SB one after the other,
/// instead of all of them again for every run of bytes. The order of copies
/// does not matter: the verifier has refused overlapping destinations.
static void rotateOuter(Descriptor &d) {
  auto comesLater = [&](unsigned a, unsigned b) {
    return d.count[a] > 1 &&
           (d.count[b] == 1 || std::abs(d.destination.stride[a]) <
                                   std::abs(d.destination.stride[b]));
  };
  for (unsigned last = 4; last > 0; --last)
    for (unsigned i = 0; i < last; ++i)
      if (comesLater(i, last))
        swapDimensions(d, i, last);
  for (unsigned i = 1; i < 4 && d.count[0] == 1; ++i)
    swapDimensions(d, 0, i);
}

static uint64_t totalBytes(const std::array<uint64_t, 5> &count,
                           uint64_t bytes) {
  for (uint64_t n : count)
    bytes *= n;
  return bytes;
}

/// Element by element through address translation: for descriptors whose
/// steps carry from one partition into the next. read(k, src, b) gives byte b
/// of element k, which lies at `src` on a side with the strides `srcStride`.
template <typename Read>
static void transferSlow(emulator::Memory &memory,
                         const isa::LinearOperand &target, uint64_t srcBase,
                         const std::array<int64_t, 5> &srcStride, Read read) {
  const std::array<uint64_t, 5> count = countsOf(target);
  const uint64_t total = totalBytes(count, 1);
  for (uint64_t k = 0; k < total; ++k) {
    uint64_t rest = k, dst = target.base, src = srcBase;
    for (unsigned i = 5; i-- > 0;) {
      uint64_t index = rest % count[i];
      rest /= count[i];
      dst += index * static_cast<uint64_t>(target.loops[i].stride);
      src += index * static_cast<uint64_t>(srcStride[i]);
    }
    // Elements may themselves straddle a row of SB.
    for (uint64_t b = 0; b < target.bytes; ++b)
      *translate(memory, target.mem, dst + b) = read(k, src, b);
  }
}

/// Four by four words.
static void transposeBlock(uint8_t *dst, int64_t dstStride, const uint8_t *src,
                           int64_t srcStride) {
  using Words = uint32_t __attribute__((vector_size(16)));
  std::array<Words, 4> in, out;
  for (int64_t k = 0; k < 4; ++k)
    std::memcpy(&in[k], src + k * srcStride, sizeof(Words));
  const Words a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
  const Words b = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const Words c = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  const Words d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  out[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  out[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  out[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  out[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
  for (int64_t k = 0; k < 4; ++k)
    std::memcpy(dst + k * dstStride, &out[k], sizeof(Words));
}

/// Copies rows of `cols` words, neighbours in the destination, that are columns
/// in the source: there the words of a column are neighbours.
static void transposeWords(uint8_t *dst, int64_t dstStride, const uint8_t *src,
                           int64_t srcStride, uint64_t rows, uint64_t cols) {
  constexpr int64_t word = 4;
  if (rows < 4 || cols < 4) {
    for (uint64_t i = 0; i < rows; ++i)
      copyRow<uint32_t>(dst + static_cast<int64_t>(i) * dstStride, word,
                        src + i * word, srcStride, cols);
    return;
  }
  // The last blocks overlap those before: copying twice is no harm.
  for (uint64_t done = 0; done < rows; done += 4) {
    const auto i = static_cast<int64_t>(std::min(done, rows - 4));
    for (uint64_t next = 0; next < cols; next += 4) {
      const auto j = static_cast<int64_t>(std::min(next, cols - 4));
      transposeBlock(dst + i * dstStride + j * word, dstStride,
                     src + i * word + j * srcStride, srcStride);
    }
  }
}

/// The outer dimension whose words are neighbours in the source, while those of
/// the innermost one are in the destination; none if the copy transposes no
/// words.
static std::optional<unsigned> transposedDimension(const Descriptor &d) {
  if (d.runBytes != 4 || d.destination.stride[4] != 4 || d.count[4] < 4)
    return std::nullopt;
  for (unsigned i = 0; i < 4; ++i)
    if (d.count[i] >= 4 && d.source.stride[i] == 4)
      return i;
  return std::nullopt;
}

/// Indices [begin, end) of the outermost dimension.
static void copyTransposed(Descriptor d, unsigned dim, uint64_t begin,
                           uint64_t end) {
  const uint64_t first = dim == 0 ? begin : 0;
  const uint64_t rows = dim == 0 ? end - begin : d.count[dim];
  const auto at = static_cast<int64_t>(first);
  d.count[dim] = 1;
  forOuter(d, dim == 0 ? 0 : begin, dim == 0 ? 1 : end,
           [&](int64_t dst, int64_t src) {
             transposeWords(
                 d.destination.base + dst + at * d.destination.stride[dim],
                 d.destination.stride[dim], d.source.base + src + at * 4,
                 d.source.stride[4], rows, d.count[4]);
           });
}

void Engine::execute(const isa::DmaCopy &op) {
  const isa::LinearOperand from = operandSrc(op), to = operandDst(op);
  Descriptor d;
  d.count = countsOf(to);
  d.runBytes = op.elemBytes;
  std::optional<HostSide> source = affineSide(memory, from);
  std::optional<HostSide> destination = affineSide(memory, to);
  if (!source || !destination)
    return transferSlow(memory, to, from.base, stridesOf(from),
                        [&](uint64_t, uint64_t src, uint64_t byte) {
                          return *translate(memory, from.mem, src + byte);
                        });
  d.source = *source;
  d.destination = *destination;
  const uint64_t bytes = totalBytes(d.count, d.runBytes);
  contiguousInside(d);
  mergeRun(d, true);
  rotateOuter(d);
  const std::optional<unsigned> transposed = transposedDimension(d);
  split(d.count[0], moveWork(bytes, d.runBytes),
        [&](uint64_t begin, uint64_t end) {
          if (transposed)
            return copyTransposed(d, *transposed, begin, end);
          forOuter(d, begin, end, [&](int64_t dst, int64_t src) {
            copyInner(d.destination.base + dst, d.destination.stride[4],
                      d.source.base + src, d.source.stride[4], d.count[4],
                      d.runBytes);
          });
        });
}

template <typename T>
static void fillRow(uint8_t *dst, int64_t stride, uint64_t n, uint64_t value) {
  T element = static_cast<T>(value);
  for (uint64_t i = 0; i < n; ++i)
    std::memcpy(dst + static_cast<int64_t>(i) * stride, &element, sizeof(T));
}

static void fillInner(uint8_t *dst, int64_t stride, uint64_t n, uint64_t bytes,
                      uint64_t value) {
  switch (bytes) {
  case 1:
    if (stride == 1) {
      std::memset(dst, static_cast<int>(value & 0xff), n);
      return;
    }
    return fillRow<uint8_t>(dst, stride, n, value);
  case 2:
    return fillRow<uint16_t>(dst, stride, n, value);
  case 4:
    return fillRow<uint32_t>(dst, stride, n, value);
  default:
    return fillRow<uint64_t>(dst, stride, n, value);
  }
}

void Engine::execute(const isa::DmaFill &op) {
  const isa::LinearOperand to = operandDst(op);
  Descriptor d;
  d.count = countsOf(to);
  std::optional<HostSide> destination = affineSide(memory, to);
  const uint64_t word = op.value;
  if (!destination)
    return transferSlow(memory, to, 0, {},
                        [&](uint64_t, uint64_t, uint64_t byte) {
                          return static_cast<uint8_t>(word >> (8 * byte));
                        });
  d.destination = *destination;
  const uint64_t bytes = totalBytes(d.count, op.elemBytes);
  rotateOuter(d);
  const bool dense =
      d.destination.stride[4] == static_cast<int64_t>(op.elemBytes);
  const uint64_t run = op.elemBytes * (dense ? d.count[4] : 1);
  split(d.count[0], moveWork(bytes, run), [&](uint64_t begin, uint64_t end) {
    forOuter(d, begin, end, [&](int64_t dst, int64_t) {
      fillInner(d.destination.base + dst, d.destination.stride[4], d.count[4],
                op.elemBytes, word);
    });
  });
}

/// Where elements of type T of a stream go: `n` runs of `run` codes each.
template <typename T>
static void unpackRow(uint8_t *dst, int64_t dstStride,
                      llvm::ArrayRef<uint8_t> stream, uint64_t first,
                      int64_t step, unsigned width, uint64_t run, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    numerics::unpackCodes(
        stream, first + i * static_cast<uint64_t>(step), width,
        reinterpret_cast<T *>(dst + static_cast<int64_t>(i) * dstStride), run);
}

/// Strides of elements in iteration order.
static std::array<int64_t, 5> denseStrides(const std::array<uint64_t, 5> &n,
                                           int64_t element) {
  std::array<int64_t, 5> strides;
  for (unsigned i = 5; i-- > 0;) {
    strides[i] = element;
    element *= static_cast<int64_t>(n[i]);
  }
  return strides;
}

/// Whole elements in the place of codes: their low bytes. Of each row of `row`
/// codes there are `copies`, of each code `share`. No call for a single byte.
template <typename T>
static void repeatCodes(llvm::ArrayRef<int16_t> codes, uint64_t row,
                        uint64_t copies, uint64_t share, T *to) {
  const uint64_t size = row * share;
  for (; !codes.empty(); codes = codes.drop_front(row), to += copies * size) {
    if (share == 1)
      std::copy_n(codes.begin(), row, to);
    for (uint64_t i = 0; share != 1 && i < row; ++i)
      std::fill_n(to + i * share, share, static_cast<T>(codes[i]));
    for (uint64_t copy = 1; copy < copies; ++copy)
      std::copy_n(to, size, to + copy * size);
  }
}

/// The codes of a stream that leaves zeros out, or of exponents, as whole
/// elements; valid until the buffers of this thread are used again.
static llvm::Expected<llvm::ArrayRef<uint8_t>>
decodeSparse(const isa::DmaUnpack &op, llvm::ArrayRef<uint8_t> stream) {
  Scratch &scratch = Scratch::ofThisThread();
  const isa::CodesOperand from = operandSrc(op);
  numerics::CodeStream shape = from.stream();
  shape.zero = static_cast<int16_t>(op.zero);
  auto *codes = scratch.get<int16_t>(Scratch::RowA, shape.count);
  if (llvm::Error error = numerics::unpackSparse(stream, shape, codes))
    return error;
  const unsigned repeats = op.form == isa::CodeForm::Exponents ? op.unit : 0;
  const uint64_t copies = repeats == 2 ? op.n2 : repeats == 1 ? op.n3 : 1;
  const uint64_t share = repeats == 2 ? op.n4 : 1;
  const uint64_t row = repeats == 2   ? op.n3
                       : repeats == 1 ? op.n4
                                      : shape.count;
  const uint64_t bytes = shape.count * copies * share * op.elemBytes;
  auto *elements = scratch.get<uint8_t>(Scratch::RowB, bytes);
  const llvm::ArrayRef<int16_t> all(codes, shape.count);
  if (op.elemBytes == 2)
    repeatCodes(all, row, copies, share, reinterpret_cast<int16_t *>(elements));
  else
    repeatCodes(all, row, copies, share, elements);
  return llvm::ArrayRef<uint8_t>(elements, bytes);
}

void Engine::execute(const isa::DmaUnpack &op) {
  const isa::LinearOperand to = operandDst(op);
  Descriptor d;
  d.count = countsOf(to);
  d.runBytes = op.elemBytes;
  d.source.stride = denseStrides(d.count, 1);
  const uint64_t total = totalBytes(d.count, 1);
  unsigned width = op.mantissa;
  llvm::ArrayRef<uint8_t> stream(memory.dram(op.srcBase),
                                 operandSrc(op).stream().bytes());
  if (op.form != isa::CodeForm::Dense) {
    llvm::Expected<llvm::ArrayRef<uint8_t>> decoded = decodeSparse(op, stream);
    if (!decoded) {
      finding = RunFinding{FaultKind::BadData, toString(decoded.takeError())};
      return;
    }
    stream = *decoded;
    width = 8 * op.elemBytes;
  }
  std::optional<HostSide> destination = affineSide(memory, to);
  // Elements at odd addresses of the host take the slow way as well.
  if (destination && op.elemBytes == 2 &&
      (op.dstBase % 2 != 0 ||
       llvm::any_of(destination->stride,
                    [](int64_t stride) { return stride % 2 != 0; })))
    destination.reset();
  if (!destination)
    return transferSlow(memory, to, 0, {},
                        [&](uint64_t k, uint64_t, uint64_t byte) {
                          int16_t code;
                          numerics::unpackCodes(stream, k, width, &code, 1);
                          return static_cast<uint8_t>(code >> (8 * byte));
                        });
  d.destination = *destination;
  mergeRun(d, /*hasSource=*/false);
  const uint64_t run = d.runBytes / op.elemBytes;
  rotateOuter(d);
  split(d.count[0], total * op.elemBytes, [&](uint64_t begin, uint64_t end) {
    forOuter(d, begin, end, [&](int64_t dst, int64_t first) {
      auto row = op.elemBytes == 1 ? unpackRow<int8_t> : unpackRow<int16_t>;
      row(d.destination.base + dst, d.destination.stride[4], stream,
          static_cast<uint64_t>(first), d.source.stride[4], width, run,
          d.count[4]);
    });
  });
}

namespace {

/// The rows that the indices of a dma.gather choose.
struct ChosenRows {
  uint64_t dims = 0; ///< Outer dimensions that indices move.
  uint64_t rows = 1;
  std::vector<int64_t> displacement; ///< In DRAM, by row.
  std::optional<RunFinding> finding;
};

} // namespace

/// Reads and checks all indices, in the order of the rows.
static ChosenRows chooseRows(emulator::Memory &memory,
                             const isa::DmaGather &op) {
  const isa::LinearOperand indices = operandIndex(op);
  const std::array<uint64_t, 5> count = countsOf(indices);
  const std::array<int64_t, 5> stride = stridesOf(indices);
  ChosenRows chosen;
  for (unsigned i = 0; i < 5; ++i)
    if (count[i] > 1 && stride[i] != 0)
      chosen.dims = i + 1;
  for (unsigned i = 0; i < chosen.dims; ++i)
    chosen.rows *= count[i];
  const uint64_t element = totalBytes(count, 1) / chosen.rows;
  chosen.displacement.reserve(chosen.rows);
  for (uint64_t row = 0; row < chosen.rows; ++row) {
    uint64_t rest = row, at = indices.base;
    for (uint64_t i = chosen.dims; i-- > 0;) {
      at += rest % count[i] * static_cast<uint64_t>(stride[i]);
      rest /= count[i];
    }
    // An index may straddle a row of SB.
    uint8_t stored[8];
    for (unsigned b = 0; b < indices.bytes; ++b)
      stored[b] = *translate(memory, indices.mem, at + b);
    const int64_t index = readIndex(op.indexType, stored);
    chosen.finding = indexOutside(index, op.size, row * element, at);
    if (chosen.finding)
      return chosen;
    chosen.displacement.push_back((index < 0 ? index + op.size : index) *
                                  op.axisStride);
  }
  return chosen;
}

/// What the places of the rows decide in addition to the data.
void Engine::measureRows(const isa::DmaGather &op,
                         llvm::ArrayRef<int64_t> rows) {
  if (!keepChosen && !machine->dram.countsMisaligned)
    return;
  std::vector<uint64_t> shifts(rows.begin(), rows.end());
  if (machine->dram.countsMisaligned)
    measured[current] =
        gatherCost(*costMachine, op,
                   requestedBursts(*machine, isa::Instruction(op), shifts) *
                       machine->dram.burstBytes);
  if (keepChosen)
    chosen[current] = std::move(shifts);
}

void Engine::execute(const isa::DmaGather &op) {
  const ChosenRows chosen = chooseRows(memory, op);
  finding = chosen.finding;
  if (finding)
    return;
  measureRows(op, chosen.displacement);
  const isa::LinearOperand from = operandSrc(op), to = operandDst(op);
  Descriptor d;
  d.count = countsOf(to);
  d.runBytes = op.elemBytes;
  d.source.stride = stridesOf(from);
  const uint64_t elements = totalBytes(d.count, 1);
  std::optional<HostSide> destination = affineSide(memory, to);
  if (!destination)
    return transferSlow(memory, to, from.base, d.source.stride,
                        [&](uint64_t k, uint64_t src, uint64_t byte) {
                          const uint64_t row = k / (elements / chosen.rows);
                          return *memory.dram(src + byte +
                                              chosen.displacement[row]);
                        });
  d.source.base = memory.dram(0) + from.base;
  d.destination = *destination;
  Descriptor inner = d;
  std::fill_n(inner.count.begin(), chosen.dims, 1);
  contiguousInside(inner);
  mergeRun(inner, true);
  rotateOuter(inner);
  split(chosen.rows, elements * op.elemBytes,
        [&](uint64_t begin, uint64_t end) {
          for (uint64_t row = begin; row < end; ++row) {
            uint64_t rest = row;
            int64_t dst = 0, src = chosen.displacement[row];
            for (uint64_t i = chosen.dims; i-- > 0;) {
              const auto index = static_cast<int64_t>(rest % d.count[i]);
              dst += index * d.destination.stride[i];
              src += index * d.source.stride[i];
              rest /= d.count[i];
            }
            forOuter(inner, 0, inner.count[0], [&](int64_t dst1, int64_t src1) {
              copyInner(inner.destination.base + dst + dst1,
                        inner.destination.stride[4],
                        inner.source.base + src + src1, inner.source.stride[4],
                        inner.count[4], inner.runBytes);
            });
          }
        });
}
