// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means through partitions: the sums of many positions are divided across
// positions, those of few where they lie. Means within partitions stay.
//
// RUN: ashlar-opt --ashlar-npu-split-means --split-input-file %s | FileCheck %s

!x = tensor<1x197x384xf32>
!r = tensor<1x197x1xf32>
// CHECK-LABEL: func.func @many(
// CHECK: %[[S:.*]] = npu.vec.reduce "sum"(%arg0) {axes = array<i64: 2>, layout = #npu.layout<axis = 2>
// CHECK: %[[N:.*]] = nn.constant dense<3.840000e+02>
// CHECK: %[[M:.*]] = npu.vec.map "div"(%[[S]], %[[N]]) {{.*}}#npu.layout<axis = 1>
// CHECK: return %[[M]]
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @many(%x: !x) -> !r {
  %m = npu.vec.reduce "mean"(%x) {layout = #npu.layout<axis = 2>, axes = array<i64: 2>, select_last = false} : (!x) -> !r
  return %m : !r
}
}

// -----

!x = tensor<1x9x384xf32>
!r = tensor<1x9x1xf32>
// CHECK-LABEL: func.func @few(
// CHECK: npu.vec.reduce "mean"
// CHECK-NOT: npu.vec.map
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @few(%x: !x) -> !r {
  %m = npu.vec.reduce "mean"(%x) {layout = #npu.layout<axis = 2>, axes = array<i64: 2>, select_last = false} : (!x) -> !r
  return %m : !r
}
}

// -----

!x = tensor<1x197x384xf32>
!r = tensor<1x197x1xf32>
// CHECK-LABEL: func.func @within(
// CHECK: npu.vec.reduce "mean"
// CHECK-NOT: npu.vec.map
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @within(%x: !x) -> !r {
  %m = npu.vec.reduce "mean"(%x) {layout = #npu.layout<axis = 1>, axes = array<i64: 2>, select_last = false} : (!x) -> !r
  return %m : !r
}
}
