// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Support/ModuleText.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/Twine.h"
#include "gtest/gtest.h"

using namespace ashlar;

namespace {

bool survives(llvm::StringRef text) {
  llvm::Error error = support::checkModuleText(text);
  EXPECT_TRUE(!error || support::classify(error) == ErrorClass::Malformed);
  bool good = !error;
  llvm::consumeError(std::move(error));
  return good;
}

TEST(ModuleText, TakesArraysOfNumbers) {
  EXPECT_TRUE(survives(""));
  EXPECT_TRUE(survives("array<i64: 1, 2> array<f32> array <i1: true>"));
  EXPECT_TRUE(survives("my.array index array<\n i64>"));
}

TEST(ModuleText, RefusesArraysWhoseElementsHaveNoWidth) {
  EXPECT_FALSE(survives("x = array<index: 1>"));
  EXPECT_FALSE(survives("array < \n index : 1>"));
  EXPECT_FALSE(survives("!a = index\n y = array<!a: 1>"));
}

TEST(ModuleText, LooksNeitherIntoStringsNorIntoComments) {
  EXPECT_TRUE(survives("\"array<index: 1>\""));
  EXPECT_TRUE(survives("\"a \\\" array<index: 1>\" // array<index"));
  EXPECT_FALSE(survives("\"open\narray<index: 1>"));
  EXPECT_FALSE(survives("\"\\\\\" array<index: 1>"));
}

TEST(ModuleText, RefusesDeepNesting) {
  EXPECT_TRUE(survives(std::string(200, '[') + std::string(200, ']')));
  EXPECT_FALSE(survives(std::string(1000, '[')));
}

} // namespace
