// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that no engine runs are all named, each at its own place.
//
// RUN: ashlar-opt --ashlar-convert-nn-to-npu --verify-diagnostics %s

func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<4xi1>) -> tensor<4xf32> {
  // expected-error@+1 {{no engine of the machine runs 'nn.mod'}}
  %0 = nn.mod %x, %y {fmod} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{no engine of the machine runs 'nn.where'}}
  %1 = nn.where %c, %0, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
