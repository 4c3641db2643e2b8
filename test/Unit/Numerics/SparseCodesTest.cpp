// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams without zeros: layouts by hand, round trips of random codes in every
// form against a loop over bits, and streams that contradict themselves.

#include "ashlar/Numerics/SparseCodes.h"
#include "ashlar/Numerics/PackedCodes.h"
#include "gtest/gtest.h"
#include <random>

using namespace ashlar;
using numerics::CodeForm;
using numerics::CodeStream;

namespace {

std::vector<int16_t> draw(std::mt19937 &random, size_t count, unsigned width,
                          int16_t zero, unsigned percent) {
  std::vector<int16_t> codes(count, zero);
  const int half = 1 << (width - 1);
  for (int16_t &code : codes)
    if (random() % 100 < percent)
      code =
          static_cast<int16_t>(static_cast<int>(random() % (2 * half)) - half);
  return codes;
}

std::vector<int16_t> unpack(llvm::ArrayRef<uint8_t> bytes,
                            const CodeStream &stream, std::string &error) {
  std::vector<int16_t> codes(stream.count);
  error = toString(numerics::unpackSparse(bytes, stream, codes.data()));
  return codes;
}

} // namespace

TEST(SparseCodes, BitmapIsFlagsThenCodes) {
  // Codes 0 3 0 -2: flags 0101 (bits 1 and 3), then 011 and 110.
  CodeStream stream{CodeForm::Bitmap, 3, 0, 1};
  EXPECT_EQ(numerics::packSparse({0, 3, 0, -2}, stream),
            (std::vector<uint8_t>{0x3a, 0x03}));
  EXPECT_EQ(stream.stored, 2u);
  EXPECT_EQ(stream.bytes(), 2u);
  // One flag for two codes each: both units are stored whole.
  stream.unit = 2;
  EXPECT_EQ(numerics::packSparse({0, 3, 0, -2}, stream).size(), 2u);
  EXPECT_EQ(stream.stored, 4u);
}

TEST(SparseCodes, ExponentsAreDistancesFromTheLargest) {
  // Largest 6; 6, 4, a block of zeros, 5 as 0, 2, 3, 1 in two bits.
  CodeStream stream = *numerics::exponentStream({6, 4, -128, 5});
  EXPECT_EQ(stream.width, 2u);
  EXPECT_EQ(stream.zero, 6);
  EXPECT_EQ(stream.decoded(), 4u);
  const std::vector<uint8_t> bytes =
      numerics::packSparse({6, 4, -128, 5}, stream);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x78}));
  EXPECT_EQ(stream.bytes(), 1u);
  std::string error;
  EXPECT_EQ(unpack(bytes, stream, error),
            (std::vector<int16_t>{6, 4, -128, 5}));
  EXPECT_EQ(error, "");
}

/// Five bits hold the distances 0 to 30 and the block of zeros.
TEST(SparseCodes, ExponentsUpToFiveBits) {
  for (unsigned width = 1; width <= 5; ++width)
    for (int apart : {(1 << width) - 2, (1 << width) - 1}) {
      std::vector<int16_t> cells(9, -128);
      cells[2] = 20, cells[7] = static_cast<int16_t>(20 - apart);
      const auto stream = numerics::exponentStream(cells);
      ASSERT_EQ(stream.has_value(), apart < 31);
      if (!stream)
        continue;
      EXPECT_EQ(stream->width, apart == (1 << width) - 2 ? width : width + 1);
      CodeStream packed = *stream;
      std::string error;
      EXPECT_EQ(unpack(numerics::packSparse(cells, packed), packed, error),
                cells);
    }
  const auto zeros = numerics::exponentStream({-128, -128});
  EXPECT_EQ(zeros->width, 1u);
  EXPECT_EQ(numerics::exponentStream({-127})->zero, -127);
}

TEST(SparseCodes, RunsCountWhatTheySkip) {
  // 0 0 5: two zeros in 2 bits, then 0101; the zero after it is not stored.
  CodeStream stream{CodeForm::Runs, 4, 0, 2};
  EXPECT_EQ(numerics::packSparse({0, 0, 5, 0}, stream),
            (std::vector<uint8_t>{0x16}));
  EXPECT_EQ(stream.stored, 1u);
  // Five zeros exceed 2 bits: three are skipped, one is stored, one skipped.
  EXPECT_EQ(numerics::packSparse({0, 0, 0, 0, 0, 5}, stream),
            (std::vector<uint8_t>{0x43, 0x05}));
  EXPECT_EQ(stream.stored, 2u);
}

TEST(SparseCodes, EveryFormGivesTheCodesBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 600; ++i) {
    const unsigned width = 3 + random() % 14;
    const auto zero = static_cast<int16_t>(
        random() % 2 ? 0 : static_cast<int>(random() % 8) - 4);
    const uint64_t row = 1 + random() % 70;
    const auto codes =
        draw(random, row * (1 + random() % 9), width, zero, random() % 101);
    CodeStream stream{
        static_cast<CodeForm>(random() % 3), width, 0, 0, 0, zero};
    if (stream.form == CodeForm::Bitmap)
      stream.unit = random() % 2 ? 1 : static_cast<unsigned>(row);
    if (stream.form == CodeForm::Runs)
      stream.unit = 1 + random() % 16;
    const auto bytes = numerics::packSparse(codes, stream);
    ASSERT_EQ(bytes.size(), stream.bytes());
    std::string error;
    ASSERT_EQ(unpack(bytes, stream, error), codes) << i;
    ASSERT_EQ(error, "");
    // The shortest stream is none of those that are longer.
    CodeStream best = numerics::shortestStream(codes, width, zero, row);
    const CodeStream expected = best;
    ASSERT_LE(best.bytes(), numerics::packedBytes(codes.size(), width));
    if (stream.form != CodeForm::Runs || stream.unit <= 12)
      ASSERT_LE(best.bytes(), bytes.size()) << i;
    ASSERT_EQ(numerics::packSparse(codes, best).size(), expected.bytes());
    ASSERT_EQ(best, expected) << "predicted and written";
  }
}

TEST(SparseCodes, FormFollowsDensity) {
  std::mt19937 random(2);
  auto formAt = [&](unsigned percent) {
    return numerics::shortestStream(draw(random, 64 * 128, 8, 0, percent), 8, 0,
                                    64);
  };
  EXPECT_EQ(formAt(100).form, CodeForm::Dense);
  EXPECT_EQ(formAt(50).form, CodeForm::Bitmap);
  EXPECT_EQ(formAt(5).form, CodeForm::Runs);
  for (unsigned percent : {1, 2, 5, 10, 20, 30, 50, 80, 100}) {
    const auto codes = draw(random, 1 << 16, 8, 0, percent);
    const double kept =
        1 - static_cast<double>(std::count(codes.begin(), codes.end(), 0)) /
                static_cast<double>(codes.size());
    const CodeStream stream = numerics::shortestStream(codes, 8, 0, 64);
    EXPECT_NEAR(numerics::expectedBits(8, kept) * 8192,
                static_cast<double>(stream.bytes()), 82)
        << percent;
  }
  // Every other row of 64 is zero: a flag for each row.
  auto rows = draw(random, 64 * 128, 8, 0, 100);
  for (size_t i = 0; i < rows.size(); ++i)
    if (i / 64 % 2)
      rows[i] = 0;
  const CodeStream stream = numerics::shortestStream(rows, 8, 0, 64);
  EXPECT_EQ(stream.form, CodeForm::Bitmap);
  EXPECT_EQ(stream.unit, 64u);
  EXPECT_EQ(stream.bytes(), 64u * 64 + 16);
}

TEST(SparseCodes, ContradictionsAreErrors) {
  std::string error;
  // Two flags, one stored code.
  unpack({0x05, 0x01, 0x00}, {CodeForm::Bitmap, 8, 8, 1, 1}, error);
  EXPECT_EQ(error, "flags of packed codes name 2 codes, the stream stores 1");
  unpack({0x00, 0x01}, {CodeForm::Bitmap, 8, 8, 1, 1}, error);
  EXPECT_EQ(error, "flags of packed codes name 0 codes, the stream stores 1");
  unpack({0xff, 0x0f}, {CodeForm::Runs, 8, 8, 8, 1}, error);
  EXPECT_EQ(error, "run 0 of packed codes reaches code 255 of 8");
}
