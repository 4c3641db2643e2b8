// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spatial padding goes into convolutions and pools that mean the same.
// RUN: ashlar-opt %s -ashlar-nn-fold-pad -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.pad
// CHECK: nn.conv %arg0
// CHECK-SAME: pads = array<i64: 2, 2>
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x1x6xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x3xf32>
  %p = nn.pad %arg0 {low = array<i64: 0, 0, 2>, high = array<i64: 0, 0, 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x7xf32>
  %0 = nn.conv %p, %w {strides = array<i64: 1>, pads = array<i64: 0, 1>, dilations = array<i64: 1>} : (tensor<1x1x7xf32>, tensor<1x1x3xf32>) -> tensor<1x1x6xf32>
  return %0 : tensor<1x1x6xf32>
}

// -----

// A pad with a value, of channels, with interior, or cutting stays.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: nn.pad
func.func @main(%arg0: tensor<1x1x4xf32>) -> (tensor<1x1x6xf32>, tensor<1x1x4xf32>, tensor<1x1x7xf32>, tensor<1x1x3xf32>) {
  %w = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %w2 = nn.constant dense<1.0> : tensor<1x2x1xf32>
  %a = nn.pad %arg0 {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>, value = 1.0 : f64} : (tensor<1x1x4xf32>) -> tensor<1x1x6xf32>
  %0 = nn.conv %a, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x6xf32>, tensor<1x1x1xf32>) -> tensor<1x1x6xf32>
  %b = nn.pad %arg0 {low = array<i64: 0, 1, 0>, high = array<i64: 0, 0, 0>} : (tensor<1x1x4xf32>) -> tensor<1x2x4xf32>
  %1 = nn.conv %b, %w2 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x4xf32>, tensor<1x2x1xf32>) -> tensor<1x1x4xf32>
  %c = nn.pad %arg0 {low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 0>, interior = array<i64: 0, 0, 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x7xf32>
  %2 = nn.conv %c, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x7xf32>, tensor<1x1x1xf32>) -> tensor<1x1x7xf32>
  %d = nn.pad %arg0 {low = array<i64: 0, 0, -1>, high = array<i64: 0, 0, 0>} : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>
  %3 = nn.conv %d, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x3xf32>, tensor<1x1x1xf32>) -> tensor<1x1x3xf32>
  return %0, %1, %2, %3 : tensor<1x1x6xf32>, tensor<1x1x4xf32>, tensor<1x1x7xf32>, tensor<1x1x3xf32>
}

// -----

// The mean divides by the padded elements, too. With pads of its own that do
// not count, it cannot absorb others that do.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = nn.pad
// CHECK: nn.avg_pool %arg0
// CHECK-SAME: count_include_pad = true
// CHECK-SAME: pads = array<i64: 1, 0>
// CHECK: nn.avg_pool %[[P]]
func.func @main(%arg0: tensor<1x1x3xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>) {
  %p = nn.pad %arg0 {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 0>} : (tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
  %0 = nn.avg_pool %p {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  %1 = nn.avg_pool %p {kernel = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 0, 1>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  return %0, %1 : tensor<1x1x2xf32>, tensor<1x1x2xf32>
}

// -----

// The maximum ignores minus infinity and nothing else.
// CHECK-LABEL: func.func @main
// CHECK: nn.max_pool %arg0
// CHECK-SAME: pads = array<i64: 1, 0>
// CHECK: %[[P:.*]] = nn.pad
// CHECK: nn.max_pool %[[P]]
func.func @main(%arg0: tensor<1x1x3xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>) {
  %p = nn.pad %arg0 {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 0>, value = 0xFFF0000000000000 : f64} : (tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
  %0 = nn.max_pool %p {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  %q = nn.pad %arg0 {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 0>} : (tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
  %1 = nn.max_pool %q {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  return %0, %1 : tensor<1x1x2xf32>, tensor<1x1x2xf32>
}
