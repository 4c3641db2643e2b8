// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine of the function after a product, by predicted cycles.
//
// RUN: ashlar-opt --ashlar-npu-choose-function-engine --split-input-file %s | FileCheck %s

!x = tensor<1x197x384x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!w = tensor<384x1536x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
!y = tensor<1x197x1536x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
// 64 lanes take 8 cycles a result, the array 3 for 64 results, the vector unit
// 8 for 128. It also encodes; the scale policy of the result goes with it.
// CHECK-LABEL: func.func @wide(
// CHECK: %[[SUMS:.*]] = npu.pe.matmul({{.*}}choice = "vector-unit"{{.*}}alternatives = {drain = 37824 : i64, "vector-unit" = 21276 : i64}{{.*}}function = "copy", origin = #npu.origin<op = "matmul">{{.*}}-> tensor<1x197x1536xf32>
// CHECK: npu.vec.map "gelu"(%[[SUMS]]) {{{.*}}ashlar.scale = #ashlar.scale<"fixed(e=-3)">{{.*}}origin = #npu.origin<name = "hidden", op = "gelu">
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @wide(%x: !x) -> !y {
  %k = nn.constant dense<1.0> : tensor<384x1536xf32>
  %w = bfp.encode %k weights : tensor<384x1536xf32> -> !w
  %y = npu.pe.matmul(%x, %w) {ashlar.scale = #ashlar.scale<"fixed(e=-3)">, function = "gelu", alpha = 0.0 : f32, beta = 0.0 : f32, origin = #npu.origin<name = "hidden", op = "matmul">} : (!x, !w) -> !y
  return %y : !y
}
}

// -----

!x = tensor<1x197x384x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!w = tensor<384x1536x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
// A function of one cycle costs a drain nothing: there is nothing to decide.
// CHECK-LABEL: func.func @cheap(
// CHECK-NOT: ashlar.decision.function
// CHECK: function = "relu"
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @cheap(%x: !x) -> tensor<1x197x1536xf32> {
  %k = nn.constant dense<1.0> : tensor<384x1536xf32>
  %w = bfp.encode %k weights : tensor<384x1536xf32> -> !w
  %y = npu.pe.matmul(%x, %w) {function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x197x1536xf32>
  return %y : tensor<1x197x1536xf32>
}
}

// -----

!x = tensor<1x197x1536x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!w = tensor<1536x40x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
// Results in 40 partitions leave most lanes of the vector unit idle.
// CHECK-LABEL: func.func @narrow(
// CHECK: npu.pe.matmul({{.*}}choice = "drain"{{.*}}function = "gelu"
// CHECK-NOT: npu.vec.map
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @narrow(%x: !x) -> tensor<1x197x40xf32> {
  %k = nn.constant dense<1.0> : tensor<1536x40xf32>
  %w = bfp.encode %k weights : tensor<1536x40xf32> -> !w
  %y = npu.pe.matmul(%x, %w) {function = "gelu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x197x40xf32>
  return %y : tensor<1x197x40xf32>
}
}

// -----

!x = tensor<1x900x384x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 2>>
!w = tensor<384x1536x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0>>
// The sums of 900 positions in binary32 would have to go through DRAM.
// CHECK-LABEL: func.func @large(
// CHECK: npu.pe.matmul({{.*}}choice = "drain"{{.*}}reason = "the state buffer has no room for the values before the function"
// CHECK-NOT: npu.vec.map
module attributes {ashlar.target = #ashlar.target<"a1", base = "a1">} {
func.func @large(%x: !x) -> tensor<1x900x1536xf32> {
  %k = nn.constant dense<1.0> : tensor<384x1536xf32>
  %w = bfp.encode %k weights : tensor<384x1536xf32> -> !w
  %y = npu.pe.matmul(%x, %w) {function = "gelu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x900x1536xf32>
  return %y : tensor<1x900x1536xf32>
}
}
