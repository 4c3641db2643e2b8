// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residency by first fit, eviction of the largest, tiles, the weight ring. The
// machine has 8 partitions; a tensor<1x8x8x8xf32> takes 256 bytes of each.
//
// RUN: ashlar-opt --ashlar-npu-plan-memory --split-input-file %s | FileCheck %s

// Everything fits: a tensor takes the first place that no live tensor has, so
// the third reuses the place of the first. The result of the function lives in
// DRAM and is made in scratch above the live tensors. The ring for weights
// begins where nothing of the operation lies.
// CHECK-LABEL: func.func @main(
// CHECK: #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [1, 8, 8, 8], scratch = 256, slot = 256, slots = 1, ring = 512>
// CHECK: #npu.memory<sb = 256>, tiling = #npu.tiling<tile = [{{.*}}], scratch = 512, slot = 0, slots = 1, ring = 512>
// CHECK: #npu.memory<sb = 0>, tiling = #npu.tiling<tile = [{{.*}}], scratch = 512, slot = 0, slots = 1, ring = {{[0-9]+}}>
// CHECK: #npu.memory<dram = "{{.+}}">{{.*}}#npu.tiling<tile = [{{.*}}], scratch = 256, slot = 256, slots = 1, ring = {{[0-9]+}}>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%arg0: tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %1 = npu.vec.map "relu"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = npu.vec.map "relu"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %3 = npu.vec.map "relu"(%2) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  return %3 : tensor<1x8x8x8xf32>
}
}

// -----

// Too small for both: the large tensor goes to DRAM, the small ones stay.
// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.map "relu"({{.*}}#npu.memory<sb = {{[0-9]+}}
// CHECK: npu.vec.map "abs"({{.*}}#npu.memory<dram = 
// CHECK: npu.vec.map "neg"({{.*}}#npu.memory<sb = {{[0-9]+}}
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%arg0: tensor<1x8x8x8xf32>, %arg1: tensor<1x8x16x64xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x8x16x64xf32>) {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %1 = npu.vec.map "abs"(%arg1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x16x64xf32>) -> tensor<1x8x16x64xf32>
  %2 = npu.vec.map "neg"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %3 = npu.vec.map "sign"(%2) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %4 = npu.vec.map "floor"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x16x64xf32>) -> tensor<1x8x16x64xf32>
  return %3, %4 : tensor<1x8x8x8xf32>, tensor<1x8x16x64xf32>
}
}

// -----

// More staged bytes than the threshold: tiles in two slots, so that the loads
// of one overlap the work of the other. Rows are cut before columns.
// CHECK-LABEL: func.func @main(
// CHECK: #npu.memory<dram = "{{.+}}">{{.*}}#npu.tiling<tile = [1, 8, {{[0-9]+}}, 64], scratch = 0, slot = {{[0-9]+}}, slots = 2, ring = {{[0-9]+}}>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%arg0: tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x8x64x64xf32>) -> tensor<1x8x64x64xf32>
  return %0 : tensor<1x8x64x64xf32>
}
}

// -----

// A transpose that keeps the axis across partitions is a view: it takes no
// memory, and its operand lives until the last reader of the view.
// CHECK-LABEL: func.func @main(
// CHECK: npu.vec.map "relu"({{.*}}#npu.memory<sb = 0
// CHECK: npu.dma.move "transpose"({{.*}}#npu.layout<axis = 2>, memory = #npu.memory<sb = 0>{{.*}}route = #npu.route<view>
// CHECK: npu.vec.map "abs"({{.*}}#npu.memory<sb = 256
// CHECK: npu.vec.map "add"(
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 65536}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%arg0: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 2>, patterns = [array<i64: 0, 3, 3, 8, 2, 1, 0, 1, 8, 0, 1, 1, 1, 8, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0>]} : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %3 = npu.vec.map "add"(%1, %2) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x8x8xf32>, tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  return %3 : tensor<8x8x8xf32>
}
}

// -----

// Products write straight into the concatenation that alone reads them; the
// first owns its memory. A part that something else reads too is copied, and
// with it all others.
!x = tensor<1x16x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!y = tensor<1x32x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// CHECK-LABEL: func.func @parts(
// CHECK: npu.pe.conv({{.*}}#npu.memory<sb = [[AT:[0-9]+]], part = 0>
// CHECK: npu.pe.conv({{.*}}#npu.memory<sb = [[AT]], part = 16>
// CHECK: npu.dma.move "concat"({{.*}}#npu.layout<axis = 1>, memory = #npu.memory<sb = [[AT]]>{{.*}}route = #npu.route<view>
// CHECK-LABEL: func.func @read(
// CHECK-NOT: part =
// CHECK: npu.dma.move "concat"(
// CHECK-NOT: route = #npu.route<view>
// CHECK: return
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @parts(%x: !x) -> tensor<1x32x8x8xf32> {
  %k = nn.constant dense<1.0> : tensor<16x16x1x1xf32>
  %w = bfp.encode %k weights : tensor<16x16x1x1xf32> -> !w
  %m = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> !x
  %a = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %b = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %y = npu.dma.move "concat"(%a, %b) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>, array<i64: 1, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 16, 0, 0>]} : (!x, !x) -> !y
  %z = npu.vec.map "relu"(%y) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!y) -> tensor<1x32x8x8xf32>
  return %z : tensor<1x32x8x8xf32>
}
}

// -----

!x = tensor<1x16x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!y = tensor<1x32x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @read(%x: !x) -> (tensor<1x32x8x8xf32>, tensor<1x16x8x8xf32>) {
  %k = nn.constant dense<1.0> : tensor<16x16x1x1xf32>
  %w = bfp.encode %k weights : tensor<16x16x1x1xf32> -> !w
  %m = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> !x
  %a = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %b = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %y = npu.dma.move "concat"(%a, %b) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>, array<i64: 1, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 16, 0, 0>]} : (!x, !x) -> !y
  %z = npu.vec.map "relu"(%y) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!y) -> tensor<1x32x8x8xf32>
  %v = npu.vec.map "relu"(%b) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> tensor<1x16x8x8xf32>
  return %z, %v : tensor<1x32x8x8xf32>, tensor<1x16x8x8xf32>
}
}

// -----

// Products write an interleave where its elements belong; two that would write
// the same ones are copied.
// CHECK-LABEL: func.func @turns(
// CHECK: npu.pe.conv({{.*}}#npu.memory<sb = [[AT:[0-9]+]], part = 0>
// CHECK: npu.pe.conv({{.*}}#npu.memory<sb = [[AT]], part = 0>
// CHECK: npu.dma.move "interleave"({{.*}}#npu.layout<axis = 1>, memory = #npu.memory<sb = [[AT]]>{{.*}}route = #npu.route<view>
// CHECK-LABEL: func.func @overlap(
// CHECK-NOT: part =
// CHECK: npu.dma.move "interleave"(
// CHECK-NOT: route = #npu.route<view>
// CHECK: return
!x = tensor<1x16x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!y = tensor<1x16x8x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @turns(%x: !x) -> tensor<1x16x8x16xf32> {
  %k = nn.constant dense<1.0> : tensor<16x16x1x1xf32>
  %w = bfp.encode %k weights : tensor<16x16x1x1xf32> -> !w
  %m = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> !x
  %a = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %b = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %y = npu.dma.move "interleave"(%a, %b) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0>, array<i64: 1, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 2, 0, 0, 0, 0, 0, 0, 0, 1>]} : (!x, !x) -> !y
  %z = npu.vec.map "relu"(%y) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!y) -> tensor<1x16x8x16xf32>
  return %z : tensor<1x16x8x16xf32>
}
}

// -----

!x = tensor<1x16x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!y = tensor<1x16x8x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @overlap(%x: !x) -> tensor<1x16x8x16xf32> {
  %k = nn.constant dense<1.0> : tensor<16x16x1x1xf32>
  %w = bfp.encode %k weights : tensor<16x16x1x1xf32> -> !w
  %m = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!x) -> !x
  %a = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %b = npu.pe.conv(%m, %w) {layout = #npu.layout<axis = 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %y = npu.dma.move "interleave"(%a, %b) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0>, array<i64: 1, 4, 4, 1, 0, 1, 0, 1, 16, 1, 1, 1, 1, 8, 2, 1, 2, 1, 8, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 1>]} : (!x, !x) -> !y
  %z = npu.vec.map "relu"(%y) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (!y) -> tensor<1x16x8x16xf32>
  return %z : tensor<1x16x8x16xf32>
}
}

// -----

// What DRAM brings and the vector unit encodes goes in many small bands, of
// which as many are under way as fit where two of the plain ones did.
// CHECK-LABEL: func.func @bands(
// CHECK: npu.vec.map "copy"({{.*}}#npu.tiling<tile = [1, 128, 5, 112], scratch = {{[0-9]+}}, slot = 2240, slots = 7,
!e = tensor<1x128x112x112x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @bands(%x: tensor<1x128x112x112xf32>) -> tensor<1x128x1x1xf32> {
  %e = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x112x112xf32>) -> !e
  %m = npu.vec.reduce "mean"(%e) {layout = #npu.layout<axis = 1>, axes = array<i64: 2, 3>, select_last = false} : (!e) -> tensor<1x128x1x1xf32>
  return %m : tensor<1x128x1x1xf32>
}
}

// -----

// A load that outlasts several requests of DRAM comes in bands, so that the
// vector unit begins with the first; a short one comes whole.
// CHECK-LABEL: func.func @waits(
// CHECK: npu.vec.map "relu"({{.*}}tile = [1, 128, 64], scratch = {{[0-9]+}}, slot = 256, slots = 4
// CHECK: npu.vec.map "abs"({{.*}}tile = [1, 128, 64], scratch = {{[0-9]+}}, slot = 256, slots = 1
module attributes {ashlar.target = #ashlar.target<"wide", xm_group = 4, sb = {partitions = 128, bytes_per_partition = 65536}, dram = {bytes_per_cycle = 64, latency = 100}>} {
func.func @waits(%arg0: tensor<1x128x512xf32>, %arg1: tensor<1x128x64xf32>) -> (tensor<1x128x512xf32>, tensor<1x128x64xf32>) {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x512xf32>) -> tensor<1x128x512xf32>
  %1 = npu.vec.map "abs"(%arg1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x64xf32>) -> tensor<1x128x64xf32>
  %2 = npu.vec.map "neg"(%0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x512xf32>) -> tensor<1x128x512xf32>
  %3 = npu.vec.map "neg"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x128x64xf32>) -> tensor<1x128x64xf32>
  return %2, %3 : tensor<1x128x512xf32>, tensor<1x128x64xf32>
}
}
