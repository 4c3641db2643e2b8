// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions with computed weights become products; those with constant
// weights stay.
// RUN: ashlar-opt %s -ashlar-nn-lower-dynamic-conv | FileCheck %s

// CHECK-LABEL: func.func @computed
// CHECK: %[[X:.*]] = nn.im2col %arg0 {{.*}}kernel = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>{{.*}} -> tensor<1x27x4x4xf32>
// CHECK: %[[COLUMNS:.*]] = nn.reshape %[[X]] {{.*}}tensor<1x27x16xf32>
// CHECK: %[[ROWS:.*]] = nn.reshape %arg1 {{.*}}tensor<5x27xf32>
// CHECK: %[[Y:.*]] = nn.matmul %[[ROWS]], %[[COLUMNS]]
// CHECK: %[[MAP:.*]] = nn.reshape %[[Y]] {{.*}}tensor<1x5x4x4xf32>
// CHECK: %[[BIAS:.*]] = nn.reshape %arg2 {{.*}}tensor<1x5x1x1xf32>
// CHECK: nn.add %[[MAP]], %[[BIAS]]
func.func @computed(%x: tensor<1x3x8x8xf32>, %w: tensor<5x3x3x3xf32>, %b: tensor<5xf32>) -> tensor<1x5x4x4xf32> {
  %0 = nn.conv %x, %w, %b {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>) -> tensor<1x5x4x4xf32>
  return %0 : tensor<1x5x4x4xf32>
}

// CHECK-LABEL: func.func @groups
// CHECK-COUNT-2: nn.matmul
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
