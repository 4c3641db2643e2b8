// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cluster of a convolution by predicted cycles of the machine a1, and the
// zeros that the choice knows of.
//
// RUN: ashlar-opt --ashlar-npu-analyse-zeros --ashlar-npu-choose-cluster --split-input-file %s | FileCheck %s --check-prefixes=BOTH,AUTO
// RUN: ashlar-opt --ashlar-npu-analyse-zeros --ashlar-npu-choose-cluster=mode=off --split-input-file %s | FileCheck %s --check-prefixes=BOTH,OFF
// RUN: ashlar-opt --ashlar-npu-analyse-zeros --ashlar-npu-choose-cluster=mode=tile --split-input-file %s | FileCheck %s --check-prefixes=BOTH,TILE
// RUN: not ashlar-opt --ashlar-npu-choose-cluster=mode=all --split-input-file %s 2>&1 | FileCheck %s --check-prefix=MODE

// RUN: ashlar-opt --ashlar-npu-analyse-zeros --ashlar-npu-choose-cluster=mode=scatter --split-input-file %s | FileCheck %s --check-prefix=SCATTER
// RUN: not ashlar-opt --ashlar-npu-choose-cluster=rule=best --split-input-file %s 2>&1 | FileCheck %s --check-prefix=RULE

// RUN: ashlar-opt --ashlar-npu-analyse-zeros --ashlar-npu-choose-cluster="mode=tile skip-zeros=false" --split-input-file %s | FileCheck %s --check-prefix=ISSUED
// RUN: not ashlar-opt --ashlar-npu-choose-cluster="mode=scatter skip-zeros=false" --split-input-file %s 2>&1 | FileCheck %s --check-prefix=NOSKIP
// ISSUED: npu.tcu.conv({{.*}}issue_zeros
// NOSKIP: mode 'scatter' without skipping zeros

// RUN: not ashlar-opt --ashlar-npu-choose-cluster=bias=first --split-input-file %s 2>&1 | FileCheck %s --check-prefix=BIAS
// BIAS: bias 'first', expected drain or sums
// RUN: not ashlar-opt --ashlar-npu-choose-cluster=block-rows=256 --split-input-file %s 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not ashlar-opt --ashlar-npu-choose-cluster=binding=mesh --split-input-file %s 2>&1 | FileCheck %s --check-prefix=BIND
// BIND: binding 'mesh', expected auto, off or always
// BLOCK: blocks of 256x0, expected at most 255x255

// MODE: mode 'all', expected auto, off, tile or scatter
// RULE: rule 'best', expected cost, majority or threshold

!x = tensor<1x64x56x56x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x1x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Depthwise: the array adds zeros of 63 other channels.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// BOTH-LABEL: func.func @depthwise(
// AUTO: npu.tcu.conv({{.*}}choice = "sparse-tile", reason = "fewer cycles than the dense array"{{.*}}eligible = "yes"
// TILE: npu.tcu.conv(
// OFF: npu.pe.conv({{.*}}choice = "dense"{{.*}}reason = "the sparse cluster is switched off"
func.func @depthwise(%x: !x) -> tensor<1x64x56x56xf32> {
  %k = nn.constant dense<1.0> : tensor<64x1x3x3xf32>
  %w = bfp.encode %k weights : tensor<64x1x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 64 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}
}

// -----

!x = tensor<1x64x28x28x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x64x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Every coefficient counts: the array is faster.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// BOTH-LABEL: func.func @full(
// AUTO: npu.pe.conv({{.*}}choice = "dense", reason = "the dense array takes fewer cycles", alternatives = {dense = 1007 : i64, "sparse-tile-least" = 1568 : i64}{{.*}}zeros = #npu.zeros<weights = 4096, structural = 0, exact = 0, encoded = 0>
// TILE: npu.tcu.conv({{.*}}reason = "requested"
// OFF: npu.pe.conv(
func.func @full(%x: !x) -> tensor<1x64x28x28xf32> {
  %k = nn.constant dense<1.0> : tensor<64x64x1x1xf32>
  %w = bfp.encode %k weights : tensor<64x64x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x28x28xf32>
  return %y : tensor<1x64x28x28xf32>
}
}

// -----

!x = tensor<1x4x8x8x!bfp.block<mantissa = 8, block = 16, range = 0, axis = 1>>
!w = tensor<1x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 0, axis = 1>>
// One zero of the model, and one weight far below its block.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// BOTH-LABEL: func.func @zeros(
// BOTH: zeros = #npu.zeros<weights = 4, structural = 0, exact = 1, encoded = 1>
func.func @zeros(%x: !x) -> tensor<1x1x8x8xf32> {
  %k = nn.constant dense<[[[[1.0]], [[0.0]], [[0.001]], [[0.5]]]]> : tensor<1x4x1x1xf32>
  %w = bfp.encode %k weights : tensor<1x4x1x1xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x1x8x8xf32>
  return %y : tensor<1x1x8x8xf32>
}
}

// -----

!x = tensor<1x64x16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x64x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Half of the data is zero behind a relu; the first convolution knows nothing.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// SCATTER-LABEL: func.func @relu(
// SCATTER: npu.tcu.conv({{.*}}choice = "sparse-scatter"{{.*}}cuts = {{{.*}}data = "unknown"{{.*}}data_density = 1000 : i64{{.*}}scatter = #npu.scatter<variant = 3, algorithm = "p2"
// SCATTER: npu.tcu.conv({{.*}}"sparse-scatter"{{.*}}cuts = {{{.*}}data = "producer"{{.*}}data_density = 500 : i64
func.func @relu(%x: !x) -> tensor<1x64x16x16xf32> {
  %k = nn.constant dense<1.0> : tensor<64x64x3x3xf32>
  %w = bfp.encode %k weights : tensor<64x64x3x3xf32> -> !w
  %h = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %y = npu.pe.conv(%h, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x16x16xf32>
  return %y : tensor<1x64x16x16xf32>
}
}

// -----

!x = tensor<1x8x16x16x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
!w = tensor<16x8x3x3x!bfp.block<mantissa = 8, block = 8, range = 7, axis = 1>>
// Measured places: the upper half of the feature map is full, the lower half empty.
module attributes {ashlar.target = #ashlar.target<"small", sparse = {tcus = 4}>, npu.profile = {map = #npu.profile<source = 2, density = [250], places = [8, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], rows = 4, columns = 4, capacity = 8>}} {
// SCATTER-LABEL: func.func @measured(
// SCATTER: npu.tcu.conv({{.*}}cuts = {{{.*}}data = "measured"{{.*}}data_density = 250 : i64
// SCATTER-NOT: npu.profile
func.func @measured(%x: !x) -> tensor<1x16x16x16xf32> {
  %k = nn.constant dense<1.0> : tensor<16x8x3x3xf32>
  %w = bfp.encode %k weights : tensor<16x8x3x3xf32> -> !w
  %m = npu.dma.move "copy"(%x) {origin = #npu.origin<name = "map">, patterns = []} : (!x) -> !x
  %y = npu.pe.conv(%m, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x16x16x16xf32>
  return %y : tensor<1x16x16x16xf32>
}
}

// -----

!x = tensor<1x16x30x40x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<16x16x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// The first cannot read a lane fold and goes to the sparse cluster: so it
// writes none, and without one the second does not stay on the array.
module attributes {ashlar.target = #ashlar.target<"a1">} {
// BOTH-LABEL: func.func @unfolded(
// AUTO-COUNT-2: npu.tcu.conv(
// OFF-COUNT-2: npu.pe.conv(
func.func @unfolded(%x: !x) -> tensor<1x16x30x40xf32> {
  %k = nn.constant dense<1.0> : tensor<16x16x3x3xf32>
  %w = bfp.encode %k weights : tensor<16x16x3x3xf32> -> !w
  %m = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %y = npu.pe.conv(%m, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x16x30x40xf32>
  return %y : tensor<1x16x30x40xf32>
}
}

// -----

!x = tensor<1x64x56x56x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x1x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// Queues shorter than the products that may wait: no scattering.
module attributes {ashlar.target = #ashlar.target<"short", sparse = {queue_depth = 16, coefficients_per_step = 4}>} {
// SCATTER-LABEL: func.func @short_queues(
// SCATTER: npu.pe.conv({{.*}}reason = "more products may wait than its queues hold"{{.*}}eligible = "no"
func.func @short_queues(%x: !x) -> tensor<1x64x56x56xf32> {
  %k = nn.constant dense<1.0> : tensor<64x1x3x3xf32>
  %w = bfp.encode %k weights : tensor<64x1x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 64 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}
}

// -----

!x = tensor<1x64x56x56x!bfp.block<mantissa = 8, block = 32, range = 7, axis = 1>>
!w = tensor<64x1x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
// 48 partitions hold planes of 16 channels, which repeat the exponents of 32.
module attributes {ashlar.target = #ashlar.target<"narrow", sb = {partitions = 48}, pe = {rows = 48, columns = 48}>} {
// TILE-LABEL: func.func @planes_of_cells(
// TILE: npu.tcu.conv({{.*}}eligible = "yes"
func.func @planes_of_cells(%x: !x) -> tensor<1x64x56x56xf32> {
  %k = nn.constant dense<1.0> : tensor<64x1x3x3xf32>
  %w = bfp.encode %k weights : tensor<64x1x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 64 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}
}

// -----

!x = tensor<1x64x56x56x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<64x1x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
module attributes {ashlar.target = #ashlar.target<"uneven", xm_group = 4, sb = {partitions = 100}, pe = {rows = 96, columns = 48}>} {
// TILE-LABEL: func.func @no_plane(
// TILE: npu.pe.conv({{.*}}reason = "no plane of exponent cells has its blocks"{{.*}}eligible = "no"
func.func @no_plane(%x: !x) -> tensor<1x64x56x56xf32> {
  %k = nn.constant dense<1.0> : tensor<64x1x3x3xf32>
  %w = bfp.encode %k weights : tensor<64x1x3x3xf32> -> !w
  %y = npu.pe.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 64 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}
}
