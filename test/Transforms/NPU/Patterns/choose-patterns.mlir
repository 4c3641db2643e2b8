// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N:M weights by predicted cycles: of every four channels two are zero.
//
// RUN: ashlar-opt --ashlar-npu-choose-patterns --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-npu-choose-patterns=mode=on --split-input-file %s | FileCheck %s --check-prefix=ON
// RUN: ashlar-opt --ashlar-npu-choose-patterns=mode=off --split-input-file %s | FileCheck %s --check-prefix=OFF
// OFF-NOT: npu.pattern

!x = tensor<1x8x4x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
!w = tensor<4x8x1x1x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
// One tile of 8 rows: a load of 4 cycles and a stream of 12 instead of 8 and 24.
module attributes {ashlar.target = #ashlar.target<"nm", base = "a1-tiny", pe = {pattern_group = 4}>} {
// CHECK-LABEL: func.func @half(
// CHECK: npu.pe.conv({{.*}}choice = "2:4", reason = "1 of 1 stationary tiles have the pattern 2:4: fewer cycles", alternatives = {"2:4" = 12 : i64, dense = 24 : i64}{{.*}}pattern = #npu.pattern<kept = 2, group = 4>
func.func @half(%x: !x) -> tensor<1x4x4x6xf32> {
  %k = nn.constant dense<[[[[1.0]], [[0.0]], [[2.0]], [[0.0]], [[0.0]], [[0.0]], [[1.0]], [[1.0]]],
                          [[[0.0]], [[0.0]], [[2.0]], [[3.0]], [[1.0]], [[0.0]], [[0.0]], [[1.0]]],
                          [[[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[1.0]]],
                          [[[1.0]], [[1.0]], [[0.0]], [[0.0]], [[1.0]], [[1.0]], [[0.0]], [[0.0]]]]> : tensor<4x8x1x1xf32>
  %w = bfp.encode %k weights : tensor<4x8x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x4x6xf32>
  return %y : tensor<1x4x4x6xf32>
}
}

// -----

!x = tensor<1x8x4x6x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
!w = tensor<4x8x1x1x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
// Three of four channels: no tile has the pattern.
module attributes {ashlar.target = #ashlar.target<"nm", base = "a1-tiny", pe = {pattern_group = 4}>} {
// CHECK-LABEL: func.func @three(
// CHECK: choice = "dense", reason = "0 of 1 stationary tiles have the pattern 2:4"
// CHECK-NOT: npu.pattern
// ON-LABEL: func.func @three(
// ON-NOT: npu.pattern
func.func @three(%x: !x) -> tensor<1x4x4x6xf32> {
  %k = nn.constant dense<[[[[1.0]], [[1.0]], [[2.0]], [[0.0]], [[0.0]], [[0.0]], [[1.0]], [[1.0]]],
                          [[[0.0]], [[0.0]], [[2.0]], [[3.0]], [[1.0]], [[0.0]], [[0.0]], [[1.0]]],
                          [[[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[1.0]]],
                          [[[1.0]], [[1.0]], [[0.0]], [[0.0]], [[1.0]], [[1.0]], [[0.0]], [[0.0]]]]> : tensor<4x8x1x1xf32>
  %w = bfp.encode %k weights : tensor<4x8x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x4x6xf32>
  return %y : tensor<1x4x4x6xf32>
}
}

// -----

!x = tensor<1x8x1x1x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
!w = tensor<4x8x1x1x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
// Loads of two rows a cycle are no faster here: one position, and the array waits for the
// rows of the product before it. Only on request.
module attributes {ashlar.target = #ashlar.target<"nm", base = "a1-tiny", pe = {pattern_group = 4, pattern_rows_per_cycle = 1, groups_wait = true}>} {
// CHECK-LABEL: func.func @one(
// CHECK: choice = "dense", reason = "1 of 1 stationary tiles have the pattern 2:4, but loads and waits take longer"
// CHECK-NOT: npu.pattern
// ON-LABEL: func.func @one(
// ON: reason = "1 of 1 stationary tiles have the pattern 2:4: requested"{{.*}}#npu.pattern<kept = 2, group = 4>
func.func @one(%x: !x) -> tensor<1x4x1x1xf32> {
  %k = nn.constant dense<[[[[1.0]], [[0.0]], [[2.0]], [[0.0]], [[0.0]], [[0.0]], [[1.0]], [[1.0]]],
                          [[[0.0]], [[0.0]], [[2.0]], [[3.0]], [[1.0]], [[0.0]], [[0.0]], [[1.0]]],
                          [[[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[0.0]], [[1.0]]],
                          [[[1.0]], [[1.0]], [[0.0]], [[0.0]], [[1.0]], [[1.0]], [[0.0]], [[0.0]]]]> : tensor<4x8x1x1xf32>
  %w = bfp.encode %k weights : tensor<4x8x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x1x1xf32>
  return %y : tensor<1x4x1x1xf32>
}
}
