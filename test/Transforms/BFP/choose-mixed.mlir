// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encodings that several products read take the widest mantissa and range and
// the shortest block that is requested.
// RUN: ashlar-opt --ashlar-bfp-choose-formats --split-input-file --verify-diagnostics %s | FileCheck %s

// Weights and activations differ; so do two products.
// CHECK-LABEL: func @shared
func.func @shared(%x: tensor<1x32xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<32x4xf32>
  // CHECK: %[[A:.*]] = nn.unary exp {{.*}} -> tensor<1x32x!bfp.block<mantissa = 12, block = 8, range = 3, axis = 1>>
  // CHECK: bfp.matmul %[[A]], {{.*}}tensor<32x4x!bfp.block<mantissa = 4, block = tensor, range = 1, axis = 0>>
  // CHECK-NOT: bfp.activations
  // CHECK: bfp.matmul %[[A]], {{.*}}tensor<32x4x!bfp.block<mantissa = 4, block = tensor, range = 1, axis = 0>>
  %0 = nn.unary exp %x : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %1 = bfp.matmul %0, %w {bfp.activations = #bfp.format<mantissa = 12, block = 64, range = 1>, bfp.weights = #bfp.format<mantissa = 4, block = tensor, range = 1>} : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
  %2 = bfp.matmul %0, %w {bfp.activations = #bfp.format<mantissa = 5, block = 8, range = 3>, bfp.weights = #bfp.format<mantissa = 3, block = tensor, range = 0>} : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
  return %1, %2 : tensor<1x4xf32>, tensor<1x4xf32>
}

// -----

// The parts of a concat share one format with each other and with what reads
// one part alone; a pooled map is at least as wide as its pooling.
// CHECK-LABEL: func @tied
func.func @tied(%x: tensor<1x16x4x4xf32>, %w: tensor<8x32x1x1xf32>, %v: tensor<8x16x1x1xf32>) -> (tensor<1x8x2x2xf32>, tensor<1x8x4x4xf32>) {
  // CHECK: %[[A:.*]] = nn.unary exp {{.*}}!bfp.block<mantissa = 10, block = 16, range = 7, axis = 1>>
  // CHECK: %[[B:.*]] = nn.unary abs {{.*}}!bfp.block<mantissa = 10, block = 16, range = 7, axis = 1>>
  // CHECK: nn.concat {{.*}}!bfp.block<mantissa = 10, block = 16, range = 7, axis = 1>>
  // CHECK: nn.max_pool {{.*}} -> tensor<1x32x2x2x!bfp.block<mantissa = 6, block = 16, range = 7, axis = 1>>
  %0 = nn.unary exp %x : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %1 = nn.unary abs %x : (tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %2 = nn.concat %0, %1 {axis = 1 : i64} : (tensor<1x16x4x4xf32>, tensor<1x16x4x4xf32>) -> tensor<1x32x4x4xf32>
  %3 = nn.max_pool %2 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x32x4x4xf32>) -> tensor<1x32x2x2xf32>
  %4 = bfp.conv %3, %w {bfp.activations = #bfp.format<mantissa = 6, block = 16, range = 7>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x32x2x2xf32>, tensor<8x32x1x1xf32>) -> tensor<1x8x2x2xf32>
  %5 = bfp.conv %0, %v {bfp.activations = #bfp.format<mantissa = 10, block = 16, range = 7>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x16x4x4xf32>, tensor<8x16x1x1xf32>) -> tensor<1x8x4x4xf32>
  return %4, %5 : tensor<1x8x2x2xf32>, tensor<1x8x4x4xf32>
}

// -----

// A whole tensor is measured before it is encoded: what makes it stores floats.
func.func @whole_tensor(%x: tensor<1x8xf32>, %w: tensor<8x4xf32>) -> tensor<1x4xf32> {
  // CHECK-LABEL: @whole_tensor
  // CHECK: %[[Y:.*]] = nn.unary exp {{.*}} -> tensor<1x8xf32>
  // CHECK: %[[E:.*]] = bfp.encode %[[Y]] : tensor<1x8xf32> -> tensor<1x8x!bfp.block<mantissa = 8, block = tensor, range = 7, axis = 1>>
  // CHECK: bfp.matmul %[[E]]
  %y = nn.unary exp %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %0 = bfp.matmul %y, %w {bfp.activations = #bfp.format<mantissa = 8, block = tensor, range = 7>} : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}
