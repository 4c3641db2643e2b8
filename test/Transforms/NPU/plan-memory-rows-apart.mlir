// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the operand that lie apart decide how it is read. Where the second
// convolution makes chunks of weights too small for a block of outputs of both
// rows, the first goes row by row before its tiles are planned.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --ashlar-npu-verify-plan %s | FileCheck %s

!x = tensor<1x16x16x16x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
!w = tensor<32x16x1x1x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
!y = tensor<1x32x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!u = tensor<1x128x28x28x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
!v = tensor<64x128x3x3x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1", sb = {partitions = 128, bytes_per_partition = 768}>} {
// CHECK-LABEL: func.func @few_channels(
// CHECK: npu.pe.conv({{.*}}choice = "rows-1", reason = "chunks of weights are too small for those of several rows"
// CHECK-NOT: rows_apart
func.func @few_channels(%x: !x, %u: !u) -> (!y, tensor<1x64x28x28xf32>) {
  %k = nn.constant dense<1.0> : tensor<32x16x1x1xf32>
  %w = bfp.encode %k weights : tensor<32x16x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, packed_rows = 2, rows_apart, ashlar.decision.rows = #ashlar.decision<choice = "rows-2-apart", reason = "fewer cycles">, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %l = nn.constant dense<1.0> : tensor<64x128x3x3xf32>
  %v = bfp.encode %l weights : tensor<64x128x3x3xf32> -> !v
  %z = npu.pe.conv(%u, %v) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!u, !v) -> tensor<1x64x28x28xf32>
  return %y, %z : !y, tensor<1x64x28x28xf32>
}
}
