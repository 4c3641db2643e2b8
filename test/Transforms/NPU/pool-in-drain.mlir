// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools that drain PSUM or the sparse cluster: which may, which do.
//
// RUN: ashlar-opt --ashlar-npu-pool-in-drain=mode=on --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-npu-pool-in-drain=mode=off --split-input-file %s | FileCheck %s --check-prefix=OFF
// OFF-NOT: npu.pooling
// OFF-NOT: decision.pool

!x = tensor<1x32x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x32x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!y = tensor<1x64x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!p = tensor<1x64x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"pooling", base = "a1", vec = {psum_lanes = 64}>} {
// CHECK-LABEL: func.func @pooled(
// CHECK: npu.pe.conv({{.*}}ashlar.decision.pool = #ashlar.decision<choice = "pool-in-drain", reason = "{{.+}}", alternatives = {"drain-then-pool" = {{[0-9]+}} : i64, "pool-in-drain" = {{[0-9]+}} : i64}>{{.*}}pooling = #npu.pooling<kind = "max", kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], include_pad = false, map = tensor<1x64x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>>
// CHECK-SAME: -> tensor<1x64x8x8x
// CHECK-NOT: npu.vec.pool
func.func @pooled(%x: !x) -> !p {
  %k = nn.constant dense<1.0> : tensor<64x32x1x1xf32>
  %w = bfp.encode %k weights : tensor<64x32x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %p = npu.vec.pool "max"(%y) {layout = #npu.layout<axis = 1>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (!y) -> !p
  return %p : !p
}
// Another reader needs the map.
// CHECK-LABEL: func.func @read_again(
// CHECK-NOT: npu.pooling
// CHECK: npu.vec.pool
func.func @read_again(%x: !x) -> (!p, !y) {
  %k = nn.constant dense<1.0> : tensor<64x32x1x1xf32>
  %w = bfp.encode %k weights : tensor<64x32x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %p = npu.vec.pool "max"(%y) {layout = #npu.layout<axis = 1>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (!y) -> !p
  return %p, %y : !p, !y
}
// Sums between windows would never be drained.
// CHECK-LABEL: func.func @apart(
// CHECK: npu.vec.pool
func.func @apart(%x: !x) -> !p {
  %k = nn.constant dense<1.0> : tensor<64x32x1x1xf32>
  %w = bfp.encode %k weights : tensor<64x32x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %p = npu.vec.pool "max"(%y) {layout = #npu.layout<axis = 1>, kernel = array<i64: 1, 1>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (!y) -> !p
  return %p : !p
}
}

// -----

!x = tensor<1x32x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x32x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!y = tensor<1x64x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!j = tensor<1x128x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!p = tensor<1x128x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!f = tensor<1x64x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"pooling", base = "a1">} {
// Maps of the cluster that are joined along channels: their maxima are joined.
// CHECK-LABEL: func.func @joined(
// CHECK: %[[A:.+]] = npu.tcu.conv({{.*}}choice = "pool-in-drain", reason = "{{[0-9]+}} cycles with windows reduced on the way from the accumulators{{.*}}pooling = #npu.pooling<kind = "max", kernel = [3, 3], strides = [2, 2]
// CHECK-SAME: -> tensor<1x64x8x8x
// CHECK: %[[B:.+]] = npu.tcu.conv({{.*}}pooling = #npu.pooling
// CHECK: npu.dma.move "concat"(%[[A]], %[[B]]) {{.*}}-> tensor<1x128x8x8x
// CHECK-NOT: npu.vec.pool
func.func @joined(%x: !x) -> !p {
  %k = nn.constant dense<1.0> : tensor<64x32x1x1xf32>
  %w = bfp.encode %k weights : tensor<64x32x1x1xf32> -> !w
  %a = npu.tcu.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %b = npu.tcu.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %c = npu.dma.move "concat"(%a, %b) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 64, 1, 1, 1, 1, 16, 2, 1, 2, 1, 16, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>, array<i64: 1, 4, 4, 1, 0, 1, 0, 1, 64, 1, 1, 1, 1, 16, 2, 1, 2, 1, 16, 3, 1, 3, 1, 0, 0, 0, 0, 0, 64, 0, 0>]} : (!y, !y) -> !j
  %p = npu.vec.pool "max"(%c) {layout = #npu.layout<axis = 1>, kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (!j) -> !p
  return %p : !p
}
// Averages, and windows of which three have a position.
// CHECK-LABEL: func.func @stored(
// CHECK-NOT: npu.pooling
// CHECK: npu.vec.pool "avg"
// CHECK: npu.vec.pool "max"
func.func @stored(%x: !x) -> (tensor<1x64x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, !f) {
  %k = nn.constant dense<1.0> : tensor<64x32x1x1xf32>
  %w = bfp.encode %k weights : tensor<64x32x1x1xf32> -> !w
  %a = npu.tcu.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %b = npu.tcu.conv(%x, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !y
  %p = npu.vec.pool "avg"(%a) {layout = #npu.layout<axis = 1>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = false} : (!y) -> tensor<1x64x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  %q = npu.vec.pool "max"(%b) {layout = #npu.layout<axis = 1>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, count_include_pad = false} : (!y) -> !f
  return %p, %q : tensor<1x64x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>, !f
}
}
