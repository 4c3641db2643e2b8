// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions and element types of the contract have one number and one name
// wherever they are enumerated: dialects take them from dialects/Functions.td,
// the libraries below the dialects have enumerators of their own.

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Support/ElementType.h"
#include "dialects/NN/NNDialect.h"
#include "gtest/gtest.h"

using namespace ashlar;

namespace {

TEST(FunctionNumbers, UnaryFunctionsAreThoseOfNnAndOfTheInstructionSet) {
  ASSERT_EQ(nn::getMaxEnumValForUnaryFunction() + 1, numerics::kFunctionCount);
  for (unsigned i = 0; i < numerics::kFunctionCount; ++i) {
    const llvm::StringRef name = numerics::name(numerics::Function(i));
    EXPECT_EQ(isa::name(isa::Function(i)), name);
    EXPECT_EQ(nn::stringifyUnaryFunction(nn::UnaryFunction(i)), name);
  }
}

TEST(FunctionNumbers, BinaryFunctionsFollow64) {
  for (unsigned i = 0; i < numerics::kBinaryFunctionCount; ++i)
    EXPECT_EQ(isa::name(isa::Function(64 + i)),
              numerics::name(numerics::BinaryFunction(i)));
}

TEST(FunctionNumbers, ElementTypesAreThoseOfTheInstructionSet) {
  for (unsigned i = 0; i < support::numElementTypes; ++i)
    EXPECT_EQ(isa::name(isa::ElemType(i)),
              support::name(support::ElementType(i)));
}

} // namespace
