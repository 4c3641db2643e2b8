// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a drain does to rows - sums to binary32, epilogues, blocks - by every
// kernel table against the scalar one.

#include "KernelPair.h"

using namespace ashlar::numerics;

namespace {

struct DrainKernels : KernelPair {
  template <typename Mant, typename Kernel>
  void checkEncode(Kernel kernel, int leastW, int mostW);
};

TEST_P(DrainKernels, accumulatorRows) {
  for (size_t n : kLengths)
    for (int repeat = 0; repeat < 40; ++repeat) {
      auto acc = integers<int64_t>(n);
      int spread = repeat % 4 ? 20 : 0;
      for (int64_t &v : acc)
        v >>= spread + random() % (64 - spread);
      int exponent = repeat == 0 ? 2000 : between(-200, 120);
      std::vector<float> a(n), b(n);
      tested().accToFloatRow(acc.data(), n, exponent, a.data());
      reference.accToFloatRow(acc.data(), n, exponent, b.data());
      sameBits(a, b, "exponent " + std::to_string(exponent));
    }
}

TEST_P(DrainKernels, epilogue) {
  for (size_t n : kLengths)
    for (int repeat = 0; repeat < 60; ++repeat) {
      auto acc = integers<int64_t>(n);
      for (int64_t &v : acc)
        v >>= (repeat % 5 ? 24 : 0) + random() % 40;
      auto residual = floats(n);
      EpilogueRow params;
      params.exponent = between(-40, 10);
      params.hasScale = random() % 2;
      params.hasBias = random() % 2;
      params.scale = floats(1)[0];
      params.bias = floats(1)[0];
      params.residual = random() % 2 ? residual.data() : nullptr;
      params.function = static_cast<Function>(repeat % kFunctionCount);
      params.alpha = 0.1f;
      params.beta = 6;
      std::vector<float> a(n), b(n);
      tested().epilogue(acc.data(), n, params, a.data());
      reference.epilogue(acc.data(), n, params, b.data());
      sameBits(a, b, name(params.function).str());
    }
}

TEST_P(DrainKernels, epilogueSteps) {
  for (size_t n : kLengths)
    for (int repeat = 0; repeat < 60; ++repeat) {
      auto acc = integers<int64_t>(n);
      for (int64_t &v : acc)
        v >>= (repeat % 5 ? 24 : 0) + random() % 40;
      auto residual = floats(n), scales = floats(n), biases = floats(n);
      std::vector<int32_t> exponents(n);
      for (int32_t &e : exponents)
        e = repeat % 7 ? between(-40, 10) : between(-2000, 2000);
      EpilogueSteps params;
      params.exponents = exponents.data();
      params.scales = random() % 2 ? scales.data() : nullptr;
      params.biases = random() % 2 ? biases.data() : nullptr;
      params.residual = random() % 2 ? residual.data() : nullptr;
      params.function = static_cast<Function>(repeat % kFunctionCount);
      params.alpha = 0.1f;
      params.beta = 6;
      std::vector<float> a(n), b(n);
      tested().epilogueSteps(acc.data(), n, params, a.data());
      reference.epilogueSteps(acc.data(), n, params, b.data());
      sameBits(a, b, name(params.function).str());
    }
}

TEST_P(DrainKernels, drain8) {
  const Function functions[] = {Function::Copy, Function::Relu, Function::Clip,
                                Function::LeakyRelu, Function::Gelu};
  for (size_t n : kLengths)
    for (size_t count : {1, 5, 16, 64})
      for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<std::vector<int64_t>> acc(count);
        std::vector<std::vector<float>> residual(count);
        std::vector<std::vector<int8_t>> a(count), b(count);
        std::vector<const int64_t *> sums;
        std::vector<int8_t *> rowsA, rowsB;
        std::vector<EpilogueRow> rows(count);
        for (size_t i = 0; i < count; ++i) {
          acc[i] = integers<int64_t>(n);
          for (int64_t &v : acc[i])
            v = repeat % 6 == 5 ? 0
                                : v >> ((repeat % 5 ? 24 : 0) + random() % 40);
          residual[i] = floats(n, repeat % 7 == 6);
          rows[i].exponent = repeat % 8 == 7 ? -1000 : between(-160, 10);
          rows[i].hasScale = repeat % 2;
          rows[i].hasBias = repeat % 3 == 0;
          rows[i].scale = floats(1)[0];
          rows[i].bias = floats(1)[0];
          rows[i].residual = repeat % 4 == 0 ? residual[i].data() : nullptr;
          rows[i].function = functions[repeat % 5];
          rows[i].alpha = 0.1f;
          rows[i].beta = 6;
          a[i].resize(n);
          b[i].resize(n);
          sums.push_back(acc[i].data());
          rowsA.push_back(a[i].data());
          rowsB.push_back(b[i].data());
        }
        std::vector<int8_t> cellsA(n), cellsB(n);
        EncodeStats statsA, statsB;
        const int width = 3 + repeat % 6;
        tested().drain8(sums.data(), rows.data(), n,
                        {count, width, rowsA.data(), cellsA.data(), &statsA});
        reference.drain8(sums.data(), rows.data(), n,
                         {count, width, rowsB.data(), cellsB.data(), &statsB});
        ASSERT_EQ(a, b) << "W " << width << " n " << n << " repeat " << repeat;
        ASSERT_EQ(cellsA, cellsB);
        sameStats(statsA, statsB);
      }
}

TEST_P(DrainKernels, accumulatorRowsRoundOnceJustAboveATie) {
  // Wider than 53 bits: a detour through binary64 would see an exact tie.
  for (int width = 25; width <= 37; ++width) {
    std::vector<int64_t> acc(40, (int64_t(0x1000001) << width) + 1);
    std::vector<float> out(40);
    tested().accToFloatRow(acc.data(), acc.size(), 0, out.data());
    for (float v : out)
      ASSERT_EQ(v, std::ldexp(float(0x1000002), width));
  }
}

TEST_P(DrainKernels, decode) {
  for (size_t n : kLengths)
    for (int w = 3; w <= 16; ++w) {
      auto cells = integers<int8_t>(n);
      std::vector<float> a(n), b(n);
      if (w <= 8) {
        auto mant = integers<int8_t>(n);
        tested().decode8(mant.data(), cells.data(), n, w, a.data());
        reference.decode8(mant.data(), cells.data(), n, w, b.data());
      } else {
        auto mant = integers<int16_t>(n);
        tested().decode16(mant.data(), cells.data(), n, w, a.data());
        reference.decode16(mant.data(), cells.data(), n, w, b.data());
      }
      sameBits(a, b, "W " + std::to_string(w));
    }
}

template <typename Mant, typename Kernel>
void DrainKernels::checkEncode(Kernel kernel, int leastW, int mostW) {
  for (size_t n : kLengths)
    for (size_t count : {1, 3, 8, 16, 64})
      for (int w = leastW; w <= mostW; ++w) {
        int kind = static_cast<int>(random() % 4);
        auto data = floats(n * count, kind == 0);
        if (kind == 1) // Near the least cell, denormals included.
          for (float &v : data)
            v *= 0x1p-126f;
        if (kind == 2) // Whole blocks of zeros.
          for (size_t i = 0; i < data.size(); ++i)
            if (i % n % 3 == 0)
              data[i] = 0;
        std::vector<const float *> rows(count);
        std::vector<Mant> a(n * count), b(n * count);
        std::vector<Mant *> rowsA(count), rowsB(count);
        for (size_t i = 0; i < count; ++i) {
          rows[i] = data.data() + i * n;
          rowsA[i] = a.data() + i * n;
          rowsB[i] = b.data() + i * n;
        }
        std::vector<int8_t> cellsA(n), cellsB(n);
        EncodeStats statsA, statsB;
        (tested().*kernel)(rows.data(), n,
                           {count, w, rowsA.data(), cellsA.data(), &statsA});
        (reference.*kernel)(rows.data(), n,
                            {count, w, rowsB.data(), cellsB.data(), &statsB});
        ASSERT_EQ(a, b) << "W " << w << " n " << n << " kind " << kind;
        ASSERT_EQ(cellsA, cellsB);
        sameStats(statsA, statsB);
      }
}

TEST_P(DrainKernels, encode8) {
  checkEncode<int8_t>(&KernelTable::encode8, 3, 8);
}
TEST_P(DrainKernels, encode16) {
  checkEncode<int16_t>(&KernelTable::encode16, 9, 16);
}

INSTANTIATE_TEST_SUITE_P(Tables, DrainKernels,
                         testing::ValuesIn(availableKernels().begin(),
                                           availableKernels().end()),
                         [](const auto &info) {
                           return info.param->name.str();
                         });

} // namespace
