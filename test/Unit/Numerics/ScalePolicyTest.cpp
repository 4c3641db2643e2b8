// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text and JSON forms of scale-exponent policies.

#include "ashlar/Numerics/ScalePolicy.h"
#include "ashlar/Numerics/FormatTable.h"

#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::numerics;

namespace {

TEST(ScalePolicy, TextReadsBack) {
  for (const char *text :
       {"runmax", "fixed", "fixed(e=-7)", "table", "table(e=12)",
        "stats(k=4,n=8192)", "stats(k=2.5,n=0)", "predict(k=3,depth=8)",
        "fixed(at=store,overflow=saturate)",
        "table(e=12,at=store,overflow=wrap)",
        "stats(k=4,n=0,at=store,overflow=repair)",
        "predict(k=3,depth=8,at=store,overflow=saturate)",
        "error(t=6,n=512,overflow=repair)", "stats(k=4,n=0,lead=ceil)",
        "error(t=6,n=0,lead=ceil,overflow=wrap)"}) {
    auto policy = parseScalePolicy(text);
    ASSERT_TRUE(bool(policy)) << llvm::toString(policy.takeError());
    EXPECT_EQ(toString(*policy), text);
  }
}

TEST(ScalePolicy, ParametersHaveDefaults) {
  auto stats = parseScalePolicy("stats");
  ASSERT_TRUE(bool(stats));
  EXPECT_EQ(toString(*stats), "stats(k=4,n=0)");
  auto predict = parseScalePolicy("predict(depth=16)");
  ASSERT_TRUE(bool(predict));
  EXPECT_EQ(toString(*predict), "predict(k=4,depth=16)");
}

TEST(ScalePolicy, StoredExponentsDecideWhatOverflows) {
  // What looks at earlier values repairs, so that it sees them all.
  for (auto [text, full] :
       {std::pair{"fixed(at=store)", "fixed(at=store,overflow=saturate)"},
        {"stats(at=store)", "stats(k=4,n=0,at=store,overflow=repair)"},
        {"error", "error(t=4,n=0,overflow=repair)"},
        {"table(e=3,at=fetch)", "table(e=3)"}}) {
    auto policy = parseScalePolicy(text);
    ASSERT_TRUE(bool(policy)) << llvm::toString(policy.takeError());
    EXPECT_EQ(toString(*policy), full);
  }
  auto repaired =
      llvm::cantFail(parseScalePolicy("fixed(e=0,at=store,overflow=repair)"));
  EXPECT_TRUE(repaired.isConstant() && !repaired.isKnownAhead());
}

TEST(ScalePolicy, WrongTextIsAnError) {
  for (const char *text : {"",
                           "max",
                           "runmax(e=1)",
                           "fixed(",
                           "fixed(e=)",
                           "fixed(e=4000)",
                           "fixed(k=1)",
                           "stats(k=0.3)",
                           "stats(k=16)",
                           "stats(k=nan)",
                           "stats(n=-1)",
                           "stats(n=4294967296)",
                           "predict(depth=0)",
                           "predict(depth=17)",
                           "predict(n=3)",
                           "stats(k=1",
                           "stats()",
                           "runmax(at=store)",
                           "predict(lead=ceil)",
                           "stats(lead=up)",
                           "stats(at=load)",
                           "stats(overflow=repair)",
                           "fixed(at=store,overflow=clip)",
                           "error(at=fetch)",
                           "error(t=32)",
                           "error(k=3)",
                           "stats(t=3)"}) {
    auto policy = parseScalePolicy(text);
    EXPECT_FALSE(bool(policy)) << text;
    llvm::consumeError(policy.takeError());
  }
}

TEST(ScalePolicy, TablesHoldPolicies) {
  auto table = parseFormatTable(
      "{\"scale\": \"fixed\","
      " \"nodes\": {\"a\": {\"scale\": \"stats(k=3,n=512)\"}}}",
      "table");
  ASSERT_TRUE(bool(table)) << llvm::toString(table.takeError());
  EXPECT_EQ(toString(table->scaleOf("a")), "stats(k=3,n=512)");
  EXPECT_EQ(toString(table->scaleOf("b")), "fixed");
  auto again =
      parseFormatTable(llvm::formatv("{0}", toJson(*table)).str(), "table");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(*again, *table);
  auto wrong =
      parseFormatTable("{\"nodes\": {\"a\": {\"scale\": 3}}}", "table");
  ASSERT_FALSE(bool(wrong));
  EXPECT_EQ(
      llvm::toString(wrong.takeError()),
      "table: 'nodes': 'a': 'scale' is not a string, expected a policy such "
      "as \"runmax\"");
}

} // namespace
