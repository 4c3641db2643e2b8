// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ashlar-tile-verify refuses of buffers and copies, and a sequence that it
// accepts. A wrong sequence would be a wrong program: code generation decides
// nothing about tiles.
//
// RUN: ashlar-opt -ashlar-tile-verify --split-input-file --verify-diagnostics %s

!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A buffer that ends in the next slot.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{takes 64 bytes of every partition from byte 352 on, not within one of the 2 slots of 128 bytes from byte 256 on}}
      %b = tile.alloc [(%i mod 2) * 128 + 352] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// Two buffers in the same bytes.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{takes 64 bytes of every partition from byte 256 on, where bytes 256 to 320 are those of a buffer in use}}
      %b = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A buffer of more elements than any memory holds.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{takes 64 bytes of every partition from byte 320 on, no memory holds as many elements as it has}}
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x9999999999xf32>, axis = 0>
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A buffer that is too small.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{takes 56 bytes of every partition from byte 320 on, its elements take 64}}
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 56 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// An address between elements.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{takes 64 bytes of every partition from byte 316 on, which is no multiple of 8}}
      %b = tile.alloc [(%i mod 2) * 128 + 316] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A buffer that outlives its iteration.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      // expected-error@+1 {{takes 64 bytes of every partition from byte 384 on, while its buffer of the iteration before is alive}}
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %b : !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A load from outside of the operand.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{copies region [8 x 16] at [0 x 32] of operand 0, which has the extents 8 x 32}}
      tile.load operand 0 [0, %i * 32] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// Zeros around an operand that is read without.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{which is not read with zeros around it}}
      tile.load operand 0 [0, %i * 16] sizes [8, 16] padded into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// An operand that is not there.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{names operand 1, which the tiles of 'npu.vec.map' do not read}}
      tile.load operand 1 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}
