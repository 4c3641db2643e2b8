// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases would take three times the steps of the array, rows of results side
// by side included; where each takes four passes that is more than the copies.
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1-ideal -ashlar-nn-split-shuffles | FileCheck %s --check-prefix=PASS
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1-ideal "-ashlar-nn-split-shuffles=activation-bits=16 weight-bits=16" | FileCheck %s --check-prefix=PASSES
// PASS-LABEL: func.func @passes
// PASS: nn.interleave
// PASSES-LABEL: func.func @passes
// PASSES-NOT: nn.interleave
func.func @passes(%arg0: tensor<1x32x40x40xf32>) -> tensor<1x8x80x80xf32> {
  %w = nn.constant dense<1.0> : tensor<32x32x3x3xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x32x40x40xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x40x40xf32>
  %1 = nn.reshape %0 : (tensor<1x32x40x40xf32>) -> tensor<1x8x2x2x40x40xf32>
  %2 = nn.transpose %1 {perm = array<i64: 0, 1, 4, 2, 5, 3>} : (tensor<1x8x2x2x40x40xf32>) -> tensor<1x8x40x2x40x2xf32>
  %3 = nn.reshape %2 : (tensor<1x8x40x2x40x2xf32>) -> tensor<1x8x80x80xf32>
  return %3 : tensor<1x8x80x80xf32>
}
