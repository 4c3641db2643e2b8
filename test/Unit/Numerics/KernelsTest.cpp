// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every field of every kernel table against the scalar table: equal bits on
// random and edge data, odd lengths included.

#include "KernelPair.h"

#include <algorithm>
#include <cstring>

using namespace ashlar::numerics;

namespace {

/// Rows of a product, and whether its operands have 32 bits.
struct ChainShape {
  size_t rows;
  bool wideStationary, wideMoving;
};

struct Kernels : KernelPair {
  template <typename In, typename Out, typename Kernel>
  void checkAlign(Kernel kernel, int leastW, int mostW, int mostBits) {
    for (size_t n : kLengths)
      for (int w = leastW; w <= mostW; ++w)
        for (int d : {0, 1, 3, 7, 15}) {
          if (w - 1 + d > mostBits)
            continue;
          auto mant = integers<In>(n);
          auto cells = integers<int8_t>(n);
          if (random() % 2) // Everyday spread around one scale.
            for (int8_t &cell : cells)
              cell = static_cast<int8_t>(between(-30, 2));
          int scale = between(-12, 6) - (w - 2) + (random() % 4 ? 8 : 0);
          std::vector<Out> a(n, 77), b(n, 77);
          uint64_t satA = 0, satB = 0;
          (tested().*kernel)(mant.data(), cells.data(), n, {scale, w, d},
                             a.data(), &satA);
          (reference.*kernel)(mant.data(), cells.data(), n, {scale, w, d},
                              b.data(), &satB);
          ASSERT_EQ(a, b) << "W " << w << " D " << d << " n " << n;
          ASSERT_EQ(satA, satB);
        }
  }

  template <typename S, typename M>
  void checkGemm(size_t rows, size_t cols, size_t steps, int64_t limitS,
                 int64_t limitM, bool extreme);

  void checkStored(size_t rows, size_t steps, int mantissa, bool saturates);
  void checkStoredStationary(size_t rows, size_t cols, size_t skipped,
                             int mantissa, bool saturates);
  void checkChain(const std::vector<ChainShape> &shapes, size_t cols,
                  size_t steps, bool extreme);
};

TEST_P(Kernels, align8To16) {
  checkAlign<int8_t, int16_t>(&KernelTable::align8To16, 3, 8, 15);
}
TEST_P(Kernels, alignGroup8To16) {
  const size_t rows = 5;
  for (size_t n : kLengths)
    for (int w = 3; w <= 8; ++w)
      for (int d : {0, 3, 7}) {
        // Rows apart by more than their length: what is between must stay.
        const auto mantPitch = static_cast<ptrdiff_t>(n + 3);
        const auto outPitch = static_cast<ptrdiff_t>(n + 1);
        auto mant = integers<int8_t>(rows * mantPitch);
        auto cells = integers<int8_t>(n);
        if (random() % 4)
          for (int8_t &cell : cells)
            cell = static_cast<int8_t>(between(-12, 2));
        int scale = between(-12, 6) - (w - 2) + (random() % 4 ? 8 : 0);
        std::vector<int16_t> a(rows * outPitch, 77), b(rows * outPitch, 77);
        uint64_t satA = 0, satB = 0;
        tested().alignGroup8To16({mant.data(), mantPitch}, rows, cells.data(),
                                 n, {scale, w, d}, {a.data(), outPitch}, &satA);
        for (size_t i = 0; i < rows; ++i)
          reference.align8To16(mant.data() + i * mantPitch, cells.data(), n,
                               {scale, w, d}, b.data() + i * outPitch, &satB);
        ASSERT_EQ(a, b) << "W " << w << " D " << d << " n " << n;
        ASSERT_EQ(satA, satB);
      }
}
TEST_P(Kernels, align8To32) {
  checkAlign<int8_t, int32_t>(&KernelTable::align8To32, 3, 8, 30);
}
TEST_P(Kernels, align16To16) {
  checkAlign<int16_t, int16_t>(&KernelTable::align16To16, 9, 16, 15);
}
TEST_P(Kernels, align16To32) {
  checkAlign<int16_t, int32_t>(&KernelTable::align16To32, 9, 16, 30);
}

TEST_P(Kernels, gather) {
  for (ptrdiff_t stride : {1, 2, 4, 6, 8, 12})
    for (size_t n : kLengths) {
      // Nothing follows the last element: sanitizers see who reads there.
      auto source = integers<uint8_t>(n ? (n - 1) * stride + 4 : 0);
      std::vector<uint8_t> a(4 * n), b(4 * n);
      for (auto kernel : {&KernelTable::gather8, &KernelTable::gather16,
                          &KernelTable::gather32}) {
        (tested().*kernel)(source.data(), stride, n, a.data());
        (reference.*kernel)(source.data(), stride, n, b.data());
        ASSERT_EQ(a, b);
      }
    }
}

template <typename S, typename M>
void Kernels::checkGemm(size_t rows, size_t cols, size_t steps, int64_t limitS,
                        int64_t limitM, bool extreme) {
  size_t pitchS = cols + 3, pitchM = steps + 5, pitchAcc = steps + 1;
  std::vector<S> s(rows * pitchS);
  std::vector<M> m(rows * pitchM);
  auto draw = [&](int64_t limit) {
    if (extreme)
      return random() % 2 ? limit : -limit;
    return static_cast<int64_t>(random() % (2 * limit + 1)) - limit;
  };
  for (S &v : s)
    v = static_cast<S>(draw(limitS));
  for (M &v : m)
    v = static_cast<M>(draw(limitM));
  if (extreme && random() % 2) { // No cancellation at all.
    std::fill(s.begin(), s.end(), static_cast<S>(-limitS));
    std::fill(m.begin(), m.end(), static_cast<M>(limitM));
  }
  auto widthOf = [](size_t bytes) {
    return bytes == 2 ? OperandWidth::Int16 : OperandWidth::Int32;
  };
  IntegerMatrix stationary{widthOf(sizeof(S)), s.data(), pitchS};
  IntegerMatrix moving{widthOf(sizeof(M)), m.data(), pitchM};
  PackedStationary packedA, packedB;
  tested().packStationary(stationary, rows, cols, packedA);
  reference.packStationary(stationary, rows, cols, packedB);
  auto a = integers<int64_t>(cols * pitchAcc), b = a;
  for (bool accumulate : {false, true}) {
    tested().gemm(packedA, moving, steps, a.data(), pitchAcc, accumulate);
    reference.gemm(packedB, moving, steps, b.data(), pitchAcc, accumulate);
    ASSERT_EQ(a, b) << rows << "x" << cols << "x" << steps << " limits "
                    << limitS << " " << limitM;
  }
  // The same through a packed operand, packed and used in two ranges.
  PackedMoving packed;
  tested().startMoving(rows, steps, moving.width, packed);
  const size_t middle = steps / 2 / kMovingUnit * kMovingUnit;
  const std::pair<size_t, size_t> ranges[] = {{middle, steps - middle},
                                              {0, middle}};
  for (auto [first, count] : ranges) {
    // Rows in two ranges as well.
    const size_t half = rows / 2 / kMovingRowUnit * kMovingRowUnit;
    for (auto [row, height] :
         {std::pair(size_t(0), half), {half, rows - half}}) {
      IntegerMatrix part = moving;
      part.data = height == 0 ? m.data() : m.data() + row * pitchM + first;
      tested().packMoving(part, {row, height, first, count}, packed);
    }
  }
  const PackedProduct product = {&packedA, &packed};
  for (bool accumulate : {false, true}) {
    for (auto [first, count] : ranges)
      tested().gemmPacked(&product, 1, first, count, a.data() + first, pitchAcc,
                          accumulate);
    reference.gemm(packedB, moving, steps, b.data(), pitchAcc, accumulate);
    ASSERT_EQ(a, b) << "packed " << rows << "x" << cols << "x" << steps;
  }
}

/// Stored rows below `first` others; an identity shows what was packed.
void Kernels::checkStored(size_t rows, size_t steps, int mantissa,
                          bool saturates) {
  const size_t pitch = steps + 7, first = 4 * (random() % 3), begin = 16;
  const auto mant = integers<int8_t>(rows * pitch);
  std::vector<int8_t> cells(steps);
  const int scale = static_cast<int>(random() % 5) - 2;
  for (int8_t &cell : cells)
    cell = static_cast<int8_t>(scale + mantissa - 2 -
                               static_cast<int>(random() % 12) +
                               (saturates && random() % 9 == 0 ? 9 : 0));
  std::vector<uint32_t> valid(steps / 32 + 1);
  for (uint32_t &word : valid)
    word = random() % 3 ? random() | random() : ~0u;
  const StoredRows stored = {mant.data(),
                             static_cast<ptrdiff_t>(pitch),
                             cells.data(),
                             valid.data(),
                             {scale, mantissa, 7}};
  const size_t all = first + rows, width = begin + steps;
  std::vector<int16_t> identity(all * all), zeros(all * width);
  for (size_t i = 0; i < all; ++i)
    identity[i * all + i] = 1;
  PackedStationary left;
  tested().packStationary({OperandWidth::Int16, identity.data(), all}, all, all,
                          left);
  PackedMoving packed;
  tested().startMoving(all, width, OperandWidth::Int16, packed);
  const IntegerMatrix none = {OperandWidth::Int16, zeros.data(), width};
  tested().packMoving(none, {0, first, 0, width}, packed);
  tested().packMoving(none, {first, rows, 0, begin}, packed);
  uint64_t counted = 0, expectedCount = 0;
  tested().packStored(stored, {first, rows, begin, steps}, packed, &counted);
  std::vector<int64_t> sums(all * width), expected(all * width);
  const PackedProduct product = {&left, &packed};
  tested().gemmPacked(&product, 1, 0, width, sums.data(), width, false);
  for (size_t i = 0; i < rows; ++i)
    for (size_t t = 0; t < steps; ++t)
      if (stored.isValid(t))
        expected[(first + i) * width + begin + t] =
            align(fetchMantissa(mant[i * pitch + t], mantissa), cells[t], scale,
                  mantissa, 7, expectedCount);
  ASSERT_EQ(sums, expected) << rows << "x" << steps;
  ASSERT_EQ(counted, expectedCount);
}

/// Stored stationary rows from the `skipped`-th of their group on; an identity
/// shows what was packed.
void Kernels::checkStoredStationary(size_t rows, size_t cols, size_t skipped,
                                    int mantissa, bool saturates) {
  constexpr size_t group = 16;
  const size_t pitch = cols + 7, groups = (skipped + rows + group - 1) / group;
  const auto mant = integers<int8_t>(rows * pitch);
  std::vector<int8_t> cells(groups * pitch);
  const int scale = between(-2, 2), least = between(1, 12);
  for (int8_t &cell : cells)
    cell = static_cast<int8_t>(scale + mantissa - 2 - between(0, least) +
                               (saturates && random() % 9 == 0 ? 9 : 0));
  const StoredMatrix stored = {mant.data(),
                               static_cast<ptrdiff_t>(pitch),
                               cells.data(),
                               static_cast<ptrdiff_t>(pitch),
                               std::min(rows, group - skipped),
                               group,
                               {scale, mantissa, 7}};
  std::vector<int64_t> expected(cols * rows), sums(cols * rows);
  uint64_t saturated = 0;
  for (size_t i = 0; i < rows; ++i)
    for (size_t c = 0; c < cols; ++c)
      expected[c * rows + i] =
          align(fetchMantissa(mant[i * pitch + c], mantissa),
                cells[(skipped + i) / group * pitch + c], scale, mantissa, 7,
                saturated);
  PackedStationary packed;
  const bool done = tested().packStoredStationary(stored, rows, cols, packed);
  ASSERT_TRUE(done || saturates);
  if (!done)
    return;
  std::vector<int16_t> identity(rows * rows);
  for (size_t i = 0; i < rows; ++i)
    identity[i * rows + i] = 1;
  const IntegerMatrix moving = {OperandWidth::Int16, identity.data(), rows};
  tested().gemm(packed, moving, rows, sums.data(), rows, false);
  ASSERT_EQ(sums, expected) << rows << "x" << cols << " W " << mantissa;
  ASSERT_EQ(saturated, 0u);
}

TEST_P(Kernels, packStoredStationary) {
  if (!tested().packStoredStationary)
    GTEST_SKIP() << "the table has no such kernel";
  for (size_t rows : {1, 2, 16, 33, 64, 127, 128, 200})
    for (size_t cols : {1, 8, 15, 31, 32, 49, 64, 128})
      for (int repeat = 0; repeat < 6; ++repeat)
        checkStoredStationary(rows, cols, repeat % 2 ? random() % 16 : 0,
                              repeat < 3 ? 8 : 3 + repeat, repeat == 5);
}

/// Sums of products of several operands, and their sum by the reference.
void Kernels::checkChain(const std::vector<ChainShape> &shapes, size_t cols,
                         size_t steps, bool extreme) {
  const size_t pitch = steps + 3;
  auto a = integers<int64_t>(cols * pitch), b = a;
  std::vector<PackedStationary> stationary(shapes.size());
  std::vector<PackedMoving> moving(shapes.size());
  std::vector<PackedProduct> products;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto [rows, wideS, wideM] = shapes[i];
    auto draw = [&](size_t n, bool wide) {
      const int32_t limit = wide ? (1 << 30) - 1 : 32767;
      std::vector<int32_t> values(n, extreme ? -limit : 0);
      for (int32_t &v : values)
        v = extreme ? v : static_cast<int32_t>(random()) % limit;
      return values;
    };
    const auto s = draw(rows * cols, wideS), m = draw(rows * steps, wideM);
    const std::vector<int16_t> s16(s.begin(), s.end()), m16(m.begin(), m.end());
    auto matrix = [](bool wide, const auto &v32, const auto &v16, size_t n) {
      return wide ? IntegerMatrix{OperandWidth::Int32, v32.data(), n}
                  : IntegerMatrix{OperandWidth::Int16, v16.data(), n};
    };
    const IntegerMatrix right = matrix(wideM, m, m16, steps);
    PackedStationary packed;
    reference.packStationary(matrix(wideS, s, s16, cols), rows, cols, packed);
    reference.gemm(packed, right, steps, b.data(), pitch, i > 0);
    tested().packStationary(matrix(wideS, s, s16, cols), rows, cols,
                            stationary[i]);
    tested().startMoving(rows, steps, right.width, moving[i]);
    tested().packMoving(right, {0, rows, 0, steps}, moving[i]);
    products.push_back({&stationary[i], &moving[i]});
  }
  tested().gemmPacked(products.data(), products.size(), 0, steps, a.data(),
                      pitch, false);
  ASSERT_EQ(a, b);
}

TEST_P(Kernels, gemmOfSeveralProducts) {
  checkChain({{0, false, false}}, 5, 17, false);
  checkChain({{0, false, false}, {3, false, false}}, 17, 33, false);
  checkChain({{64, false, false}, {128, false, false}, {70, false, false}}, 64,
             49, false);
  checkChain({{64, true, false},
              {30, false, true},
              {9, true, true},
              {128, false, false}},
             20, 40, false);
}

TEST_P(Kernels, gemmOfMoreProductsThanOneExactSum) {
  // 2^14 rows of the largest planes and more fill the 32 bits of a partial sum.
  checkChain(std::vector<ChainShape>(140, {128, false, false}), 3, 5, true);
  checkChain(std::vector<ChainShape>(3, {6000, false, false}), 3, 5, true);
  checkChain(std::vector<ChainShape>(70, {300, true, true}), 2, 3, true);
}

TEST_P(Kernels, packStored) {
  for (size_t rows : {1, 3, 4, 7, 16})
    for (size_t steps : {1, 15, 16, 17, 33, 49, 130})
      for (int repeat = 0; repeat < 12; ++repeat)
        checkStored(rows, steps, repeat % 2 ? 8 : 3 + repeat / 2,
                    repeat % 3 == 0);
}

TEST_P(Kernels, gemmShapes) {
  for (size_t rows : {0, 1, 2, 3, 27, 63, 64, 65, 127, 128, 129, 300})
    for (size_t cols : {1, 3, 4, 5, 16, 17, 64})
      for (size_t steps : {0, 1, 5, 16, 17, 32, 33, 49, 100})
        checkGemm<int16_t, int16_t>(rows, cols, steps, 127 << 7, 127 << 7,
                                    false);
}

TEST_P(Kernels, gemmWidthsAndExtremes) {
  const int64_t limits16[] = {3, 127, 255, 256, 127 << 7, 32767};
  const int64_t limits32[] = {100,           32767,     32768,
                              (1 << 22) - 1, (1 << 23), int64_t(32767) << 15};
  for (bool extreme : {false, true})
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (int64_t a : limits16)
        for (int64_t b : limits16)
          checkGemm<int16_t, int16_t>(256, 5, 37, a, b, extreme);
      for (int64_t a : limits16)
        for (int64_t b : limits32) {
          checkGemm<int16_t, int32_t>(130, 5, 37, a, b, extreme);
          checkGemm<int32_t, int16_t>(130, 5, 37, b, a, extreme);
        }
      for (int64_t a : limits32)
        for (int64_t b : limits32)
          checkGemm<int32_t, int32_t>(7, 5, 37, a, b, extreme);
    }
}

TEST_P(Kernels, gemmWithManyRowsNeverWrapsAPartialSum) {
  // All planes and digits at their largest, far more rows than one block.
  for (int repeat = 0; repeat < 4; ++repeat) {
    checkGemm<int16_t, int16_t>(1100, 5, 17, 32767, 32767, true);
    checkGemm<int32_t, int16_t>(1100, 5, 17, (1 << 22) - 1, 32767, true);
    checkGemm<int16_t, int32_t>(1100, 5, 17, 32767, (1 << 22) - 1, true);
  }
}

TEST_P(Kernels, gemmOfTheLeastSixteenBitInteger) {
  // Integer layers may hold -2^15, which no aligned mantissa reaches.
  std::vector<int16_t> s(256 * 5, INT16_MIN), m(256 * 33, INT16_MIN);
  PackedStationary packed;
  tested().packStationary({OperandWidth::Int16, s.data(), 5}, 256, 5, packed);
  std::vector<int64_t> acc(5 * 33, -1);
  tested().gemm(packed, {OperandWidth::Int16, m.data(), 33}, 33, acc.data(), 33,
                false);
  for (int64_t sum : acc)
    ASSERT_EQ(sum, int64_t(256) << 30);
}

// Descriptors may place mantissas of two bytes at odd addresses; a build with
// sanitizers sees whether a kernel reads them as if they were aligned.
TEST_P(Kernels, mantissasAtOddAddresses) {
  const KernelTable &k = tested();
  for (size_t n : kLengths) {
    auto mant = integers<int16_t>(n + 1);
    auto cells = integers<int8_t>(n);
    char *bytes = reinterpret_cast<char *>(mant.data()) + 1;
    auto *odd = reinterpret_cast<int16_t *>(bytes);
    std::vector<int16_t> even(n + 1);
    std::memcpy(even.data(), bytes, n * sizeof(int16_t));
    std::vector<float> a(n), b(n);
    k.decode16(odd, cells.data(), n, 12, a.data());
    k.decode16(even.data(), cells.data(), n, 12, b.data());
    sameBits(a, b, "decode16");
    std::vector<int16_t> shortA(n), shortB(n);
    std::vector<int32_t> wordA(n), wordB(n);
    uint64_t saturated = 0;
    k.align16To16(odd, cells.data(), n, {0, 12, 3}, shortA.data(), &saturated);
    k.align16To16(even.data(), cells.data(), n, {0, 12, 3}, shortB.data(),
                  &saturated);
    ASSERT_EQ(shortA, shortB);
    k.align16To32(odd, cells.data(), n, {0, 12, 7}, wordA.data(), &saturated);
    k.align16To32(even.data(), cells.data(), n, {0, 12, 7}, wordB.data(),
                  &saturated);
    ASSERT_EQ(wordA, wordB);
    auto values = floats(n);
    const float *row = values.data();
    int16_t *target = even.data();
    EncodeStats stats;
    k.encode16(&row, n, {1, 12, &odd, cells.data(), &stats});
    k.encode16(&row, n, {1, 12, &target, cells.data(), &stats});
    ASSERT_EQ(std::memcmp(bytes, even.data(), n * sizeof(int16_t)), 0);
  }
}

TEST_P(Kernels, unary) {
  for (unsigned f = 0; f < kFunctionCount; ++f)
    for (size_t n : kLengths) {
      auto in = floats(n);
      std::vector<float> a(n), b(n);
      Function function = static_cast<Function>(f);
      tested().unary(function, in.data(), n, 0.7f, 1.3f, a.data());
      reference.unary(function, in.data(), n, 0.7f, 1.3f, b.data());
      sameBits(a, b, name(function).str());
      tested().unary(function, in.data(), n, 0.7f, 1.3f, in.data());
      sameBits(in, b, name(function).str() + " in place");
    }
}

TEST_P(Kernels, binary) {
  for (unsigned f = 0; f < kBinaryFunctionCount; ++f)
    for (size_t n : kLengths) {
      auto x = floats(n), y = floats(n);
      std::vector<float> a(n), b(n);
      BinaryFunction function = static_cast<BinaryFunction>(f);
      tested().binary(function, x.data(), y.data(), n, a.data());
      reference.binary(function, x.data(), y.data(), n, b.data());
      sameBits(a, b, name(function).str());
      float immediate = floats(1)[0];
      tested().binaryImmediate(function, x.data(), immediate, n, a.data());
      reference.binaryImmediate(function, x.data(), immediate, n, b.data());
      sameBits(a, b, name(function).str() + " immediate");
    }
}

TEST_P(Kernels, reduceStep) {
  for (unsigned r = 0; r < static_cast<unsigned>(Reduction::ArgMax); ++r)
    for (size_t n : kLengths) {
      auto in = floats(n), a = floats(n);
      auto b = a;
      Reduction reduction = static_cast<Reduction>(r);
      tested().reduceStep(reduction, in.data(), n, a.data());
      reference.reduceStep(reduction, in.data(), n, b.data());
      sameBits(a, b, name(reduction).str());
    }
}

TEST_P(Kernels, windowMaxima8) {
  for (int round = 0; round < 300; ++round) {
    const size_t kernel = random() % 5 + 1, step = random() % 3 + 1,
                 pad = random() % kernel, lines = random() % 4,
                 columns = random() % 150 + 1;
    const size_t width = (columns + 2 * pad) / step + 1;
    std::vector<WindowTap> taps;
    for (size_t k = 0; k < kernel; ++k) {
      // Results i with 0 <= i * step + k - pad < columns.
      const size_t begin = k >= pad ? 0 : (pad - k + step - 1) / step;
      size_t end = begin;
      while (end < width && end * step + k - pad < columns)
        ++end;
      if (begin != end)
        taps.push_back({begin * step + k - pad, begin, end - begin});
    }
    const int mantissa = between(3, 8);
    const auto codes = integers<int8_t>(lines * columns);
    auto cells = integers<int8_t>(lines * columns);
    if (random() % 2)
      for (int8_t &cell : cells)
        cell = static_cast<int8_t>(between(-4, 2));
    std::vector<const int8_t *> codeLines, cellLines;
    for (size_t line = 0; line < lines; ++line) {
      codeLines.push_back(codes.data() + line * columns);
      cellLines.push_back(cells.data() + line * columns);
    }
    const MaxWindows windows = {lines,    columns,     width,      step,
                                mantissa, taps.data(), taps.size()};
    std::vector<float> buffer(columns + 2 * kWindowSlack);
    std::vector<float> a(width), b(width), expected(width, -INFINITY);
    tested().windowMaxima8(codeLines.data(), cellLines.data(), windows,
                           buffer.data() + kWindowSlack, a.data());
    reference.windowMaxima8(codeLines.data(), cellLines.data(), windows,
                            buffer.data() + kWindowSlack, b.data());
    sameBits(a, b, "windowMaxima8");
    std::vector<float> line(columns);
    for (size_t y = 0; y < lines; ++y) {
      reference.decode8(codeLines[y], cellLines[y], columns, mantissa,
                        line.data());
      for (const WindowTap &tap : taps)
        for (size_t i = 0; i < tap.count; ++i)
          expected[tap.begin + i] =
              std::max(expected[tap.begin + i], line[tap.column + i * step]);
    }
    ASSERT_EQ(a, expected) << kernel << " step " << step << " pad " << pad;
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Kernels,
                         testing::ValuesIn(availableKernels().begin(),
                                           availableKernels().end()),
                         [](const auto &info) {
                           return info.param->name.str();
                         });

TEST(KernelChoice, bestIsListedAndFoundByName) {
  EXPECT_EQ(kernelsByName("scalar"), availableKernels().front());
  EXPECT_EQ(kernelsByName(bestKernels().name), &bestKernels());
  EXPECT_EQ(kernelsByName("no such set"), nullptr);
}

} // namespace
