// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predictions, one line for each engine of an operation.
//
// RUN: ashlar-opt --ashlar-npu-print-cycles --split-input-file %s -o %t.mlir | FileCheck %s

// 130 channels are two channel tiles: 2 * 100 elements. A graph input is loaded
// by whoever reads it.
// CHECK: {{^}}relu	vec	200{{$}}
// Encodes write mantissas in a second pass; the second tile, of two channels, is
// computed in ten parts of ten positions side by side.
// CHECK-NEXT: {{^}}encode	vec	220{{$}}
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @maps(%x: tensor<1x130x10x10xf32>) -> tensor<1x130x10x10x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>> {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x130x10x10xf32>) -> tensor<1x130x10x10xf32> loc("relu")
  %1 = npu.vec.map "copy"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x130x10x10xf32>) -> tensor<1x130x10x10x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>> loc("encode")
  return %1 : tensor<1x130x10x10x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
}
}

// -----

// A transpose of 128 x 128 bytes inside the chip: 16,384 runs of a byte, 4 a
// cycle on each of three queues, and the set-up; 43 rows of 128 on the first.
// CHECK: {{^}}turn	dma	1384{{$}}
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @turn(%x: tensor<128x128xi8>) -> tensor<128x128xi8> {
  %0 = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<128x128xi8>) -> tensor<128x128xi8> loc("first")
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 0>, patterns = [array<i64: 0, 2, 2, 128, 1, 1, 0, 1, 128, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<128x128xi8>) -> tensor<128x128xi8> loc("turn")
  %2 = npu.vec.map "copy"(%1) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<128x128xi8>) -> tensor<128x128xi8> loc("last")
  return %2 : tensor<128x128xi8>
}
}
