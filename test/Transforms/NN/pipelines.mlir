// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phases as wholes: conv + bias + batch_norm + relu, flatten, dense layers.
// RUN: ashlar-opt %s -ashlar-simplify | FileCheck %s
// RUN: ashlar-opt %s -ashlar-set-target=machine=%S/Inputs/four-rows.yaml -ashlar-simplify -ashlar-fold | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = nn.conv %arg0, %{{.*}}, %{{.*}} {{.*}}pads = array<i64: 1, 1>
// CHECK-NEXT: %[[R:.*]] = nn.unary relu %[[C]] : (tensor<1x2x4xf32>)
// CHECK-NEXT: %[[D:.*]] = nn.conv %[[R]], %{{.*}}, %{{.*}} -> tensor<1x3x1xf32>
// CHECK-NEXT: %[[S:.*]] = nn.unary relu %[[D]] : (tensor<1x3x1xf32>)
// CHECK-NEXT: %[[E:.*]] = nn.conv %[[S]], {{.*}} -> tensor<1x2x1xf32>
// CHECK-NEXT: %[[F:.*]] = nn.reshape %[[E]] : (tensor<1x2x1xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: return %[[F]]
// FOLD-LABEL: func.func @main
// FOLD: nn.conv %{{.*}}{{.*}}ashlar.decision = #ashlar.decision<{{.*}}alternatives = {{.*}}"pack-taps"
func.func @main(%arg0: tensor<1x1x4xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x3xf32>
  %c = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %v = nn.constant dense<1.0> : tensor<2xf32>
  %p = nn.pad %arg0 {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x6xf32>
  %0 = nn.conv %p, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x6xf32>, tensor<2x1x3xf32>) -> tensor<1x2x4xf32>
  %1 = nn.add %0, %c : (tensor<1x2x4xf32>, tensor<2x1xf32>) -> tensor<1x2x4xf32>
  %2 = nn.batch_norm %1, %v, %v, %v, %v {epsilon = 0.0 : f32} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  %3 = nn.unary relu %2 : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %4 = nn.reshape %3 : (tensor<1x2x4xf32>) -> tensor<1x8xf32>
  %d = nn.constant dense<1.0> : tensor<3x8xf32>
  %t = nn.transpose %d {perm = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %5 = nn.matmul %4, %t : (tensor<1x8xf32>, tensor<8x3xf32>) -> tensor<1x3xf32>
  %b = nn.constant dense<1.0> : tensor<3xf32>
  %6 = nn.add %5, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  %7 = nn.unary relu %6 : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %e = nn.constant dense<1.0> : tensor<3x2xf32>
  %8 = nn.matmul %7, %e : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
  return %8 : tensor<1x2xf32>
}
