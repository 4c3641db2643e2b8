// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics of groups of channels, computed on the map.
//
// RUN: ashlar-opt --pass-pipeline='builtin.module(func.func(ashlar-nn-ungroup-maps))' %s | FileCheck %s

// Two groups of four channels: a mean per channel, then of these; what is
// subtracted is repeated along the channels of a group.
// CHECK-LABEL: func.func @groups(
// CHECK-SAME: %[[X:.*]]: tensor<3x8x5x7xf32>)
// CHECK: %[[C:.*]] = nn.reduce mean %[[X]] {axes = array<i64: 2, 3>, keepdims = true} : (tensor<3x8x5x7xf32>) -> tensor<3x8x1x1xf32>
// CHECK: %[[L:.*]] = nn.reshape %[[C]] : (tensor<3x8x1x1xf32>) -> tensor<3x2x4x1x1xf32>
// CHECK: %[[G:.*]] = nn.reduce mean %[[L]] {axes = array<i64: 2>, keepdims = true} : (tensor<3x2x4x1x1xf32>) -> tensor<3x2x1x1x1xf32>
// CHECK: %[[M:.*]] = nn.reshape %[[G]] : (tensor<3x2x1x1x1xf32>) -> tensor<3x2x1xf32>
// CHECK: %[[D:.*]] = nn.reshape %[[M]] : (tensor<3x2x1xf32>) -> tensor<3x2x1x1xf32>
// CHECK: %[[S:.*]] = nn.gather %[[D]] {axis = 1 : i64, indices = array<i64: 0, 0, 0, 0, 1, 1, 1, 1>} : (tensor<3x2x1x1xf32>) -> tensor<3x8x1x1xf32>
// CHECK: %[[Y:.*]] = nn.sub %[[X]], %[[S]] : (tensor<3x8x5x7xf32>, tensor<3x8x1x1xf32>) -> tensor<3x8x5x7xf32>
// CHECK: return %[[Y]]
func.func @groups(%x: tensor<3x8x5x7xf32>) -> tensor<3x8x5x7xf32> {
  %0 = nn.reshape %x : (tensor<3x8x5x7xf32>) -> tensor<3x2x140xf32>
  %1 = nn.reduce mean %0 {axes = array<i64: 2>, keepdims = true} : (tensor<3x2x140xf32>) -> tensor<3x2x1xf32>
  %2 = nn.sub %0, %1 : (tensor<3x2x140xf32>, tensor<3x2x1xf32>) -> tensor<3x2x140xf32>
  %3 = nn.reshape %2 : (tensor<3x2x140xf32>) -> tensor<3x8x5x7xf32>
  return %3 : tensor<3x8x5x7xf32>
}

// One group, a sum of squares without its axis, a constant for each group and a
// function.
// CHECK-LABEL: func.func @single(
// CHECK: %[[C:.*]] = nn.reduce sumSquare %arg0 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x8x5x7xf32>) -> tensor<1x8x1x1xf32>
// CHECK: %[[S:.*]] = nn.reduce sum %[[C]] {axes = array<i64: 1>, keepdims = true} : (tensor<1x8x1x1xf32>) -> tensor<1x1x1x1xf32>
// CHECK: nn.reshape %[[S]] : (tensor<1x1x1x1xf32>) -> tensor<1x1xf32>
// CHECK: nn.div %arg0, %{{.*}} : (tensor<1x8x5x7xf32>, tensor<1x1x1x1xf32>) -> tensor<1x8x5x7xf32>
// CHECK: %[[Y:.*]] = nn.unary relu %{{.*}} -> tensor<1x8x5x7xf32>
// CHECK: return %[[Y]]
func.func @single(%x: tensor<1x8x5x7xf32>) -> tensor<1x8x5x7xf32> {
  %0 = nn.reshape %x : (tensor<1x8x5x7xf32>) -> tensor<1x1x280xf32>
  %1 = nn.reduce sumSquare %0 {axes = array<i64: 2>, keepdims = false} : (tensor<1x1x280xf32>) -> tensor<1x1xf32>
  %2 = nn.reshape %1 : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
  %3 = nn.div %0, %2 : (tensor<1x1x280xf32>, tensor<1x1x1xf32>) -> tensor<1x1x280xf32>
  %4 = nn.unary relu %3 : (tensor<1x1x280xf32>) -> tensor<1x1x280xf32>
  %5 = nn.reshape %4 : (tensor<1x1x280xf32>) -> tensor<1x8x5x7xf32>
  return %5 : tensor<1x8x5x7xf32>
}

// A reduction over channels and positions alone.
// CHECK-LABEL: func.func @whole(
// CHECK: %[[C:.*]] = nn.reduce l1 %arg0 {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x8x5x7xf32>) -> tensor<1x8x1x1xf32>
// CHECK: %[[S:.*]] = nn.reduce sum %[[C]] {axes = array<i64: 1>, keepdims = true} : (tensor<1x8x1x1xf32>) -> tensor<1x1x1x1xf32>
// CHECK: nn.reshape %[[S]] : (tensor<1x1x1x1xf32>) -> tensor<1xf32>
func.func @whole(%x: tensor<1x8x5x7xf32>) -> tensor<1xf32> {
  %0 = nn.reduce l1 %x {axes = array<i64: 1, 2, 3>, keepdims = false} : (tensor<1x8x5x7xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// The heads of an attention: sequence positions keep their axis.
// CHECK-LABEL: func.func @heads(
// CHECK: nn.reshape %arg0 : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
// CHECK: nn.reduce mean {{.*}} : (tensor<1x6x2x4xf32>) -> tensor<1x6x2x1xf32>
func.func @heads(%x: tensor<1x6x8xf32>) -> tensor<1x6x8xf32> {
  %0 = nn.reshape %x : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
  %1 = nn.reduce mean %0 {axes = array<i64: 3>, keepdims = true} : (tensor<1x6x2x4xf32>) -> tensor<1x6x2x1xf32>
  %2 = nn.sub %0, %1 : (tensor<1x6x2x4xf32>, tensor<1x6x2x1xf32>) -> tensor<1x6x2x4xf32>
  %3 = nn.reshape %2 : (tensor<1x6x2x4xf32>) -> tensor<1x6x8xf32>
  return %3 : tensor<1x6x8xf32>
}

// A result in groups, integers, a whole operand from elsewhere, axes that
// overlap.
// CHECK-LABEL: func.func @kept(
// CHECK: nn.reshape %arg0 : (tensor<1x8x5x7xf32>) -> tensor<1x2x140xf32>
// CHECK: nn.reshape %arg1 : (tensor<1x8x5x7xi32>) -> tensor<1x2x140xi32>
// CHECK: nn.reshape %arg0 : (tensor<1x8x5x7xf32>) -> tensor<1x2x140xf32>
// CHECK: nn.reshape %arg0 : (tensor<1x8x5x7xf32>) -> tensor<1x20x14xf32>
func.func @kept(%x: tensor<1x8x5x7xf32>, %i: tensor<1x8x5x7xi32>, %y: tensor<1x2x140xf32>) -> (tensor<1x2x140xf32>, tensor<1x8x5x7xi32>, tensor<1x8x5x7xf32>, tensor<1x8x5x7xf32>) {
  %0 = nn.reshape %x : (tensor<1x8x5x7xf32>) -> tensor<1x2x140xf32>
  %1 = nn.reduce mean %0 {axes = array<i64: 2>, keepdims = true} : (tensor<1x2x140xf32>) -> tensor<1x2x1xf32>
  %2 = nn.sub %0, %1 : (tensor<1x2x140xf32>, tensor<1x2x1xf32>) -> tensor<1x2x140xf32>
  %3 = nn.reshape %i : (tensor<1x8x5x7xi32>) -> tensor<1x2x140xi32>
  %4 = nn.reduce sum %3 {axes = array<i64: 2>, keepdims = true} : (tensor<1x2x140xi32>) -> tensor<1x2x1xi32>
  %5 = nn.sub %3, %4 : (tensor<1x2x140xi32>, tensor<1x2x1xi32>) -> tensor<1x2x140xi32>
  %6 = nn.reshape %5 : (tensor<1x2x140xi32>) -> tensor<1x8x5x7xi32>
  %7 = nn.reshape %x : (tensor<1x8x5x7xf32>) -> tensor<1x2x140xf32>
  %8 = nn.reduce mean %7 {axes = array<i64: 2>, keepdims = true} : (tensor<1x2x140xf32>) -> tensor<1x2x1xf32>
  %9 = nn.sub %7, %8 : (tensor<1x2x140xf32>, tensor<1x2x1xf32>) -> tensor<1x2x140xf32>
  %10 = nn.mul %9, %y : (tensor<1x2x140xf32>, tensor<1x2x140xf32>) -> tensor<1x2x140xf32>
  %11 = nn.reshape %10 : (tensor<1x2x140xf32>) -> tensor<1x8x5x7xf32>
  %12 = nn.reshape %x : (tensor<1x8x5x7xf32>) -> tensor<1x20x14xf32>
  %13 = nn.reduce mean %12 {axes = array<i64: 2>, keepdims = true} : (tensor<1x20x14xf32>) -> tensor<1x20x1xf32>
  %14 = nn.sub %12, %13 : (tensor<1x20x14xf32>, tensor<1x20x1xf32>) -> tensor<1x20x14xf32>
  %15 = nn.reshape %14 : (tensor<1x20x14xf32>) -> tensor<1x8x5x7xf32>
  return %2, %6, %11, %15 : tensor<1x2x140xf32>, tensor<1x8x5x7xi32>, tensor<1x8x5x7xf32>, tensor<1x8x5x7xf32>
}
