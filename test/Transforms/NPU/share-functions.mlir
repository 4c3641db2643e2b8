// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that ACT and the vector unit share: which may, which do, and how
// one comes back from the vector unit.
//
// RUN: ashlar-opt --ashlar-npu-share-functions --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-npu-share-functions=engine=drain --split-input-file %s | FileCheck %s --check-prefix=DRAIN
// RUN: ashlar-opt --ashlar-npu-share-functions=engine=vector --split-input-file %s | FileCheck %s --check-prefix=DRAIN
// RUN: ashlar-opt --ashlar-npu-share-functions=engine=shared --split-input-file %s | FileCheck %s --check-prefix=ALL
// DRAIN-NOT: vector_share

!x = tensor<1x128x40x40x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<128x128x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
// CHECK-LABEL: func.func @pointwise(
// CHECK: npu.pe.conv({{.*}}ashlar.decision.function = #ashlar.decision<choice = "shared", reason = "ACT and the vector unit apply the function side by side", alternatives = {drain = {{[0-9]+}} : i64, shared = {{[0-9]+}} : i64, "vector-unit" = {{[0-9]+}} : i64}>{{.*}}function = "swish"{{.*}}vector_share = 11
func.func @pointwise(%x: !x) -> !x {
  %k = nn.constant dense<1.0> : tensor<128x128x1x1xf32>
  %w = bfp.encode %k weights : tensor<128x128x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "swish", alpha = 1.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  return %y : !x
}
// ACT applies functions of one cycle as fast as it drains.
// CHECK-LABEL: func.func @cheap(
// CHECK-NOT: vector_share
// CHECK: return
func.func @cheap(%x: !x) -> !x {
  %k = nn.constant dense<1.0> : tensor<128x128x1x1xf32>
  %w = bfp.encode %k weights : tensor<128x128x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  return %y : !x
}
// Rows side by side in the columns are not where the vector unit reads them.
// CHECK-LABEL: func.func @packed(
// CHECK-NOT: vector_share
// ALL-LABEL: func.func @packed(
// ALL-NOT: vector_share
// ALL: return
func.func @packed(%x: !x) -> tensor<1x16x40x40xf32> {
  %k = nn.constant dense<1.0> : tensor<16x128x1x1xf32>
  %w = bfp.encode %k weights : tensor<16x128x1x1xf32> -> tensor<16x128x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  %y = npu.pe.conv(%x, %w) {packed_rows = 4, layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "swish", alpha = 1.0 : f32, beta = 0.0 : f32} : (!x, tensor<16x128x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>) -> tensor<1x16x40x40xf32>
  return %y : tensor<1x16x40x40xf32>
}
// A scale policy that observes the result.
// CHECK-LABEL: func.func @observed(
// CHECK-NOT: vector_share
// CHECK: return
func.func @observed(%x: !x) -> !x {
  %k = nn.constant dense<1.0> : tensor<128x128x1x1xf32>
  %w = bfp.encode %k weights : tensor<128x128x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {ashlar.scale = #ashlar.scale<"fixed(e=-3)">, layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "swish", alpha = 1.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  return %y : !x
}
}

// -----

!x = tensor<1x99x64x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!w = tensor<64x256x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
!y = tensor<1x99x256x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
// What the vector unit had to itself is one product again, with its names.
// CHECK-LABEL: func.func @comes_back(
// CHECK: npu.pe.matmul({{.*}}choice = "shared"{{.*}}function = "gelu"{{.*}}origin = #npu.origin<name = "hidden", op = "matmul">{{.*}}vector_share = {{[0-9]+}}
// CHECK-NOT: npu.vec.map
// CHECK: return
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @comes_back(%x: !x) -> !y {
  %k = nn.constant dense<1.0> : tensor<64x256xf32>
  %w = bfp.encode %k weights : tensor<64x256xf32> -> !w
  %sums = npu.pe.matmul(%x, %w) {ashlar.decision.function = #ashlar.decision<choice = "vector-unit", reason = "faster">, layout = #npu.layout<axis = 2>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32, origin = #npu.origin<op = "matmul">} : (!x, !w) -> tensor<1x99x256xf32>
  %y = npu.vec.map "gelu"(%sums) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32, origin = #npu.origin<name = "hidden", op = "gelu">} : (tensor<1x99x256xf32>) -> !y
  return %y : !y
}
// The values before a function that the model has as a tensor of its own stay.
// CHECK-LABEL: func.func @own_tensor(
// CHECK: npu.vec.map "gelu"
func.func @own_tensor(%x: !x) -> !y {
  %k = nn.constant dense<1.0> : tensor<64x256xf32>
  %w = bfp.encode %k weights : tensor<64x256xf32> -> !w
  %sums = npu.pe.matmul(%x, %w) {layout = #npu.layout<axis = 2>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32, origin = #npu.origin<name = "sums", op = "matmul">} : (!x, !w) -> tensor<1x99x256xf32>
  %y = npu.vec.map "gelu"(%sums) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32, origin = #npu.origin<name = "hidden", op = "gelu">} : (tensor<1x99x256xf32>) -> !y
  return %y : !y
}
}
