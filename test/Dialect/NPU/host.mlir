// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of the host: as it was written, and what its verifiers refuse.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @host
func.func @host(%x: tensor<2x3xi8>, %b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %m: tensor<1xi64>, %t: tensor<1xf32>) {
  // CHECK: npu.host.nonzero(%{{.*}}) : (tensor<2x3xi8>) -> tensor<2x6xi64>
  %0 = npu.host.nonzero(%x) : (tensor<2x3xi8>) -> tensor<2x6xi64>
  // CHECK: npu.host.sort(%{{.*}}) {axis = 0 : i64, descending = false}
  %1 = npu.host.sort(%x) {axis = 0 : i64, descending = false} : (tensor<2x3xi8>) -> tensor<1x3xi64>
  // CHECK: npu.host.unique(%{{.*}}) {sorted = true}
  %2 = npu.host.unique(%x) {sorted = true} : (tensor<2x3xi8>) -> tensor<3x2xi64>
  // CHECK: npu.host.nms(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {center = true, filtered = false}
  %3 = npu.host.nms(%b, %s, %m, %t, %t) {center = true, filtered = false} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x3xi64>
  return
}

// -----

!x = tensor<1x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @host_nonzero_c1(%x: !x) {
  // expected-error@+1 {{reads an encoded operand}}
  %0 = npu.host.nonzero(%x) : (!x) -> tensor<2x16xi64>
  return
}

// -----

func.func @host_sort_c2(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{4 elements are kept of 3}}
  %0 = npu.host.sort(%x) {axis = 1 : i64, descending = true} : (tensor<2x3xf32>) -> tensor<2x4xi64>
  return
}

// -----

func.func @host_unique_c2(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{result is 'tensor<3x2xi32>', expected i64 of shape 3x2}}
  %0 = npu.host.unique(%x) {sorted = true} : (tensor<2x3xf32>) -> tensor<3x2xi32>
  return
}

// -----

func.func @host_nms_c1(%b: tensor<1x6x4xf16>, %s: tensor<1x2x6xf32>, %m: tensor<1xi64>, %t: tensor<1xf32>) {
  // expected-error@+1 {{expects boxes, scores and thresholds of f32, found 'tensor<1x6x4xf16>'}}
  %0 = npu.host.nms(%b, %s, %m, %t, %t) {center = true, filtered = false} : (tensor<1x6x4xf16>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x3xi64>
  return
}
