// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tensors between SB and the arithmetic of ACT and VEC.

#include "TensorRows.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Support/Half.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;

/// Elements [k0, k1) without gaps: in place where they already are so.
static const uint8_t *contiguous(Engine &engine, const uint8_t *base,
                                 const Pattern &pattern, unsigned bytes,
                                 uint64_t k0, uint64_t k1, Scratch::Slot slot) {
  // A one-dimensional pattern is what merging leaves of most tensors.
  if (pattern.count[0] == 1 && pattern.count[1] == 1 &&
      (pattern.stride[2] == bytes || k1 - k0 == 1))
    return base + static_cast<int64_t>(k0) * pattern.stride[2];
  uint8_t *out = Scratch::ofThisThread().get<uint8_t>(slot, (k1 - k0) * bytes);
  gatherElements(*engine.kernels, base, pattern, bytes, k0, k1, out);
  return out;
}

//===- Loading ------------------------------------------------------------===//

template <typename T>
static T readAs(const uint8_t *raw, uint64_t i) {
  T value;
  std::memcpy(&value, raw + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T, typename To, typename Convert>
static void convertLoop(const uint8_t *raw, uint64_t n, To *out,
                        Convert convert) {
  for (uint64_t i = 0; i < n; ++i)
    out[i] = convert(readAs<T>(raw, i));
}

static float fromHalf(uint16_t bits) { return support::halfToFloat(bits); }
static float fromBfloat(uint16_t bits) { return support::bfloatToFloat(bits); }
static float fromInteger(int64_t value) { return numerics::fromSigned(value); }

static void widen(ElemType type, const uint8_t *raw, uint64_t n, float *out) {
  switch (type) {
  case ElemType::F32:
    std::memcpy(out, raw, n * sizeof(float));
    return;
  case ElemType::F16:
    return convertLoop<uint16_t>(raw, n, out, fromHalf);
  case ElemType::Bf16:
    return convertLoop<uint16_t>(raw, n, out, fromBfloat);
  case ElemType::I8:
    return convertLoop<int8_t>(raw, n, out, fromInteger);
  case ElemType::U8:
  case ElemType::Bool:
    return convertLoop<uint8_t>(raw, n, out, fromInteger);
  case ElemType::I16:
    return convertLoop<int16_t>(raw, n, out, fromInteger);
  case ElemType::U16:
    return convertLoop<uint16_t>(raw, n, out, fromInteger);
  case ElemType::I32:
    return convertLoop<int32_t>(raw, n, out, fromInteger);
  case ElemType::U32:
    return convertLoop<uint32_t>(raw, n, out, fromInteger);
  case ElemType::I64:
    return convertLoop<int64_t>(raw, n, out, fromInteger);
  case ElemType::U64:
    return convertLoop<uint64_t>(raw, n, out, [](uint64_t value) {
      return numerics::fromUnsigned(value);
    });
  case ElemType::F64:
    return convertLoop<double>(
        raw, n, out, [](double value) { return static_cast<float>(value); });
  case ElemType::Bfp:
  case ElemType::Ubfp:
    return;
  }
}

void emulator::decodeElements(Engine &engine, ElemType type, unsigned mantissa,
                              const uint8_t *raw, const int8_t *cells,
                              uint64_t n, float *out) {
  if (!isa::isBlock(type))
    return widen(type, raw, n, out);
  const auto width = static_cast<int>(mantissa);
  if (type == ElemType::Ubfp) {
    auto *words = Scratch::ofThisThread().get<int16_t>(Scratch::Signed, n);
    for (uint64_t i = 0; i < n; ++i)
      words[i] = numerics::fetchUnsigned(raw[i], width);
    engine.kernels->decode16(words, cells, n, width, out);
    return;
  }
  if (mantissa <= 8)
    engine.kernels->decode8(reinterpret_cast<const int8_t *>(raw), cells, n,
                            width, out);
  else
    engine.kernels->decode16(reinterpret_cast<const int16_t *>(raw), cells, n,
                             width, out);
}

const float *emulator::loadFloats(Engine &engine, const TensorView &view,
                                  uint64_t channel, uint64_t k0, uint64_t k1,
                                  float *buffer) {
  const uint64_t n = k1 - k0;
  TensorView::Place place = view.place(channel, engine.machine->sb.partitions);
  const unsigned bytes = storedBytes(view.type, view.mantissa);
  const uint8_t *base = engine.memory.sb(place.partition, place.offset);
  const uint8_t *raw =
      contiguous(engine, base, view.pattern, bytes, k0, k1, Scratch::GatherA);
  if (view.type == ElemType::F32 &&
      reinterpret_cast<uintptr_t>(raw) % alignof(float) == 0 &&
      raw != Scratch::ofThisThread().get<uint8_t>(Scratch::GatherA, n * bytes))
    return reinterpret_cast<const float *>(raw);
  const uint8_t *cells = nullptr;
  if (isa::isBlock(view.type))
    cells = contiguous(engine,
                       reinterpret_cast<uint8_t *>(
                           engine.memory.cell(place.partition, place.offset)),
                       view.pattern, 1, k0, k1, Scratch::GatherB);
  decodeElements(engine, view.type, view.mantissa, raw,
                 reinterpret_cast<const int8_t *>(cells), n, buffer);
  return buffer;
}

/// Whether short rows of a tensor are moved element by element: binary32 in one
/// line, for which calls would take longer.
static bool isMovedByElements(const TensorView &view) {
  return view.type == ElemType::F32 && view.pattern.count[0] == 1 &&
         view.pattern.count[1] == 1;
}

/// Calls \p visit(address, element) for the elements of all rows of a range of
/// a tensor that isMovedByElements() accepts.
template <typename Visit>
static void forElements(Engine &engine, const TensorView &view,
                        const RowRange &range, Visit visit) {
  const int64_t stride = view.pattern.stride[2];
  for (uint64_t i = 0; i < range.count; ++i) {
    const TensorView::Place place =
        view.place(range.first + i, engine.machine->sb.partitions);
    uint8_t *at = engine.memory.sb(place.partition, place.offset) +
                  static_cast<int64_t>(range.k0) * stride;
    for (uint64_t k = 0; k < range.steps(); ++k, at += stride)
      visit(at, i * range.steps() + k);
  }
}

const float *emulator::loadRows(Engine &engine, const TensorView &view,
                                const RowRange &range, float *buffer) {
  if (range.count == 1)
    return loadFloats(engine, view, range.first, range.k0, range.k1, buffer);
  if (isMovedByElements(view)) {
    forElements(engine, view, range, [&](const uint8_t *at, uint64_t i) {
      std::memcpy(buffer + i, at, sizeof(float));
    });
    return buffer;
  }
  for (uint64_t i = 0; i < range.count; ++i) {
    float *row = buffer + i * range.steps();
    const float *found =
        loadFloats(engine, view, range.first + i, range.k0, range.k1, row);
    if (found != row)
      std::copy_n(found, range.steps(), row);
  }
  return buffer;
}

void emulator::storeRows(Engine &engine, const TensorView &view,
                         const RowRange &range, const float *values) {
  if (isMovedByElements(view))
    return forElements(engine, view, range, [&](uint8_t *at, uint64_t i) {
      std::memcpy(at, values + i, sizeof(float));
    });
  for (uint64_t i = 0; i < range.count; ++i)
    storeFloats(engine, view, range.first + i, range.k0, range.k1,
                values + i * range.steps());
}

void emulator::loadEncoded(Engine &engine, const TensorView &view,
                           uint64_t channel, uint64_t k0, uint64_t k1,
                           EncodedElement *out) {
  const TensorView::Place place =
      view.place(channel, engine.machine->sb.partitions);
  const unsigned bytes = storedBytes(view.type, view.mantissa);
  const auto width = static_cast<int>(view.mantissa);
  const uint8_t *row = engine.memory.sb(place.partition, place.offset);
  const int8_t *cells = engine.memory.cell(place.partition, place.offset);
  view.pattern.forRuns(k0, k1, [&](uint64_t k, int64_t offset, uint64_t n) {
    for (uint64_t i = 0; i < n; ++i, offset += view.pattern.stride[2]) {
      int16_t word = static_cast<int8_t>(row[offset]);
      if (bytes == 2)
        std::memcpy(&word, row + offset, sizeof(word));
      else if (view.type == ElemType::Ubfp)
        word = numerics::fetchUnsigned(row[offset], width);
      out[k + i - k0] = {numerics::fetchMantissa(word, width),
                         numerics::stepExponent(cells[offset], width)};
    }
  });
}

void emulator::loadIntegers(Engine &engine, const TensorView &view,
                            uint64_t channel, uint64_t k0, uint64_t k1,
                            int64_t *out) {
  const uint64_t n = k1 - k0;
  TensorView::Place place = view.place(channel, engine.machine->sb.partitions);
  const uint8_t *raw = contiguous(
      engine, engine.memory.sb(place.partition, place.offset), view.pattern,
      storedBytes(view.type, view.mantissa), k0, k1, Scratch::GatherA);
  auto same = [](auto value) { return static_cast<int64_t>(value); };
  switch (view.type) {
  case ElemType::I8:
    return convertLoop<int8_t>(raw, n, out, same);
  case ElemType::U8:
  case ElemType::Bool:
    return convertLoop<uint8_t>(raw, n, out, same);
  case ElemType::I16:
    return convertLoop<int16_t>(raw, n, out, same);
  case ElemType::U16:
    return convertLoop<uint16_t>(raw, n, out, same);
  case ElemType::I32:
    return convertLoop<int32_t>(raw, n, out, same);
  case ElemType::U32:
    return convertLoop<uint32_t>(raw, n, out, same);
  default:
    return convertLoop<int64_t>(raw, n, out, same);
  }
}

void emulator::loadDoubles(Engine &engine, const TensorView &view,
                           uint64_t channel, uint64_t k0, uint64_t k1,
                           double *out) {
  const uint64_t n = k1 - k0;
  Scratch &scratch = Scratch::ofThisThread();
  if (view.type == ElemType::F64) {
    TensorView::Place place =
        view.place(channel, engine.machine->sb.partitions);
    gatherElements(*engine.kernels,
                   engine.memory.sb(place.partition, place.offset),
                   view.pattern, sizeof(double), k0, k1, out);
    return;
  }
  if (isInteger(view.type)) {
    auto *integers = scratch.get<int64_t>(Scratch::Accums, n);
    loadIntegers(engine, view, channel, k0, k1, integers);
    for (uint64_t i = 0; i < n; ++i)
      out[i] = view.type == ElemType::U64
                   ? static_cast<double>(static_cast<uint64_t>(integers[i]))
                   : static_cast<double>(integers[i]);
    return;
  }
  const float *floats = loadFloats(engine, view, channel, k0, k1,
                                   scratch.get<float>(Scratch::Accums, n));
  std::copy(floats, floats + n, out);
}

//===- Storing ------------------------------------------------------------===//

float *emulator::directRow(Engine &engine, const TensorView &view,
                           uint64_t channel, uint64_t k0) {
  if (view.type != ElemType::F32 || view.pattern.count[0] != 1 ||
      view.pattern.count[1] != 1 || view.pattern.stride[2] != 4)
    return nullptr;
  TensorView::Place place = view.place(channel, engine.machine->sb.partitions);
  uint8_t *row = engine.memory.sb(place.partition, place.offset + k0 * 4);
  if (reinterpret_cast<uintptr_t>(row) % alignof(float) != 0)
    return nullptr;
  return reinterpret_cast<float *>(row);
}

template <typename T, typename From, typename Convert>
static void narrowLoop(const From *values, uint64_t n, uint8_t *out,
                       Convert convert) {
  for (uint64_t i = 0; i < n; ++i) {
    T value = static_cast<T>(convert(values[i]));
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

static void narrow(ElemType type, const float *values, uint64_t n,
                   uint8_t *out) {
  auto toSigned = [](int bits) {
    return [bits](float value) { return numerics::toSigned(value, bits); };
  };
  auto toUnsigned = [](int bits) {
    return [bits](float value) { return numerics::toUnsigned(value, bits); };
  };
  switch (type) {
  case ElemType::F32:
    std::memcpy(out, values, n * sizeof(float));
    return;
  case ElemType::F16:
    return narrowLoop<uint16_t>(values, n, out, support::floatToHalf);
  case ElemType::Bf16:
    return narrowLoop<uint16_t>(values, n, out, support::floatToBfloat);
  case ElemType::I8:
    return narrowLoop<int8_t>(values, n, out, toSigned(8));
  case ElemType::U8:
    return narrowLoop<uint8_t>(values, n, out, toUnsigned(8));
  case ElemType::I16:
    return narrowLoop<int16_t>(values, n, out, toSigned(16));
  case ElemType::U16:
    return narrowLoop<uint16_t>(values, n, out, toUnsigned(16));
  case ElemType::I32:
    return narrowLoop<int32_t>(values, n, out, toSigned(32));
  case ElemType::U32:
    return narrowLoop<uint32_t>(values, n, out, toUnsigned(32));
  case ElemType::I64:
    return narrowLoop<int64_t>(values, n, out, toSigned(64));
  case ElemType::U64:
    return narrowLoop<uint64_t>(values, n, out, toUnsigned(64));
  case ElemType::Bool:
    return narrowLoop<uint8_t>(values, n, out,
                               [](float value) { return value != 0.0f; });
  case ElemType::F64:
    return narrowLoop<double>(values, n, out,
                              [](float value) { return double(value); });
  case ElemType::Bfp:
  case ElemType::Ubfp:
    return;
  }
}

void emulator::roundElements(ElemType type, float *values, uint64_t n) {
  if (type == ElemType::F32 || isa::isBlock(type))
    return;
  uint8_t *raw = Scratch::ofThisThread().get<uint8_t>(Scratch::Store,
                                                      n * storedBytes(type, 0));
  narrow(type, values, n, raw);
  widen(type, raw, n, values);
}

static uint8_t *elementBase(Engine &engine, const TensorView &view,
                            uint64_t channel) {
  TensorView::Place place = view.place(channel, engine.machine->sb.partitions);
  return engine.memory.sb(place.partition, place.offset);
}

void emulator::storeFloats(Engine &engine, const TensorView &view,
                           uint64_t channel, uint64_t k0, uint64_t k1,
                           const float *values) {
  const unsigned bytes = storedBytes(view.type, view.mantissa);
  uint8_t *base = elementBase(engine, view, channel);
  if (view.type == ElemType::F32) {
    scatterElements(base, view.pattern, 4, k0, k1, values);
    return;
  }
  uint8_t *raw =
      Scratch::ofThisThread().get<uint8_t>(Scratch::Store, (k1 - k0) * bytes);
  narrow(view.type, values, k1 - k0, raw);
  scatterElements(base, view.pattern, bytes, k0, k1, raw);
}

void emulator::storeIntegers(Engine &engine, const TensorView &view,
                             uint64_t channel, uint64_t k0, uint64_t k1,
                             const int64_t *values) {
  const unsigned bytes = storedBytes(view.type, view.mantissa);
  const bool isBool = view.type == ElemType::Bool;
  uint8_t *raw =
      Scratch::ofThisThread().get<uint8_t>(Scratch::Store, (k1 - k0) * bytes);
  // Two's complement wrap is keeping the low bytes of a little-endian word.
  for (uint64_t i = 0; i < k1 - k0; ++i) {
    int64_t value = isBool ? values[i] != 0 : values[i];
    std::memcpy(raw + i * bytes, &value, bytes);
  }
  scatterElements(elementBase(engine, view, channel), view.pattern, bytes, k0,
                  k1, raw);
}

void emulator::storeDoubles(Engine &engine, const TensorView &view,
                            uint64_t channel, uint64_t k0, uint64_t k1,
                            const double *values) {
  const uint64_t n = k1 - k0;
  Scratch &scratch = Scratch::ofThisThread();
  uint8_t *base = elementBase(engine, view, channel);
  if (view.type == ElemType::F64) {
    scatterElements(base, view.pattern, sizeof(double), k0, k1, values);
    return;
  }
  if (isInteger(view.type)) {
    auto *integers = scratch.get<int64_t>(Scratch::Accums, n);
    const int bits = static_cast<int>(storedBytes(view.type, 0)) * 8;
    const bool isSigned =
        view.type == ElemType::I8 || view.type == ElemType::I16 ||
        view.type == ElemType::I32 || view.type == ElemType::I64;
    for (uint64_t i = 0; i < n; ++i)
      integers[i] =
          isSigned
              ? numerics::toSigned(values[i], bits)
              : static_cast<int64_t>(numerics::toUnsigned(values[i], bits));
    return storeIntegers(engine, view, channel, k0, k1, integers);
  }
  // A truth value must not vanish by rounding to binary32.
  auto *floats = scratch.get<float>(Scratch::Accums, n);
  for (uint64_t i = 0; i < n; ++i)
    floats[i] = view.type == ElemType::Bool
                    ? static_cast<float>(values[i] != 0.0)
                    : static_cast<float>(values[i]);
  storeFloats(engine, view, channel, k0, k1, floats);
}

//===- Encoding -----------------------------------------------------------===//

/// Writes one row of exponent cells to every cell row that the block touches.
static void storeCells(Engine &engine, const TensorView &view,
                       uint64_t firstChannel, uint64_t count, uint64_t k0,
                       uint64_t k1, const int8_t *cells) {
  const uint64_t partitions = engine.machine->sb.partitions;
  const int8_t *last = nullptr;
  for (uint64_t i = 0; i < count; ++i) {
    TensorView::Place place = view.place(firstChannel + i, partitions);
    int8_t *row = engine.memory.cell(place.partition, place.offset);
    if (row == last)
      continue; // the same group of partitions as the channel before
    last = row;
    scatterElements(reinterpret_cast<uint8_t *>(row), view.pattern, 1, k0, k1,
                    cells);
  }
}

void emulator::storeBlock(Engine &engine, const TensorView &view,
                          uint64_t firstChannel, uint64_t count, uint64_t k0,
                          uint64_t k1, const int16_t *mantissas,
                          const int8_t *cells) {
  const uint64_t n = k1 - k0;
  auto *narrow = Scratch::ofThisThread().get<int8_t>(Scratch::Store, n);
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t *base = elementBase(engine, view, firstChannel + i);
    const int16_t *row = mantissas + i * n;
    if (storedBytes(view.type, view.mantissa) == 2) {
      scatterElements(base, view.pattern, 2, k0, k1, row);
      continue;
    }
    const bool hasSigns = view.type != ElemType::Ubfp;
    for (uint64_t k = 0; k < n; ++k)
      narrow[k] = static_cast<int8_t>(hasSigns ? row[k]
                                               : numerics::withoutSign(row[k]));
    scatterElements(base, view.pattern, 1, k0, k1, narrow);
  }
  storeCells(engine, view, firstChannel, count, k0, k1, cells);
}

template <typename T>
BlockRows<T> emulator::startBlock(Engine &engine, const TensorView &view,
                                  uint64_t firstChannel, uint64_t count,
                                  uint64_t k0, uint64_t k1) {
  Scratch &scratch = Scratch::ofThisThread();
  const uint64_t n = k1 - k0;
  const bool direct = view.pattern.count[0] == 1 &&
                      view.pattern.count[1] == 1 &&
                      view.pattern.stride[2] == sizeof(T);
  T **mantissas = scratch.get<T *>(Scratch::Pointers, count);
  T *buffer = direct ? nullptr : scratch.get<T>(Scratch::Mantissa, n * count);
  for (uint64_t i = 0; i < count; ++i)
    mantissas[i] = direct ? reinterpret_cast<T *>(
                                elementBase(engine, view, firstChannel + i)) +
                                k0
                          : buffer + i * n;
  return {mantissas, scratch.get<int8_t>(Scratch::Cells, n), direct};
}

template <typename T>
void emulator::finishBlock(Engine &engine, const TensorView &view,
                           uint64_t firstChannel, uint64_t count, uint64_t k0,
                           uint64_t k1, const BlockRows<T> &rows) {
  for (uint64_t i = 0; !rows.direct && i < count; ++i)
    scatterElements(elementBase(engine, view, firstChannel + i), view.pattern,
                    sizeof(T), k0, k1, rows.mantissas[i]);
  storeCells(engine, view, firstChannel, count, k0, k1, rows.cells);
}

template BlockRows<int8_t> emulator::startBlock(Engine &, const TensorView &,
                                                uint64_t, uint64_t, uint64_t,
                                                uint64_t);
template void emulator::finishBlock(Engine &, const TensorView &, uint64_t,
                                    uint64_t, uint64_t, uint64_t,
                                    const BlockRows<int8_t> &);

template <typename T>
static void encodeTyped(Engine &engine, const TensorView &view,
                        uint64_t firstChannel,
                        llvm::ArrayRef<const float *> rows, uint64_t k0,
                        uint64_t k1, numerics::EncodeStats &stats) {
  const uint64_t n = k1 - k0, count = rows.size();
  const BlockRows<T> to =
      startBlock<T>(engine, view, firstChannel, count, k0, k1);
  const numerics::BlockColumns<T> columns{
      count, static_cast<int>(view.mantissa), to.mantissas, to.cells, &stats};
  if constexpr (sizeof(T) == 1)
    engine.kernels->encode8(rows.data(), n, columns);
  else
    engine.kernels->encode16(rows.data(), n, columns);
  finishBlock(engine, view, firstChannel, count, k0, k1, to);
}

/// Blocks without signs: those with signs, of which the bytes are stored.
static void encodeUnsigned(Engine &engine, const TensorView &view,
                           uint64_t firstChannel,
                           llvm::ArrayRef<const float *> rows, uint64_t k0,
                           uint64_t k1, numerics::EncodeStats &stats) {
  Scratch &scratch = Scratch::ofThisThread();
  const uint64_t n = k1 - k0, count = rows.size();
  auto *words = scratch.get<int16_t>(Scratch::Mantissa, n * count);
  int16_t **mantissas = scratch.get<int16_t *>(Scratch::Pointers, count);
  auto *cells = scratch.get<int8_t>(Scratch::Cells, n);
  for (uint64_t i = 0; i < count; ++i)
    mantissas[i] = words + i * n;
  engine.kernels->encode16(
      rows.data(), n,
      {count, static_cast<int>(view.mantissa), mantissas, cells, &stats});
  storeBlock(engine, view, firstChannel, count, k0, k1, words, cells);
}

void emulator::encodeRows(Engine &engine, const TensorView &view,
                          uint64_t firstChannel,
                          llvm::ArrayRef<const float *> rows, uint64_t k0,
                          uint64_t k1, numerics::EncodeStats &stats) {
  if (view.type == ElemType::Ubfp)
    encodeUnsigned(engine, view, firstChannel, rows, k0, k1, stats);
  else if (view.mantissa <= 8)
    encodeTyped<int8_t>(engine, view, firstChannel, rows, k0, k1, stats);
  else
    encodeTyped<int16_t>(engine, view, firstChannel, rows, k0, k1, stats);
}
