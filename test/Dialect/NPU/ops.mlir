// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operation prints and parses, with all its optional parts.
//
// RUN: ashlar-opt %s --verify-roundtrip | FileCheck %s

!x = tensor<1x16x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!k = tensor<4x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!n = tensor<16x5x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>

// CHECK-LABEL: func.func @conv(
// CHECK: npu.pe.conv(%{{.*}}, %{{.*}}) {alpha = 0.000000e+00 : f32, beta = 0.000000e+00 : f32, dilations = array<i64: 1, 1>, function = "relu", group = 1 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} :
func.func @conv(%x: !x, %w: !w) -> !x {
  %0 = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  return %0 : !x
}

// CHECK-LABEL: func.func @conv_epilogue(
// CHECK: npu.pe.conv(%{{.*}}, %{{.*}} bias %[[B:.*]] scale %[[B]] residual %{{.*}}) {
func.func @conv_epilogue(%x: !x, %w: !w, %b: tensor<16xf32>) -> tensor<1x16x8x8xf32> {
  %0 = npu.pe.conv(%x, %w bias %b scale %b residual %x) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w, tensor<16xf32>, tensor<16xf32>, !x) -> tensor<1x16x8x8xf32>
  return %0 : tensor<1x16x8x8xf32>
}

// CHECK-LABEL: func.func @matmul(
// CHECK: npu.pe.matmul(%{{.*}}, %{{.*}} residual %{{.*}}) {alpha = 0.000000e+00 : f32, beta = 6.000000e+00 : f32, function = "clip"} :
func.func @matmul(%a: !k, %b: !n, %r: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = npu.pe.matmul(%a, %b residual %r) {function = "clip", alpha = 0.0 : f32, beta = 6.0 : f32} : (!k, !n, tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @map(
// CHECK: %[[S:.*]] = npu.vec.map "add"(%{{.*}}, %{{.*}}) {alpha = 0.000000e+00 : f32, beta = 0.000000e+00 : f32} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
// CHECK: npu.vec.map "relu"(%[[S]] bias %{{.*}}) {{.*}} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
// CHECK: npu.vec.map "copy"(%[[S]]) {{.*}} -> tensor<4x5xf16>
func.func @map(%a: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf16> {
  %0 = npu.vec.map "add"(%a, %b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %biased = npu.vec.map "relu"(%0 bias %b) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %1 = npu.vec.map "copy"(%0) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x5xf32>) -> tensor<4x5xf16>
  return %1 : tensor<4x5xf16>
}

// CHECK-LABEL: func.func @pool(
// CHECK: npu.vec.pool "max"(%{{.*}}) {count_include_pad = false, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} :
func.func @pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32> {
  %0 = npu.vec.pool "max"(%x) {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func.func @reduce(
// CHECK: npu.vec.reduce "mean"(%{{.*}}) {axes = array<i64: 2, 3>, select_last = false} : (tensor<1x3x8x8xf32>) -> tensor<1x3xf32>
func.func @reduce(%x: tensor<1x3x8x8xf32>) -> tensor<1x3xf32> {
  %0 = npu.vec.reduce "mean"(%x) {axes = array<i64: 2, 3>, select_last = false} : (tensor<1x3x8x8xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK: npu.vec.softmax(%{{.*}}) {axis = 1 : i64, log = true} : (tensor<2x9xf32>) -> tensor<2x9xf32>
func.func @softmax(%x: tensor<2x9xf32>) -> tensor<2x9xf32> {
  %0 = npu.vec.softmax(%x) {axis = 1 : i64, log = true} : (tensor<2x9xf32>) -> tensor<2x9xf32>
  return %0 : tensor<2x9xf32>
}

// CHECK-LABEL: func.func @move(
// CHECK: npu.dma.move "transpose"(%{{.*}}) {fill = 1.000000e+00 : f64, patterns = [array<i64: 0, 2, 2, 2, 0, 1, 1, 1, 3, 1, 1, 0, 1, 0, 0, 0, 0>]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
func.func @move(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = npu.dma.move "transpose"(%x) {fill = 1.0 : f64, patterns = [array<i64: 0, 2, 2, 2, 0, 1, 1, 1, 3, 1, 1, 0, 1, 0, 0, 0, 0>]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
