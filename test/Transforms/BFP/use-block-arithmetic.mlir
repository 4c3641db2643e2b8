// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that add as integers, products that cannot, functions of blocks.
// RUN: ashlar-opt %s --ashlar-bfp-use-block-arithmetic --ashlar-bfp-scale-channels | FileCheck %s

!x = tensor<1x16x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>

// Residual, bias and clip stay in integers; nothing is scaled.
// CHECK-LABEL: func.func @inside
// CHECK: bfp.conv
// CHECK-NOT: scale(
// CHECK-SAME: integer_epilogue
func.func @inside(%x: !x) -> !x {
  %c = nn.constant dense<0.3> : tensor<16x16x1xf32>
  %b = nn.constant dense<0.1> : tensor<16xf32>
  %w = bfp.encode %c weights : tensor<16x16x1xf32> -> !w
  %y = bfp.conv %x, %w bias(%b) residual(%x) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, function = "clip", beta = 6.0 : f32} : (!x, !w, tensor<16xf32>, !x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @outside
// CHECK: bfp.conv {{.*}}reason = "a function other than copy, relu and clip, or blocks as long as the axis"
// CHECK-NOT: integer_epilogue
// CHECK: bfp.conv {{.*}}reason = "the result is not stored encoded"
// CHECK-NOT: integer_epilogue
// CHECK: bfp.conv {{.*}}reason = "the bias is no constant of finite numbers"
// CHECK-NOT: integer_epilogue
func.func @outside(%x: !x, %w: !w, %b: tensor<16xf32>) -> (!x, tensor<1x16x8xf32>, !x) {
  %y = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, function = "tanh"} : (!x, !w) -> !x
  %z = bfp.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (!x, !w) -> tensor<1x16x8xf32>
  %v = bfp.conv %x, %w bias(%b) {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (!x, !w, tensor<16xf32>) -> !x
  return %y, %z, %v : !x, tensor<1x16x8xf32>, !x
}

// CHECK-LABEL: func.func @functions
// CHECK: bfp.arithmetic "sub"
// CHECK: bfp.arithmetic "mul"
// CHECK: nn.max
// CHECK: nn.add
func.func @functions(%x: !x, %g: tensor<1x16x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, %f: tensor<1x16x8xf32>) -> (!x, !x, !x, !x) {
  %a = nn.sub %x, %x : (!x, !x) -> !x
  %b = nn.mul %a, %g : (!x, tensor<1x16x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> !x
  %c = nn.max %a, %b : (!x, !x) -> !x
  %d = nn.add %c, %f : (!x, tensor<1x16x8xf32>) -> !x
  return %a, %b, %c, %d : !x, !x, !x, !x
}
