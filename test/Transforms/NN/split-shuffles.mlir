// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pixel shuffle of a convolution becomes a convolution for each phase, if that
// costs the array less than the copies.
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/two-columns.yaml -ashlar-nn-split-shuffles -ashlar-nn-fold-constants -split-input-file | FileCheck %s
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1-ideal "-ashlar-nn-split-shuffles=activation-bits=16 weight-bits=16" -split-input-file | FileCheck %s --check-prefix=WIDE
// WIDE-NOT: nn.interleave

// Channel 4 * c + phase (CRD): two of the columns for each phase.
// CHECK-LABEL: func.func @crd
// CHECK: %[[W0:.*]] = nn.constant dense<{{.*}}0.000000e+00{{.*}}4.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK: %[[P0:.*]] = nn.conv %arg0, %[[W0]]
// CHECK: %[[F0:.*]] = nn.unary relu %[[P0]]
// CHECK: %[[W3:.*]] = nn.constant dense<{{.*}}3.000000e+00{{.*}}7.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK: %[[P3:.*]] = nn.conv %arg0, %[[W3]]
// CHECK: %[[F3:.*]] = nn.unary relu %[[P3]]
// CHECK: nn.interleave %[[F0]], %{{.*}}, %{{.*}}, %[[F3]] {factors = array<i64: 1, 1, 2, 2>}
func.func @crd(%arg0: tensor<1x1x3x5xf32>) -> tensor<1x2x6x10xf32> {
  %w = nn.constant dense<[[[[0.0]]], [[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]], [[[5.0]]], [[[6.0]]], [[[7.0]]]]> : tensor<8x1x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x3x5xf32>, tensor<8x1x1x1xf32>) -> tensor<1x8x3x5xf32>
  %1 = nn.unary relu %0 : (tensor<1x8x3x5xf32>) -> tensor<1x8x3x5xf32>
  %2 = nn.reshape %1 : (tensor<1x8x3x5xf32>) -> tensor<1x2x2x2x3x5xf32>
  %3 = nn.transpose %2 {perm = array<i64: 0, 1, 4, 2, 5, 3>} : (tensor<1x2x2x2x3x5xf32>) -> tensor<1x2x3x2x5x2xf32>
  %4 = nn.reshape %3 : (tensor<1x2x3x2x5x2xf32>) -> tensor<1x2x6x10xf32>
  return %4 : tensor<1x2x6x10xf32>
}

// -----

// Channel 2 * phase + c (DCR), along the width alone; the bias goes with them.
// CHECK-LABEL: func.func @dcr
// CHECK: nn.constant dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK: nn.interleave %{{.*}}, %{{.*}} {factors = array<i64: 1, 1, 1, 2>}
func.func @dcr(%arg0: tensor<1x1x3x5xf32>) -> tensor<1x2x3x10xf32> {
  %w = nn.constant dense<1.0> : tensor<4x1x1x1xf32>
  %b = nn.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %0 = nn.conv %arg0, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x3x5xf32>, tensor<4x1x1x1xf32>, tensor<4xf32>) -> tensor<1x4x3x5xf32>
  %1 = nn.reshape %0 : (tensor<1x4x3x5xf32>) -> tensor<1x2x2x3x5xf32>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 3, 4, 1>} : (tensor<1x2x2x3x5xf32>) -> tensor<1x2x3x5x2xf32>
  %3 = nn.reshape %2 : (tensor<1x2x3x5x2xf32>) -> tensor<1x2x3x10xf32>
  return %3 : tensor<1x2x3x10xf32>
}

// -----

// Something else reads the convolution; a shuffle that swaps rows and columns.
// CHECK-LABEL: func.func @read
// CHECK-NOT: nn.interleave
func.func @read(%arg0: tensor<1x1x3x3xf32>) -> (tensor<1x2x3x6xf32>, tensor<1x4x3x3xf32>, tensor<1x2x3x6xf32>) {
  %w = nn.constant dense<1.0> : tensor<4x1x1x1xf32>
  %0 = nn.conv %arg0, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x3x3xf32>
  %1 = nn.reshape %0 : (tensor<1x4x3x3xf32>) -> tensor<1x2x2x3x3xf32>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 3, 4, 1>} : (tensor<1x2x2x3x3xf32>) -> tensor<1x2x3x3x2xf32>
  %3 = nn.reshape %2 : (tensor<1x2x3x3x2xf32>) -> tensor<1x2x3x6xf32>
  %4 = nn.conv %arg0, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x3x3xf32>
  %5 = nn.reshape %4 : (tensor<1x4x3x3xf32>) -> tensor<1x2x2x3x3xf32>
  %6 = nn.transpose %5 {perm = array<i64: 0, 2, 4, 3, 1>} : (tensor<1x2x2x3x3xf32>) -> tensor<1x2x3x3x2xf32>
  %7 = nn.reshape %6 : (tensor<1x2x3x3x2xf32>) -> tensor<1x2x3x6xf32>
  return %3, %0, %7 : tensor<1x2x3x6xf32>, tensor<1x4x3x3xf32>, tensor<1x2x3x6xf32>
}
