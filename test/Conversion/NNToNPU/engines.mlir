// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which engine each family of operations is bound to, and what travels along:
// parameters, the name in the numeric plan, the source operator.
//
// RUN: ashlar-opt --ashlar-convert-nn-to-npu --split-input-file %s | FileCheck %s

!x = tensor<1x16x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!f = tensor<1x16x4x4xf32>
// CHECK-LABEL: func.func @main(
// The encode of an activation is vector work, that of weights stays.
// CHECK: npu.vec.map "copy"(%arg0) {{.*}}origin = #npu.origin<name = {{.*}}op = "encode"
// CHECK: %[[W:.*]] = bfp.encode %{{.*}} weights
// CHECK: npu.pe.conv(%{{.*}}, %[[W]] bias %{{.*}} residual %{{.*}}) {{.*}}function = "clip", group = 1 : i64, origin = #npu.origin<name = "{{.+}}", op = "conv"
// CHECK: npu.vec.map "copy"(%{{.*}}) {{.*}}op = "decode"
func.func @main(%arg0: !f) -> !f {
  %x = bfp.encode %arg0 : !f -> !x
  %c = nn.constant dense<0.5> : tensor<16x16x1x1xf32>
  %b = nn.constant dense<0.25> : tensor<16xf32>
  %w = bfp.encode %c weights : tensor<16x16x1x1xf32> -> !w
  %y = bfp.conv %x, %w bias(%b) residual(%x) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, function = "clip", alpha = 0.0 : f32, beta = 6.0 : f32} : (!x, !w, tensor<16xf32>, !x) -> !x
  %z = bfp.decode %y : !x -> !f
  return %z : !f
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.map "leakyRelu"(%{{.*}}) {alpha = 1.250000e-01 : f32
// CHECK: npu.vec.map "add"
// CHECK: npu.vec.map "prelu"
// CHECK: npu.vec.map "lessOrEqual"
// CHECK: npu.vec.map "xor"
// CHECK: npu.vec.map "copy"({{.*}} op = "cast"
func.func @main(%a: tensor<4x5xf32>, %s: tensor<5xf32>) -> tensor<4x5xi32> {
  %0 = nn.unary leakyRelu %a {alpha = 0.125 : f32} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %1 = nn.add %0, %s : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %2 = nn.prelu %1, %s : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %3 = nn.compare lessOrEqual %2, %a : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xi1>
  %4 = nn.logical xor %3, %3 : (tensor<4x5xi1>, tensor<4x5xi1>) -> tensor<4x5xi1>
  %5 = nn.cast %4 : (tensor<4x5xi1>) -> tensor<4x5xi32>
  return %5 : tensor<4x5xi32>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.pool "max"({{.*}} kernel = array<i64: 2, 2>
// CHECK: npu.vec.pool "avg"({{.*}}count_include_pad = true
// CHECK: npu.vec.reduce "mean"({{.*}}axes = array<i64: 2, 3>{{.*}}select_last = false
// CHECK: npu.vec.softmax({{.*}}axis = 1 : i64, log = false
// CHECK: npu.vec.softmax({{.*}}axis = 1 : i64, log = true
// CHECK: npu.vec.reduce "argmin"({{.*}}axes = array<i64: 1>{{.*}}select_last = true
func.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1xi64> {
  %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %1 = nn.avg_pool %0 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = true} : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32>
  %2 = nn.reduce mean %1 {axes = array<i64: 2, 3>, keepdims = false} : (tensor<1x3x2x2xf32>) -> tensor<1x3xf32>
  %3 = nn.softmax %2 {axis = 1 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %4 = nn.log_softmax %3 {axis = 1 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %5 = nn.arg_reduce min %4 {axis = 1 : i64, keepdims = false, select_last = true} : (tensor<1x3xf32>) -> tensor<1xi64>
  return %5 : tensor<1xi64>
}

// -----

// A result that no operation computes, or that is returned twice, is copied.
// CHECK-LABEL: func.func @main(
// CHECK: %[[R:.*]] = npu.vec.map "relu"
// CHECK: %[[A:.*]] = npu.dma.move "copy"(%[[R]])
// CHECK: %[[B:.*]] = npu.dma.move "copy"(%arg0)
// CHECK: return %[[R]], %[[A]], %[[B]]
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.unary relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %0, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Decisions of earlier passes stay with the operation for the reports.
!x = tensor<1x16x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// CHECK-LABEL: func.func @main(
// CHECK: npu.pe.conv({{.*}}ashlar.decision = #ashlar.decision<choice = "plain", reason = "asked for">
func.func @main(%x: !x) -> tensor<1x16x4x4xf32> {
  %c = nn.constant dense<0.5> : tensor<16x16x1x1xf32>
  %w = bfp.encode %c weights : tensor<16x16x1x1xf32> -> !w
  %y = bfp.conv %x, %w {ashlar.decision = #ashlar.decision<choice = "plain", reason = "asked for">, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (!x, !w) -> tensor<1x16x4x4xf32>
  return %y : tensor<1x16x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.gather(%arg0, %arg1) {axis = 0 : i64, origin = #npu.origin<name = "{{.+}}", op = "take">}
func.func @main(%x: tensor<9x4xf32>, %i: tensor<3x1xi64>) -> tensor<3x4xf32> {
  %0 = nn.take %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Constants of 16 bits that lie within 255 of each other, zero included, become
// bytes of memory; others do not.
// CHECK-LABEL: func.func @main(
// CHECK: npu.pe.conv({{.*}}quant = #npu.quant<x_zero = 0, w_zero = 200>
// CHECK: npu.pe.matmul({{.*}}quant = #npu.quant<x_zero = 0>
// CHECK: return
func.func @main(%x: tensor<1x2x3x3xui8>, %m: tensor<4x2xi8>) -> (tensor<1x2x3x3xi32>, tensor<4x2xi32>) {
  %v = nn.constant dense<[[[[-200]], [[55]]], [[[1]], [[2]]]]> : tensor<2x2x1x1xi16>
  %0 = nn.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x3x3xui8>, tensor<2x2x1x1xi16>) -> tensor<1x2x3x3xi32>
  %w = nn.constant dense<[[256, 1], [2, 3]]> : tensor<2x2xi16>
  %1 = nn.matmul %m, %w : (tensor<4x2xi8>, tensor<2x2xi16>) -> tensor<4x2xi32>
  return %0, %1 : tensor<1x2x3x3xi32>, tensor<4x2xi32>
}

// -----

// Two run-time factors of bytes keep their zero points for the array.
// CHECK-LABEL: func.func @main(
// CHECK: npu.pe.matmul(%arg0, %arg1) {{.*}}quant = #npu.quant<x_zero = 120, w_zero = -3>
func.func @main(%a: tensor<4x6xui8>, %b: tensor<6x5xi8>) -> tensor<4x5xi32> {
  %y = bfp.integer_matmul %a, %b {a_zero = 120 : i64, b_zero = -3 : i64} : (tensor<4x6xui8>, tensor<6x5xi8>) -> tensor<4x5xi32>
  return %y : tensor<4x5xi32>
}

// -----

// A drain that rounds to bytes has a third zero point.
// CHECK-LABEL: func.func @main(
// CHECK: npu.pe.conv({{.*}}quant = #npu.quant<x_zero = 0, w_zero = 0, y_zero = 7>
func.func @main(%x: tensor<1x2x3x3xui8>) -> tensor<1x2x3x3xui8> {
  %w = nn.constant dense<1> : tensor<2x2x1x1xi8>
  %s = nn.constant dense<0.5> : tensor<2xf32>
  %0 = bfp.requantise_conv %x, %w, %s {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, zero_point = 7 : i64} : (tensor<1x2x3x3xui8>, tensor<2x2x1x1xi8>, tensor<2xf32>) -> tensor<1x2x3x3xui8>
  return %0 : tensor<1x2x3x3xui8>
}

// -----

// Every step of a function of quantised tensors is written.
// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.requantise "add"(%arg0, %arg1) {a_scale = 5.000000e-01 : f32, a_zero = 3 : i64, alpha = 0.000000e+00 : f32, b_scale = 2.500000e-01 : f32, b_zero = 0 : i64, beta = 6.000000e+00 : f32, limited = true,
// CHECK-SAME: step = 5.000000e-02 : f32, zero_point = -7 : i64}
func.func @main(%a: tensor<4xui8>, %b: tensor<4xui8>) -> tensor<4xi8> {
  %0 = bfp.requantise "add"(%a, %b) {a_scale = 0.5 : f32, a_zero = 3 : i64, b_scale = 0.25 : f32, limited, beta = 6.0 : f32, step = 0.05 : f32, zero_point = -7 : i64} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}
