// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Error classes, contexts and exit codes; checked arithmetic.

#include "ashlar/Support/Error.h"
#include "ashlar/Support/CheckedMath.h"
#include "gtest/gtest.h"
#include <cstdint>

using namespace ashlar;
using namespace ashlar::support;

TEST(Error, ClassIsExitCode) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(reportAndExitCode(
                "tool", makeError(ErrorClass::Capacity, "need {} bytes", 7)),
            5);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tool: error: need 7 bytes\n");
  EXPECT_EQ(reportAndExitCode("tool", llvm::Error::success()), 0);
}

TEST(Error, ContextKeepsClass) {
  llvm::Error error =
      withContext(makeError(ErrorClass::Malformed, "bad {}", "byte"), "a.npy");
  EXPECT_EQ(classify(error), ErrorClass::Malformed);
  EXPECT_EQ(llvm::toString(std::move(error)), "a.npy: bad byte");
  EXPECT_FALSE(withContext(llvm::Error::success(), "x"));
}

TEST(Error, ForeignErrorsAreInternal) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(reportAndExitCode("t", llvm::createStringError("odd")), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "t: error: odd\n");
}

TEST(CheckedMath, Limits) {
  EXPECT_EQ(checkedAdd<int64_t>(INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checkedAdd<int64_t>(INT64_MAX, 0), INT64_MAX);
  EXPECT_EQ(checkedMul<uint64_t>(uint64_t(1) << 32, uint64_t(1) << 32),
            std::nullopt);
  EXPECT_EQ(checkedMul<int64_t>(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(checkedMulAdd<uint64_t>(3, 4, 5), 17u);
  EXPECT_EQ(ceilDiv<uint64_t>(UINT64_MAX, 2), uint64_t(1) << 63);
}
