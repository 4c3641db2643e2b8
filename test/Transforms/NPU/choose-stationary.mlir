// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operand that waits in the array, by predicted cycles of the machine a1-ideal.
//
// RUN: ashlar-opt --ashlar-npu-choose-stationary --split-input-file %s | FileCheck %s

!x = tensor<1x512x7x7x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<512x512x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// 49 positions cover no load of 128 rows: the weights move.
module attributes {ashlar.target = #ashlar.target<"a1-ideal", base = "a1-ideal">} {
// CHECK-LABEL: func.func @few_positions(
// CHECK: npu.pe.conv({{.*}}choice = "activations-stationary"{{.*}}"activations-stationary" = 3{{[0-9]+}} : i64{{.*}}"weights-stationary" = 4096 : i64{{.*}}#npu.stationary<activations
func.func @few_positions(%x: !x, %c: tensor<512x512x1x1xf32>) -> tensor<1x512x7x7xf32> {
  %k = nn.constant dense<1.0> : tensor<512x512x1x1xf32>
  %w = bfp.encode %k weights : tensor<512x512x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x512x7x7xf32>
  return %y : tensor<1x512x7x7xf32>
}
}

// -----

!x = tensor<1x64x56x56x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x64x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// A large feature map cannot be turned, and covers every load.
module attributes {ashlar.target = #ashlar.target<"a1-ideal", base = "a1-ideal">} {
// CHECK-LABEL: func.func @large_map(
// CHECK: npu.pe.conv({{.*}}choice = "weights-stationary"{{.*}}reason = "the result cannot be transposed in one pass"
// CHECK-NOT: #npu.stationary<
func.func @large_map(%x: !x) -> tensor<1x64x56x56xf32> {
  %k = nn.constant dense<1.0> : tensor<64x64x1x1xf32>
  %w = bfp.encode %k weights : tensor<64x64x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}
}

// -----

!x = tensor<1x512x7x7x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<512x512x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// An encoded result leaves the array with blocks along the free axis, and the
// array turns them whole: fewer cycles than a copy and an encode.
module attributes {ashlar.target = #ashlar.target<"a1-ideal", base = "a1-ideal">} {
// CHECK-LABEL: func.func @turned_blocks(
// CHECK: npu.pe.conv({{.*}}and the array transposes whole blocks"{{.*}}"activations-stationary-transposed-blocks" = {{[0-9]+}} : i64{{.*}}#npu.stationary<activations_blocks>
func.func @turned_blocks(%x: !x) -> !x {
  %k = nn.constant dense<1.0> : tensor<512x512x1x1xf32>
  %w = bfp.encode %k weights : tensor<512x512x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  return %y : !x
}
}

// -----

!x = tensor<1x512x7x7x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<512x512x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// A residual lies the other way: the result is turned as floats.
module attributes {ashlar.target = #ashlar.target<"a1-ideal", base = "a1-ideal">} {
// CHECK-LABEL: func.func @with_residual(
// CHECK-NOT: transposed-blocks
// CHECK-NOT: #npu.stationary<activations_blocks>
func.func @with_residual(%x: !x) -> !x {
  %k = nn.constant dense<1.0> : tensor<512x512x1x1xf32>
  %w = bfp.encode %k weights : tensor<512x512x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w residual %x) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w, !x) -> !x
  return %y : !x
}
}
