// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations without an engine as exact compositions.
// RUN: ashlar-opt %s -ashlar-set-target=machine=a1 -ashlar-nn-lower-composites -split-input-file | FileCheck %s
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/small-partition.yaml -ashlar-nn-lower-composites -split-input-file | FileCheck %s --check-prefix=SMALL

// The negated sum of two terms of which one is -0.
// CHECK-LABEL: func.func @where
// CHECK-SAME: %[[C:[^:]*]]: tensor<2x3xi1>, %[[A:[^:]*]]: tensor<2x3xf32>, %[[B:[^:]*]]: tensor<3xf32>
// CHECK: %[[NOT:.*]] = nn.unary not %[[C]]
// CHECK: %[[CF:.*]] = nn.cast %[[C]]
// CHECK: %[[CN:.*]] = nn.unary neg %[[CF]]
// CHECK: %[[TA:.*]] = nn.prelu %[[CN]], %[[A]]
// CHECK: %[[NF:.*]] = nn.cast %[[NOT]]
// CHECK: %[[NN:.*]] = nn.unary neg %[[NF]]
// CHECK: %[[TB:.*]] = nn.prelu %[[NN]], %[[B]]
// CHECK: %[[SUM:.*]] = nn.add %[[TA]], %[[TB]]
// CHECK: nn.unary neg %[[SUM]]
func.func @where(%c: tensor<2x3xi1>, %a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = nn.where %c, %a, %b : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// Unsigned integers pass through int64, halves through binary32.
// CHECK-LABEL: func.func @where_types
// CHECK: nn.prelu %{{.*}} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
// CHECK: nn.cast %{{.*}} : (tensor<4xi64>) -> tensor<4xui8>
// CHECK: nn.prelu %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: nn.cast %{{.*}} : (tensor<4xf32>) -> tensor<4xf16>
// CHECK: nn.logical and
// CHECK: nn.logical and
// CHECK: nn.logical or
func.func @where_types(%c: tensor<4xi1>, %a: tensor<4xui8>, %h: tensor<4xf16>) -> (tensor<4xui8>, tensor<4xf16>, tensor<4xi1>) {
  %0 = nn.where %c, %a, %a : (tensor<4xi1>, tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %1 = nn.where %c, %h, %h : (tensor<4xi1>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %2 = nn.where %c, %c, %c : (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return %0, %1, %2 : tensor<4xui8>, tensor<4xf16>, tensor<4xi1>
}

// -----

// CHECK-LABEL: func.func @fmod
// CHECK: %[[R:.*]] = nn.mod
// CHECK-NOT: fmod
// CHECK: %[[S:.*]] = nn.unary sign
// CHECK: nn.mul %[[R]], %[[S]]
// CHECK: %[[Q:.*]] = nn.div %[[I:.*]], %[[J:.*]] :
// CHECK: %[[P:.*]] = nn.mul %[[Q]], %[[J]]
// CHECK: nn.sub %[[I]], %[[P]]
func.func @fmod(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: tensor<4xi64>, %j: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %0 = nn.mod %a, %b {fmod} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mod %i, %j {fmod} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %0, %1 : tensor<4xf32>, tensor<4xi64>
}

// -----

// A large window becomes rows, then columns; a small one stays.
// CHECK-LABEL: func.func @pool
// CHECK: nn.max_pool %arg0 {dilations = array<i64: 1, 2>, kernel = array<i64: 1, 9>, pads = array<i64: 0, 3, 0, 0>, strides = array<i64: 1, 2>}
// CHECK-SAME: -> tensor<1x1x40x14xf32>
// CHECK: nn.max_pool
// CHECK-SAME: kernel = array<i64: 16, 1>, pads = array<i64: 1, 0, 2, 0>, strides = array<i64: 3, 1>
// CHECK-SAME: -> tensor<1x1x10x14xf32>
// CHECK: nn.max_pool
// CHECK-SAME: kernel = array<i64: 3, 3>
func.func @pool(%x: tensor<1x1x40x40xf32>) -> (tensor<1x1x10x14xf32>, tensor<1x1x38x38xf32>) {
  %0 = nn.max_pool %x {kernel = array<i64: 16, 9>, strides = array<i64: 3, 2>, pads = array<i64: 1, 3, 2, 0>, dilations = array<i64: 1, 2>} : (tensor<1x1x40x40xf32>) -> tensor<1x1x10x14xf32>
  %1 = nn.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x40x40xf32>) -> tensor<1x1x38x38xf32>
  return %0, %1 : tensor<1x1x10x14xf32>, tensor<1x1x38x38xf32>
}

// -----

// Three ranges of axes: kept axes first, then the reduced ones in order.
// CHECK-LABEL: func.func @ranges
// CHECK: nn.transpose %arg0 {perm = array<i64: 1, 3, 0, 2, 4>}
// CHECK: nn.reduce mean %{{.*}} {axes = array<i64: 2, 3, 4>, keepdims = true}
// CHECK: nn.reshape %{{.*}} -> tensor<3x5xf32>
func.func @ranges(%x: tensor<2x3x4x5x6xf32>) -> tensor<3x5xf32> {
  %0 = nn.reduce mean %x {axes = array<i64: 0, 2, 4>, keepdims = false} : (tensor<2x3x4x5x6xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// More than half a partition: axis by axis, squares once; a long axis as rows.
// CHECK-LABEL: func.func @large
// CHECK: nn.reduce sumSquare %arg0 {axes = array<i64: 3>
// CHECK: nn.reduce sum %{{.*}} {axes = array<i64: 2>
// CHECK: nn.reshape %arg1 : (tensor<2x50000xf32>) -> tensor<2x16x3125xf32>
// CHECK: nn.reduce max %{{.*}} {axes = array<i64: 2>
// CHECK: nn.reduce max %{{.*}} {axes = array<i64: 1>
func.func @large(%x: tensor<1x3x224x224xf32>, %y: tensor<2x50000xf32>) -> (tensor<1x3x1x1xf32>, tensor<2xf32>) {
  %0 = nn.reduce sumSquare %x {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x3x224x224xf32>) -> tensor<1x3x1x1xf32>
  %1 = nn.reduce max %y {axes = array<i64: 1>, keepdims = false} : (tensor<2x50000xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<1x3x1x1xf32>, tensor<2xf32>
}

// -----

// The partition of 16,384 bytes would reduce 1,000 elements at a time, but not
// with what softmax makes of them: its reductions come in rows too.
// SMALL-LABEL: func.func @softmax
// SMALL: nn.reshape %arg1 : (tensor<2x1000xf32>) -> tensor<2x2x500xf32>
// SMALL: nn.reduce max {{.*}} -> tensor<2x2x1xf32>
// SMALL: nn.reduce max {{.*}} -> tensor<2x1x1xf32>
// SMALL: nn.unary exp
// SMALL: nn.reduce sum {{.*}} -> tensor<2x2x1xf32>
// CHECK-LABEL: func.func @softmax
// CHECK-NOT: nn.softmax
// CHECK: nn.sub %arg0
// CHECK: nn.unary exp
// CHECK: nn.div
// CHECK: nn.softmax %arg1
func.func @softmax(%x: tensor<2x30000xf32>, %y: tensor<2x1000xf32>) -> (tensor<2x30000xf32>, tensor<2x1000xf32>) {
  %0 = nn.softmax %x {axis = 1 : i64} : (tensor<2x30000xf32>) -> tensor<2x30000xf32>
  %1 = nn.softmax %y {axis = 1 : i64} : (tensor<2x1000xf32>) -> tensor<2x1000xf32>
  return %0, %1 : tensor<2x30000xf32>, tensor<2x1000xf32>
}

// -----

// CHECK-LABEL: func.func @runtime_bias
// CHECK: %[[Y:.*]] = nn.conv %arg0, %{{.*}} {
// CHECK-SAME: (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
// CHECK: %[[B:.*]] = nn.reshape %arg1 : (tensor<2xf32>) -> tensor<1x2x1xf32>
// CHECK: nn.add %[[Y]], %[[B]]
func.func @runtime_bias(%x: tensor<1x1x4xf32>, %b: tensor<2xf32>) -> tensor<1x2x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x1xf32>
  %0 = nn.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  return %0 : tensor<1x2x4xf32>
}
