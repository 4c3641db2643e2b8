// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element by element; written for reading, not for speed.

#include "NaiveMachine.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/ElementType.h"
#include "ashlar/Support/Half.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::test;
using isa::ElemType;

static unsigned bytesOf(ElemType type, unsigned mantissa) {
  if (type == ElemType::Bfp)
    return mantissa <= 8 ? 1 : 2;
  return support::byteSize(static_cast<ElementType>(type));
}

NaiveMachine::NaiveMachine(const machine::Description &machine,
                           uint64_t dramBytes)
    : dram(dramBytes), sb(machine.sb.bytes()), xm(machine.xmBytes()),
      machine(machine), psum(machine.pe.columns * machine.psum.entries()),
      tables(machine.sparse.tileTables),
      sums(machine.sparse.tcus,
           std::vector<int64_t>(machine.sparse.accumulatorEntries)),
      wm(machine.sparse.wmBytes), nonZeros(machine.sparse.countEntries),
      xr(machine.xr.registers, cleared), samples(machine.sr.registers) {}

void NaiveMachine::execute(const isa::Instruction &inst) {
  std::visit([&](const auto &op) { run(op); }, inst);
}

void NaiveMachine::run(const isa::XrSet &op) { xr[op.xr] = op.value; }

void NaiveMachine::run(const isa::XrMerge &op) {
  xr[op.dst] = std::max(op.clear ? cleared : xr[op.dst], xr[op.src]);
}

//===- DMA ----------------------------------------------------------------===//

uint8_t NaiveMachine::byteOf(isa::Memory memory, uint64_t address) const {
  switch (memory) {
  case isa::Memory::Dram:
    return dram[address];
  case isa::Memory::Sb:
    return sb[address];
  case isa::Memory::Xr:
    return static_cast<uint8_t>(static_cast<unsigned>(xr[address / 2]) >>
                                8 * (address % 2));
  default:
    return static_cast<uint8_t>(xm[address]);
  }
}

void NaiveMachine::setByte(isa::Memory memory, uint64_t address,
                           uint8_t value) {
  switch (memory) {
  case isa::Memory::Dram:
    dram[address] = value;
    return;
  case isa::Memory::Sb:
    sb[address] = value;
    return;
  case isa::Memory::Wm:
    wm[address] = value;
    return;
  case isa::Memory::Xr: {
    int &scale = xr[address / 2];
    scale = static_cast<int16_t>(address % 2 ? (scale & 0xff) | value << 8
                                             : (scale & ~0xff) | value);
    return;
  }
  default:
    xm[address] = static_cast<int8_t>(value);
  }
}

//===- Array --------------------------------------------------------------===//

uint64_t NaiveMachine::rawElement(uint64_t partition, int64_t offset,
                                  unsigned bytes) const {
  uint64_t word = 0;
  std::memcpy(&word,
              &sb[partition * machine.sb.bytesPerPartition +
                  static_cast<uint64_t>(offset)],
              bytes);
  return word;
}

/// Low `bits` of a word as a signed number.
static int64_t signExtend(uint64_t word, unsigned bits) {
  int64_t half = int64_t(1) << (bits - 1);
  auto low = static_cast<int64_t>(word & ((uint64_t(1) << bits) - 1));
  return low >= half ? low - 2 * half : low;
}

static int64_t mantissaOf(uint64_t word, unsigned width) {
  int64_t limit = (int64_t(1) << (width - 1)) - 1;
  return std::max(signExtend(word, width), -limit);
}

int64_t NaiveMachine::aligned(isa::OperandMode mode, ElemType type,
                              unsigned mantissa, unsigned range,
                              unsigned scaleRegister,
                              isa::Orientation orientation, uint64_t partition,
                              int64_t offset) const {
  uint64_t word = rawElement(partition, offset, bytesOf(type, mantissa));
  if (mode == isa::OperandMode::Select)
    return static_cast<int64_t>(word);
  auto place = static_cast<uint64_t>(offset);
  if (orientation == isa::Orientation::F) {
    // The element of the tile whose number is that of the partition in it.
    const uint64_t bytes = bytesOf(type, mantissa);
    place -= place % (machine.xmGroup * bytes);
    place += partition % machine.xmGroup * bytes;
  }
  return alignedWord(
      mode, type, mantissa, range, scaleRegister, word,
      xm[partition / machine.xmGroup * machine.sb.bytesPerPartition + place]);
}

int64_t NaiveMachine::alignedWord(isa::OperandMode mode, ElemType type,
                                  unsigned mantissa, unsigned range,
                                  unsigned scaleRegister, uint64_t word,
                                  int cell) const {
  if (mode == isa::OperandMode::Int) {
    bool isSigned = type == ElemType::I8 || type == ElemType::I16;
    return isSigned ? signExtend(word, 8 * bytesOf(type, 0))
                    : static_cast<int64_t>(word);
  }
  int e = cell - (int(mantissa) - 2);
  int scale = xr[scaleRegister] == cleared ? -128 - (int(mantissa) - 2)
                                           : xr[scaleRegister];
  int shift = scale - e, kept = std::clamp(shift, 0, int(range));
  double limit = std::ldexp(1.0, int(mantissa) - 1) - 1;
  double m = static_cast<double>(mantissaOf(word, mantissa));
  // ldexp with a clamped exponent: far beyond either end nothing changes.
  m = std::nearbyint(std::ldexp(m, std::clamp(kept - shift, -64, 64)));
  m = std::clamp(m, -limit, limit);
  return static_cast<int64_t>(std::ldexp(m, int(range) - kept));
}

void NaiveMachine::run(const isa::PeLoad &op) {
  shadow.cols = op.cols;
  shadow.values.assign(op.rows * op.cols, 0);
  for (uint64_t i = 0; i < op.rows; ++i)
    for (uint64_t c = 0; c < op.cols; ++c)
      shadow.values[i * op.cols + c] =
          aligned(op.mode, op.type, op.mantissa, op.range, op.xr,
                  op.orientation, op.part + i,
                  int64_t(op.offset) + int64_t(c) * op.colStride) -
          op.zero;
  for (uint64_t c = 0; op.terms && c < op.cols; ++c) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < op.rows; ++i)
      if (auto &cell = shadow.values[i * op.cols + c];
          cell != 0 && ++kept > op.terms)
        cell = 0;
  }
}

void NaiveMachine::run(const isa::PeSwap &) { active = shadow; }

void NaiveMachine::run(const isa::PeMatmul &op) {
  const uint64_t entries = machine.psum.entries();
  const int64_t groups = op.groups, pitch = machine.pe.rows / groups;
  const int64_t results = groups > 1 ? op.validW : op.n2;
  for (int64_t a = 0; a < op.n0; ++a)
    for (int64_t b = 0; b < op.n1; ++b)
      for (int64_t c = 0; c < results; ++c)
        for (uint64_t col = 0; col < op.cols; ++col) {
          __int128 &sum = psum[col * entries +
                               static_cast<uint64_t>(
                                   int64_t(op.psum) + a * op.psumStride0 +
                                   b * op.psumStride1 + c * op.psumStride2)];
          if (!op.accumulate)
            sum = 0;
          const int64_t pixel = c * (1 + int64_t(op.skip)) + op.shift;
          if (a < op.lo0 || a >= op.hi0 || b < op.lo1 || b >= op.hi1 ||
              pixel < op.lo2 || pixel >= op.hi2)
            continue;
          int64_t offset = int64_t(op.offset) + a * op.stride0 +
                           b * op.stride1 + pixel / groups * op.stride2;
          const int64_t part = op.part + pixel % groups * pitch;
          for (uint64_t i = 0; i < op.rows; ++i) {
            int64_t m = aligned(op.mode, op.type, op.mantissa, op.range, op.xr,
                                op.orientation, part + i, offset) -
                        op.zero;
            if (op.mode == isa::OperandMode::Select)
              m = m != 0;
            sum += __int128(m) * active.values[i * active.cols + col];
          }
        }
}

//===- Tensors ------------------------------------------------------------===//

NaiveMachine::Place NaiveMachine::placeOf(const Tensor &x, uint64_t channel,
                                          const int64_t index[3]) const {
  uint64_t lane = x.part + (x.broadcast ? 0 : channel);
  int64_t offset =
      static_cast<int64_t>(x.offset) +
      static_cast<int64_t>(lane / machine.sb.partitions) * x.tileStride;
  for (int d = 0; d < 3; ++d)
    offset += index[d] * x.stride[d];
  return {lane % machine.sb.partitions, offset};
}

int64_t NaiveMachine::loadInteger(const Tensor &x, uint64_t channel,
                                  const int64_t index[3]) const {
  Place at = placeOf(x, channel, index);
  unsigned bytes = bytesOf(x.type, x.mantissa);
  uint64_t word = rawElement(at.partition, at.offset, bytes);
  if (bytes < 8 && support::isSignedInteger(ElementType(x.type)))
    return signExtend(word, 8 * bytes);
  return static_cast<int64_t>(word);
}

float NaiveMachine::load(const Tensor &x, uint64_t channel,
                         const int64_t index[3]) const {
  Place at = placeOf(x, channel, index);
  uint64_t word =
      rawElement(at.partition, at.offset, bytesOf(x.type, x.mantissa));
  switch (x.type) {
  case ElemType::F32:
    return std::bit_cast<float>(static_cast<uint32_t>(word));
  case ElemType::F16:
    return support::halfToFloat(static_cast<uint16_t>(word));
  case ElemType::Bf16:
    return support::bfloatToFloat(static_cast<uint16_t>(word));
  case ElemType::F64:
    return static_cast<float>(std::bit_cast<double>(word));
  case ElemType::U64:
    return static_cast<float>(word);
  case ElemType::Bfp: {
    int cell =
        xm[at.partition / machine.xmGroup * machine.sb.bytesPerPartition +
           static_cast<uint64_t>(at.offset)];
    return static_cast<float>(
        std::ldexp(static_cast<double>(mantissaOf(word, x.mantissa)),
                   cell - (int(x.mantissa) - 2)));
  }
  default:
    return static_cast<float>(loadInteger(x, channel, index));
  }
}

double NaiveMachine::loadDouble(const Tensor &x, uint64_t channel,
                                const int64_t index[3]) const {
  int64_t word = 0;
  switch (x.type) {
  case ElemType::F32:
  case ElemType::F16:
  case ElemType::Bf16:
    return load(x, channel, index);
  case ElemType::F64:
    word = loadInteger(x, channel, index);
    return std::bit_cast<double>(word);
  case ElemType::U64:
    return static_cast<double>(
        static_cast<uint64_t>(loadInteger(x, channel, index)));
  default:
    return static_cast<double>(loadInteger(x, channel, index));
  }
}

void NaiveMachine::storeRaw(const Tensor &x, uint64_t channel,
                            const int64_t index[3], int64_t bits) {
  Place at = placeOf(x, channel, index);
  std::memcpy(&sb[at.partition * machine.sb.bytesPerPartition +
                  static_cast<uint64_t>(at.offset)],
              &bits, bytesOf(x.type, x.mantissa));
}

void NaiveMachine::store(const Tensor &x, uint64_t channel,
                         const int64_t index[3], float value) {
  int64_t bits = 0;
  switch (x.type) {
  case ElemType::F32:
    bits = std::bit_cast<uint32_t>(value);
    break;
  case ElemType::F16:
    bits = support::floatToHalf(value);
    break;
  case ElemType::Bf16:
    bits = support::floatToBfloat(value);
    break;
  case ElemType::F64:
    bits = std::bit_cast<int64_t>(static_cast<double>(value));
    break;
  case ElemType::Bool:
    bits = value != 0;
    break;
  default: {
    int width = static_cast<int>(8 * bytesOf(x.type, 0));
    bits = support::isSignedInteger(ElementType(x.type))
               ? numerics::toSigned(value, width)
               : static_cast<int64_t>(numerics::toUnsigned(value, width));
  }
  }
  storeRaw(x, channel, index, bits);
}

/// docs/Numerics.md 2, in binary64.
static int encode(const std::vector<float> &values, unsigned width,
                  std::vector<int64_t> &mantissas) {
  double most = 0;
  for (float v : values)
    if (std::isfinite(v))
      most = std::max(most, std::fabs(static_cast<double>(v)));
  mantissas.assign(values.size(), 0);
  if (most == 0) {
    return -128;
  }
  int x = std::clamp(std::ilogb(most), -127, 127);
  double limit = std::ldexp(1.0, int(width) - 1) - 1;
  bool any = false;
  for (size_t i = 0; i < values.size(); ++i) {
    double v = values[i];
    if (std::isnan(v))
      continue;
    double m = std::nearbyint(std::ldexp(v, int(width) - 2 - x));
    mantissas[i] = static_cast<int64_t>(std::clamp(m, -limit, limit));
    any |= mantissas[i] != 0;
  }
  return any ? x : -128;
}

void NaiveMachine::finish(const Tensor &x, const uint64_t count[3],
                          const std::vector<std::vector<float>> &values,
                          uint64_t block, unsigned scaleRegister, bool clear) {
  const bool encoded = x.type == ElemType::Bfp;
  if (encoded && clear)
    xr[scaleRegister] = cleared;
  const uint64_t channels = values.size();
  const uint64_t length = encoded && block ? block : channels;
  for (uint64_t k = 0; k < count[0] * count[1] * count[2]; ++k) {
    const int64_t index[3] = {static_cast<int64_t>(k / (count[1] * count[2])),
                              static_cast<int64_t>(k / count[2] % count[1]),
                              static_cast<int64_t>(k % count[2])};
    for (uint64_t first = 0; first < channels; first += length) {
      uint64_t end = std::min(channels, first + length);
      if (!encoded) {
        for (uint64_t c = first; c < end; ++c)
          store(x, c, index, values[c][k]);
        continue;
      }
      std::vector<float> elements;
      std::vector<int64_t> mantissas;
      for (uint64_t c = first; c < end; ++c)
        elements.push_back(values[c][k]);
      int cell = encode(elements, x.mantissa, mantissas);
      for (uint64_t c = first; c < end; ++c) {
        storeRaw(x, c, index, mantissas[c - first]);
        Place at = placeOf(x, c, index);
        xm[at.partition / machine.xmGroup * machine.sb.bytesPerPartition +
           static_cast<uint64_t>(at.offset)] = static_cast<int8_t>(cell);
      }
      if (cell != -128)
        xr[scaleRegister] =
            std::max(xr[scaleRegister], cell - (int(x.mantissa) - 2));
    }
  }
}

void NaiveMachine::finishAlong(
    const isa::ActDrain &op, const Tensor &x,
    const std::vector<std::vector<long double>> &values) {
  const Exact exact = exactOf(op, x, 1, 1, 1);
  if (exact.clear)
    xr[exact.given ? exact.ownXr : exact.xr] = cleared;
  const bool sums = op.mode == isa::DrainMode::Block;
  const int64_t bytes = bytesOf(x.type, x.mantissa);
  const int64_t tile = machine.xmGroup * bytes;
  for (uint64_t lane = 0; lane < values.size(); ++lane)
    for (uint64_t k = 0; k < values[lane].size(); k += op.dstBlock) {
      const uint64_t end =
          std::min<uint64_t>(values[lane].size(), k + op.dstBlock);
      std::vector<float> elements(values[lane].begin() + k,
                                  values[lane].begin() + end);
      std::vector<std::vector<long double>> rows;
      for (uint64_t i = k; i < end; ++i)
        rows.push_back({values[lane][i]});
      std::vector<int64_t> mantissas;
      const int cell =
          exact.given || sums
              ? exactBlock(exact, rows, 0, rows.size(), 0, mantissas)
              : encode(elements, x.mantissa, mantissas);
      for (uint64_t i = k; i < end; ++i) {
        const int64_t index[3] = {0, 0, static_cast<int64_t>(i)};
        storeRaw(x, lane, index, mantissas[i - k]);
        const Place at = placeOf(x, lane, index);
        xm[at.partition / machine.xmGroup * machine.sb.bytesPerPartition +
           at.offset / tile * tile + at.partition % machine.xmGroup * bytes] =
            static_cast<int8_t>(cell);
      }
      if (cell != -128 && !exact.given && !sums)
        xr[op.dstXr] = std::max(xr[op.dstXr], cell - (int(x.mantissa) - 2));
    }
}
