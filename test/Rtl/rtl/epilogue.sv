// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ACT makes of the entries of one drain: conversion of sums, scale, bias,
// residual, function, storage (docs/Numerics.md 2, 6, 10, 12). One step at a
// time, each rounded as the page says.

module epilogue #(
    int C = 4,
    int STEPS = 1024
) (
    memories mem
);
  import ashlar_isa::*;
  import numerics::*;

  // The entries.
  longint signed taken[C][STEPS];

  // Results: stored words, exponent cells, and the scale exponent to merge.
  longint unsigned word[C][STEPS];
  byte signed cell_of[C][STEPS];
  shortint signed scale;

  logic [63:0] y[MAX_WORDS];  // The drain, by its name in results.svh.
  int instr;
  int steps;
  logic [31:0] value[C][STEPS];   // Modes f32 and typed words.
  longint signed exact[C][STEPS]; // Mode block.

  //--- Operands ---------------------------------------------------------------

  `include "results.svh"

  // Word k of the parameter record of a lane and step: scale, bias, EW, alpha.
  function automatic logic [31:0] record(input int c, input int s, input int k);
    if (`ACT_DRAIN_paramAlongSteps(y))
      return 32'(mem.sb_element(int'(`ACT_DRAIN_paramPart(y)),
                                int'(`ACT_DRAIN_paramOffset(y)) + 16 * s + 4 * k, 4));
    return 32'(mem.sb_element(int'(`ACT_DRAIN_paramPart(y)) + c,
                              int'(`ACT_DRAIN_paramOffset(y)) + 4 * k, 4));
  endfunction

  // An encoded element decoded: m * 2^(cell - (w - 2)).
  function automatic logic [31:0] decoded(input longint unsigned raw,
                                          input int cell_x, input int w);
    return sum_to_f32(fetch_mantissa(raw, w), cell_x - (w - 2));
  endfunction

  function automatic longint unsigned residual_word(input int c, input int s);
    return mem.sb_element(residual_part(c), residual_at(c, s),
                          stored_bytes(int'(`ACT_DRAIN_resType(y)),
                                       int'(`ACT_DRAIN_resMantissa(y))));
  endfunction

  function automatic int residual_cell(input int c, input int s);
    return int'(mem.xm[mem.cell_row(residual_part(c))][residual_at(c, s)]);
  endfunction

  function automatic logic [31:0] residual(input int c, input int s);
    if (int'(`ACT_DRAIN_resType(y)) == ELEMTYPE_BFP)
      return decoded(residual_word(c, s), residual_cell(c, s),
                     int'(`ACT_DRAIN_resMantissa(y)));
    return to_f32(residual_word(c, s), int'(`ACT_DRAIN_resType(y)));
  endfunction

  function automatic logic [31:0] alpha(input int c, input int s);
    return `ACT_DRAIN_alphaFromParam(y) ? record(c, s, 3) : `ACT_DRAIN_alpha(y);
  endfunction

  // A cleared register counts as the least exponent of a step.
  function automatic int scale_of(input int r);
    return mem.xr[r] == CLEARED ? -142 : int'(mem.xr[r]);
  endfunction

  // Exponent of the entries of a lane; EW is limited to 2^20.
  function automatic int entry_exponent(input int c, input int s);
    int e, own;
    e = scale_of(int'(`ACT_DRAIN_xrA(y))) + scale_of(int'(`ACT_DRAIN_xrS(y))) +
        int'(`ACT_DRAIN_shift(y));
    own = int'(record(c, s, 2));
    if (own > 1048576) own = 1048576;
    if (own < -1048576) own = -1048576;
    return `ACT_DRAIN_hasExp(y) ? e + own : e;
  endfunction

  // What is added as integers: the bias of the record (0), and in mode block
  // the residual (1).
  function automatic longint signed addend(input int which, input int c, input int s);
    int b, p;
    logic [31:0] r;
    if (which == 0) begin
      r = record(c, s, 1);
      return `ACT_DRAIN_biasAligned(y) ? sign_extend(64'(r[15:0]), 16) : 0;
    end
    if (!`ACT_DRAIN_resMode(y) || int'(`ACT_DRAIN_mode(y)) != DRAINMODE_BLOCK) return 0;
    return fetch_mantissa(residual_word(c, s), int'(`ACT_DRAIN_resMantissa(y)));
  endfunction

  function automatic int addend_exponent(input int which, input int c, input int s);
    logic [31:0] r;
    r = record(c, s, 1);
    if (which == 0) return int'(signed'(r[31:16]));
    return residual_cell(c, s) - (int'(`ACT_DRAIN_resMantissa(y)) - 2);
  endfunction

  // Exponent of the sums: that of the entries, or the least one at which the
  // addends have 61 bits.
  function automatic int exponent(input int c, input int s);
    int e;
    e = entry_exponent(c, s);
    for (int i = 0; i < 2; i++)
      if (addend(i, c, s) != 0 && addend_exponent(i, c, s) - 46 > e)
        e = addend_exponent(i, c, s) - 46;
    return e;
  endfunction

  // v * 2^from in units of 2^to, where it fits.
  function automatic longint signed aligned(input longint signed v, input int from,
                                            input int to);
    if (from >= to) return v <<< (from - to > 63 ? 63 : from - to);
    return rne_signed(v, to - from > 64 ? 65 : to - from);
  endfunction

  function automatic longint signed accumulator(input int c, input int s);
    longint signed sum;
    int e;
    e = exponent(c, s);
    sum = aligned(taken[c][s], entry_exponent(c, s), e);
    for (int i = 0; i < 2; i++)
      if (addend(i, c, s) != 0)
        sum = sum + aligned(addend(i, c, s), addend_exponent(i, c, s), e);
    return sum;
  endfunction

  // A limit of a clip as an integer at that exponent.
  function automatic longint signed limit_at(input logic [31:0] v, input int e);
    longint signed m;
    int own;
    m = v[30:23] == 0 ? 64'(v[22:0]) : 64'({1'b1, v[22:0]});
    own = (v[30:23] == 0 ? 1 : int'(v[30:23])) - 150;
    if (v[30:23] == 8'hff || (m != 0 && own - e + msb(m) >= 63)) m = 64'sh7fffffffffffffff;
    else m = aligned(m, own, e);
    return v[31] ? -m : m;
  endfunction

  //--- Values -----------------------------------------------------------------

  function automatic logic [31:0] result_f32(input int c, input int s);
    logic [31:0] v;
    v = sum_to_f32(accumulator(c, s), exponent(c, s));
    if (`ACT_DRAIN_hasScale(y)) v = f32_mul(v, record(c, s, 0));
    if (`ACT_DRAIN_hasBias(y) && !`ACT_DRAIN_biasAligned(y)) v = f32_add(v, record(c, s, 1));
    if (`ACT_DRAIN_resMode(y)) v = f32_add(v, residual(c, s));
    return apply(int'(`ACT_DRAIN_function(y)), v, alpha(c, s), `ACT_DRAIN_beta(y));
  endfunction

  // A word that passed the array as a value of type resType.
  function automatic logic [31:0] result_typed(input int c, input int s);
    logic [31:0] v;
    if (int'(`ACT_DRAIN_resType(y)) == ELEMTYPE_BFP)
      v = decoded(64'(taken[c][s]), int'(byte'(taken[c][s] >>> 16)),
                  int'(`ACT_DRAIN_resMantissa(y)));
    else v = to_f32(64'(taken[c][s]), int'(`ACT_DRAIN_resType(y)));
    return apply(int'(`ACT_DRAIN_function(y)), v, alpha(c, s), `ACT_DRAIN_beta(y));
  endfunction

  function automatic longint signed result_int(input int c, input int s);
    longint signed v;
    logic [31:0] f;
    v = taken[c][s];
    if (`ACT_DRAIN_hasBias(y)) v = v + sign_extend(64'(record(c, s, 1)), 32);
    if (!`ACT_DRAIN_hasScale(y))
      return int'(`ACT_DRAIN_overflow(y)) == OVERFLOW_WRAP ? v
           : saturate(v, int'(`ACT_DRAIN_dstType(y)));
    f = f32_mul(sum_to_f32(v, 0), record(c, s, 0));
    f = apply(int'(`ACT_DRAIN_function(y)), f, 0, 0);
    if (f32_nan(f)) return 0;  // Whatever the shift.
    return saturate(f32_round(f) + longint'(`ACT_DRAIN_shift(y)), int'(`ACT_DRAIN_dstType(y)));
  endfunction

  //--- Encode -----------------------------------------------------------------

  // Places of a block: lanes of one step, or steps of one lane.
  function automatic logic along_lanes();
    return int'(`ACT_DRAIN_dstOrientation(y)) == ORIENTATION_P;
  endfunction

  // Encodes places [first, first + n) of a line: a step or a lane.
  function automatic void encode(input int line, input int first, input int n);
    int top, e, w, c, s, cell_x, k;
    longint signed m;
    logic found, any;
    w = int'(`ACT_DRAIN_dstMantissa(y));
    found = 0;
    top = 0;
    for (int i = first; i < first + n; i++) begin
      c = along_lanes() ? i : line;
      s = along_lanes() ? line : i;
      if (int'(`ACT_DRAIN_mode(y)) == DRAINMODE_BLOCK) begin
        if (exact[c][s] == 0) continue;
        k = msb(exact[c][s] < 0 ? -exact[c][s] : exact[c][s]) + exponent(c, s);
      end else begin
        if (value[c][s][30:23] == 8'hff || f32_zero(value[c][s])) continue;
        k = f32_log2(value[c][s]);
      end
      if (!found || k > top) top = k;
      found = 1;
    end
    cell_x = top < -127 ? -127 : top > 127 ? 127 : top;
    e = cell_x - (w - 2);
    if (`ACT_DRAIN_cellFromXr(y)) e = int'(mem.xr[`ACT_DRAIN_dstXr(y)]);
    any = 0;
    for (int i = first; i < first + n; i++) begin
      c = along_lanes() ? i : line;
      s = along_lanes() ? line : i;
      if (!found && !`ACT_DRAIN_cellFromXr(y)) m = 0;
      else if (int'(`ACT_DRAIN_mode(y)) == DRAINMODE_BLOCK) m = encode_exact(c, s, e, w);
      else m = encode_f32(value[c][s], e, w);
      if (m != 0) any = 1;
      word[c][s] = 64'(m);
    end
    if (`ACT_DRAIN_cellFromXr(y)) begin
      trace::rtl_fail("a given exponent is not modelled", instr, 0);
      return;
    end
    for (int i = first; i < first + n; i++) begin
      c = along_lanes() ? i : line;
      s = along_lanes() ? line : i;
      cell_of[c][s] = any ? 8'(cell_x) : -8'sd128;
    end
    if (any && e > int'(scale)) scale = 16'(e);
  endfunction

  // The exact accumulator under the step exponent e, limited.
  function automatic longint signed encode_exact(input int c, input int s,
                                                 input int e, input int w);
    longint signed m, limit;
    int shift;
    limit = mantissa_limit(w);
    shift = e - exponent(c, s);
    if (exact[c][s] == 0) return 0;
    // Shifted to the left a long sum would leave the word: it is beyond the limit.
    if (msb(exact[c][s] < 0 ? -exact[c][s] : exact[c][s]) - shift >= w - 1)
      m = exact[c][s] < 0 ? -limit : limit;
    else m = rne_signed(exact[c][s], shift > 64 ? 65 : shift);
    return m > limit ? limit : m < -limit ? -limit : m;
  endfunction

  function automatic void encode_all();
    int block, n;
    block = int'(`ACT_DRAIN_dstBlock(y));
    if (along_lanes()) begin
      for (int s = 0; s < steps; s++)
        // The last block of each result may be short.
        for (int g = 0; g < int'(`ACT_DRAIN_cols(y)); g += width())
          for (int c = g; c < g + width(); c += block) begin
            n = g + width() - c;
            if (exists(c, s)) encode(s, c, n < block ? n : block);
          end
    end else
      for (int c = 0; c < int'(`ACT_DRAIN_cols(y)); c++)
        for (int s = 0; s < steps; s += block) begin
          n = steps - s;
          encode(c, s, n < block ? n : block);
        end
  endfunction

  //--- All of it --------------------------------------------------------------

  function automatic void form(input int number);
    logic encoded;
    instr = number;
    steps = int'(`ACT_DRAIN_n0(y)) * int'(`ACT_DRAIN_n1(y)) * int'(`ACT_DRAIN_n2(y));
    scale = CLEARED;
    encoded = int'(`ACT_DRAIN_dstType(y)) == ELEMTYPE_BFP;
    for (int c = 0; c < int'(`ACT_DRAIN_cols(y)); c++)
      for (int s = 0; s < steps; s++) begin
        if (!exists(c, s)) continue;
        case (int'(`ACT_DRAIN_mode(y)))
          DRAINMODE_INT: word[c][s] = result_int(c, s);
          DRAINMODE_BLOCK: begin
            exact[c][s] = accumulator(c, s);
            if (int'(`ACT_DRAIN_function(y)) == FUNCTION_RELU && exact[c][s] < 0)
              exact[c][s] = 0;
            if (int'(`ACT_DRAIN_function(y)) == FUNCTION_CLIP) begin
              if (exact[c][s] < limit_at(`ACT_DRAIN_alpha(y), exponent(c, s)))
                exact[c][s] = limit_at(`ACT_DRAIN_alpha(y), exponent(c, s));
              if (exact[c][s] > limit_at(`ACT_DRAIN_beta(y), exponent(c, s)))
                exact[c][s] = limit_at(`ACT_DRAIN_beta(y), exponent(c, s));
            end
          end
          DRAINMODE_RAW64:
          if (`ACT_DRAIN_typed(y)) value[c][s] = result_typed(c, s);
          else begin
            word[c][s] = 64'(taken[c][s]);
            cell_of[c][s] = 8'(taken[c][s] >>> 16);
          end
          default: value[c][s] = result_f32(c, s);
        endcase
      end
    if (encoded) begin
      if (int'(`ACT_DRAIN_mode(y)) != DRAINMODE_RAW64 || `ACT_DRAIN_typed(y)) encode_all();
    end else if (int'(`ACT_DRAIN_mode(y)) == DRAINMODE_F32 || `ACT_DRAIN_typed(y))
      for (int c = 0; c < int'(`ACT_DRAIN_cols(y)); c++)
        for (int s = 0; s < steps; s++)
          if (exists(c, s)) word[c][s] = from_f32(value[c][s], int'(`ACT_DRAIN_dstType(y)));
  endfunction
endmodule
