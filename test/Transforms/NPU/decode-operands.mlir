// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that are read across another axis are decoded once.
//
// RUN: ashlar-opt --ashlar-npu-decode-operands %s | FileCheck %s

!x = tensor<1x16x48x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
// CHECK-LABEL: func.func @tokens(
// CHECK: %[[X:.*]] = npu.vec.map "copy"(%arg0)
// CHECK: %[[F:.*]] = npu.vec.map "copy"(%[[X]]) {{.*}}#npu.layout<axis = 2{{.*}} -> tensor<1x16x48xf32>
// CHECK-NEXT: npu.vec.reduce "mean"(%[[F]])
// CHECK-NEXT: npu.vec.reduce "max"(%[[F]])
// CHECK-NEXT: npu.vec.map "relu"(%[[X]])
// CHECK-NOT: "copy"
module attributes {ashlar.target = #ashlar.target<"m">} {
func.func @tokens(%arg0: tensor<1x16x48xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16x48xf32>) {
  %0 = npu.vec.map "copy"(%arg0) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x16x48xf32>) -> !x
  %1 = npu.vec.reduce "mean"(%0) {layout = #npu.layout<axis = 1>, axes = array<i64: 2>, select_last = false} : (!x) -> tensor<1x16xf32>
  %2 = npu.vec.reduce "max"(%0) {layout = #npu.layout<axis = 1>, axes = array<i64: 2>, select_last = false} : (!x) -> tensor<1x16xf32>
  %3 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> tensor<1x16x48xf32>
  return %1, %2, %3 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16x48xf32>
}
}
