// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chunks that the second convolution makes small take apart the rows of the
// first, whose tiles then fit: the plan says so, and emission does not pack them
// again, which its ring has no room for.
//
// RUN: ashlar-opt --ashlar-npu-pack-rows --ashlar-npu-plan-memory --ashlar-npu-verify-plan %s | FileCheck %s

!x = tensor<1x128x28x28x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
!w = tensor<16x128x3x1x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
!v = tensor<64x128x3x3x!bfp.block<mantissa = 16, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1", sb = {partitions = 128, bytes_per_partition = 1024}>} {
// CHECK-LABEL: func.func @few_outputs(
// CHECK: npu.pe.conv({{.*}}choice = "rows-1", reason = "chunks of weights are too small for those of several rows"
// CHECK-NOT: packed_rows
func.func @few_outputs(%x: !x) -> (tensor<1x16x28x28xf32>, tensor<1x64x28x28xf32>) {
  %k = nn.constant dense<1.0> : tensor<16x128x3x1xf32>
  %w = bfp.encode %k weights : tensor<16x128x3x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x16x28x28xf32>
  %l = nn.constant dense<1.0> : tensor<64x128x3x3xf32>
  %v = bfp.encode %l weights : tensor<64x128x3x3xf32> -> !v
  %z = npu.pe.conv(%x, %v) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !v) -> tensor<1x64x28x28xf32>
  return %y, %z : tensor<1x16x28x28xf32>, tensor<1x64x28x28xf32>
}
}
