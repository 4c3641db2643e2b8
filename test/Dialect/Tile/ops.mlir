// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation prints and parses, with all its optional parts.
//
// RUN: ashlar-opt %s --verify-roundtrip | FileCheck %s

!b = !tile.buffer<tensor<8x16xf32>, axis = 0>

// CHECK-LABEL: func.func @steps
// CHECK: tile.sequence %[[Y:.*]] : tensor<8x32xf32> {
// CHECK-NEXT: tile.for %[[I:i.*]] < 2 {
// CHECK-NEXT: tile.for %[[J:i.*]] < 3 {
// CHECK-NEXT: %[[B:buffer.*]] = tile.alloc [(%[[I]] mod 2) * 128 + %[[J]] * 8 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT: tile.load operand 0 [0, %[[I]] * 16 - 1] sizes [8, 16] padded into %[[B]] : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT: tile.fill operand 0 [0, %[[I]] * 16] sizes [8, 16] bits 1065353216 into %[[B]] : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT: %[[V:operand.*]] = tile.view operand 0 [0, %[[J]]] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT: %[[R:result.*]] = tile.view result [0, %[[J]]] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT: %[[T:operand.*]] = tile.tensor operand 0 : tensor<8x32xf32>
// CHECK-NEXT: %[[U:result.*]] = tile.tensor result : tensor<8x32xf32>
// CHECK-NEXT: tile.compute [0, %[[I]] * 16] sizes [8, 16] measures reads [0, 1](%[[V]], %[[T]] : !tile.buffer<tensor<8x16xf32>, axis = 0>, tensor<8x32xf32>) into %[[R]] : !tile.buffer<tensor<8x16xf32>, axis = 0> scratch(%[[B]] : !tile.buffer<tensor<8x16xf32>, axis = 0>)
// CHECK-NEXT: tile.compute [0, 16] sizes [8, 16] reads [] into %[[U]] : tensor<8x32xf32>
// CHECK-NEXT: tile.store %[[B]] to [0, %[[I]] * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
// CHECK-NEXT: tile.release_weights
// CHECK-NEXT: tile.free %[[B]] : !tile.buffer<tensor<8x16xf32>, axis = 0>
func.func @steps(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      tile.for %j < 3 {
        %b = tile.alloc [(%i mod 2) * 128 + %j * 8 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
        tile.load operand 0 [0, %i * 16 - 1] sizes [8, 16] padded into %b : <tensor<8x16xf32>, axis = 0>
        tile.fill operand 0 [0, %i * 16] sizes [8, 16] bits 1065353216 into %b : <tensor<8x16xf32>, axis = 0>
        %v = tile.view operand 0 [0, %j] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
        %r = tile.view result [0, %j] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
        %t = tile.tensor operand 0 : tensor<8x32xf32>
        %u = tile.tensor result : tensor<8x32xf32>
        tile.compute [0, %i * 16] sizes [8, 16] measures reads [0, 1] (%v, %t : !b, tensor<8x32xf32>) into %r : !b scratch (%b : !b)
        tile.compute [0, 16] sizes [8, 16] reads [] into %u : tensor<8x32xf32>
        tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
        tile.release_weights
        tile.free %b : !b
      }
    }
  }
  return %0 : tensor<8x32xf32>
}

// A sequence without steps, and buffers with folds.
// CHECK-LABEL: func.func @folds
// CHECK: tile.sequence %{{.*}} : tensor<8x32xf32> {
// CHECK-NEXT: }
// CHECK-NEXT: tile.sequence
// CHECK-NEXT: tile.alloc [0] bytes 0 : <tensor<1x3x2x8xf32>, axis = 1, fold = <count = 4, pitch = 32, axis = 2>>
// CHECK-NEXT: tile.alloc [0] bytes 0 : <tensor<1x3x1x1xf32>, axis = 1, fold = <count = 2, pitch = 4, axis = 0, repeated = 1>>
func.func @folds(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
  }
  tile.sequence %0 : tensor<8x32xf32> {
    %b = tile.alloc [0] bytes 0 : <tensor<1x3x2x8xf32>, axis = 1, fold = <count = 4, pitch = 32, axis = 2>>
    %r = tile.alloc [0] bytes 0 : <tensor<1x3x1x1xf32>, axis = 1, fold = <count = 2, pitch = 4, axis = 0, across = 1, repeated = 1>>
  }
  return %0 : tensor<8x32xf32>
}
