// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A data movement is a view of its operand only if every reader accepts the layout
// that the view leaves. The machine has 8 partitions in groups of 4.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --ashlar-npu-verify-layouts --split-input-file %s | FileCheck %s

// Positions at one distance can be the columns of a stationary operand.
// CHECK-LABEL: func.func @sliced(
// CHECK: npu.dma.move "slice"
// CHECK-SAME: route = #npu.route<view>
// CHECK: npu.pe.matmul
// CHECK-SAME: #npu.stationary<activations
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!w = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @sliced(%arg0: tensor<1x6x8xf32>) -> tensor<1x3x16xf32> {
  %c = nn.constant dense<0.5> : tensor<8x16xf32>
  %w = bfp.encode %c weights : tensor<8x16xf32> -> tensor<8x16x!w>
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x6x8xf32>) -> tensor<1x6x8x!x>
  %1 = npu.dma.move "slice"(%0) {layout = #npu.layout<axis = 2>, patterns = [array<i64: 0, 3, 3, 1, 0, 1, 0, 1, 3, 1, 2, 1, 1, 8, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<1x6x8x!x>) -> tensor<1x3x8x!x>
  %2 = npu.pe.matmul(%1, %w) {layout = #npu.layout<axis = 2>, stationary = #npu.stationary<activations>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x8x!x>, tensor<8x16x!w>) -> tensor<1x3x16xf32>
  return %2 : tensor<1x3x16xf32>
}
}

// -----

// A transpose leaves two distances: it is copied, and the plan says why.
// CHECK-LABEL: func.func @transposed(
// CHECK: npu.dma.move "transpose"
// CHECK-NOT: route = #npu.route<view>
// CHECK-SAME: ashlar.decision.view = #ashlar.decision<choice = "copy", reason = "as a view of its operand 'product' could not read it: its positions do not lie at one distance
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!w = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 8}, act = {lanes = 8}>} {
func.func @transposed(%arg0: tensor<2x3x8xf32>) -> tensor<3x2x16xf32> {
  %c = nn.constant dense<0.5> : tensor<8x16xf32>
  %w = bfp.encode %c weights : tensor<8x16xf32> -> tensor<8x16x!w>
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x3x8xf32>) -> tensor<2x3x8x!x>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 2>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 0, 1, 2, 0, 1, 1, 1, 8, 2, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<2x3x8x!x>) -> tensor<3x2x8x!x>
  %2 = npu.pe.matmul(%1, %w) {layout = #npu.layout<axis = 2>, stationary = #npu.stationary<activations>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<3x2x8x!x>, tensor<8x16x!w>) -> tensor<3x2x16xf32> loc("product")
  return %2 : tensor<3x2x16xf32>
}
}

// -----

// A product reads heads where the projection left them, in partitions 0 and 8;
// the vector unit does not.
// CHECK-LABEL: func.func @heads(
// CHECK: npu.dma.move "reshape"
// CHECK-SAME: route = #npu.route<view>
// CHECK: npu.dma.move "transpose"
// CHECK-SAME: route = #npu.route<view>
// CHECK: npu.dma.move "reshape"
// CHECK-NOT: route = #npu.route<view>
// CHECK-SAME: reason = "as a view of its operand 'softmax' could not read it: two of its axes lie across partitions"
!x = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 2>
!h = !bfp.block<mantissa = 8, block = 8, range = 7, axis = 3>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 16, bytes_per_partition = 4096}, pe = {rows = 16, columns = 16}, act = {lanes = 16}>} {
func.func @heads(%arg0: tensor<1x3x16xf32>, %arg1: tensor<1x2x8x5xf32>) -> (tensor<1x2x3x5xf32>, tensor<1x3x2x8xf32>) {
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x16xf32>) -> tensor<1x3x16x!x>
  %1 = npu.vec.map "copy"(%arg1) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x8x5xf32>) -> tensor<1x2x8x5x!x>
  %2 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 3>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 1, 1, 2, 2, 8, 2, 1, 8, 2, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x16x!x>) -> tensor<1x3x2x8x!h>
  %3 = npu.dma.move "transpose"(%2) {layout = #npu.layout<axis = 3>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 3, 1, 1, 2, 1, 2, 2, 1, 1, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x2x8x!h>) -> tensor<1x2x3x8x!h>
  %4 = npu.pe.matmul(%3, %1) {layout = #npu.layout<axis = 3>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x2x3x8x!h>, tensor<1x2x8x5x!x>) -> tensor<1x2x3x5xf32>
  %5 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 3>, patterns = [array<i64: 0, 3, 3, 3, 1, 1, 1, 1, 2, 2, 8, 2, 1, 8, 2, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x16x!x>) -> tensor<1x3x2x8x!h>
  %6 = npu.vec.softmax(%5) {layout = #npu.layout<axis = 3>, axis = 3 : i64, log = false} : (tensor<1x3x2x8x!h>) -> tensor<1x3x2x8xf32> loc("softmax")
  return %4, %6 : tensor<1x2x3x5xf32>, tensor<1x3x2x8xf32>
}
}
