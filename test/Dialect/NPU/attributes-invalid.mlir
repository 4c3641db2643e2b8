// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decisions that no pass makes: one tiny module per message.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

func.func @unknown(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.colour' is not an attribute of the npu dialect}}
  %0 = npu.vec.map "relu"(%x) {npu.colour = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @former(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'npu.axis' is not an attribute of the npu dialect}}
  %0 = npu.vec.map "relu"(%x) {npu.axis = 1 : i64, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @type(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{attribute 'layout' failed to satisfy constraint}}
  %0 = "npu.vec.map"(%x) {layout = "1", op = "relu", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @place() {
  // expected-error@+1 {{attribute 'npu.constants' is allowed only on modules}}
  %0 = nn.constant dense<0.0> : tensor<2xf32> {npu.constants = 1 : i64}
  return
}

// -----

// expected-error@+1 {{attribute 'npu.constants' must be a #npu.region, found 1 : i64}}
module attributes {npu.constants = 1 : i64} {
}

// -----

func.func @range(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{expected 'sb' in [0, 1099511627776], found -2}}
  %0 = npu.vec.map "relu"(%x) {memory = #npu.memory<sb = -2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @nowhere(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{expected either 'sb', a byte offset, or 'dram', why the result is not resident}}
  %0 = npu.vec.map "relu"(%x) {memory = #npu.memory<part = 1>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @twice(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{expected either 'sb', a byte offset, or 'dram', why the result is not resident}}
  %0 = npu.vec.map "relu"(%x) {memory = #npu.memory<sb = 0, dram = "graph output">, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @compressed(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{expected a dense map in the state buffer, found #npu.map_form<}}
  %0 = npu.vec.map "relu"(%x) {memory = #npu.memory<sb = 0, form = <form = 1, levels = 0, channels = 1, bytes = 64, pitch = 64, typical = 10>>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @slots(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{expected 'slots' in [1, 1099511627776], found 0}}
  %0 = npu.vec.map "relu"(%x) {tiling = #npu.tiling<tile = [2, 4], scratch = 0, slot = 0, slots = 0, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @axis_rank(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{axis across partitions must be below the rank 2 of the result, found 2}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 2>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @axis_block(%x: tensor<16x16xf32>) {
  // expected-error@+1 {{axis across partitions must be the block axis 1, found 0}}
  %0 = npu.vec.map "copy"(%x) {layout = #npu.layout<axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<16x16xf32>) -> tensor<16x16x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
  return
}

// -----

func.func @axis_matmul(%a: tensor<2x4xi8>, %b: tensor<4x3xi8>) {
  // expected-error@+1 {{axis across partitions must be the last axis 1, found 0}}
  %0 = npu.pe.matmul(%a, %b) {layout = #npu.layout<axis = 0>, quant = #npu.quant<x_zero = 0, w_zero = 0>, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
  return
}

// -----

func.func @axis_gather(%x: tensor<2x16xf32>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{axis across partitions must be another axis than that of the indices, found 0}}
  %0 = npu.vec.gather(%x, %i) {layout = #npu.layout<axis = 0>, axis = 0 : i64} : (tensor<2x16xf32>, tensor<3x1xi64>) -> tensor<3x16xf32>
  return
}

// -----

func.func @work_axis(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{has a 'work_axis' in 'layout', which only pools, reductions and softmax may have}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 1, work_axis = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @tile(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{must have tiles that are parts of 'tensor<2x4xf32>', found #npu.tiling<tile = [2, 0],}}
  %0 = npu.vec.map "relu"(%x) {tiling = #npu.tiling<tile = [2, 0], scratch = 0, slot = 0, slots = 1, ring = 0>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @lanes(%x: tensor<1x4x8xf32>) {
  // expected-error@+1 {{must have a pitch of at least the channels of a map, found #npu.layout<axis = 1, lanes = 2, pitch = 3>}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 1, lanes = 2, pitch = 3>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return
}

// -----

func.func @map_form(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{but 'tensor<4x8xf32>' is not a feature map of rank 3 or 4}}
  %0 = npu.vec.map "relu"(%x) {memory = #npu.memory<dram = "", form = <form = 1, levels = 0, channels = 1, bytes = 64, pitch = 64, typical = 10>>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @profile(%x: !x, %w: !w) {
  // expected-error@+2 {{expected densities from 0 to 1000 per 1000 elements}}
  // expected-error@+1 {{failed to parse NPU_ScatterAttr parameter 'data'}}
  %0 = npu.tcu.conv(%x, %w) {scatter = #npu.scatter<variant = 3, algorithm = "p2", metric = "nnz", threshold = 300, time = "auto", halo = "overlap", data = <source = 2, density = [1001]>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @algorithm(%x: !x, %w: !w) {
  // expected-error@+1 {{p3}}
  %0 = npu.tcu.conv(%x, %w) {scatter = #npu.scatter<variant = 3, algorithm = "p3", metric = "nnz", threshold = 300, time = "auto", halo = "overlap", data = <source = 2, density = [500]>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @block(%x: !x, %w: !w) {
  // expected-error@+1 {{expected 'block rows' in [0, 255], found 256}}
  %0 = npu.tcu.conv(%x, %w) {scatter = #npu.scatter<variant = 3, algorithm = "p2", metric = "nnz", threshold = 300, time = "auto", halo = "overlap", data = <source = 2, density = [500]>, block_rows = 256>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @bias_of_encoded_sums(%x: !x, %w: !w) {
  // expected-error@+1 {{starts sums from a bias that it does not have, or that is not an integer}}
  %0 = npu.tcu.conv(%x, %w) {bias_in_sums, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @zeros_in_scatter_mode(%x: !x, %w: !w) {
  // expected-error@+1 {{issues zeros in scatter mode, which has none}}
  %0 = npu.tcu.conv(%x, %w) {issue_zeros, scatter = #npu.scatter<variant = 3, algorithm = "p2", metric = "nnz", threshold = 300, time = "auto", halo = "overlap", data = <source = 2, density = [500]>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @more_rows_than_the_map(%x: !x, %w: !w) {
  // expected-error@+1 {{packs 3 of 2 rows, expected 1, or at most all rows of a convolution of one group with stationary weights}}
  %0 = npu.pe.conv(%x, %w) {packed_rows = 3, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x3x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @share_of_all(%x: !x, %w: !w) {
  // expected-error@+1 {{has a vector share of 16, expected 0 to 15}}
  %0 = npu.pe.conv(%x, %w) {vector_share = 16, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "gelu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x3x2xf32>
  return
}
func.func @share_of_nothing(%x: !x, %w: !w) {
  // expected-error@+1 {{leaves functions to the vector unit and has no function}}
  %0 = npu.pe.conv(%x, %w) {vector_share = 4, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x3x2xf32>
  return
}
func.func @share_of_packed_rows(%x: !x, %w: !w) {
  // expected-error@+1 {{leaves functions to the vector unit and has packed rows}}
  %0 = npu.pe.conv(%x, %w) {vector_share = 4, packed_rows = 3, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "gelu", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x3x2xf32>
  return
}
func.func @rows_apart_of_another(%x: !x, %w: !w) {
  // expected-error@+1 {{has 2 packed rows apart, expected 2 or more that divide the rows of the operand}}
  %0 = npu.pe.conv(%x, %w) {packed_rows = 2, rows_apart, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x3x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @bound_somehow(%x: !x, %w: !w) {
  // expected-error@+1 {{has binding 'mesh', expected auto, off or always}}
  %0 = npu.tcu.conv(%x, %w) {binding = "mesh", strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

func.func @incomplete(%x: tensor<2x16xf32>, %i: tensor<3x1xi64>) {
  // expected-error@+1 {{requires attribute 'axis'}}
  %0 = "npu.vec.gather"(%x, %i) {layout = #npu.layout<axis = 1>} : (tensor<2x16xf32>, tensor<3x1xi64>) -> tensor<3x16xf32>
  return
}

// -----

// expected-error@+1 {{attribute 'npu.tuning' must be a #npu.tuning, found {banks_apart}}}
module attributes {npu.tuning = {banks_apart}} {
}

// -----

// expected-error@+2 {{expected one of [auto, apart, columns, compared, off] for packed rows that convolutions may have, got: rows}}
// expected-error@+1 {{failed to parse NPU_TuningAttr parameter 'pack_rows'}}
module attributes {npu.tuning = #npu.tuning<pack_rows = rows>} {
}

// -----

func.func @tuned(%x: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error@+1 {{attribute 'npu.tuning' is allowed only on modules}}
  %0 = npu.vec.map "relu"(%x) {npu.tuning = #npu.tuning<banks_apart = true>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

// expected-error@+1 {{attribute 'npu.banks_decision' must be a #ashlar.decision, found {choice = "low-addresses", reason = "fewer cycles"}}}
module attributes {npu.banks_decision = {choice = "low-addresses", reason = "fewer cycles"}} {
}

// -----

func.func @decides(%x: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error@+1 {{attribute 'npu.comparisons_decision' is allowed only on modules}}
  %0 = npu.vec.map "relu"(%x) {npu.comparisons_decision = #ashlar.decision<choice = "predicted", reason = "no work left">, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

!x = tensor<1x4x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @pe_conv_c11_map(%x: !x, %w: !w) {
  // expected-error@+1 {{pools a map of shape 1x4x3x4, expected 1x4x4x4}}
  %0 = npu.pe.conv(%x, %w) {pooling = #npu.pooling<kind = "max", kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], include_pad = false, map = tensor<1x4x3x4xf32>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @pe_conv_c11_result(%x: !x, %w: !w) {
  // expected-error@+1 {{result has shape 1x4x4x4, expected windows of 2x2}}
  %0 = npu.pe.conv(%x, %w) {pooling = #npu.pooling<kind = "max", kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], include_pad = false, map = tensor<1x4x4x4xf32>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x4x4xf32>
  return
}

// -----

!x = tensor<1x4x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @pe_conv_c11_kind(%x: !x, %w: !w) {
  // expected-error@+1 {{expected a maximum or average over two dimensions of a convolution with stationary weights}}
  %0 = npu.pe.conv(%x, %w) {pooling = #npu.pooling<kind = "sum", kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], include_pad = false, map = tensor<1x4x4x4xf32>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @tcu_conv_c9_average(%x: !x, %w: !w) {
  // expected-error@+1 {{on the cluster a maximum, of each position in two windows of an axis at most, in tile mode}}
  %0 = npu.tcu.conv(%x, %w) {pooling = #npu.pooling<kind = "avg", kernel = [2, 2], strides = [2, 2], pads = [0, 0, 0, 0], dilations = [1, 1], include_pad = false, map = tensor<1x4x4x4xf32>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x4x4x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @tcu_conv_c9_overlap(%x: !x, %w: !w) {
  // expected-error@+1 {{on the cluster a maximum, of each position in two windows of an axis at most, in tile mode}}
  %0 = npu.tcu.conv(%x, %w) {pooling = #npu.pooling<kind = "max", kernel = [3, 2], strides = [1, 2], pads = [0, 0, 0, 0], dilations = [1, 1], include_pad = false, map = tensor<1x4x4x4xf32>>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @kept_argument(%x: !x, %w: !w) {
  // expected-error@+1 {{keeps an operand that no convolution of the cluster makes}}
  %0 = npu.tcu.conv(%x, %w) {kept = #npu.kept<stored = true>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> tensor<1x4x2x2xf32>
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @kept_alone(%x: !x, %w: !w) {
  %0 = npu.tcu.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  // expected-error@+1 {{keeps an operand that is not stored for its other readers}}
  %1 = npu.tcu.conv(%0, %w) {kept = #npu.kept<stored = false>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %2 = npu.tcu.conv(%0, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  return
}

// -----

!x = tensor<1x4x2x2x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
!w = tensor<4x4x1x1x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
func.func @kept_twice(%x: !x, %w: !w) {
  %0 = npu.tcu.conv(%x, %w) {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  // expected-error@+1 {{keeps an operand that another one keeps}}
  %1 = npu.tcu.conv(%0, %w) {kept = #npu.kept<stored = true>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  %2 = npu.tcu.conv(%0, %w) {kept = #npu.kept<stored = true>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, function = "copy", alpha = 0.0 : f32, beta = 0.0 : f32} : (!x, !w) -> !x
  return
}

// -----

// expected-error@+1 {{attribute 'npu.profile' must be a dictionary of #npu.profile, found {map = 3 : i64}}}
module attributes {npu.profile = {map = 3}} {
}

// -----

// expected-error@+1 {{measured_c1: expected two numbers of cycles for 'conv1', found array<i64: 300>}}
module attributes {npu.measured = #npu.measured<dense = 900, written = 700, nodes = {conv1 = array<i64: 300>}>} {
}

// -----

// expected-error@+1 {{measured_c2: expected cycles of networks, found 900 and -1}}
module attributes {npu.measured = #npu.measured<dense = 900, written = -1, nodes = {}>} {
}

// -----

// expected-error@+1 {{attribute 'npu.measured' must be a #npu.measured, found "{}"}}
module attributes {npu.measured = "{}"} {
}

// -----

// expected-error@+1 {{predicted_c1: expected cycles, found -1}}
module attributes {test = #npu.predicted<array = -1>} {
}

// -----

// expected-error@+1 {{attribute 'npu.predicted' is allowed only on operations of the npu dialect}}
module attributes {npu.predicted = #npu.predicted<array = 3>} {
}

// -----

func.func @predicted(%x: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error@+1 {{attribute 'npu.predicted' must be a #npu.predicted, found 3 : i64}}
  %0 = npu.vec.map "relu"(%x) {npu.predicted = 3, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
