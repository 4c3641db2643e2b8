// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One tiny module per verifier message; functions are named after constraints.
// RUN: ashlar-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{decision_c1: expected a choice and a reason, found "" and "none"}}
module attributes {npu.banks_decision = #ashlar.decision<choice = "", reason = "none">} {
}

// -----

// expected-error@+1 {{decision_c1: expected a choice and a reason, found "a" and ""}}
module attributes {npu.banks_decision = #ashlar.decision<choice = "a", reason = "">} {
}

// -----

// expected-error@+1 {{decision_c2: expected the cycles of alternative 'banks-apart' as an i64 that is not negative, found "90"}}
module attributes {npu.banks_decision = #ashlar.decision<choice = "banks-apart", reason = "fewer cycles", alternatives = {"banks-apart" = "90"}>} {
}

// -----

// expected-error@+1 {{decision_c2: expected the cycles of alternative 'a' as an i64 that is not negative, found -1}}
module attributes {npu.banks_decision = #ashlar.decision<choice = "a", reason = "b", alternatives = {a = -1}>} {
}

// -----

// expected-error@+1 {{decision_c3: 'node' is not the name of a fact}}
module attributes {npu.banks_decision = #ashlar.decision<choice = "a", reason = "b", facts = {node = "c"}>} {
}

// -----

func.func @ashlar_c1_decision(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'ashlar.decision.rows' must be a #ashlar.decision, found {choice = "a", reason = "b"}}}
  %0 = nn.unary sigmoid %x {ashlar.decision.rows = {choice = "a", reason = "b"}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @ashlar_c1_name(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'ashlar.decisive' is not an attribute of the ashlar dialect}}
  %0 = nn.unary sigmoid %x {ashlar.decisive = 1} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @ashlar_c1_count(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'ashlar.macs' must be an i64 that is not negative, found "12"}}
  %0 = nn.unary sigmoid %x {ashlar.macs = "12"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @ashlar_c1_module(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'ashlar.phase' is allowed only on modules}}
  %0 = nn.unary sigmoid %x {ashlar.phase = "simplify"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @ashlar_c1_target(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'ashlar.target' is allowed only on modules}}
  %0 = nn.unary sigmoid %x {ashlar.target = #ashlar.target<"a1">} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{attribute 'ashlar.target' must be a #ashlar.target, found "a1"}}
module attributes {ashlar.target = "a1"} {
}

// -----

func.func @ashlar_c1_scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{attribute 'ashlar.scale' must be a #ashlar.scale, found "fixed(e=1)"}}
  %0 = nn.unary sigmoid %x {ashlar.scale = "fixed(e=1)"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @scale_c1(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{scale_c1: expected the exponent of a constant, as in fixed(e=-7), found 'fixed'}}
  %0 = nn.unary sigmoid %x {ashlar.scale = #ashlar.scale<"fixed">} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @policy(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{scale policy is 'median', expected runmax, fixed, table, stats, predict or error}}
  %0 = nn.unary sigmoid %x {ashlar.scale = #ashlar.scale<"median">} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
