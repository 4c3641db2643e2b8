// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ashlar-tile-verify refuses of tiles: parts of operands, places of
// results, tiles that are made twice or never.
//
// RUN: ashlar-opt -ashlar-tile-verify --split-input-file --verify-diagnostics %s

// Another part of the operand than the tile reads.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 8] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{makes the tile of [8, 16] at [0, 16], but has [8, 16] at [0, 8] of operand 0, expected [8, 16] at [0, 16]}}
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A tile that is none of the plan.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{makes the tile of [8, 16] at [0, 8], which is no tile of the plan: a result of [8, 32] in tiles of [8, 16]}}
      tile.compute [0, %i * 8] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A tile that is never made.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  // expected-error@+1 {{leaves 1 tiles of its result open}}
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 1 {
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

// A tile that is made and not stored.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  // expected-error@+1 {{leaves 2 tiles of its result open}}
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A store of what the buffer does not hold.
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
      // expected-error@+1 {{stores region [8 x 16] at [0 x 16], which its buffer does not hold}}
      tile.store %b to [0, 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A store before the computation.
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
      // expected-error@+1 {{which its buffer does not hold}}
      tile.store %a to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A read of an empty buffer.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{makes the tile of [8, 16] at [0, 0], but what it reads as operand 0 does not hold a part of that operand}}
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%b : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A buffer after its end.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.free %a : !b
      // expected-error@+1 {{to what is no buffer in use}}
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

// The same tile in every iteration.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{makes the tile of [8, 16] at [0, 0], which has been made before}}
      tile.compute [0, 0] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A measurement that nobody asked for.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] measures reads [0] (%a : !b) into %b : !b
      // expected-error@+1 {{which its buffer does not hold}}
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A fill of data.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{fills for operand 0, whose elements are not known to be equal}}
      tile.fill operand 0 [0, %i * 16] sizes [8, 16] bits 0 into %a : <tensor<8x16xf32>, axis = 0>
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// A view of what lies in DRAM.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{reads region [8 x 16] at [0 x 0] of operand 0 in place, but it does not lie in the state buffer as it is read}}
      %v = tile.view operand 0 [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
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

// A whole tensor for an operation that takes parts.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{is not what 'npu.vec.map' takes whole, wherever it lies}}
      %v = tile.tensor operand 0 : tensor<8x32xf32>
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

// Weights of an operation without.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{is in the sequence of 'npu.vec.map', which streams no weights}}
      tile.release_weights
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

// No operand at all.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{makes the tile of [8, 16] at [0, 0], without operand 0}}
      tile.compute [0, %i * 16] sizes [8, 16] reads [] into %b : !b
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// Scratch memory that nobody asked for.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  tile.sequence %0 : tensor<8x32xf32> {
    tile.for %i < 2 {
      %a = tile.alloc [(%i mod 2) * 128 + 256] bytes 64 : <tensor<8x16xf32>, axis = 0>
      %b = tile.alloc [(%i mod 2) * 128 + 320] bytes 64 : <tensor<8x16xf32>, axis = 0>
      tile.load operand 0 [0, %i * 16] sizes [8, 16] into %a : <tensor<8x16xf32>, axis = 0>
      // expected-error@+1 {{with 1 buffers besides, expected 0}}
      tile.compute [0, %i * 16] sizes [8, 16] reads [0] (%a : !b) into %b : !b scratch (%a : !b)
      tile.store %b to [0, %i * 16] sizes [8, 16] : <tensor<8x16xf32>, axis = 0>
      tile.free %a, %b : !b, !b
    }
  }
  return %0 : tensor<8x32xf32>
}
}

// -----

// No sequence.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  // expected-error@+1 {{has 0 sequences of tile operations, expected one}}
  %0 = npu.vec.map "relu"(%x) {layout = #npu.layout<axis = 0>, memory = #npu.memory<dram = "graph output">, tiling = #npu.tiling<tile = [8, 16], scratch = 256, slot = 128, slots = 2, ring = 512>, alpha = 0.0 : f32, beta = 0.0 : f32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
}

// -----

// Two sequences.
!b = !tile.buffer<tensor<8x16xf32>, axis = 0>
module attributes {ashlar.target = #ashlar.target<"small", xm_group = 4, sb = {partitions = 8, bytes_per_partition = 4096}, pe = {rows = 8, columns = 4}, act = {lanes = 4}>} {
func.func @main(%x: tensor<8x32xf32> {nn.name = "x"}) -> (tensor<8x32xf32> {nn.name = "y"}) {
  // expected-error@+1 {{has 2 sequences of tile operations, expected one}}
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
