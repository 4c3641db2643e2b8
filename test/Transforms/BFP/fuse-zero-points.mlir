// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products read the bytes of run-time factors whose zero points are constants.
//
// RUN: ashlar-opt --ashlar-bfp-fuse-zero-points --split-input-file %s | FileCheck %s

// Both factors; the difference that something else reads stays.
// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[A:.*]]: tensor<4x6xui8>, %[[B:.*]]: tensor<6x5xi8>
// CHECK: nn.cast %[[B]]
// CHECK-NEXT: nn.sub
// CHECK-NEXT: bfp.integer_matmul %[[A]], %[[B]] {a_zero = 120 : i64, b_zero = -3 : i64} : (tensor<4x6xui8>, tensor<6x5xi8>) -> tensor<4x5xi32>
// CHECK-NEXT: return
func.func @both(%a: tensor<4x6xui8>, %b: tensor<6x5xi8>) -> (tensor<4x5xi32>, tensor<6x5xi16>) {
  %za = nn.constant dense<120> : tensor<i16>
  %zb = nn.constant dense<-3> : tensor<i16>
  %0 = nn.cast %a : (tensor<4x6xui8>) -> tensor<4x6xi16>
  %1 = nn.sub %0, %za : (tensor<4x6xi16>, tensor<i16>) -> tensor<4x6xi16>
  %2 = nn.cast %b : (tensor<6x5xi8>) -> tensor<6x5xi16>
  %3 = nn.sub %2, %zb : (tensor<6x5xi16>, tensor<i16>) -> tensor<6x5xi16>
  %y = nn.matmul %1, %3 : (tensor<4x6xi16>, tensor<6x5xi16>) -> tensor<4x5xi32>
  return %y, %3 : tensor<4x5xi32>, tensor<6x5xi16>
}

// -----

// One of them; a factor may be both.
// CHECK-LABEL: func.func @one(
// CHECK-SAME: %[[A:.*]]: tensor<4x4xui8>
// CHECK-NEXT: nn.constant
// CHECK-NEXT: %[[Y:.*]] = bfp.integer_matmul %[[A]], %[[A]] {a_zero = 0 : i64, b_zero = 7 : i64}
// CHECK-NEXT: %[[Z:.*]] = bfp.integer_matmul %[[A]], %[[A]] {a_zero = 7 : i64, b_zero = 7 : i64}
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @one(%a: tensor<4x4xui8>) -> (tensor<4x4xi32>, tensor<4x4xi32>) {
  %z = nn.constant dense<7> : tensor<i16>
  %0 = nn.cast %a : (tensor<4x4xui8>) -> tensor<4x4xi16>
  %1 = nn.sub %0, %z : (tensor<4x4xi16>, tensor<i16>) -> tensor<4x4xi16>
  %y = nn.matmul %a, %1 : (tensor<4x4xui8>, tensor<4x4xi16>) -> tensor<4x4xi32>
  %w = nn.matmul %1, %1 : (tensor<4x4xi16>, tensor<4x4xi16>) -> tensor<4x4xi32>
  return %y, %w : tensor<4x4xi32>, tensor<4x4xi32>
}

// -----

// A zero point per row, one that is not a byte, and a constant factor: no.
// CHECK-LABEL: func.func @none(
// CHECK-NOT: bfp.integer_matmul
// CHECK: return
func.func @none(%a: tensor<4x6xui8>, %b: tensor<6x5xui8>) -> (tensor<4x5xi32>, tensor<4x5xi32>, tensor<4x1xi32>) {
  %za = nn.constant dense<[[1], [2], [3], [4]]> : tensor<4x1xi16>
  %zb = nn.constant dense<300> : tensor<i16>
  %zc = nn.constant dense<3> : tensor<i16>
  %w = nn.constant dense<3> : tensor<6x1xi8>
  %0 = nn.cast %a : (tensor<4x6xui8>) -> tensor<4x6xi16>
  %1 = nn.sub %0, %za : (tensor<4x6xi16>, tensor<4x1xi16>) -> tensor<4x6xi16>
  %2 = nn.cast %b : (tensor<6x5xui8>) -> tensor<6x5xi16>
  %3 = nn.sub %2, %zb : (tensor<6x5xi16>, tensor<i16>) -> tensor<6x5xi16>
  %4 = nn.sub %0, %zc : (tensor<4x6xi16>, tensor<i16>) -> tensor<4x6xi16>
  %x = nn.matmul %1, %b : (tensor<4x6xi16>, tensor<6x5xui8>) -> tensor<4x5xi32>
  %y = nn.matmul %a, %3 : (tensor<4x6xui8>, tensor<6x5xi16>) -> tensor<4x5xi32>
  %z = nn.matmul %4, %w : (tensor<4x6xi16>, tensor<6x1xi8>) -> tensor<4x1xi32>
  return %x, %y, %z : tensor<4x5xi32>, tensor<4x5xi32>, tensor<4x1xi32>
}

// -----

// The bytes take the way of the difference; not if it goes elsewhere too.
// CHECK-LABEL: func.func @moved(
// CHECK-SAME: %[[A:.*]]: tensor<4x6xui8>
// CHECK: %[[T:.*]] = nn.transpose %[[A]] {perm = array<i64: 1, 0>} : (tensor<4x6xui8>) -> tensor<6x4xui8>
// CHECK-NEXT: bfp.integer_matmul %[[A]], %[[T]] {a_zero = 0 : i64, b_zero = 9 : i64}
// CHECK: nn.matmul
func.func @moved(%a: tensor<4x6xui8>) -> (tensor<4x4xi32>, tensor<4x4xi32>, tensor<6x4xi16>) {
  %z = nn.constant dense<9> : tensor<i16>
  %0 = nn.cast %a : (tensor<4x6xui8>) -> tensor<4x6xi16>
  %1 = nn.sub %0, %z : (tensor<4x6xi16>, tensor<i16>) -> tensor<4x6xi16>
  %2 = nn.transpose %1 {perm = array<i64: 1, 0>} : (tensor<4x6xi16>) -> tensor<6x4xi16>
  %y = nn.matmul %a, %2 : (tensor<4x6xui8>, tensor<6x4xi16>) -> tensor<4x4xi32>
  %3 = nn.transpose %1 {perm = array<i64: 1, 0>} : (tensor<4x6xi16>) -> tensor<6x4xi16>
  %w = nn.matmul %a, %3 : (tensor<4x6xui8>, tensor<6x4xi16>) -> tensor<4x4xi32>
  return %y, %w, %3 : tensor<4x4xi32>, tensor<4x4xi32>, tensor<6x4xi16>
}
