// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense layer on a flattened feature map is a convolution with the feature map as
// kernel.
// RUN: ashlar-opt %s -ashlar-nn-flatten-to-conv -ashlar-nn-fold-constants -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[\[\[\[}}0.000000e+00, 3.000000e+00{{\]\]}}, {{\[\[}}6.000000e+00, 9.000000e+00{{\]\]\]}}, {{.*}}> : tensor<3x2x1x2xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// CHECK: %[[Y:.*]] = nn.conv %arg0, %[[W]], %[[B]]
// CHECK-SAME: -> tensor<2x3x1x1xf32>
// CHECK: nn.reshape %[[Y]] : (tensor<2x3x1x1xf32>) -> tensor<2x3xf32>
// CHECK-NOT: nn.matmul
func.func @main(%arg0: tensor<2x2x1x2xf32>) -> tensor<2x3xf32> {
  %w = nn.constant dense<[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0], [9.0, 10.0, 11.0]]> : tensor<4x3xf32>
  %b = nn.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %0 = nn.reshape %arg0 : (tensor<2x2x1x2xf32>) -> tensor<2x4xf32>
  %1 = nn.matmul %0, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %2 = nn.add %b, %1 : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// A feature map of one pixel is a feature map.
// CHECK-LABEL: func.func @main
// CHECK: nn.conv
func.func @main(%arg0: tensor<1x2x1x1xf32>) -> tensor<1x3xf32> {
  %w = nn.constant dense<1.0> : tensor<2x3xf32>
  %0 = nn.reshape %arg0 : (tensor<1x2x1x1xf32>) -> tensor<1x2xf32>
  %1 = nn.matmul %0, %w : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  return %1 : tensor<1x3xf32>
}

// -----

// No map, another row count than the batch, computed weights: matmul stays.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: nn.matmul
func.func @main(%arg0: tensor<2x2xf32>, %arg1: tensor<1x2x2xf32>, %arg2: tensor<1x4x1xf32>, %arg3: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x3xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x3xf32>
  %0 = nn.matmul %arg0, %w : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = nn.reshape %arg1 : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
  %2 = nn.matmul %1, %w : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = nn.reshape %arg2 : (tensor<1x4x1xf32>) -> tensor<1x4xf32>
  %4 = nn.matmul %3, %arg3 : (tensor<1x4xf32>, tensor<4x3xf32>) -> tensor<1x3xf32>
  return %0, %2, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x3xf32>
}

// -----

// Three quarters of the weights are zero: the sparse cluster has convolutions.
// A residual connection goes with the product.
// CHECK-LABEL: func.func @pruned
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{.*}}> : tensor<2x4x1x1xf32>
// CHECK-DAG: %[[X:.*]] = nn.reshape %arg0 : (tensor<3x5x4xf32>) -> tensor<15x4x1x1xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: %[[Y:.*]] = nn.conv %[[X]], %[[W]], %[[B]]
// CHECK: %[[R:.*]] = nn.reshape %arg1 : (tensor<3x5x2xf32>) -> tensor<15x2x1x1xf32>
// CHECK: %[[S:.*]] = nn.add %[[Y]], %[[R]] : {{.*}} -> tensor<15x2x1x1xf32>
// CHECK: nn.reshape %[[S]] : (tensor<15x2x1x1xf32>) -> tensor<3x5x2xf32>
func.func @pruned(%arg0: tensor<3x5x4xf32>, %arg1: tensor<3x5x2xf32>) -> tensor<3x5x2xf32> {
  %w = nn.constant dense<[[0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]> : tensor<4x2xf32>
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = nn.matmul %arg0, %w : (tensor<3x5x4xf32>, tensor<4x2xf32>) -> tensor<3x5x2xf32>
  %1 = nn.add %0, %b : (tensor<3x5x2xf32>, tensor<2xf32>) -> tensor<3x5x2xf32>
  %2 = nn.add %arg1, %1 : (tensor<3x5x2xf32>, tensor<3x5x2xf32>) -> tensor<3x5x2xf32>
  return %2 : tensor<3x5x2xf32>
}

// -----

// One zero too few.
// CHECK-LABEL: func.func @dense
// CHECK: nn.matmul
// CHECK-NOT: nn.conv
func.func @dense(%arg0: tensor<3x4xf32>) -> tensor<3x2xf32> {
  %w = nn.constant dense<[[0.0, 1.0], [0.0, 3.0], [2.0, 0.0], [0.0, 0.0]]> : tensor<4x2xf32>
  %0 = nn.matmul %arg0, %w : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

// Of two convolutions of different ranks one has the reshape, and the other
// one's epilogue adds. They do not pass it to each other for ever.
// CHECK-LABEL: func.func @two_ranks
// CHECK: %[[A:.*]] = nn.conv %arg0, {{.*}} -> tensor<1x2x1xf32>
// CHECK: %[[V:.*]] = nn.reshape %[[A]]
// CHECK: %[[B:.*]] = nn.conv %arg1, {{.*}} -> tensor<1x2x1x1xf32>
// CHECK: %[[S:.*]] = nn.add %[[B]], %[[V]]
// CHECK-NEXT: return %[[S]]
func.func @two_ranks(%arg0: tensor<1x2x3xf32>, %arg1: tensor<1x2x2x1xf32>) -> tensor<1x2x1x1xf32> {
  %v = nn.constant dense<1.0> : tensor<2x2x3xf32>
  %w = nn.constant dense<2.0> : tensor<2x2x2x1xf32>
  %0 = nn.conv %arg0, %v {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x2x3xf32>, tensor<2x2x3xf32>) -> tensor<1x2x1xf32>
  %1 = nn.reshape %0 : (tensor<1x2x1xf32>) -> tensor<1x2x1x1xf32>
  %2 = nn.conv %arg1, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x2x1xf32>, tensor<2x2x2x1xf32>) -> tensor<1x2x1x1xf32>
  %3 = nn.add %2, %1 : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
  return %3 : tensor<1x2x1x1xf32>
}
