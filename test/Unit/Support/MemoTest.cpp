// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Digests tell arguments apart; a memo computes each result once and starts
// over when it is full.

#include "ashlar/Support/Memo.h"

#include "gtest/gtest.h"

#include <vector>

namespace ashlar::support {
namespace {

ArgumentDigest::Number digestOf(const std::vector<int32_t> &a,
                                const std::vector<int32_t> &b) {
  return ArgumentDigest().add(a).add(b).take();
}

TEST(MemoTest, DigestsSeparateLists) {
  EXPECT_EQ(digestOf({1, 2}, {3}), digestOf({1, 2}, {3}));
  EXPECT_NE(digestOf({1, 2}, {3}), digestOf({1}, {2, 3}));
  EXPECT_NE(digestOf({1, 2}, {}), digestOf({}, {1, 2}));
}

TEST(MemoTest, DigestsTellValuesApart) {
  auto of = [](auto value) { return ArgumentDigest().add(value).take(); };
  EXPECT_NE(of(0.0), of(-0.0));
  EXPECT_NE(of(int64_t(1)), of(int32_t(1)));
  EXPECT_NE(of(llvm::StringRef("a")), of(llvm::StringRef("b")));
}

TEST(MemoTest, ComputesOnce) {
  Memo<int> memo(2);
  int computed = 0;
  auto get = [&](int32_t key) {
    return memo.get(ArgumentDigest().add(key).take(), [&] {
      ++computed;
      return key * 10;
    });
  };
  EXPECT_EQ(get(1), 10);
  EXPECT_EQ(get(1), 10);
  EXPECT_EQ(get(2), 20);
  EXPECT_EQ(computed, 2);
  // A third result does not fit: the memo starts over with it.
  EXPECT_EQ(get(3), 30);
  EXPECT_EQ(get(3), 30);
  EXPECT_EQ(get(1), 10);
  EXPECT_EQ(computed, 4);
}

} // namespace
} // namespace ashlar::support
