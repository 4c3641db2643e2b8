// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes, types and operations of `bfp` print as they parse.
// RUN: ashlar-opt %s | ashlar-opt | FileCheck %s

!act = !bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>

// CHECK-LABEL: func private @types
// CHECK-SAME: !bfp.block<mantissa = 16, block = 64, range = 15, axis = 0>
// CHECK-SAME: !bfp.block<mantissa = 3, block = axis, range = 0, axis = 1>
// CHECK-SAME: !bfp.block<mantissa = 9, block = tensor, range = 1, axis = 1>
// CHECK-SAME: !bfp.block<mantissa = 9, block = 16, range = 7, axis = 1, unsigned>
// CHECK-SAME: !bfp.block<mantissa = 8, block = axis, range = 7, axis = 0, rows = 4096>
func.func private @types(
    tensor<4x3x!bfp.block<mantissa = 16, block = 64, range = 15, axis = 0>>,
    tensor<4x3x!bfp.block<mantissa = 3, block = axis, range = 0, axis = 1>>,
    tensor<4x3x!bfp.block<mantissa = 9, block = tensor, range = 1, axis = 1>>,
    tensor<4x3x!bfp.block<mantissa = 9, block = 16, range = 7, axis = 1, unsigned>>,
    tensor<4x3x!bfp.block<mantissa = 8, block = axis, range = 7, axis = 0, rows = 4096>>)

// CHECK-LABEL: func private @formats
// CHECK-SAME: bfp_a = #bfp.format<mantissa = 8, block = 16, range = 7>
// CHECK-SAME: bfp_b = #bfp.format<mantissa = 3, block = axis, range = 0, unsigned = auto>
// CHECK-SAME: bfp_c = #bfp.format<mantissa = 16, block = tensor, range = 15>
// CHECK-SAME: bfp_d = #bfp.format<mantissa = 5, block = 64, range = 1, rows = 4096>
// CHECK-SAME: bfp_e = #bfp.format<mantissa = 8, block = 8, range = 3, unsigned = auto, rows = quadrant>
func.func private @formats() attributes {
    bfp_a = #bfp.format<mantissa = 8, block = 16, range = 7>,
    bfp_b = #bfp.format<mantissa = 3, block = axis, range = 0, unsigned = auto>,
    bfp_c = #bfp.format<mantissa = 16, block = tensor, range = 15>,
    bfp_d = #bfp.format<mantissa = 5, block = 64, range = 1, rows = 4096>,
    bfp_e = #bfp.format<mantissa = 8, block = 8, range = 3, unsigned = auto, rows = quadrant>}

// CHECK-LABEL: func @conversions
func.func @conversions(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf16>) -> tensor<1x3x8x8xf32> {
  // CHECK: bfp.encode %{{.*}} : tensor<1x3x8x8xf32> -> tensor<1x3x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  %0 = bfp.encode %x : tensor<1x3x8x8xf32> -> tensor<1x3x8x8x!act>
  // CHECK: bfp.encode %{{.*}} weights : tensor<4x3x1x1xf16> ->
  %1 = bfp.encode %w weights : tensor<4x3x1x1xf16> -> tensor<4x3x1x1x!act>
  // CHECK: bfp.decode %{{.*}} : tensor<1x3x8x8x!bfp.block<{{.*}}>> -> tensor<1x3x8x8xf32>
  %2 = bfp.decode %0 : tensor<1x3x8x8x!act> -> tensor<1x3x8x8xf32>
  return %2 : tensor<1x3x8x8xf32>
}

// CHECK-LABEL: func @conv
func.func @conv(%x: tensor<1x16x8x8x!act>, %w: tensor<8x16x3x3x!act>, %b: tensor<8xf32>,
                %r: tensor<1x8x8x8x!act>) -> tensor<1x8x8x8x!act> {
  // CHECK: bfp.conv %{{.*}}, %{{.*}} bias(%{{.*}}) scale(%{{.*}}) residual(%{{.*}}) {alpha = 1.000000e-01 : f32, dilations = array<i64: 1, 1>, function = "leakyRelu", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}
  %0 = bfp.conv %x, %w bias(%b) scale(%b) residual(%r)
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       function = "leakyRelu", alpha = 0.1 : f32}
      : (tensor<1x16x8x8x!act>, tensor<8x16x3x3x!act>, tensor<8xf32>, tensor<8xf32>, tensor<1x8x8x8x!act>) -> tensor<1x8x8x8x!act>
  return %0 : tensor<1x8x8x8x!act>
}

// The result keeps floats before formats are chosen.
// CHECK-LABEL: func @matmul
func.func @matmul(%a: tensor<2x5x64xf32>, %b: tensor<64x10xf32>) -> tensor<2x5x10xf32> {
  // CHECK: bfp.matmul %{{.*}}, %{{.*}} : (tensor<2x5x64xf32>, tensor<64x10xf32>) -> tensor<2x5x10xf32>
  %0 = bfp.matmul %a, %b : (tensor<2x5x64xf32>, tensor<64x10xf32>) -> tensor<2x5x10xf32>
  return %0 : tensor<2x5x10xf32>
}

// CHECK-LABEL: func @integer_matmul
func.func @integer_matmul(%a: tensor<2x4x6xui8>, %b: tensor<6x5xi8>) -> tensor<2x4x5xi32> {
  // CHECK: bfp.integer_matmul %{{.*}}, %{{.*}} {a_zero = 120 : i64, b_zero = -3 : i64} : (tensor<2x4x6xui8>, tensor<6x5xi8>) -> tensor<2x4x5xi32>
  %0 = bfp.integer_matmul %a, %b {a_zero = 120 : i64, b_zero = -3 : i64} : (tensor<2x4x6xui8>, tensor<6x5xi8>) -> tensor<2x4x5xi32>
  return %0 : tensor<2x4x5xi32>
}

// CHECK-LABEL: func @in_blocks
func.func @in_blocks(%x: tensor<1x16x8x8x!act>, %w: tensor<16x16x1x1x!act>, %g: tensor<1x16x1x1x!act>) -> tensor<1x16x8x8x!act> {
  // CHECK: bfp.conv %{{.*}}, %{{.*}} residual(%{{.*}}) {{{.*}}function = "relu", integer_epilogue, {{.*}}}
  %0 = bfp.conv %x, %w residual(%x) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, function = "relu", integer_epilogue}
      : (tensor<1x16x8x8x!act>, tensor<16x16x1x1x!act>, tensor<1x16x8x8x!act>) -> tensor<1x16x8x8x!act>
  // CHECK: bfp.arithmetic "div"(%{{.*}}, %{{.*}}) : (
  %1 = bfp.arithmetic "div"(%0, %g) : (tensor<1x16x8x8x!act>, tensor<1x16x1x1x!act>) -> tensor<1x16x8x8x!act>
  return %1 : tensor<1x16x8x8x!act>
}
