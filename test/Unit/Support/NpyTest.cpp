// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npy in and out: versions, orders, types, and files that lie.

#include "ashlar/Support/Npy.h"
#include "ashlar/Support/Half.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::support;

namespace {

/// A file with a hand-written header.
std::vector<uint8_t> file(const std::string &header,
                          const std::vector<uint8_t> &data,
                          unsigned version = 1) {
  std::vector<uint8_t> bytes = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  bytes.push_back(static_cast<uint8_t>(version));
  bytes.push_back(0);
  for (unsigned i = 0; i < (version == 1 ? 2u : 4u); ++i)
    bytes.push_back(static_cast<uint8_t>(header.size() >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::string header(const std::string &descr, const std::string &shape,
                   const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }\n";
}

std::string messageOf(llvm::Expected<HostTensor> result, ErrorClass kind) {
  if (result)
    return "accepted";
  llvm::Error error = result.takeError();
  EXPECT_EQ(classify(error), kind);
  return llvm::toString(std::move(error));
}

} // namespace

TEST(Npy, RoundTripEveryType) {
  for (unsigned i = 0; i < numElementTypes; ++i) {
    HostTensor tensor = HostTensor::zeros(static_cast<ElementType>(i), {2, 3});
    for (size_t b = 0; b < tensor.data.size(); ++b)
      tensor.data[b] = tensor.type == ElementType::Bool
                           ? b & 1
                           : static_cast<uint8_t>(b * 37 + 1);
    std::vector<uint8_t> bytes = formatNpy(tensor);
    EXPECT_EQ((bytes.size() - tensor.data.size()) % 64, 0u);
    llvm::Expected<HostTensor> back = parseNpy(bytes, "t");
    ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
    EXPECT_TRUE(isStoredAs(back->type, tensor.type));
    back->type = tensor.type;
    EXPECT_EQ(*back, tensor);
  }
}

TEST(Npy, SpellingsOfBfloat16) {
  const std::vector<uint8_t> data = {0x80, 0x3f, 0, 0xc0}; // 1, -2
  for (const char *descr : {"<V2", "|V2", "V2", "bfloat16"}) {
    auto array = parseNpy(file(header(descr, "(2,)"), data), "t");
    ASSERT_TRUE(!!array) << descr;
    EXPECT_EQ(array->type, ElementType::BF16);
    EXPECT_EQ(array->asDouble(1), -2);
    // numpy reads back what it has a type for.
    auto again = parseNpy(formatNpy(*array), "t");
    ASSERT_TRUE(!!again);
    EXPECT_EQ(again->type, ElementType::U16);
  }
}

TEST(Npy, ScalarAndEmptyAndRankOne) {
  for (llvm::SmallVector<int64_t> shape :
       {llvm::SmallVector<int64_t>{}, llvm::SmallVector<int64_t>{5},
        llvm::SmallVector<int64_t>{0, 7}}) {
    HostTensor tensor = HostTensor::zeros(ElementType::I16, shape);
    llvm::Expected<HostTensor> back = parseNpy(formatNpy(tensor), "t");
    ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
    EXPECT_EQ(*back, tensor);
  }
}

TEST(Npy, VersionsTwoAndThree) {
  for (unsigned version : {1u, 2u, 3u}) {
    auto tensor = parseNpy(file(header("|u1", "(2,)"), {8, 9}, version), "t");
    ASSERT_TRUE(static_cast<bool>(tensor));
    EXPECT_EQ(tensor->data, (std::vector<uint8_t>{8, 9}));
  }
  EXPECT_NE(messageOf(parseNpy(file(header("|u1", "(2,)"), {8, 9}, 4), "t"),
                      ErrorClass::Unsupported)
                .find("version 4, expected 1 to 3"),
            std::string::npos);
}

TEST(Npy, BigEndian) {
  auto tensor = parseNpy(file(header(">i2", "(2,)"), {1, 2, 3, 4}), "t");
  ASSERT_TRUE(static_cast<bool>(tensor));
  EXPECT_EQ(tensor->asDouble(0), 0x102);
  EXPECT_EQ(tensor->asDouble(1), 0x304);
}

TEST(Npy, FortranOrder) {
  // Columns of a 2x3 matrix, then a 2x2x2 cube.
  auto matrix =
      parseNpy(file(header("|u1", "(2, 3)", "True"), {0, 3, 1, 4, 2, 5}), "t");
  ASSERT_TRUE(static_cast<bool>(matrix));
  EXPECT_EQ(matrix->data, (std::vector<uint8_t>{0, 1, 2, 3, 4, 5}));
  auto cube = parseNpy(
      file(header("|u1", "(2, 2, 2)", "True"), {0, 4, 2, 6, 1, 5, 3, 7}), "t");
  ASSERT_TRUE(static_cast<bool>(cube));
  EXPECT_EQ(cube->data, (std::vector<uint8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Npy, HugeShapesAllocateNothing) {
  for (const char *shape :
       {"(9223372036854775807,)", "(4294967296, 4294967296)",
        "(1000000000000,)", "(99999999999999999999,)", "(-1,)"})
    EXPECT_NE(messageOf(parseNpy(file(header("<f8", shape), {1, 2}), "t"),
                        ErrorClass::Malformed),
              "accepted")
        << shape;
  std::string many = "(";
  for (int i = 0; i < 33; ++i)
    many += "1,";
  EXPECT_NE(messageOf(parseNpy(file(header("|u1", many + ")"), {1}), "t"),
                      ErrorClass::Malformed)
                .find("more than 32 dimensions"),
            std::string::npos);
}

TEST(Npy, EveryPrefixIsAnError) {
  const std::vector<uint8_t> whole =
      file(header("<f4", "(1, 2)"), std::vector<uint8_t>(8, 0));
  for (size_t size = 0; size < whole.size(); ++size)
    messageOf(parseNpy(llvm::ArrayRef(whole).take_front(size), "t"),
              ErrorClass::Malformed);
  std::vector<uint8_t> longer = whole;
  longer.push_back(0);
  EXPECT_EQ(messageOf(parseNpy(longer, "t"), ErrorClass::Malformed),
            "t: f32[1x2] needs 8 bytes of elements, found 9");
}

TEST(Npy, BadHeaders) {
  for (const char *text :
       {"", "{", "{'descr'", "{'descr': 5}", "{'descr': '<f4'}", "[]",
        "{'descr': '<f4', 'descr': '<f4', }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1), } x",
        "{'evil': '<f4', 'fortran_order': False, 'shape': (1), }"})
    EXPECT_NE(messageOf(parseNpy(file(text, {0, 0, 0, 0}), "t"),
                        ErrorClass::Malformed),
              "accepted")
        << text;
  for (const char *descr : {"<c8", "<U4", "|O", "<f16", "<M8"})
    EXPECT_NE(messageOf(parseNpy(file(header(descr, "(1,)"), {0}), "t"),
                        ErrorClass::Unsupported),
              "accepted")
        << descr;
}

TEST(Npy, BoolIsNormalised) {
  auto tensor = parseNpy(file(header("|b1", "(3,)"), {0, 7, 255}), "t");
  ASSERT_TRUE(static_cast<bool>(tensor));
  EXPECT_EQ(tensor->data, (std::vector<uint8_t>{0, 1, 1}));
}
