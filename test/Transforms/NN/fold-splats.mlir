// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One number repeated is computed once and stays one number.
// RUN: ashlar-opt %s -ashlar-nn-fold-constants -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK-NEXT: %[[C:.*]] = nn.constant dense<6.000000e+00> : tensor<512x1024xf32>
// CHECK-NEXT: nn.add %arg0, %[[C]]
func.func @elementwise(%x: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %two = nn.constant dense<2.0> : tensor<512x1024xf32>
  %three = nn.constant dense<3.0> : tensor<1024xf32>
  %six = nn.mul %two, %three : (tensor<512x1024xf32>, tensor<1024xf32>) -> tensor<512x1024xf32>
  %y = nn.add %x, %six : (tensor<512x1024xf32>, tensor<512x1024xf32>) -> tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}

// -----

// CHECK-LABEL: func.func @movement
// CHECK-NEXT: %[[C:.*]] = nn.constant dense<7> : tensor<64x32xi8>
// CHECK-NEXT: return %[[C]]
func.func @movement() -> tensor<64x32xi8> {
  %a = nn.constant dense<7> : tensor<32x32xi8>
  %b = nn.transpose %a {perm = array<i64: 1, 0>} : (tensor<32x32xi8>) -> tensor<32x32xi8>
  %c = nn.concat %a, %b {axis = 0 : i64} : (tensor<32x32xi8>, tensor<32x32xi8>) -> tensor<64x32xi8>
  return %c : tensor<64x32xi8>
}

// -----

// What later phases would have to write out is limited, of constants as of
// other results: the sum of many stays below the budget.
// CHECK-LABEL: func.func @large
// CHECK: nn.broadcast
func.func @large(%x: tensor<1xf32>) -> tensor<4096x4096xf32> {
  %a = nn.constant dense<1.0> : tensor<1xf32>
  %b = nn.broadcast %a : (tensor<1xf32>) -> tensor<4096x4096xf32>
  return %b : tensor<4096x4096xf32>
}
