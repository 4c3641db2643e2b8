// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npz archives: round trip, determinism, a deflated member with a data
// descriptor, and damage at every byte. Archives written by numpy itself are
// read in test/Tools/ashlar-run.

#include "ashlar/Support/Npz.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"
#include "gtest/gtest.h"
#include <zlib.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

std::vector<NamedTensor> sample() {
  HostTensor a = HostTensor::zeros(ElementType::F32, {2, 2});
  a.data[3] = 0x3f;
  HostTensor b = HostTensor::zeros(ElementType::I64, {});
  b.data[0] = 42;
  return {{"x", a}, {"dir/y\xc3\xa9", b}};
}

std::vector<uint8_t> formatted(llvm::ArrayRef<NamedTensor> tensors) {
  return llvm::cantFail(formatNpz(tensors));
}

void put(std::vector<uint8_t> &bytes, uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    bytes.push_back(static_cast<uint8_t>(i < 8 ? value >> (8 * i) : 0));
}

std::vector<uint8_t> deflateRaw(const std::vector<uint8_t> &content) {
  std::vector<uint8_t> packed(content.size() * 2 + 64);
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = const_cast<Bytef *>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// One deflated member, sizes only in the data descriptor and the directory.
std::vector<uint8_t> deflatedArchive(const HostTensor &tensor,
                                     uint64_t claimedSize = 0) {
  const std::vector<uint8_t> content = formatNpy(tensor);
  const std::vector<uint8_t> packed = deflateRaw(content);
  const uint32_t crc =
      static_cast<uint32_t>(crc32_z(0, content.data(), content.size()));
  const uint64_t size = claimedSize ? claimedSize : content.size();
  const std::string name = "x.npy";
  std::vector<uint8_t> bytes;
  put(bytes, 0x04034b50, 4);
  put(bytes, 20, 2), put(bytes, 8, 2), put(bytes, 8, 2), put(bytes, 0, 4);
  put(bytes, 0, 12), put(bytes, name.size(), 2), put(bytes, 0, 2);
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  put(bytes, 0x08074b50, 4), put(bytes, crc, 4);
  put(bytes, packed.size(), 4), put(bytes, size, 4);
  const uint64_t directory = bytes.size();
  put(bytes, 0x02014b50, 4);
  put(bytes, 20, 2), put(bytes, 20, 2), put(bytes, 8, 2), put(bytes, 8, 2);
  put(bytes, 0, 4), put(bytes, crc, 4), put(bytes, packed.size(), 4);
  put(bytes, size, 4), put(bytes, name.size(), 2), put(bytes, 0, 16);
  bytes.insert(bytes.end(), name.begin(), name.end());
  const uint64_t end = bytes.size();
  put(bytes, 0x06054b50, 4), put(bytes, 0, 4), put(bytes, 1, 2);
  put(bytes, 1, 2), put(bytes, end - directory, 4), put(bytes, directory, 4);
  put(bytes, 0, 2);
  return bytes;
}

} // namespace

TEST(Npz, RoundTripAndDeterminism) {
  const std::vector<uint8_t> bytes = formatted(sample());
  EXPECT_EQ(bytes, formatted(sample()));
  auto back = parseNpz(bytes, "a.npz");
  ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
  ASSERT_EQ(back->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*back)[i].name, sample()[i].name);
    EXPECT_EQ((*back)[i].tensor, sample()[i].tensor);
  }
}

TEST(Npz, DeflatedWithDataDescriptor) {
  HostTensor tensor = HostTensor::zeros(ElementType::F32, {100, 100});
  tensor.data[777] = 1;
  auto back = parseNpz(deflatedArchive(tensor), "a.npz");
  ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(back->front().tensor, tensor);
}

TEST(Npz, ClaimsAreBounded) {
  HostTensor tensor = HostTensor::zeros(ElementType::F32, {10});
  for (uint64_t claim :
       {uint64_t(0xfffffff0), uint64_t(100), uint64_t(10000)}) {
    auto result = parseNpz(deflatedArchive(tensor, claim), "a.npz");
    ASSERT_FALSE(static_cast<bool>(result)) << claim;
    llvm::Error error = result.takeError();
    EXPECT_EQ(classify(error), ErrorClass::Malformed);
    llvm::consumeError(std::move(error));
  }
  auto capped = parseNpz(formatted(sample()), "a.npz", 100);
  ASSERT_FALSE(static_cast<bool>(capped));
  llvm::Error error = capped.takeError();
  EXPECT_EQ(classify(error), ErrorClass::Capacity);
  llvm::consumeError(std::move(error));
}

TEST(Npz, DamageIsAnErrorOrHarmless) {
  const std::vector<uint8_t> whole = formatted(sample());
  for (size_t size = 0; size < whole.size(); ++size) {
    auto result = parseNpz(llvm::ArrayRef(whole).take_front(size), "a.npz");
    EXPECT_FALSE(static_cast<bool>(result)) << size;
    llvm::consumeError(result.takeError());
  }
  for (size_t at = 0; at < whole.size(); ++at)
    for (uint8_t flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = whole;
      bytes[at] ^= flip;
      auto result = parseNpz(bytes, "a.npz");
      if (!result)
        llvm::consumeError(result.takeError());
    }
}

TEST(Npz, ChecksumCatchesChangedElements) {
  std::vector<uint8_t> bytes = formatted(sample());
  // Local header, "x.npy", 128 bytes of .npy header, then the elements.
  bytes[30 + 5 + 128 + 2] ^= 1;
  auto result = parseNpz(bytes, "a.npz");
  ASSERT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "a.npz: member 'x.npy' has a wrong checksum");
}

TEST(Npz, DuplicateKeys) {
  std::vector<NamedTensor> tensors = sample();
  tensors[1].name = "x";
  llvm::Expected<std::vector<uint8_t>> bytes = formatNpz(tensors);
  EXPECT_FALSE(static_cast<bool>(bytes));
  llvm::consumeError(bytes.takeError());
}
