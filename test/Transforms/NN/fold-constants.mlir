// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant subgraphs become constants; data movement keeps every bit.
// RUN: ashlar-opt %s -ashlar-nn-fold-constants -split-input-file | FileCheck %s
// RUN: ashlar-opt %s "-pass-pipeline=builtin.module(func.func(ashlar-nn-fold-constants{max-bytes=16}))" -split-input-file | FileCheck %s --check-prefix=SMALL

// Sums in binary64 round once: 2^24 + 1 + 1 is 2^24 + 2, which sequential
// binary32 would miss.
// CHECK-LABEL: func.func @main
// CHECK: nn.constant dense<0x4B800001> : tensor<f32>
func.func @main() -> tensor<f32> {
  %0 = nn.constant dense<[16777216.0, 1.0, 1.0]> : tensor<3xf32>
  %1 = nn.reduce sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = nn.constant dense<{{\[}}[0x7F812345, -0.000000e+00], [1.000000e+00, 0xFFC00001]]> : tensor<2x2xf32>
// CHECK-NEXT: return %[[C]]
func.func @main() -> tensor<2x2xf32> {
  %0 = nn.constant dense<[[0x7F812345, 1.0], [-0.0, 0xFFC00001]]> : tensor<2x2xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

// Integers wrap at their width; division truncates.
// CHECK-LABEL: func.func @main
// CHECK-DAG: dense<[-128, 2]> : tensor<2xi8>
// CHECK-DAG: dense<[-3, 3]> : tensor<2xi64>
func.func @main() -> (tensor<2xi8>, tensor<2xi64>) {
  %0 = nn.constant dense<[127, 1]> : tensor<2xi8>
  %1 = nn.constant dense<1> : tensor<2xi8>
  %2 = nn.add %0, %1 : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %3 = nn.constant dense<[-7, 7]> : tensor<2xi64>
  %4 = nn.constant dense<2> : tensor<i64>
  %5 = nn.div %3, %4 : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  return %2, %5 : tensor<2xi8>, tensor<2xi64>
}

// -----

// A large broadcast stays, a chain of small ops does not.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.broadcast
// SMALL-LABEL: func.func @main
// SMALL: nn.broadcast
// SMALL-NOT: nn.neg
func.func @main() -> (tensor<8xf32>, tensor<1xf32>) {
  %0 = nn.constant dense<1.0> : tensor<1xf32>
  %1 = nn.broadcast %0 : (tensor<1xf32>) -> tensor<8xf32>
  %2 = nn.unary neg %0 : (tensor<1xf32>) -> tensor<1xf32>
  return %1, %2 : tensor<8xf32>, tensor<1xf32>
}

// -----

// Pads, slices with negative steps, concat, gather, booleans.
// CHECK-LABEL: func.func @main
// CHECK-DAG: dense<[3, 3, 2, 3, 1, 3]> : tensor<6xi32>
// CHECK-DAG: dense<[true, false, true]> : tensor<3xi1>
// CHECK-DAG: dense<[2, 2, 1]> : tensor<3xi32>
func.func @main() -> (tensor<6xi32>, tensor<3xi1>, tensor<3xi32>) {
  %0 = nn.constant dense<[1, 2]> : tensor<2xi32>
  %1 = nn.slice %0 {starts = array<i64: 1>, steps = array<i64: -1>} : (tensor<2xi32>) -> tensor<2xi32>
  %2 = nn.pad %1 {low = array<i64: 1>, high = array<i64: 1>, interior = array<i64: 1>, value = 3.0 : f64} : (tensor<2xi32>) -> tensor<5xi32>
  %3 = nn.constant dense<3> : tensor<1xi32>
  %4 = nn.concat %3, %2 {axis = 0 : i64} : (tensor<1xi32>, tensor<5xi32>) -> tensor<6xi32>
  %5 = nn.constant dense<[true, false]> : tensor<2xi1>
  %6 = nn.gather %5 {axis = 0 : i64, indices = array<i64: 0, 1, 0>} : (tensor<2xi1>) -> tensor<3xi1>
  %7 = nn.gather %0 {axis = 0 : i64, indices = array<i64: 1, 1, 0>} : (tensor<2xi32>) -> tensor<3xi32>
  return %4, %6, %7 : tensor<6xi32>, tensor<3xi1>, tensor<3xi32>
}

// -----

// What is not constant stays.
// CHECK-LABEL: func.func @main
// CHECK: nn.add %arg0
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.constant dense<1.0> : tensor<2xf32>
  %1 = nn.add %arg0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// No elements, nothing to compute.
// CHECK-LABEL: func.func @empty
// CHECK: nn.constant {{.*}} : tensor<0x4xf32>
// CHECK-NOT: nn.reshape
func.func @empty(%arg0: tensor<4x0xf32>) -> tensor<0x4xf32> {
  %0 = nn.reshape %arg0 : (tensor<4x0xf32>) -> tensor<0x4xf32>
  return %0 : tensor<0x4xf32>
}

// -----

// A sum of no products is zero, although neither operand is a constant.
// CHECK-LABEL: func.func @empty_product
// CHECK-NOT: nn.matmul
// CHECK: nn.constant dense<0.000000e+00> : tensor<4x5xf32>
func.func @empty_product(%arg0: tensor<4x0xf32>, %arg1: tensor<0x5xf32>) -> tensor<4x5xf32> {
  %0 = nn.matmul %arg0, %arg1 : (tensor<4x0xf32>, tensor<0x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// A convolution without input channels is its bias.
// CHECK-LABEL: func.func @no_channels
// CHECK-NOT: nn.conv
// CHECK: %[[Z:.*]] = nn.constant dense<0.000000e+00> : tensor<1x4x6xf32>
// CHECK: %[[B:.*]] = nn.reshape %arg1 : (tensor<4xf32>) -> tensor<1x4x1xf32>
// CHECK: nn.add %[[Z]], %[[B]]
func.func @no_channels(%arg0: tensor<1x0x8xf32>, %arg1: tensor<4xf32>) -> tensor<1x4x6xf32> {
  %w = nn.constant dense<> : tensor<4x0x3xf32>
  %0 = nn.conv %arg0, %w, %arg1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x0x8xf32>, tensor<4x0x3xf32>, tensor<4xf32>) -> tensor<1x4x6xf32>
  return %0 : tensor<1x4x6xf32>
}
