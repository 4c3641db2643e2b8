// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of results in the columns of the array by predicted cycles.
//
// RUN: ashlar-opt --ashlar-npu-pack-rows --split-input-file %s | FileCheck %s

!x = tensor<1x128x28x28x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<32x128x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Two rows of 32 outputs fill 64 columns: 12 taps of 14 * 28 positions instead of
// 9 of 28 * 28.
module attributes {npu.target = #npu.target<"a1">} {
// CHECK-LABEL: func.func @few_outputs(
// CHECK: npu.pe.conv({{.*}}ashlar.decision.rows = #ashlar.decision<choice = "rows-2", reason = "32 outputs of 2 rows in the columns: 4704 cycles of the array instead of 7056, 392 of drains instead of 784", alternatives = {"rows-1" = {{[0-9]+}} : i64, "rows-2" = {{[0-9]+}} : i64}>{{.*}}packed_rows = 2
func.func @few_outputs(%x: !x) -> tensor<1x32x28x28xf32> {
  %k = nn.constant dense<1.0> : tensor<32x128x3x3xf32>
  %w = bfp.encode %k weights : tensor<32x128x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x32x28x28xf32>
  return %y : tensor<1x32x28x28xf32>
}
}

// -----

!x = tensor<1x128x7x7x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<32x128x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Loads of 128 rows bound both: 12 take longer than 9.
module attributes {npu.target = #npu.target<"a1">} {
// CHECK-LABEL: func.func @small_map(
// CHECK: npu.pe.conv({{.*}}choice = "rows-1", reason = "more rows in a step take no fewer cycles"
// CHECK-NOT: packed_rows
func.func @small_map(%x: !x) -> tensor<1x32x7x7xf32> {
  %k = nn.constant dense<1.0> : tensor<32x128x3x3xf32>
  %w = bfp.encode %k weights : tensor<32x128x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x32x7x7xf32>
  return %y : tensor<1x32x7x7xf32>
}
}

// -----

!x = tensor<1x128x28x28x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x128x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// One row fills all columns: no choice.
module attributes {npu.target = #npu.target<"a1">} {
// CHECK-LABEL: func.func @full(
// CHECK-NOT: decision.rows
func.func @full(%x: !x) -> tensor<1x64x28x28xf32> {
  %k = nn.constant dense<1.0> : tensor<64x128x3x3xf32>
  %w = bfp.encode %k weights : tensor<64x128x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x28x28xf32>
  return %y : tensor<1x64x28x28xf32>
}
}
