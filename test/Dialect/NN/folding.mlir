// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Identities fold, near-identities stay.
//
// RUN: ashlar-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT: return %arg0
func.func @reshape(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @transpose(
// CHECK-NEXT: return %arg0
func.func @transpose(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.transpose %x {perm = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @cast(
// CHECK-NEXT: return %arg0
func.func @cast(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.cast %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @pad(
// CHECK-NEXT: return %arg0
func.func @pad(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.pad %x {high = array<i64: 0, 0>, low = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @slice(
// CHECK-NEXT: return %arg0
func.func @slice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.slice %x {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @gather(
// CHECK-NEXT: return %arg0
func.func @gather(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.gather %x {axis = 0 : i64, indices = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @copy(
// CHECK-NEXT: return %arg0
func.func @copy(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.unary copy %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @concat(
// CHECK-NEXT: return %arg0
func.func @concat(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.concat %x {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @interleave(
// CHECK-NEXT: return %arg0
func.func @interleave(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.interleave %x {factors = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @broadcast(
// CHECK-NEXT: return %arg0
func.func @broadcast(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.broadcast %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @rotating_pad(
// CHECK-NEXT: nn.
func.func @rotating_pad(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.pad %x {high = array<i64: 0, -1>, low = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @swapping_gather(
// CHECK-NEXT: nn.
func.func @swapping_gather(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.gather %x {axis = 0 : i64, indices = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
