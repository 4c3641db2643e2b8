// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How data movements are done. On this machine a copy inside the chip is slow, so
// that the array wins by cycles.
//
// RUN: ashlar-opt --ashlar-npu-classify-transposes --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-npu-classify-transposes=mode=dma --split-input-file %s | FileCheck %s --check-prefix=DMA
// RUN: ashlar-opt --ashlar-npu-classify-transposes=mode=copy --split-input-file %s | FileCheck %s --check-prefix=COPY
// RUN: ashlar-opt --ashlar-npu-classify-transposes=mode=planes --split-input-file %s | FileCheck %s --check-prefix=PLANES

// The function that alone reads the result rides on the drain.
// CHECK-LABEL: func.func @exchange(
// CHECK: npu.vec.map "relu"
// CHECK-NEXT: %[[T:.*]] = npu.pe.transpose({{.*}}choice = "identity", reason = "fewest predicted cycles", alternatives = {copy = {{[0-9]+}} : i64, dma = {{[0-9]+}} : i64, floats = {{[0-9]+}} : i64, identity = {{[0-9]+}} : i64, planes = {{[0-9]+}} : i64}{{.*}}function = "tanh"{{.*}}source_axis = 0 : i64
// CHECK-NEXT: npu.vec.pool "max"(%[[T]])
// DMA-LABEL: func.func @exchange(
// DMA: npu.dma.move "transpose"({{.*}}choice = "dma", reason = "requested"{{.*}}route = #npu.route<through_dram>
// A byte plane has no function to apply.
// PLANES-LABEL: func.func @exchange(
// PLANES: npu.pe.transpose({{.*}}choice = "planes", reason = "requested"{{.*}}byte_planes, function = "copy"
// PLANES-NEXT: npu.vec.map "tanh"
// COPY-LABEL: func.func @exchange(
// COPY: npu.dma.move "transpose"({{.*}}choice = "copy", reason = "requested"
module attributes {ashlar.target = #ashlar.target<"slow-copy", dma = {onchip_bytes_per_cycle = 1}>} {
func.func @exchange(%arg0: tensor<64x128xf32>) -> tensor<128x63xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 0>, patterns = [array<i64: 0, 2, 2, 128, 1, 1, 0, 1, 64, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<64x128xf32>) -> tensor<128x64xf32>
  %2 = npu.vec.map "tanh"(%1) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<128x64xf32>) -> tensor<128x64xf32>
  %3 = npu.vec.pool "max"(%2) {layout = #npu.layout<axis = 0>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<128x64xf32>) -> tensor<128x63xf32>
  return %3 : tensor<128x63xf32>
}
}

// -----

// The same axis stays across partitions: nothing to do, whatever is requested.
// CHECK-LABEL: func.func @view(
// CHECK: npu.dma.move "transpose"({{.*}}choice = "none"
// DMA-LABEL: func.func @view(
// DMA: npu.dma.move "transpose"({{.*}}choice = "none"
module attributes {ashlar.target = #ashlar.target<"slow-copy", dma = {onchip_bytes_per_cycle = 1}>} {
func.func @view(%arg0: tensor<64x128xf32>) -> tensor<128x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 2, 2, 128, 1, 1, 0, 1, 64, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<64x128xf32>) -> tensor<128x64xf32>
  %2 = npu.vec.map "abs"(%1) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<128x64xf32>) -> tensor<128x64xf32>
  return %2 : tensor<128x64xf32>
}
}

// -----

// A graph input and output: loaded or stored in its new order anyway.
// CHECK-LABEL: func.func @store(
// CHECK: npu.dma.move "transpose"({{.*}}choice = "copy", reason = "part of a load or store that happens anyway"
module attributes {ashlar.target = #ashlar.target<"slow-copy", dma = {onchip_bytes_per_cycle = 1}>} {
func.func @store(%arg0: tensor<64x128xi8>) -> tensor<128x64xi8> {
  %0 = npu.dma.move "transpose"(%arg0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 2, 2, 128, 1, 1, 0, 1, 64, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<64x128xi8>) -> tensor<128x64xi8>
  return %0 : tensor<128x64xi8>
}
}

// -----

// From DRAM to DRAM every byte would have a burst of its own. The array turns
// what is loaded and stored as it lies: rows, then columns across partitions,
// though the data movement was laid across the other axis.
// CHECK-LABEL: func.func @alone(
// CHECK: npu.pe.transpose({{.*}}choice = "identity", reason = "fewest predicted cycles"{{.*}}#npu.layout<axis = 0{{.*}}source_axis = 0 : i64
module attributes {ashlar.target = #ashlar.target<"free-copy">} {
func.func @alone(%arg0: tensor<64x128xi8>) -> tensor<128x64xi8> {
  %0 = npu.dma.move "transpose"(%arg0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 2, 2, 128, 1, 1, 0, 1, 64, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<64x128xi8>) -> tensor<128x64xi8>
  return %0 : tensor<128x64xi8>
}
}

// -----

// Where single elements cost, the array also turns what is loaded ...
// CHECK-LABEL: func.func @load(
// CHECK: npu.pe.transpose({{.*}}choice = "identity", reason = "fewest predicted cycles"
module attributes {ashlar.target = #ashlar.target<"byte-shuffles", dma = {runs_per_cycle = 4}>} {
func.func @load(%arg0: tensor<128x256xi8>) -> tensor<256x127xi8> {
  %0 = npu.dma.move "transpose"(%arg0) {layout = #npu.layout<axis = 0>, patterns = [array<i64: 0, 2, 2, 256, 1, 1, 0, 1, 128, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<128x256xi8>) -> tensor<256x128xi8>
  %1 = npu.vec.pool "max"(%0) {layout = #npu.layout<axis = 0>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<256x128xi8>) -> tensor<256x127xi8>
  return %1 : tensor<256x127xi8>
}
}

// -----

// ... and stored, though the result could be a view that the store turns.
// CHECK-LABEL: func.func @stored(
// CHECK: npu.pe.transpose({{.*}}choice = "identity", reason = "fewest predicted cycles"{{.*}}#npu.layout<axis = 0
module attributes {ashlar.target = #ashlar.target<"byte-shuffles", dma = {runs_per_cycle = 4}>} {
func.func @stored(%arg0: tensor<128x256xi8>) -> tensor<256x128xi8> {
  %0 = npu.vec.map "abs"(%arg0) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<128x256xi8>) -> tensor<128x256xi8>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 1>, patterns = [array<i64: 0, 2, 2, 256, 1, 1, 0, 1, 128, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<128x256xi8>) -> tensor<256x128xi8>
  return %1 : tensor<256x128xi8>
}
}

// -----

// No operation of the model moves anything, but the pooling needs the other
// axis across partitions. A copy is part of loading the pooling's tiles.
// CHECK-LABEL: func.func @axis_change(
// CHECK: %[[A:.*]] = npu.vec.map "relu"
// CHECK-NEXT: %[[T:.*]] = npu.pe.transpose(%[[A]]){{.*}}choice = "identity", reason = "fewest predicted cycles"{{.*}}#npu.layout<axis = 0{{.*}}source_axis = 1 : i64
// CHECK-NEXT: npu.vec.pool "max"(%[[T]])
// DMA-LABEL: func.func @axis_change(
// DMA: npu.dma.move "layout"({{.*}}route = #npu.route<through_dram>
// COPY-LABEL: func.func @axis_change(
// COPY: npu.vec.map "relu"
// COPY-NEXT: npu.vec.pool "max"
module attributes {ashlar.target = #ashlar.target<"slow-copy", dma = {onchip_bytes_per_cycle = 1}>} {
func.func @axis_change(%arg0: tensor<64x128xf32>) -> tensor<64x127xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = npu.vec.pool "max"(%0) {layout = #npu.layout<axis = 0>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<64x128xf32>) -> tensor<64x127xf32>
  return %1 : tensor<64x127xf32>
}
}

// -----

// Four rows of tiles: the array transposes one while the next is loaded. A copy
// takes fewer cycles by itself, but shares the queues with these loads.
// CHECK-LABEL: func.func @beside_loads(
// CHECK: npu.pe.transpose({{.*}}choice = "identity"
module attributes {ashlar.target = #ashlar.target<"a1">} {
func.func @beside_loads(%arg0: tensor<500x131xf32>) -> tensor<130x499xf32> {
  %0 = npu.vec.pool "max"(%arg0) {layout = #npu.layout<axis = 0>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<500x131xf32>) -> tensor<500x130xf32>
  %1 = npu.dma.move "transpose"(%0) {layout = #npu.layout<axis = 0>, patterns = [array<i64: 0, 2, 2, 130, 1, 1, 0, 1, 500, 0, 1, 1, 1, 0, 0, 0, 0>]} : (tensor<500x130xf32>) -> tensor<130x500xf32>
  %2 = npu.vec.pool "max"(%1) {layout = #npu.layout<axis = 0>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, count_include_pad = false} : (tensor<130x500xf32>) -> tensor<130x499xf32>
  return %2 : tensor<130x499xf32>
}
}

// -----

// Rows and columns side by side across partitions are cut by no tile: one
// channel of the operand takes 2304 bytes of the partition that holds it. Where
// that does not fit, the elements pass through DRAM.
// CHECK-LABEL: func.func @does_not_fit(
// CHECK: npu.dma.move "reshape"({{.*}}choice = "dma", reason = "the smallest tile of the array's way does not fit into a partition"{{.*}}route = #npu.route<through_dram>
// DMA-LABEL: func.func @does_not_fit(
// COPY-LABEL: func.func @does_not_fit(
module attributes {ashlar.target = #ashlar.target<"slow-copy", sb = {bytes_per_partition = 512}, dma = {onchip_bytes_per_cycle = 1}>} {
func.func @does_not_fit(%arg0: tensor<1x64x24x24xf32>) -> tensor<1x1x60x576xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x64x24x24xf32>) -> tensor<1x64x24x24xf32>
  %1 = npu.dma.move "reshape"(%0) {layout = #npu.layout<axis = 3>, patterns = [array<i64: 0, 3, 4, 64, 1, 1, 2, 1, 24, 2, 1, 3, 24, 24, 3, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0>]} : (tensor<1x64x24x24xf32>) -> tensor<1x1x64x576xf32>
  %2 = npu.vec.pool "avg"(%1) {layout = #npu.layout<axis = 3>, kernel = array<i64: 5, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad = true} : (tensor<1x1x64x576xf32>) -> tensor<1x1x60x576xf32>
  return %2 : tensor<1x1x60x576xf32>
}
}

// -----

// A copy across another axis that two operations read is made once, as a
// movement of its own; each of them works across rows.
// CHECK-LABEL: func.func @shared_copy(
// CHECK: %[[C:.*]] = npu.dma.move "layout"({{.*}}choice = "copy"
// CHECK-NEXT: %[[R:.*]] = npu.vec.reduce "mean"(%[[C]])
// CHECK-NEXT: npu.vec.map "sub"(%[[C]], %[[R]])
// DMA-LABEL: func.func @shared_copy(
// COPY-LABEL: func.func @shared_copy(
module attributes {ashlar.target = #ashlar.target<"copies">} {
func.func @shared_copy(%arg0: tensor<99x64xf32>) -> tensor<99x64xf32> {
  %0 = npu.vec.map "relu"(%arg0) {layout = #npu.layout<axis = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<99x64xf32>) -> tensor<99x64xf32>
  %1 = npu.vec.reduce "mean"(%0) {layout = #npu.layout<axis = 0>, axes = array<i64: 1>, select_last = false} : (tensor<99x64xf32>) -> tensor<99x1xf32>
  %2 = npu.vec.map "sub"(%0, %1) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<99x64xf32>, tensor<99x1xf32>) -> tensor<99x64xf32>
  %3 = npu.vec.map "exp"(%2) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<99x64xf32>) -> tensor<99x64xf32>
  return %3 : tensor<99x64xf32>
}
}
