// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions with computed weights: one per group, computed biases become
// sums; those with constant weights stay.
// RUN: ashlar-opt %s -ashlar-nn-lower-dynamic-conv | FileCheck %s

// CHECK-LABEL: func.func @computed
// CHECK: %[[Y:.*]] = nn.conv %arg0, %arg1 {{.*}}strides = array<i64: 2, 2>
// CHECK: %[[BIAS:.*]] = nn.reshape %arg2 {{.*}}tensor<1x5x1x1xf32>
// CHECK: nn.add %[[Y]], %[[BIAS]]
func.func @computed(%x: tensor<1x3x8x8xf32>, %w: tensor<5x3x3x3xf32>, %b: tensor<5xf32>) -> tensor<1x5x4x4xf32> {
  %0 = nn.conv %x, %w, %b {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>) -> tensor<1x5x4x4xf32>
  return %0 : tensor<1x5x4x4xf32>
}

// The array's drain adds a constant bias.
// CHECK-LABEL: func.func @constant_bias
// CHECK: %[[B:.*]] = nn.constant
// CHECK: nn.conv %arg0, %arg1, %[[B]]
// CHECK-NOT: nn.add
func.func @constant_bias(%x: tensor<1x3x8xf32>, %w: tensor<2x3x1xf32>) -> tensor<1x2x8xf32> {
  %b = nn.constant dense<2.0> : tensor<2xf32>
  %0 = nn.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<2x3x1xf32>, tensor<2xf32>) -> tensor<1x2x8xf32>
  return %0 : tensor<1x2x8xf32>
}

// CHECK-LABEL: func.func @groups
// CHECK: nn.slice %arg0 {{.*}}tensor<1x2x6xf32>
// CHECK: nn.slice %arg1 {{.*}}tensor<3x2x1xf32>
// CHECK: nn.conv {{.*}}tensor<1x3x6xf32>
// CHECK: nn.conv {{.*}}tensor<1x3x6xf32>
// CHECK: nn.concat
func.func @groups(%x: tensor<1x4x6xf32>, %w: tensor<6x2x1xf32>) -> tensor<1x6x6xf32> {
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x4x6xf32>, tensor<6x2x1xf32>) -> tensor<1x6x6xf32>
  return %0 : tensor<1x6x6xf32>
}

// CHECK-LABEL: func.func @constant
// CHECK: nn.conv
func.func @constant(%x: tensor<1x1x4xf32>) -> tensor<1x1x4xf32> {
  %w = nn.constant dense<2.0> : tensor<1x1x1xf32>
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x4xf32>
  return %0 : tensor<1x1x4xf32>
}
