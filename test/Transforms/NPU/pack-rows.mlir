// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of results in the columns of the array by predicted cycles.
//
// RUN: ashlar-opt --ashlar-npu-pack-rows --split-input-file %s | FileCheck %s

!x = tensor<1x128x28x28x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<32x128x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Two rows of 32 outputs fill 64 columns: 12 taps of 14 * 28 positions instead of
// 9 of 28 * 28.
module attributes {ashlar.target = #ashlar.target<"a1">} {
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
module attributes {ashlar.target = #ashlar.target<"a1">} {
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
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @full(
// CHECK-NOT: decision.rows
func.func @full(%x: !x) -> tensor<1x64x28x28xf32> {
  %k = nn.constant dense<1.0> : tensor<64x128x3x3xf32>
  %w = bfp.encode %k weights : tensor<64x128x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x28x28xf32>
  return %y : tensor<1x64x28x28xf32>
}
}

// -----

!x = tensor<1x16x64x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<32x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Few channels, too: two rows of the operand fill 32 rows of the array, and two
// of results the columns. More rows take as many steps and more of the copy.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @few_channels(
// CHECK: npu.pe.conv({{.*}}ashlar.decision.rows = #ashlar.decision<choice = "rows-2-apart", reason = "32 outputs of 2 rows in the columns, as many of the operand in the rows: 2048 cycles of the array instead of 4096, 2048 of drains instead of 4096, {{[0-9]+}} of copies", alternatives = {"rows-1" = {{[0-9]+}} : i64, "rows-2" = {{[0-9]+}} : i64, "rows-2-apart" = {{[0-9]+}} : i64, "rows-4-apart" = {{[0-9]+}} : i64, "rows-8-apart" = {{[0-9]+}} : i64}>{{.*}}packed_rows = 2{{.*}}rows_apart
func.func @few_channels(%x: !x) -> tensor<1x32x64x64xf32> {
  %k = nn.constant dense<1.0> : tensor<32x16x1x1xf32>
  %w = bfp.encode %k weights : tensor<32x16x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x32x64x64xf32>
  return %y : tensor<1x32x64x64xf32>
}
}

// -----

!x = tensor<1x16x64x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<32x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// The whole network is faster with the operand as it lies.
module attributes {npu.tuning = #npu.tuning<pack_rows = compared>, ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @compared(
// CHECK: npu.pe.conv({{.*}}choice = "rows-1", reason = "the whole network takes fewer cycles with operands as they lie"{{.*}}"rows-2-apart" = 
// CHECK-NOT: rows_apart
func.func @compared(%x: !x) -> tensor<1x32x64x64xf32> {
  %k = nn.constant dense<1.0> : tensor<32x16x1x1xf32>
  %w = bfp.encode %k weights : tensor<32x16x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x32x64x64xf32>
  return %y : tensor<1x32x64x64xf32>
}
}

// -----

!x = tensor<1x12x63x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<32x12x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Rows of 12 channels would share exponent cells.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @shared_cells(
// CHECK: npu.pe.conv(
// CHECK-NOT: apart
func.func @shared_cells(%x: !x) -> tensor<1x32x63x64xf32> {
  %k = nn.constant dense<1.0> : tensor<32x12x1x1xf32>
  %w = bfp.encode %k weights : tensor<32x12x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x32x63x64xf32>
  return %y : tensor<1x32x63x64xf32>
}
}
