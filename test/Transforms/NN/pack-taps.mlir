// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Taps of few-channel convolutions become array rows where that saves passes.
// RUN: ashlar-opt %s -ashlar-nn-pack-taps -split-input-file | FileCheck %s
// RUN: ashlar-opt %s "-pass-pipeline=builtin.module(func.func(ashlar-nn-pack-taps{rows=2 columns=4}))" -split-input-file | FileCheck %s --check-prefix=TINY

// The 7x7x3 stem: 147 rows are 2 passes instead of 49.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = nn.im2col %arg0
// CHECK-SAME: kernel = array<i64: 7, 7>
// CHECK-SAME: pads = array<i64: 3, 3, 3, 3>
// CHECK-SAME: strides = array<i64: 2, 2>
// CHECK-SAME: -> tensor<1x147x112x112xf32>
// CHECK: %[[W:.*]] = nn.reshape %{{.*}} : (tensor<64x3x7x7xf32>) -> tensor<64x147x1x1xf32>
// CHECK: nn.conv %[[P]], %[[W]]
// CHECK-SAME: ashlar.decision = {alternatives = {"pack-taps" = 25088 : i64, plain = 614656 : i64}, choice = "pack-taps", reason = "3 channels x 49 taps: 2 array passes packed, 49 one tap at a time"}
// CHECK-SAME: pads = array<i64: 0, 0, 0, 0>
// CHECK-SAME: strides = array<i64: 1, 1>
func.func @main(%arg0: tensor<1x3x224x224xf32>) -> tensor<1x64x112x112xf32> {
  %w = nn.constant dense<1.0> : tensor<64x3x7x7xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>} : (tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32>) -> tensor<1x64x112x112xf32>
  return %0 : tensor<1x64x112x112xf32>
}

// -----

// Considered, but packing gains nothing on two rows (the reason is kept);
// groups, eight channels, one tap and computed weights are not considered.
// CHECK-LABEL: func.func @candidates
// CHECK: nn.im2col
// CHECK-NOT: nn.im2col
// CHECK: return
// TINY-LABEL: func.func @candidates
// TINY-NOT: nn.im2col
// TINY: nn.conv %arg0
// TINY-SAME: choice = "plain"
// TINY-NOT: ashlar.decision
func.func @candidates(%arg0: tensor<1x2x4xf32>, %arg1: tensor<1x8x4xf32>, %arg2: tensor<2x2x2xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>, tensor<1x2x3xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x2x2xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x2x2xf32>) -> tensor<1x2x3xf32>
  %g = nn.constant dense<1.0> : tensor<2x1x2xf32>
  %1 = nn.conv %arg0, %g {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>) -> tensor<1x2x3xf32>
  %e = nn.constant dense<1.0> : tensor<2x8x2xf32>
  %2 = nn.conv %arg1, %e {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x8x4xf32>, tensor<2x8x2xf32>) -> tensor<1x2x3xf32>
  %o = nn.constant dense<1.0> : tensor<2x2x1xf32>
  %3 = nn.conv %arg0, %o {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x2x1xf32>) -> tensor<1x2x4xf32>
  %4 = nn.conv %arg0, %arg2 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<2x2x2xf32>) -> tensor<1x2x3xf32>
  return %0, %1, %2, %3, %4 : tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>, tensor<1x2x3xf32>
}
