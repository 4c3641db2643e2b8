// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nests too deeply, and what only looks like it.

#include "ashlar/Support/Json.h"
#include "gtest/gtest.h"

using namespace ashlar::support;

namespace {

std::string repeated(const char *text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i)
    result += text;
  return result;
}

TEST(JsonTest, DepthCountsOpenBrackets) {
  EXPECT_FALSE(nestsDeeper(repeated("[", 4), 4));
  EXPECT_TRUE(nestsDeeper(repeated("[", 5), 4));
  EXPECT_TRUE(nestsDeeper(repeated("{(<[", 2), 7));
  EXPECT_FALSE(nestsDeeper(repeated("[]", 100), 1));
}

TEST(JsonTest, StringsAndArrowsDoNotCount) {
  EXPECT_FALSE(nestsDeeper("\"" + repeated("[", 100) + "\"", 1));
  EXPECT_FALSE(nestsDeeper(repeated("\"\\\"[\"", 100), 1));
  EXPECT_FALSE(nestsDeeper(repeated("(a) -> b\n", 100), 1));
  EXPECT_TRUE(nestsDeeper("<<->" + repeated("<", 2), 3));
  // A string ends with its line: nothing hides behind an open quote.
  EXPECT_TRUE(nestsDeeper("// \"\n" + repeated("[", 5), 4));
  EXPECT_TRUE(nestsDeeper("// \"\\\n" + repeated("[", 5), 4));
}

TEST(JsonTest, DeepTextIsRefused) {
  auto value = parseJson(repeated("[", 100000));
  ASSERT_FALSE(!!value);
  EXPECT_EQ(llvm::toString(value.takeError()),
            "brackets nest deeper than 256 levels");
}

TEST(JsonTest, OtherErrorsNameThePlace) {
  auto value = parseJson("{\"a\": }");
  ASSERT_FALSE(!!value);
  EXPECT_NE(llvm::toString(value.takeError()).find("1:"), std::string::npos);
  auto good = parseJson("{\"a\": [1]}");
  ASSERT_TRUE(!!good);
  EXPECT_EQ(good->getAsObject()->getArray("a")->size(), 1u);
}

} // namespace
