// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages without names and types of the intermediate form.

#include "lib/Pipelines/PlainMessage.h"

#include "gtest/gtest.h"

using ashlar::pipelines::plainMessage;

TEST(PlainMessage, NamesOfOperations) {
  EXPECT_EQ(plainMessage("node 'Celu_0': 'nn.mul' op result has shape scalar"),
            "node 'Celu_0': the mul result has shape scalar");
  EXPECT_EQ(plainMessage("'npu.pe.conv' (node 'c'): too wide"),
            "the conv on the array (node 'c'): too wide");
}

TEST(PlainMessage, Types) {
  EXPECT_EQ(plainMessage("expected tensor<1x3x8x8xf32>, found tensor<f32>"),
            "expected 1x3x8x8xf32, found f32");
  EXPECT_EQ(plainMessage("tensor<2x!bfp.block<mantissa = 8, axis = 1>> is"),
            "2xblock floating point is");
}

TEST(PlainMessage, LeavesNamesOfModelsAlone) {
  for (const char *text : {"node 'nn.weird name'", "input 'a.b'", "'nn.'",
                           "tensor<unclosed", "node 'it's': 'x' op"})
    EXPECT_EQ(plainMessage(text), text);
}
