// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Speed of the row kernels, every table in one run, so that the ratios between
// instruction sets come from the same machine state.

#include "ashlar/Numerics/Kernels.h"

#include <benchmark/benchmark.h>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

constexpr size_t kColumns = 512;

template <typename T>
std::vector<T> randomIntegers(size_t n, int limit) {
  std::mt19937 random(1);
  std::vector<T> out(n);
  for (T &v : out)
    v = static_cast<T>(static_cast<int>(random() % (2 * limit + 1)) - limit);
  return out;
}

std::vector<float> randomFloats(size_t n) {
  std::mt19937 random(2);
  std::vector<float> out(n);
  for (float &v : out)
    v = static_cast<int32_t>(random()) * 0x1p-29f;
  return out;
}

/// 128 x 64 x 512 tile, items are multiply-accumulates.
template <typename T>
void gemm(benchmark::State &state, const KernelTable *table, int limit) {
  constexpr size_t rows = 128, cols = 64;
  auto s = randomIntegers<T>(rows * cols, limit);
  auto m = randomIntegers<T>(rows * kColumns, limit);
  auto width = sizeof(T) == 2 ? OperandWidth::Int16 : OperandWidth::Int32;
  PackedStationary packed;
  table->packStationary({width, s.data(), cols}, rows, cols, packed);
  std::vector<int64_t> acc(cols * kColumns);
  for (auto _ : state)
    table->gemm(packed, {width, m.data(), kColumns}, kColumns, acc.data(),
                kColumns, true);
  state.SetItemsProcessed(state.iterations() * rows * cols * kColumns);
}

void packStationary(benchmark::State &state, const KernelTable *table) {
  auto s = randomIntegers<int16_t>(128 * 64, 127 << 7);
  PackedStationary packed;
  for (auto _ : state)
    table->packStationary({OperandWidth::Int16, s.data(), 64}, 128, 64, packed);
  state.SetItemsProcessed(state.iterations() * 128 * 64);
}

/// 64 coefficients of 9 bits over a tile of 16 x 16, items are
/// multiply-accumulates.
void sweepTile(benchmark::State &state, const KernelTable *table) {
  constexpr size_t taps = 64, edge = 16, line = edge + 2;
  auto slots = randomIntegers<int16_t>(line * line + kTileSlack, 127 << 7);
  auto values = randomIntegers<int16_t>(taps, 511);
  std::vector<uint32_t> elements(taps), packed(taps / 2);
  for (size_t k = 0; k < taps; ++k) {
    elements[k] = static_cast<uint32_t>(k % 3 * line + k / 3 % 3);
    packed[k / 2] |= static_cast<uint32_t>(static_cast<uint16_t>(values[k]))
                     << (k % 2 ? 16 : 0);
  }
  const TileShape shape = {1, edge, edge, line * line, line, edge * edge, edge};
  std::vector<int64_t> sums(edge * edge);
  for (auto _ : state)
    table->sweepTile(slots.data(),
                     {elements.data(), packed.data(), taps / 2, 3}, shape,
                     sums.data());
  state.SetItemsProcessed(state.iterations() * taps * edge * edge);
}

void align8(benchmark::State &state, const KernelTable *table) {
  auto mant = randomIntegers<int8_t>(kColumns, 127);
  auto cells = randomIntegers<int8_t>(kColumns, 6);
  std::vector<int16_t> out(kColumns);
  uint64_t saturated = 0;
  for (auto _ : state)
    table->align8To16(mant.data(), cells.data(), kColumns, {0, 8, 7},
                      out.data(), &saturated);
  state.SetItemsProcessed(state.iterations() * kColumns);
}

void epilogue(benchmark::State &state, const KernelTable *table) {
  auto acc = randomIntegers<int64_t>(kColumns, 1 << 30);
  std::vector<float> out(kColumns);
  EpilogueRow params;
  params.exponent = -28;
  params.hasBias = true;
  params.bias = 0.25f;
  params.function = Function::Relu;
  for (auto _ : state)
    table->epilogue(acc.data(), kColumns, params, out.data());
  state.SetItemsProcessed(state.iterations() * kColumns);
}

void encode8(benchmark::State &state, const KernelTable *table) {
  auto in = randomFloats(16 * kColumns);
  std::vector<int8_t> out(16 * kColumns), cells(kColumns);
  const float *rows[16];
  int8_t *mant[16];
  for (size_t i = 0; i < 16; ++i) {
    rows[i] = in.data() + i * kColumns;
    mant[i] = out.data() + i * kColumns;
  }
  EncodeStats stats;
  for (auto _ : state)
    table->encode8(rows, kColumns, {16, 8, mant, cells.data(), &stats});
  state.SetItemsProcessed(state.iterations() * 16 * kColumns);
}

void decode8(benchmark::State &state, const KernelTable *table) {
  auto mant = randomIntegers<int8_t>(kColumns, 127);
  auto cells = randomIntegers<int8_t>(kColumns, 6);
  std::vector<float> out(kColumns);
  for (auto _ : state)
    table->decode8(mant.data(), cells.data(), kColumns, 8, out.data());
  state.SetItemsProcessed(state.iterations() * kColumns);
}

void unary(benchmark::State &state, const KernelTable *table,
           Function function) {
  auto in = randomFloats(kColumns);
  std::vector<float> out(kColumns);
  for (auto _ : state)
    table->unary(function, in.data(), kColumns, 0, 1, out.data());
  state.SetItemsProcessed(state.iterations() * kColumns);
}

void registerAll() {
  for (const KernelTable *table : availableKernels()) {
    auto add = [&](const char *what, auto run) {
      benchmark::RegisterBenchmark(
          (std::string(what) + "/" + table->name.str()).c_str(), run);
    };
    add("gemm16", [=](auto &s) { gemm<int16_t>(s, table, 127 << 7); });
    add("gemm16 of 11 bits", [=](auto &s) { gemm<int16_t>(s, table, 1023); });
    add("gemm32", [=](auto &s) { gemm<int32_t>(s, table, 32767 << 7); });
    add("pack", [=](auto &s) { packStationary(s, table); });
    add("sweep", [=](auto &s) { sweepTile(s, table); });
    add("align8", [=](auto &s) { align8(s, table); });
    add("epilogue", [=](auto &s) { epilogue(s, table); });
    add("encode8", [=](auto &s) { encode8(s, table); });
    add("decode8", [=](auto &s) { decode8(s, table); });
    add("relu", [=](auto &s) { unary(s, table, Function::Relu); });
    add("exp", [=](auto &s) { unary(s, table, Function::Exp); });
    add("swish", [=](auto &s) { unary(s, table, Function::Swish); });
    add("gelu", [=](auto &s) { unary(s, table, Function::Gelu); });
  }
}

const bool registered = (registerAll(), true);

} // namespace
