// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows over the ends of their operand: read where it lies if copies take
// fewer cycles.
//
// RUN: ashlar-opt --ashlar-npu-read-windows --split-input-file %s | FileCheck %s

!y = tensor<1x18x112x112x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Three rows of taps and the two columns of a stride, one row and one column of
// zeros before the image: the windows inside, the first row, the first column
// and their corner.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @image(
// CHECK: npu.dma.move
// CHECK-SAME: ashlar.decision.windows = #ashlar.decision<choice = "in-place", reason = "{{.+}}", alternatives = {"in-place" = {{[0-9]+}} : i64, staged = {{[0-9]+}} : i64}>
// CHECK-SAME: fill = 0.000000e+00 : f64
// CHECK-SAME: patterns = [
// The corner: taps from the second row and column on, of one position.
// CHECK-SAME: array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 3, 1, 1, 1, 6, 2, 2, 1, 1, 2, 1, 3, 1, 1, 1, 1, 2, 2, 2, 1, 1, 3, 2, 3, 1, 0, 0, 0, 0, 0, 3, 0, 0>
// CHECK-SAME: array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 3, 1, 1, 1, 6, 2, 2, 1, 1, 2, 2, 3, 1, 1, 1, 1, 2, 2, 2, 1, 111, 3, 2, 3, 1, 0, 0, 0, 1, 0, 2, 0, 1>
// CHECK-SAME: array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 3, 1, 1, 1, 6, 3, 2, 1, 1, 2, 1, 3, 1, 1, 1, 111, 2, 2, 2, 1, 1, 3, 2, 3, 1, 0, 0, 1, 0, 0, 1, 1, 0>
// CHECK-SAME: array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 3, 1, 1, 1, 6, 3, 2, 1, 1, 2, 2, 3, 1, 1, 1, 111, 2, 2, 2, 1, 111, 3, 2, 3, 1, 0, 0, 1, 1, 0, 0, 1, 1>]
func.func @image(%x: tensor<1x3x224x224xf32>) -> !y {
  %0 = npu.dma.move "im2col"(%x) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 3, 1, 1, 1, 6, 3, 2, 1, 1, 2, 2, 3, 1, 1, 1, 112, 2, 2, 2, 1, 112, 3, 2, 3, 1, 0, 0, -1, -1, 0, 0, 0, 0>]} : (tensor<1x3x224x224xf32>) -> !y
  return %0 : !y
}
}

// -----

!y = tensor<1x20x25x6x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Ten rows of taps over a map of 49 x 10: a copy for each of the windows over
// the ends takes longer than one of the whole map.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @spectrum(
// CHECK: choice = "staged", reason = "copies of the windows over the ends take longer than one more copy of the operand"
// CHECK-NOT: fill
func.func @spectrum(%x: tensor<1x1x49x10xf32>) -> !y {
  %0 = npu.dma.move "im2col"(%x) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 1, 1, 1, 1, 20, 10, 2, 1, 1, 2, 2, 3, 1, 1, 1, 25, 2, 2, 2, 1, 6, 3, 2, 3, 1, 0, 0, -4, -1, 0, 0, 0, 0>]} : (tensor<1x1x49x10xf32>) -> !y
  return %0 : !y
}
}

// -----

!y = tensor<1x27x112x112x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Windows that share columns, too, would be fetched several times.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @whole_kernel(
// CHECK-NOT: ashlar.decision.windows
func.func @whole_kernel(%x: tensor<1x3x224x224xf32>) -> !y {
  %0 = npu.dma.move "im2col"(%x) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 6, 4, 1, 0, 1, 0, 1, 3, 1, 1, 1, 9, 3, 2, 1, 1, 3, 3, 3, 1, 1, 1, 112, 2, 2, 2, 1, 112, 3, 2, 3, 1, 0, 0, -1, -1, 0, 0, 0, 0>]} : (tensor<1x3x224x224xf32>) -> !y
  return %0 : !y
}
}
