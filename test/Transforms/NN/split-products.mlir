// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product that is read in slices of its columns becomes one product each.
// RUN: ashlar-opt %s -ashlar-nn-split-products -ashlar-nn-fold-constants -split-input-file | FileCheck %s

// A fused projection: reshape, transpose, one index of an axis for each part.
// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.slice
// CHECK: %[[Q:.*]] = nn.matmul %arg0, {{.*}} -> tensor<1x5x64xf32>
// CHECK: %[[B:.*]] = nn.add %[[Q]], {{.*}}tensor<64xf32>
// CHECK: %[[R:.*]] = nn.reshape %[[B]] {{.*}} -> tensor<1x5x1x2x32xf32>
// CHECK: nn.transpose %[[R]] {perm = array<i64: 2, 0, 3, 1, 4>} {{.*}} -> tensor<1x1x2x5x32xf32>
// CHECK: nn.matmul %arg0, {{.*}} -> tensor<1x5x64xf32>
// CHECK: nn.matmul %arg0, {{.*}} -> tensor<1x5x64xf32>
// CHECK-NOT: nn.matmul
// CHECK: return
func.func @main(%x: tensor<1x5x8xf32>) -> (tensor<1x1x2x5x32xf32>, tensor<1x1x2x5x32xf32>, tensor<1x1x2x5x32xf32>) {
  %w = nn.constant dense<2.0> : tensor<8x192xf32>
  %b = nn.constant dense<1.0> : tensor<192xf32>
  %0 = nn.matmul %x, %w : (tensor<1x5x8xf32>, tensor<8x192xf32>) -> tensor<1x5x192xf32>
  %1 = nn.add %0, %b : (tensor<1x5x192xf32>, tensor<192xf32>) -> tensor<1x5x192xf32>
  %2 = nn.reshape %1 : (tensor<1x5x192xf32>) -> tensor<1x5x3x2x32xf32>
  %3 = nn.transpose %2 {perm = array<i64: 2, 0, 3, 1, 4>} : (tensor<1x5x3x2x32xf32>) -> tensor<3x1x2x5x32xf32>
  %q = nn.slice %3 {starts = array<i64: 0, 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x1x2x5x32xf32>) -> tensor<1x1x2x5x32xf32>
  %k = nn.slice %3 {starts = array<i64: 1, 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x1x2x5x32xf32>) -> tensor<1x1x2x5x32xf32>
  %v = nn.slice %3 {starts = array<i64: 2, 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x1x2x5x32xf32>) -> tensor<1x1x2x5x32xf32>
  return %q, %k, %v : tensor<1x1x2x5x32xf32>, tensor<1x1x2x5x32xf32>, tensor<1x1x2x5x32xf32>
}

// -----

// A split of the last axis into unequal parts.
// CHECK-LABEL: func.func @main
// CHECK: nn.matmul {{.*}} -> tensor<5x32xf32>
// CHECK: nn.matmul {{.*}} -> tensor<5x64xf32>
// CHECK-NOT: nn.slice
func.func @main(%x: tensor<5x8xf32>) -> (tensor<5x32xf32>, tensor<5x64xf32>) {
  %w = nn.constant dense<2.0> : tensor<8x96xf32>
  %0 = nn.matmul %x, %w : (tensor<5x8xf32>, tensor<8x96xf32>) -> tensor<5x96xf32>
  %a = nn.slice %0 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<5x96xf32>) -> tensor<5x32xf32>
  %b = nn.slice %0 {starts = array<i64: 0, 32>, steps = array<i64: 1, 1>} : (tensor<5x96xf32>) -> tensor<5x64xf32>
  return %a, %b : tensor<5x32xf32>, tensor<5x64xf32>
}

// -----

// Overlapping slices, narrow ones, slices of rows, and another reader: they
// stay.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: nn.matmul
// CHECK-NOT: nn.matmul
func.func @main(%x: tensor<64x8xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x16xf32>, tensor<64x80xf32>, tensor<32x96xf32>, tensor<32x96xf32>, tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x96xf32>) {
  %w = nn.constant dense<2.0> : tensor<8x96xf32>
  %0 = nn.matmul %x, %w : (tensor<64x8xf32>, tensor<8x96xf32>) -> tensor<64x96xf32>
  %a = nn.slice %0 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<64x64xf32>
  %b = nn.slice %0 {starts = array<i64: 0, 32>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<64x64xf32>
  %1 = nn.matmul %x, %w : (tensor<64x8xf32>, tensor<8x96xf32>) -> tensor<64x96xf32>
  %c = nn.slice %1 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<64x16xf32>
  %d = nn.slice %1 {starts = array<i64: 0, 16>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<64x80xf32>
  %2 = nn.matmul %x, %w : (tensor<64x8xf32>, tensor<8x96xf32>) -> tensor<64x96xf32>
  %e = nn.slice %2 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<32x96xf32>
  %f = nn.slice %2 {starts = array<i64: 32, 0>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<32x96xf32>
  %3 = nn.matmul %x, %w : (tensor<64x8xf32>, tensor<8x96xf32>) -> tensor<64x96xf32>
  %g = nn.slice %3 {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<64x48xf32>
  %h = nn.slice %3 {starts = array<i64: 0, 48>, steps = array<i64: 1, 1>} : (tensor<64x96xf32>) -> tensor<64x48xf32>
  %r = nn.unary relu %3 : (tensor<64x96xf32>) -> tensor<64x96xf32>
  return %a, %b, %c, %d, %e, %f, %g, %h, %r : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x16xf32>, tensor<64x80xf32>, tensor<32x96xf32>, tensor<32x96xf32>, tensor<64x48xf32>, tensor<64x48xf32>, tensor<64x96xf32>
}
