// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficient streams: what goes in comes out, sizes are the closed forms, and
// hostile bytes are refused.

#include "ashlar/Isa/CoefficientStream.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>
#include <tuple>

using namespace ashlar::isa;

namespace {
using Lists = std::vector<std::vector<Coefficient>>;
constexpr StreamEncoding encodings[] = {
    StreamEncoding::List, StreamEncoding::Bitmap, StreamEncoding::Dense};

/// Keeps what it is given.
class Recorder : public StreamVisitor {
public:
  void coefficient(uint32_t channel, const Coefficient &entry) override {
    lists.resize(std::max<size_t>(lists.size(), channel + 1));
    zeros += entry.mantissa == 0;
    if (entry.mantissa != 0)
      lists[channel].push_back(entry);
  }
  void endChannel(uint32_t channel) override {
    lists.resize(std::max<size_t>(lists.size(), channel + 1));
    ++channels;
  }
  Lists lists;
  uint64_t zeros = 0, channels = 0;
};

struct Sample {
  StreamShape shape;
  Lists lists;
  uint64_t kernels = 0, entries = 0;
};

Sample randomSample(std::mt19937_64 &random, double density) {
  auto between = [&](uint32_t low, uint32_t high) {
    return low + static_cast<uint32_t>(random() % (high - low + 1));
  };
  Sample sample;
  StreamShape &shape = sample.shape;
  shape.channels = between(1, 9);
  shape.kernels = between(1, 9);
  shape.channelsPerGroup = between(1, shape.channels);
  shape.firstInGroup = between(0, shape.channelsPerGroup - 1);
  shape.kH = between(1, 7);
  shape.kW = between(1, 7);
  shape.mantissaBits = between(2, 17);
  shape.shiftBits = between(0, 4);
  shape.turn = between(0, 3);
  sample.lists.resize(shape.channels);
  for (uint32_t c = 0; c < shape.channels; ++c)
    for (uint32_t k = 0; k < shape.kernels; ++k) {
      const size_t before = sample.lists[c].size();
      for (uint32_t p = 0; p < shape.taps(); ++p) {
        Coefficient entry;
        entry.z = shape.firstRegion(c) + k;
        entry.ky = p / shape.kW;
        entry.kx = p % shape.kW;
        if (shape.turn > 0 && entry.ky / shape.turn % 2 == 1)
          entry.kx = shape.kW - 1 - entry.kx;
        const int32_t limit = 1 << (shape.mantissaBits - 1);
        entry.mantissa =
            static_cast<int32_t>(between(0, 2 * limit - 1)) - limit;
        entry.shift = between(0, (1u << shape.shiftBits) - 1);
        if (entry.mantissa != 0 &&
            std::uniform_real_distribution<>()(random) < density)
          sample.lists[c].push_back(entry);
      }
      sample.entries += sample.lists[c].size() - before;
      sample.kernels += sample.lists[c].size() > before;
    }
  return sample;
}

std::vector<uint8_t> encoded(const Sample &sample, StreamEncoding encoding) {
  return llvm::cantFail(encodeStream(sample.shape, sample.lists, encoding));
}

TEST(CoefficientStream, RoundTripAndSizes) {
  std::mt19937_64 random(1);
  for (double density : {0.0, 0.05, 0.3, 0.7, 1.0})
    for (int i = 0; i < 60; ++i) {
      const Sample sample = randomSample(random, density);
      for (StreamEncoding encoding : encodings) {
        const std::vector<uint8_t> bytes = encoded(sample, encoding);
        EXPECT_EQ(bytes.size(), streamBytes(sample.shape, encoding,
                                            sample.kernels, sample.entries));
        llvm::Expected<StreamHeader> header = readStreamHeader(bytes);
        ASSERT_TRUE(!!header);
        EXPECT_EQ(header->shape, sample.shape);
        EXPECT_EQ(header->encoding, encoding);
        Recorder recorder;
        llvm::Expected<uint64_t> taken = decodeStream(bytes, recorder);
        ASSERT_TRUE(!!taken);
        EXPECT_EQ(*taken, bytes.size());
        EXPECT_EQ(recorder.channels, sample.shape.channels);
        EXPECT_TRUE(recorder.lists == sample.lists);
        const uint64_t places = uint64_t(sample.shape.channels) *
                                sample.shape.kernels * sample.shape.taps();
        EXPECT_EQ(recorder.zeros, encoding == StreamEncoding::Dense
                                      ? places - sample.entries
                                      : 0);
      }
    }
}

TEST(CoefficientStream, OrderAndAlternationOfListsAreKept) {
  StreamShape shape;
  shape.kernels = 3;
  shape.kH = shape.kW = 3;
  Lists lists(1);
  for (uint32_t i = 0; i < 9; ++i)
    lists[0].push_back({(i * 2) % 3, 2 - i / 3, i % 3, int32_t(i) - 20, 0});
  Recorder recorder;
  std::vector<uint8_t> bytes =
      llvm::cantFail(encodeStream(shape, lists, StreamEncoding::List));
  ASSERT_TRUE(!!decodeStream(bytes, recorder));
  EXPECT_TRUE(recorder.lists == lists);
}

TEST(CoefficientStream, LastPositionAndEmptyKernel) {
  StreamShape shape;
  shape.kernels = 2;
  shape.kH = 7;
  shape.kW = 5;
  for (StreamEncoding encoding : encodings) {
    Lists lists(1);
    lists[0].push_back({1, 6, 4, -3, 0});
    Recorder recorder;
    ASSERT_TRUE(!!decodeStream(
        llvm::cantFail(encodeStream(shape, lists, encoding)), recorder));
    EXPECT_TRUE(recorder.lists == lists);
  }
  // A kernel of no entries is legal though no encoder writes one: 8 bits of
  // kernel count (1), a bit of kernel, 6 bits of count (0).
  std::vector<uint8_t> bytes =
      llvm::cantFail(encodeStream(shape, Lists(1), StreamEncoding::List));
  bytes[16] = 1;
  bytes.push_back(0);
  Recorder recorder;
  llvm::Expected<uint64_t> taken = decodeStream(bytes, recorder);
  ASSERT_TRUE(!!taken);
  EXPECT_EQ(*taken, 18u);
  EXPECT_TRUE(recorder.lists == Lists(1));
}

/// Densities of 3 x 3 kernels at which encodings change places, in percent.
TEST(CoefficientStream, SwitchPoints) {
  StreamShape shape;
  shape.channels = shape.channelsPerGroup = 64;
  shape.kernels = 64;
  shape.kH = shape.kW = 3;
  const uint64_t kernels = 64 * 64, places = kernels * 9;
  auto bytes = [&](StreamEncoding encoding, double density) {
    const auto entries = static_cast<uint64_t>(double(places) * density);
    // Kernels that keep a coefficient if each is kept independently.
    const auto kept =
        static_cast<uint64_t>(double(kernels) * (1 - std::pow(1 - density, 9)));
    return streamBytes(shape, encoding, kept, entries);
  };
  // Bitmap = list without its kernel fields at 1 / P = 25 %; dense = bitmap at
  // 7 / 8. A list's kernel fields (10 bits) move its point down.
  EXPECT_LT(bytes(StreamEncoding::List, 0.08),
            bytes(StreamEncoding::Bitmap, 0.08));
  EXPECT_GT(bytes(StreamEncoding::List, 0.10),
            bytes(StreamEncoding::Bitmap, 0.10));
  EXPECT_LT(bytes(StreamEncoding::Bitmap, 0.87),
            bytes(StreamEncoding::Dense, 0.87));
  EXPECT_GT(bytes(StreamEncoding::Bitmap, 0.88),
            bytes(StreamEncoding::Dense, 0.88));
  EXPECT_EQ(smallestEncoding(shape, 3000, 3000), StreamEncoding::Bitmap);
  EXPECT_EQ(smallestEncoding(shape, 1000, 1000), StreamEncoding::List);
  EXPECT_EQ(smallestEncoding(shape, kernels, places), StreamEncoding::Dense);
}

TEST(CoefficientStream, EncoderRefusesWhatDoesNotFit) {
  StreamShape shape;
  shape.kernels = 2;
  shape.kH = shape.kW = 3;
  auto refused = [&](Coefficient entry) {
    auto bytes = encodeStream(shape, {{entry}}, StreamEncoding::List);
    const bool failed = !bytes;
    llvm::consumeError(bytes.takeError());
    return failed;
  };
  EXPECT_FALSE(refused({1, 2, 2, -128, 0}));
  EXPECT_TRUE(refused({2, 0, 0, 1, 0}));
  EXPECT_TRUE(refused({0, 3, 0, 1, 0}));
  EXPECT_TRUE(refused({0, 0, 3, 1, 0}));
  EXPECT_TRUE(refused({0, 0, 0, 128, 0}));
  EXPECT_TRUE(refused({0, 0, 0, 1, 1}));
  auto twice = encodeStream(shape, {{{0, 0, 0, 1, 0}, {0, 0, 0, 2, 0}}},
                            StreamEncoding::Dense);
  EXPECT_FALSE(!!twice);
  llvm::consumeError(twice.takeError());
}

/// Snake order: 1 2 3 in the first row of taps, 6 5 4 in the second.
TEST(CoefficientStream, RowsTurn) {
  StreamShape shape;
  shape.kH = 2, shape.kW = 3, shape.turn = 1;
  Lists lists(1);
  for (uint32_t tap : {0, 1, 2, 5, 4, 3})
    lists[0].push_back({0, tap / 3, tap % 3, static_cast<int32_t>(tap) + 1, 0});
  std::vector<uint8_t> dense =
      llvm::cantFail(encodeStream(shape, lists, StreamEncoding::Dense));
  EXPECT_EQ(dense[5], 1);
  EXPECT_EQ(std::vector<uint8_t>(dense.begin() + 16, dense.end()),
            (std::vector<uint8_t>{1, 2, 3, 6, 5, 4}));
  for (StreamEncoding encoding : encodings) {
    const std::vector<uint8_t> bytes =
        llvm::cantFail(encodeStream(shape, lists, encoding));
    Recorder recorder;
    EXPECT_EQ(llvm::cantFail(decodeStream(bytes, recorder)), bytes.size());
    EXPECT_EQ(recorder.lists, lists);
  }
  // A list is in that order, or refused: written, and read.
  std::vector<uint8_t> list =
      llvm::cantFail(encodeStream(shape, lists, StreamEncoding::List));
  list[5] = 2;
  Recorder recorder;
  EXPECT_NE(toString(decodeStream(list, recorder).takeError())
                .find("positions of a kernel out of order"),
            std::string::npos);
  std::swap(lists[0][3], lists[0][5]);
  EXPECT_NE(
      toString(encodeStream(shape, lists, StreamEncoding::List).takeError())
          .find("out of order"),
      std::string::npos);
  list[5] = 16;
  EXPECT_NE(toString(decodeStream(list, recorder).takeError())
                .find("16 rows to a turn, expected 0 to 15"),
            std::string::npos);
}

TEST(CoefficientStream, HostileBytes) {
  std::mt19937_64 random(2);
  uint64_t accepted = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<uint8_t> bytes =
        encoded(randomSample(random, 0.4), encodings[i % 3]);
    for (uint64_t k = random() % 3; k-- > 0;)
      bytes[random() % (random() % 4 == 0 ? 16 : bytes.size())] ^=
          1 << random() % 8;
    bytes.resize(bytes.size() - random() % 2 * (random() % bytes.size()));
    Recorder recorder;
    llvm::Expected<uint64_t> taken = decodeStream(bytes, recorder);
    if (taken) {
      ++accepted;
      EXPECT_LE(*taken, bytes.size());
    } else {
      ++refused;
      llvm::consumeError(taken.takeError());
    }
  }
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 100u);
}
} // namespace
