// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy that changes the partition axis continues in parallel with the product
// that makes its operand, so the array does not transpose there. The cycles of
// the product are predicted from the operation; decisions of earlier passes are
// for reports and steer nothing.
//
// RUN: ashlar-opt --ashlar-npu-classify-transposes %s | FileCheck %s

!x = tensor<256x512x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<512x256x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
!f = tensor<256x256xf32>
module attributes {ashlar.target = #ashlar.target<"a1">} {
// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: npu.pe.matmul
// CHECK-NEXT: npu.vec.map
func.func @plain(%x: !x, %w: !w) -> !f {
  %0 = npu.pe.matmul(%x, %w) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32, function = "copy"} : (!x, !w) -> !f
  %1 = npu.vec.map "abs"(%0) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!f) -> !f
  return %1 : !f
}

// CHECK-LABEL: func.func @explained(
// CHECK-NEXT: npu.pe.matmul
// CHECK-NEXT: npu.vec.map
func.func @explained(%x: !x, %w: !w) -> !f {
  %0 = npu.pe.matmul(%x, %w) {ashlar.decision.stationary = #ashlar.decision<choice = "weights-stationary", reason = "fewer cycles", alternatives = {"weights-stationary" = 0 : i64}>, layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32, function = "copy"} : (!x, !w) -> !f
  %1 = npu.vec.map "abs"(%0) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!f) -> !f
  return %1 : !f
}

// There is no product to continue with.
// CHECK-LABEL: func.func @of_a_function(
// CHECK: npu.pe.transpose
func.func @of_a_function(%x: !f) -> !f {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!f) -> !f
  %1 = npu.vec.map "abs"(%0) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!f) -> !f
  return %1 : !f
}
}
