// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of reductions that are computed where the reduction needs them.
//
// RUN: ashlar-opt --ashlar-npu-assign-axis --ashlar-npu-recompute-for-reductions --split-input-file %s | FileCheck %s

!b = tensor<1x197x384x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!x = tensor<1x197x384xf32>
!r = tensor<1x197x1xf32>
// The mean has a copy of the features across the positions: the squares for
// the variance are made of it there. The differences are needed both ways.
// CHECK-LABEL: func.func @variance(
// CHECK: %[[X:.*]] = npu.vec.map "relu"({{.*}}#npu.layout<axis = 2
// CHECK: %[[MEAN:.*]] = npu.vec.reduce "mean"(%[[X]]) {{.*}}#npu.layout<axis = 1
// CHECK: npu.vec.map "sub"(%[[X]], %[[MEAN]]) {{.*}}#npu.layout<axis = 2
// CHECK: %[[D:.*]] = npu.vec.map "sub"(%[[X]], %[[MEAN]]) {{.*}}#npu.layout<axis = 1
// CHECK: %[[S:.*]] = npu.vec.map "mul"(%[[D]], %[[D]]) {{.*}}#npu.layout<axis = 1
// CHECK-NOT: npu.vec.map "mul"
// CHECK: npu.vec.reduce "mean"(%[[S]])
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @variance(%b: !b) -> (!x, !r) {
  %x = npu.vec.map "relu"(%b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!b) -> !x
  %mean = npu.vec.reduce "mean"(%x) {axes = array<i64: 2>, select_last = false} : (!x) -> !r
  %d = npu.vec.map "sub"(%x, %mean) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !r) -> !x
  %s = npu.vec.map "mul"(%d, %d) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !x) -> !x
  %variance = npu.vec.reduce "mean"(%s) {axes = array<i64: 2>, select_last = false} : (!x) -> !r
  return %d, %variance : !x, !r
}
}

// -----

!b = tensor<1x197x384x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!x = tensor<1x197x384xf32>
!r = tensor<1x197x1xf32>
// Nothing else reduces the operand of the squares: they are copied.
// CHECK-LABEL: func.func @squares(
// CHECK: npu.vec.map "mul"({{.*}}#npu.layout<axis = 2
// CHECK-NOT: npu.vec.map
// CHECK: return
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @squares(%b: !b) -> !r {
  %x = npu.vec.map "relu"(%b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!b) -> !x
  %s = npu.vec.map "mul"(%x, %x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !x) -> !x
  %y = npu.vec.reduce "sum"(%s) {axes = array<i64: 2>, select_last = false} : (!x) -> !r
  return %y : !r
}
}

// -----

!b = tensor<1x197x384x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!x = tensor<1x197x384xf32>
!r = tensor<1x197x1xf32>
// Functions of several cycles take longer than the copy of their result.
// CHECK-LABEL: func.func @expensive(
// CHECK: npu.vec.map "gelu"({{.*}}#npu.layout<axis = 2
// CHECK-NOT: npu.vec.map "gelu"
// CHECK: return
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @expensive(%b: !b) -> (!x, !r, !r) {
  %x = npu.vec.map "relu"(%b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!b) -> !x
  %mean = npu.vec.reduce "mean"(%x) {axes = array<i64: 2>, select_last = false} : (!x) -> !r
  %g = npu.vec.map "gelu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> !x
  %sum = npu.vec.reduce "mean"(%g) {axes = array<i64: 2>, select_last = false} : (!x) -> !r
  return %g, %mean, %sum : !x, !r, !r
}
}
