// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts of decisions are joined without reading them: the result is what an
// array of all entries prints.

#include "ashlar/Pipelines/Compile.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using ashlar::pipelines::joinDecisions;

namespace {

std::string textOf(llvm::json::Array entries) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(entries));
  return text;
}

/// Names with what JSON escapes, and what ends an array.
llvm::json::Array entries(int from, int count) {
  llvm::json::Array result;
  for (int i = from; i < from + count; ++i)
    result.push_back(llvm::json::Object{
        {"node", "a \"]\\\n" + std::to_string(i)},
        {"alternatives", llvm::json::Object{{"array", i}, {"off", 0.1 * i}}}});
  return result;
}

TEST(Decisions, JoinAsOneArray) {
  for (int first : {0, 1, 3})
    for (int second : {0, 1, 2})
      EXPECT_EQ(joinDecisions(textOf(entries(0, first)),
                              textOf(entries(first, second))),
                textOf(entries(0, first + second)));
}

} // namespace
