// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows that overlap: what several taps read is fetched once.
//
// RUN: ashlar-opt --ashlar-npu-print-cycles %s -o %t.mlir | FileCheck %s

// 7 rows of taps at stride 2 in 16 x 16 positions of 3 channels: 5,376 runs of
// an element, which take 1,095 cycles. The last two taps fetch their positions,
// the others one, two and three rows: 1,968 runs. The rest are rows of the result.
// CHECK: {{^}}taps	dma	749{{$}}
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @taps(%x: tensor<1x3x37x32xf32>) -> tensor<1x21x16x16xf32> {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x3x37x32xf32>) -> tensor<1x3x37x32xf32> loc("first")
  %1 = npu.dma.move "im2col"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 3, 1, 1, 1, 7, 7, 2, 1, 1, 1, 16, 2, 2, 2, 1, 16, 3, 2, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x3x37x32xf32>) -> tensor<1x21x16x16xf32> loc("taps")
  %2 = npu.vec.map "relu"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x21x16x16xf32>) -> tensor<1x21x16x16xf32> loc("last")
  return %2 : tensor<1x21x16x16xf32>
}
}
