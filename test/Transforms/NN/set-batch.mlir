// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ashlar-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(ashlar-nn-set-batch{batch=3}))' --verify-diagnostics | FileCheck %s

// The samples' axis goes through shapes that are stated for one sample.
// CHECK-LABEL: @attention
// CHECK-SAME: (%arg0: tensor<3x4x6xf32>
// CHECK: nn.reshape %arg0 : (tensor<3x4x6xf32>) -> tensor<3x4x2x3xf32>
// CHECK: nn.transpose {{.*}} -> tensor<3x2x4x3xf32>
// CHECK: nn.reshape {{.*}} -> tensor<6x4x3xf32>
// CHECK: nn.matmul {{.*}} -> tensor<6x4x4xf32>
// CHECK: nn.softmax {{.*}} -> tensor<6x4x4xf32>
// CHECK: nn.reshape {{.*}} -> tensor<3x32xf32>
func.func @attention(%x: tensor<1x4x6xf32> {nn.name = "x"}) -> (tensor<1x32xf32> {nn.name = "y"}) {
  %0 = nn.reshape %x : (tensor<1x4x6xf32>) -> tensor<1x4x2x3xf32>
  %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x4x2x3xf32>) -> tensor<1x2x4x3xf32>
  %2 = nn.reshape %1 : (tensor<1x2x4x3xf32>) -> tensor<2x4x3xf32>
  %3 = nn.transpose %2 {perm = array<i64: 0, 2, 1>} : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  %4 = nn.matmul %2, %3 : (tensor<2x4x3xf32>, tensor<2x3x4xf32>) -> tensor<2x4x4xf32>
  %5 = nn.softmax %4 {axis = 2 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %6 = nn.reshape %5 : (tensor<2x4x4xf32>) -> tensor<1x32xf32>
  return %6 : tensor<1x32xf32>
}

// -----

// What is the same for all samples is repeated where it is needed once for each.
// CHECK-LABEL: @class_token
// CHECK: nn.broadcast {{.*}} -> tensor<3x1x5xf32>
// CHECK: nn.concat {{.*}} -> tensor<3x8x5xf32>
// CHECK: nn.add {{.*}} (tensor<3x8x5xf32>, tensor<1x8x5xf32>) -> tensor<3x8x5xf32>
func.func @class_token(%x: tensor<1x7x5xf32> {nn.name = "x"}) -> (tensor<1x8x5xf32> {nn.name = "y"}) {
  %token = nn.constant dense<1.0> : tensor<1x1x5xf32>
  %place = nn.constant dense<2.0> : tensor<1x8x5xf32>
  %0 = nn.concat %token, %x {axis = 1 : i64} : (tensor<1x1x5xf32>, tensor<1x7x5xf32>) -> tensor<1x8x5xf32>
  %1 = nn.add %0, %place : (tensor<1x8x5xf32>, tensor<1x8x5xf32>) -> tensor<1x8x5xf32>
  return %1 : tensor<1x8x5xf32>
}

// -----

// Lists of the host's sort are apart.

// CHECK-LABEL: @sorted
// CHECK: nn.arg_sort %{{.*}} {axis = 1 : i64, descending = true} : (tensor<3x9xf32>) -> tensor<3x2xi64>
func.func @sorted(%x: tensor<1x9xf32> {nn.name = "x"}) -> (tensor<1x2xi64> {nn.name = "y"}) {
  %0 = nn.arg_sort %x {axis = 1 : i64, descending = true} : (tensor<1x9xf32>) -> tensor<1x2xi64>
  return %0 : tensor<1x2xi64>
}

// -----

// A list of indices of all samples would mix them.
func.func @listed(%x: tensor<1x9xf32> {nn.name = "x"}) -> (tensor<2x9xi64> {nn.name = "y"}) {
  // expected-error @+1 {{--batch=3: this nonzero mixes the samples of a batch}}
  %0 = nn.nonzero %x : (tensor<1x9xf32>) -> tensor<2x9xi64>
  return %0 : tensor<2x9xi64>
}

// -----

func.func @mixes(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {
  // expected-error @+1 {{--batch=3: this softmax mixes the samples of a batch}}
  %0 = nn.softmax %x {axis = 0 : i64} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// expected-error@unknown {{--batch=3: input 'x' has 2 on axis 0, expected 1 or an open dimension}}
func.func @two(%x: tensor<2x4xf32> {nn.name = "x"}) -> (tensor<2x4xf32> {nn.name = "y"}) {
  return %x : tensor<2x4xf32>
}

// -----

func.func @lost(%x: tensor<1x4xf32> {nn.name = "x"}) -> (tensor<4x1xf32> {nn.name = "y"}) {
  %0 = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<1x4xf32>) -> tensor<4x1xf32>
  // expected-error@unknown {{--batch=3: output 'y' has no samples on axis 0}}
  return %0 : tensor<4x1xf32>
}
