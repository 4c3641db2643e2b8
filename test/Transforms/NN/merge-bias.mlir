// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Per-channel constants behind a convolution become its bias and weights.
// RUN: ashlar-opt %s -ashlar-nn-merge-bias -split-input-file | FileCheck %s

// ((x * 1 + 5) - [1, 2]) / 2 * [4, 6], constants on either side.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[\[\[}}2.000000e+00{{\]\]}}, {{\[\[}}3.000000e+00{{\]\]\]}}> : tensor<2x1x1xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[8.000000e+00, 9.000000e+00]> : tensor<2xf32>
// CHECK: %[[Y:.*]] = nn.conv %arg0, %[[W]], %[[B]]
// CHECK-NEXT: return %[[Y]]
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x2x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
  %five = nn.constant dense<5.0> : tensor<f32>
  %1 = nn.add %five, %0 : (tensor<f32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %c = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %2 = nn.sub %1, %c : (tensor<1x2x4xf32>, tensor<2x1xf32>) -> tensor<1x2x4xf32>
  %two = nn.constant dense<2.0> : tensor<1x1x1xf32>
  %3 = nn.div %2, %two : (tensor<1x2x4xf32>, tensor<1x1x1xf32>) -> tensor<1x2x4xf32>
  %f = nn.constant dense<[[[4.0], [6.0]]]> : tensor<1x2x1xf32>
  %4 = nn.mul %f, %3 : (tensor<1x2x1xf32>, tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  return %4 : tensor<1x2x4xf32>
}

// -----

// Not a constant per channel, another use, constant - conv, division by zero.
// CHECK-LABEL: func.func @main
// CHECK: nn.add
// CHECK: nn.sub
// CHECK: nn.div
func.func @main(%arg0: tensor<1x1x2xf32>) -> (tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2xf32>
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = nn.add %0, %c : (tensor<1x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  %2 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %3 = nn.sub %one, %2 : (tensor<f32>, tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
  %4 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x2xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2xf32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %5 = nn.div %4, %zero : (tensor<1x2x2xf32>, tensor<f32>) -> tensor<1x2x2xf32>
  return %1, %3, %5 : tensor<1x2x2xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>
}

// -----

// An add that broadcasts the convolution to a larger batch is none of its.
// CHECK-LABEL: func.func @main
// CHECK: nn.add
func.func @main(%arg0: tensor<1x1x2xf32>) -> tensor<3x1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x2xf32>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  %c = nn.constant dense<1.0> : tensor<3x1x1xf32>
  %1 = nn.add %0, %c : (tensor<1x1x2xf32>, tensor<3x1x1xf32>) -> tensor<3x1x2xf32>
  return %1 : tensor<3x1x2xf32>
}

// -----

// Columns of a matmul take factors; its sums stay (quantise makes them bias).
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = nn.constant dense<{{\[}}[2.000000e+00, 3.000000e+00]]>
// CHECK: nn.matmul %arg0, %[[W]]
// CHECK: nn.add
func.func @main(%arg0: tensor<5x1xf32>) -> tensor<5x2xf32> {
  %w = nn.constant dense<1.0> : tensor<1x2xf32>
  %s = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = nn.matmul %arg0, %w : (tensor<5x1xf32>, tensor<1x2xf32>) -> tensor<5x2xf32>
  %1 = nn.mul %0, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  %2 = nn.add %1, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  return %2 : tensor<5x2xf32>
}
