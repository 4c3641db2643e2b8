// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block lengths are multiples of the partitions that share an exponent.
//
// RUN: ashlar-opt --ashlar-npu-verify-formats --split-input-file --verify-diagnostics %s

!x = tensor<1x32x4x4x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"coarse", xm_group = 16>} {
func.func @main(%x: !x) -> tensor<1x32x4x4xf32> {
  // expected-error@+1 {{has blocks of 8 elements, but on machine 'coarse' 16 partitions share an exponent (xm_group): block lengths must be multiples of that}}
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> tensor<1x32x4x4xf32>
  return %0 : tensor<1x32x4x4xf32>
}
}

// -----

!y = tensor<1x32x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"coarse", xm_group = 64>} {
func.func @result(%x: tensor<1x32x4x4xf32>) -> !y {
  // expected-error@+1 {{has blocks of 16 elements, but on machine 'coarse' 64 partitions}}
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x32x4x4xf32>) -> !y
  return %0 : !y
}
}

// -----

!even = tensor<1x32x4x4x!bfp.block<mantissa = 8, block = 32, range = 7, axis = 1>>
!axis = tensor<1x32x4x4x!bfp.block<mantissa = 8, block = axis, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"coarse", xm_group = 16>} {
func.func @fits(%x: !even) -> !axis {
  %0 = npu.vec.map "relu"(%x) {alpha = 0.0 : f32, beta = 0.0 : f32} : (!even) -> !axis
  return %0 : !axis
}
}
