// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes around products, asked of the array: how many identity
// multiplications are left (T15 and T16 of the transpose specification). Loads
// and stores that no model requests have origin `layout`.
//
// RUN: ashlar-opt --ashlar-simplify --ashlar-quantise --ashlar-convert-nn-to-npu --ashlar-npu-assign-axis --ashlar-npu-classify-transposes=mode=pe --ashlar-npu-plan-memory --split-input-file %s | FileCheck %s

// A * B^T: the blocks of B lie along the axis that is contracted, before the
// transpose and after it. Nothing moves.
// CHECK-LABEL: "a-bt"
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
// CHECK: npu.dma.move "transpose"({{.*}}choice = "none"{{.*}}route = #npu.route<view>
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
module attributes {nn.model_name = "a-bt", ashlar.target = #ashlar.target<"m">} {
func.func @main(%a: tensor<32x64xf32> {nn.name = "a"}, %b: tensor<48x64xf32> {nn.name = "b"}) -> (tensor<32x48xf32> {nn.name = "y"}) {
  %0 = nn.unary relu %b : (tensor<48x64xf32>) -> tensor<48x64xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<48x64xf32>) -> tensor<64x48xf32>
  %2 = nn.matmul %a, %1 : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  return %2 : tensor<32x48xf32>
}
}

// -----

// A^T * B likewise.
// CHECK-LABEL: "at-b"
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
// CHECK: npu.dma.move "transpose"({{.*}}choice = "none"{{.*}}route = #npu.route<view>
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
module attributes {nn.model_name = "at-b", ashlar.target = #ashlar.target<"m">} {
func.func @main(%a: tensor<64x32xf32> {nn.name = "a"}, %b: tensor<64x48xf32> {nn.name = "b"}) -> (tensor<32x48xf32> {nn.name = "y"}) {
  %0 = nn.unary relu %a : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %2 = nn.matmul %1, %b : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  return %2 : tensor<32x48xf32>
}
}

// -----

// (A * B)^T: the function behind it joins the product's drain, and a reader
// that takes any axis sees the result through other strides.
// CHECK-LABEL: "ab-t"
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
// CHECK: npu.pe.matmul({{.*}}function = "relu"
// CHECK: npu.dma.move "transpose"({{.*}}choice = "none"{{.*}}route = #npu.route<view>
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
module attributes {nn.model_name = "ab-t", ashlar.target = #ashlar.target<"m">} {
func.func @main(%a: tensor<32x64xf32> {nn.name = "a"}, %c: tensor<48x32xf32> {nn.name = "c"}) -> (tensor<48x32xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<64x48xf32>
  %0 = nn.matmul %a, %w : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<32x48xf32>) -> tensor<48x32xf32>
  %2 = nn.unary relu %1 : (tensor<48x32xf32>) -> tensor<48x32xf32>
  %3 = nn.add %2, %c : (tensor<48x32xf32>, tensor<48x32xf32>) -> tensor<48x32xf32>
  return %3 : tensor<48x32xf32>
}
}

// -----

// A transposed constant and two transposes that cancel leave no movement.
// CHECK-LABEL: "constant"
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
// CHECK-NOT: npu.dma.move
// CHECK: return
module attributes {nn.model_name = "constant", ashlar.target = #ashlar.target<"m">} {
func.func @main(%a: tensor<32x64xf32> {nn.name = "a"}) -> (tensor<32x48xf32> {nn.name = "y"}) {
  %w = nn.constant dense<0.5> : tensor<48x64xf32>
  %0 = nn.transpose %w {perm = array<i64: 1, 0>} : (tensor<48x64xf32>) -> tensor<64x48xf32>
  %1 = nn.transpose %a {perm = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %2 = nn.unary abs %1 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = nn.transpose %2 {perm = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %4 = nn.matmul %3, %0 : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  return %4 : tensor<32x48xf32>
}
}

// -----

// Rows, then columns are pooled: one identity multiplication.
// CHECK-LABEL: "between-pools"
// CHECK: npu.vec.pool
// CHECK-NEXT: npu.pe.transpose
// CHECK-NEXT: npu.vec.pool
// CHECK-NOT: npu.pe.transpose{{.*}}op = "transpose"
module attributes {nn.model_name = "between-pools", ashlar.target = #ashlar.target<"m">} {
func.func @main(%a: tensor<1x32x65xf32> {nn.name = "a"}) -> (tensor<1x64x31xf32> {nn.name = "y"}) {
  %0 = nn.max_pool %a {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x32x65xf32>) -> tensor<1x32x64xf32>
  %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1>} : (tensor<1x32x64xf32>) -> tensor<1x64x32xf32>
  %2 = nn.max_pool %1 {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x64x32xf32>) -> tensor<1x64x31xf32>
  return %2 : tensor<1x64x31xf32>
}
}
