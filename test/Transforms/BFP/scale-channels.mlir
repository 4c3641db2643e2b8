// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Factors of output channels: weights times the factor, sums times its inverse.
// RUN: ashlar-opt --ashlar-bfp-scale-channels --split-input-file %s | FileCheck %s

!x = tensor<1x4x2x2x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 1>>
!w = tensor<2x4x1x1x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 1>>

// Of the two channels the second is exact. 0.96 saturates at 7/8; times 229/128
// it is 1.72, near the step 7/4.
// CHECK-LABEL: func @conv
func.func @conv(%x: !x) -> tensor<1x2x2x2xf32> {
  // CHECK: %[[W:.*]] = nn.constant dense<{{\[\[\[\[}}1.7175{{.*}}, {{.*}}1.000000e+00{{.*}}> : tensor<2x4x1x1xf32>
  // CHECK: %[[E:.*]] = bfp.encode %[[W]] weights
  // CHECK: %[[S:.*]] = nn.constant dense<[5.589520e-01, 1.000000e+00]> : tensor<2xf32>
  // CHECK: bfp.conv %{{.*}}, %[[E]] scale(%[[S]])
  %0 = nn.constant dense<[[[[0.96]], [[0.71]], [[0.43]], [[-0.86]]], [[[1.0]], [[0.5]], [[0.75]], [[-0.25]]]]> : tensor<2x4x1x1xf32>
  %1 = bfp.encode %0 weights : tensor<2x4x1x1xf32> -> !w
  %2 = bfp.conv %x, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (!x, !w) -> tensor<1x2x2x2xf32>
  return %2 : tensor<1x2x2x2xf32>
}

// -----

!x = tensor<2x4x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 1>>
!w = tensor<4x2x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 0>>

// Columns of a matrix are channels. Both products get the factor, each into what
// it multiplies its sums by already; the constant stays for who reads it plain.
// CHECK-LABEL: func @shared
func.func @shared(%x: !x) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<4x2xf32>) {
  // CHECK: %[[OLD:.*]] = nn.constant dense<{{\[\[}}1.000000e+00, 0.95999
  // CHECK: %[[NEW:.*]] = nn.constant dense<{{\[\[}}1.000000e+00, 1.7175
  // CHECK: %[[E:.*]] = bfp.encode %[[NEW]] weights
  // CHECK: %[[A:.*]] = nn.constant dense<[3.000000e+00, 3.91266{{[0-9]*}}]> : tensor<2xf32>
  // CHECK: bfp.matmul %{{.*}}, %[[E]] scale(%[[A]])
  // CHECK: %[[B:.*]] = nn.constant dense<[1.000000e+00, 5.589520e-01]> : tensor<2xf32>
  // CHECK: bfp.matmul %{{.*}}, %[[E]] scale(%[[B]])
  // CHECK: return %{{.*}}, %{{.*}}, %[[OLD]]
  %0 = nn.constant dense<[[1.0, 0.96], [0.5, 0.71], [0.75, 0.43], [-0.25, -0.86]]> : tensor<4x2xf32>
  %s = nn.constant dense<[3.0, 7.0]> : tensor<2xf32>
  %1 = bfp.encode %0 weights : tensor<4x2xf32> -> !w
  %2 = bfp.matmul %x, %1 scale(%s) : (!x, !w, tensor<2xf32>) -> tensor<2x2xf32>
  %3 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x2xf32>
  return %2, %3, %0 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<4x2xf32>
}

// -----

!x = tensor<2x4x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 1>>
!w = tensor<4x1x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 0>>

// No room in what multiplies the sums: the weights stay.
// CHECK-LABEL: func @tiny
func.func @tiny(%x: !x) -> tensor<2x1xf32> {
  // CHECK: nn.constant dense<{{.*}}0.95999
  // CHECK: nn.constant dense<9.99999991E-38>
  %0 = nn.constant dense<[[0.96], [0.71], [0.43], [-0.86]]> : tensor<4x1xf32>
  %s = nn.constant dense<1.0e-37> : tensor<1xf32>
  %1 = bfp.encode %0 weights : tensor<4x1xf32> -> !w
  %2 = bfp.matmul %x, %1 scale(%s) : (!x, !w, tensor<1xf32>) -> tensor<2x1xf32>
  return %2 : tensor<2x1xf32>
}

// -----

!x = tensor<2x4x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 1>>
!w = tensor<4x1x!bfp.block<mantissa = 4, block = tensor, range = 7, axis = 0>>

// A block of all channels rounds by none of them.
// CHECK-LABEL: func @whole
func.func @whole(%x: !x) -> tensor<2x1xf32> {
  // CHECK-NOT: scale(
  // CHECK: return
  %0 = nn.constant dense<[[0.96], [0.71], [0.43], [-0.86]]> : tensor<4x1xf32>
  %1 = bfp.encode %0 weights : tensor<4x1xf32> -> !w
  %2 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x1xf32>
  return %2 : tensor<2x1xf32>
}

// -----

!x = tensor<2x4x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 1>>
!w = tensor<4x1x!bfp.block<mantissa = 4, block = 16, range = 7, axis = 0>>

// Weights of binary16 become binary32.
// CHECK-LABEL: func @half
func.func @half(%x: !x) -> tensor<2x1xf16> {
  // CHECK: nn.constant dense<{{.*}}1.7174{{.*}}> : tensor<4x1xf32>
  // CHECK: bfp.matmul {{.*}} scale(
  %0 = nn.constant dense<[[0.96], [0.71], [0.43], [-0.86]]> : tensor<4x1xf16>
  %1 = bfp.encode %0 weights : tensor<4x1xf16> -> !w
  %2 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x1xf16>
  return %2 : tensor<2x1xf16>
}

// -----

!x = tensor<2x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x5x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 0, rows = 2>>

// Channels that share exponents get powers of two that bring their largest
// weights into one octave, times factors that stay in it: 8 * 1.37 for the
// second. A channel of zeros stays.
// CHECK-LABEL: func @rows
func.func @rows(%x: !x) -> tensor<2x5xf32> {
  // CHECK: nn.constant dense<{{\[\[0.9[0-9]*}}, 0.984375{{.*}}, 3.000000e+00, 0.000000e+00, 0.126953125]
  // CHECK: %[[S:.*]] = nn.constant dense<[1.000000e+00, 0.0914285{{[0-9]*}}, 1.000000e+00, 1.000000e+00, 0.984615{{[0-9]*}}]>
  // CHECK: scale(%[[S]])
  %0 = nn.constant dense<[[0.96, 0.09, 3.0, 0.0, 0.125], [0.71, 0.01, 1.0, 0.0, 0.1], [0.43, 0.02, 1.0, 0.0, 0.1], [-0.86, -0.06, 1.0, 0.0, 0.1]]> : tensor<4x5xf32>
  %1 = bfp.encode %0 weights : tensor<4x5xf32> -> !w
  %2 = bfp.matmul %x, %1 : (!x, !w) -> tensor<2x5xf32>
  return %2 : tensor<2x5xf32>
}
