// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON of format tables: what is read, what is printed, what is refused.

#include "ashlar/Numerics/FormatTable.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace ashlar::numerics;

namespace {

TEST(FormatTable, nodesOverrideTheNetwork) {
  auto table = parseFormatTable(
      R"({"activations":"bfp8","weights":"bfp6",
          "nodes":{"Conv_3":{"activations":"w=10,block=axis"},
                   "Conv_4":{"weights":"bfp4,block=tensor"}}})",
      "t.json");
  ASSERT_TRUE(static_cast<bool>(table)) << llvm::toString(table.takeError());
  EXPECT_EQ(table->activationsOf("Conv_3"),
            (BlockFormat{10, BlockFormat::kAxis, 7}));
  EXPECT_EQ(table->weightsOf("Conv_3"), (BlockFormat{6, 16, 7}));
  EXPECT_EQ(table->activationsOf("Conv_4"), (BlockFormat{8, 16, 7}));
  EXPECT_EQ(table->weightsOf("Conv_4"),
            (BlockFormat{4, BlockFormat::kTensor, 7}));
  EXPECT_EQ(table->weightsOf("other"), (BlockFormat{6, 16, 7}));
}

TEST(FormatTable, everyKeyIsOptional) {
  auto table = parseFormatTable("{}", "t.json");
  ASSERT_TRUE(static_cast<bool>(table));
  EXPECT_EQ(*table, FormatTable());
}

TEST(FormatTable, printsWhatItReads) {
  FormatTable table;
  table.weights = {5, 32, 3};
  table.nodes["a/b \"c\""].activations = BlockFormat{16, 8, 0};
  std::string text = llvm::formatv("{0}", toJson(table)).str();
  auto back = parseFormatTable(text, "t.json");
  ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(*back, table);
}

TEST(FormatTable, errorsNameFileAndKey) {
  const std::pair<const char *, const char *> cases[] = {
      {"{", "t.json: "},
      {"[]", "t.json holds no object"},
      {R"({"weight":"bfp8"})", "t.json: 'weight' is not a known key"},
      {R"({"weights":8})", "t.json: 'weights' is not a string"},
      {R"({"weights":"bfp99"})", "t.json: 'weights': mantissa width is 99"},
      {R"({"nodes":[]})", "t.json: 'nodes' is not an object"},
      {R"({"nodes":{"x":"bfp8"}})", "t.json: 'nodes': 'x' is not an object"},
      {R"({"nodes":{"x":{"bias":"bfp8"}}})", "'x': 'bias' is not a known key"},
      {R"({"activations":"rows=4"})",
       "t.json: 'activations': rows= is of weights, feature maps share "
       "exponents along one axis: leave it out"},
  };
  for (auto [text, expected] : cases) {
    auto table = parseFormatTable(text, "t.json");
    ASSERT_FALSE(static_cast<bool>(table)) << text;
    std::string message = llvm::toString(table.takeError());
    EXPECT_NE(message.find(expected), std::string::npos)
        << text << ": " << message;
  }
}

} // namespace
