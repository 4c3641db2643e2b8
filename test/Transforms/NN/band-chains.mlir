// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains that alternate between two layouts, in bands of rows.
//
// RUN: ashlar-opt --ashlar-set-target=machine=%S/Inputs/latency.yaml --ashlar-nn-band-chains --split-input-file %s | FileCheck %s
// RUN: ashlar-opt --ashlar-set-target=machine=%S/Inputs/latency-runs.yaml --ashlar-nn-band-chains --split-input-file %s | FileCheck %s --check-prefix=RUNS
// RUN: ashlar-opt --ashlar-set-target=machine=%S/Inputs/latency-room.yaml --ashlar-nn-band-chains --split-input-file %s | FileCheck %s --check-prefix=ROOM

// A local response normalisation over 192 channels. Its three maps do not fit
// beside each other: bands. 11 rows of 55 positions are 5 columns of 128. What a
// band reads comes before the band in front of it.
// CHECK-LABEL: @normalise
// CHECK: %[[X:.+]] = nn.slice %arg0 {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x192x55x55xf32>) -> tensor<1x192x[[R:[0-9]+]]x55xf32>
// CHECK: nn.slice %arg0 {starts = array<i64: 0, 0, [[R]], 0>
// CHECK: %[[S:.+]] = nn.mul %[[X]], %[[X]]
// CHECK: %[[T:.+]] = nn.reshape %[[S]] : (tensor<1x192x[[R]]x55xf32>) -> tensor<1x1x192x[[P:[0-9]+]]xf32>
// CHECK: %[[M:.+]] = nn.avg_pool %[[T]] {{.*}} -> tensor<1x1x192x[[P]]xf32>
// CHECK: %[[B:.+]] = nn.reshape %[[M]]
// CHECK: %[[D:.+]] = nn.pow %[[B]]
// CHECK: %[[Y:.+]] = nn.div %[[X]], %[[D]] : (tensor<1x192x[[R]]x55xf32>, tensor<1x192x[[R]]x55xf32>)
// CHECK: nn.concat %[[Y]], {{.*}} {ashlar.decision = #ashlar.decision<choice = "bands-of-[[R]]", reason = "6 operations in {{[0-9]+}} bands of [[R]] rows{{.*}}", alternatives = {"bands-of-[[R]]" = {{[0-9]+}} : i64, whole = {{[0-9]+}} : i64}>, axis = 2
// RUNS-LABEL: @normalise
// RUNS: nn.concat {{.*}}choice = "bands-of-11"
// With room for everything and copies of any pattern there is too little to gain.
// ROOM-LABEL: @normalise
// ROOM-NOT: nn.concat
// ROOM: return
func.func @normalise(%x: tensor<1x192x55x55xf32>) -> tensor<1x192x55x55xf32> {
  %beta = nn.constant dense<0.75> : tensor<f32>
  %0 = nn.mul %x, %x : (tensor<1x192x55x55xf32>, tensor<1x192x55x55xf32>) -> tensor<1x192x55x55xf32>
  %1 = nn.reshape %0 : (tensor<1x192x55x55xf32>) -> tensor<1x1x192x3025xf32>
  %2 = nn.avg_pool %1 {kernel = array<i64: 5, 1>, strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 2, 0>, dilations = array<i64: 1, 1>, count_include_pad = true} : (tensor<1x1x192x3025xf32>) -> tensor<1x1x192x3025xf32>
  %3 = nn.reshape %2 : (tensor<1x1x192x3025xf32>) -> tensor<1x192x55x55xf32>
  %4 = nn.pow %3, %beta : (tensor<1x192x55x55xf32>, tensor<f32>) -> tensor<1x192x55x55xf32>
  %5 = nn.div %x, %4 : (tensor<1x192x55x55xf32>, tensor<1x192x55x55xf32>) -> tensor<1x192x55x55xf32>
  return %5 : tensor<1x192x55x55xf32>
}

// -----

// What all rows share is not cut, what has rows of its own is.
// CHECK-LABEL: @operands
// CHECK: nn.slice %arg1 {{.*}} (tensor<1x1x128x12100xf32>) -> tensor<1x1x128x{{[0-9]+}}xf32>
// CHECK: nn.mul {{.*}}, %arg2 : (tensor<1x128x{{[0-9]+}}x110xf32>, tensor<128x1x1xf32>)
// CHECK: nn.concat
func.func @operands(%x: tensor<1x128x110x110xf32>, %p: tensor<1x1x128x12100xf32>, %c: tensor<128x1x1xf32>) -> tensor<1x128x110x110xf32> {
  %1 = nn.reshape %x : (tensor<1x128x110x110xf32>) -> tensor<1x1x128x12100xf32>
  %2 = nn.max_pool %1 {kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x128x12100xf32>) -> tensor<1x1x128x12100xf32>
  %3 = nn.add %2, %p : (tensor<1x1x128x12100xf32>, tensor<1x1x128x12100xf32>) -> tensor<1x1x128x12100xf32>
  %4 = nn.reshape %3 : (tensor<1x1x128x12100xf32>) -> tensor<1x128x110x110xf32>
  %5 = nn.mul %4, %c : (tensor<1x128x110x110xf32>, tensor<128x1x1xf32>) -> tensor<1x128x110x110xf32>
  return %5 : tensor<1x128x110x110xf32>
}

// -----

// Windows over rows, and too little to do: whole.
// CHECK-LABEL: @windows
// CHECK-NOT: nn.concat
// CHECK-LABEL: @small
// CHECK-NOT: nn.concat
func.func @windows(%x: tensor<1x128x110x110xf32>) -> tensor<1x128x110x110xf32> {
  %1 = nn.avg_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x128x110x110xf32>) -> tensor<1x128x110x110xf32>
  %2 = nn.div %x, %1 : (tensor<1x128x110x110xf32>, tensor<1x128x110x110xf32>) -> tensor<1x128x110x110xf32>
  return %2 : tensor<1x128x110x110xf32>
}
func.func @small(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %1 = nn.reshape %x : (tensor<1x16x8x8xf32>) -> tensor<1x1x16x64xf32>
  %2 = nn.avg_pool %1 {kernel = array<i64: 3, 1>, strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x16x64xf32>) -> tensor<1x1x16x64xf32>
  %3 = nn.reshape %2 : (tensor<1x1x16x64xf32>) -> tensor<1x16x8x8xf32>
  %4 = nn.div %x, %3 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  return %4 : tensor<1x16x8x8xf32>
}

// -----

// Sums over channels change no layout: bands only where the maps do not fit. The
// function of the product before is left to its drain.
// CHECK-LABEL: @sums
// CHECK: %[[R:.+]] = nn.unary relu %{{.*}} : (tensor<1x192x55x55xf32>)
// CHECK: nn.slice %[[R]]
// CHECK: nn.avg_pool {{.*}}sums = true
// CHECK: nn.concat {{.*}}bands of {{[0-9]+}} rows: the maps of a band stay on the chip
// ROOM-LABEL: @sums
// ROOM-NOT: nn.concat
func.func @sums(%x: tensor<1x64x55x55xf32>, %w: tensor<192x64x1x1xf32>) -> tensor<1x192x55x55xf32> {
  %beta = nn.constant dense<-0.75> : tensor<f32>
  %c = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x64x55x55xf32>, tensor<192x64x1x1xf32>) -> tensor<1x192x55x55xf32>
  %r = nn.unary relu %c : (tensor<1x192x55x55xf32>) -> tensor<1x192x55x55xf32>
  %0 = nn.mul %r, %r : (tensor<1x192x55x55xf32>, tensor<1x192x55x55xf32>) -> tensor<1x192x55x55xf32>
  %1 = nn.reshape %0 : (tensor<1x192x55x55xf32>) -> tensor<1x1x192x3025xf32>
  %2 = nn.avg_pool %1 {kernel = array<i64: 5, 1>, strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 2, 0>, dilations = array<i64: 1, 1>, sums = true} : (tensor<1x1x192x3025xf32>) -> tensor<1x1x192x3025xf32>
  %3 = nn.reshape %2 : (tensor<1x1x192x3025xf32>) -> tensor<1x192x55x55xf32>
  %4 = nn.pow %3, %beta : (tensor<1x192x55x55xf32>, tensor<f32>) -> tensor<1x192x55x55xf32>
  %5 = nn.mul %r, %4 : (tensor<1x192x55x55xf32>, tensor<1x192x55x55xf32>) -> tensor<1x192x55x55xf32>
  return %5 : tensor<1x192x55x55xf32>
}
