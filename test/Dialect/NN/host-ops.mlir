// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of the host, printed as it was written.
// RUN: ashlar-opt %s | ashlar-opt | FileCheck %s

// CHECK-LABEL: func.func @host
func.func @host(%x: tensor<2x3xf32>, %b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %m: tensor<1xi64>, %t: tensor<f32>) {
  // CHECK: nn.nonzero %{{.*}} : (tensor<2x3xf32>) -> tensor<2x6xi64>
  %0 = nn.nonzero %x : (tensor<2x3xf32>) -> tensor<2x6xi64>
  // CHECK: nn.arg_sort %{{.*}} {axis = 1 : i64, descending = true} : (tensor<2x3xf32>) -> tensor<2x2xi64>
  %1 = nn.arg_sort %x {axis = 1 : i64, descending = true} : (tensor<2x3xf32>) -> tensor<2x2xi64>
  // CHECK: nn.unique %{{.*}} {sorted = false} : (tensor<2x3xf32>) -> tensor<3x2xi64>
  %2 = nn.unique %x {sorted = false} : (tensor<2x3xf32>) -> tensor<3x2xi64>
  // CHECK: nn.nms %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {center = false, filtered = true} : {{.*}} -> tensor<6x3xi64>
  %3 = nn.nms %b, %s, %m, %t, %t {center = false, filtered = true} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<f32>, tensor<f32>) -> tensor<6x3xi64>
  return
}
