// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: ashlar-opt %s -ashlar-nn-remove-dead | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: return %arg0
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.unary relu %arg0 : (tensor<2xf32>) -> tensor<2xf32>
  %1 = nn.add %0, %arg0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %arg0 : tensor<2xf32>
}
