// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ACT: act.drain of PSUM (docs/Machine.md 5, docs/Numerics.md 6). Lanes take
// entries in the order of the instruction, each in its cycle; when the last one
// is taken the results are formed (`epilogue`), and `latency` cycles later they
// are in SB. Columns may hold several results of a step side by side
// (`groupLanes`); those past the last one are left alone.

module drain #(
    int C = 4,
    int STEPS = 1024,
    int FLIGHT = 64
) (
    input logic reset,
    input logic commit,
    input logic check,
    input logic work,
    control ctl,
    memories mem
);
  import ashlar_isa::*;
  import numerics::*;

  localparam int Q = 6;
  localparam int WRITER = 4;

  logic [63:0] x[MAX_WORDS];  // The drain that is being issued.
  logic [63:0] y[MAX_WORDS];  // The one that a function speaks of.
  logic active;
  int instr;
  int unsigned at, entries, tiles, cost, lanes_end, held;
  longint unsigned read_left;

  // Drains in flight.
  logic [63:0] flight_x[FLIGHT][MAX_WORDS];
  int flight_index[FLIGHT];
  int unsigned flight_due[FLIGHT];
  longint unsigned flight_word[FLIGHT][C][STEPS];
  byte signed flight_cell[FLIGHT][C][STEPS];
  shortint signed flight_scale[FLIGHT];
  int flight_head;
  int flight_tail;

  function automatic int unsigned cost_of(input int fn);
    case (fn)
      FUNCTION_COPY, FUNCTION_NEG, FUNCTION_ABS, FUNCTION_RELU, FUNCTION_CLIP,
      FUNCTION_FLOOR, FUNCTION_CEIL, FUNCTION_ROUND, FUNCTION_SIGN,
      FUNCTION_NOT:
      return ctl.act_cost_cheap;
      FUNCTION_SQRT, FUNCTION_RECIPROCAL, FUNCTION_LEAKYRELU,
      FUNCTION_HARDSIGMOID, FUNCTION_HARDSWISH, FUNCTION_SOFTSIGN:
      return ctl.act_cost_expensive;
      default: return ctl.act_cost_very_expensive;
    endcase
  endfunction

  function automatic int steps_of();
    return int'(`ACT_DRAIN_n0(y)) * int'(`ACT_DRAIN_n1(y)) * int'(`ACT_DRAIN_n2(y));
  endfunction

  // Cycles until the lanes have taken everything.
  function automatic int unsigned lane_cycles();
    int unsigned n, groups, lane_steps, last;
    n = ctl.act_lanes;
    groups = ceil_div(int'(`ACT_DRAIN_cols(y)), int'(n));
    lane_steps = steps_of() * cost_of(int'(`ACT_DRAIN_function(y)));
    if (int'(`ACT_DRAIN_order(y)) != DRAINORDER_PARTITION) return groups * lane_steps;
    last = int'(`ACT_DRAIN_cols(y)) - (groups - 1) * n;
    return (groups - 1) * (lane_steps > n ? lane_steps : n) + lane_steps + last -
        1;
  endfunction

  function automatic longint unsigned read_bytes();
    if (ctl.psum_read_bytes_per_cycle == 0) return 0;
    return 64'(`ACT_DRAIN_cols(y)) * 64'(steps_of()) * 8;
  endfunction

  //--- Before the start -------------------------------------------------------

  `include "results.svh"

  function automatic logic has_record();
    return `ACT_DRAIN_hasScale(y) | `ACT_DRAIN_hasBias(y) | `ACT_DRAIN_hasExp(y) | `ACT_DRAIN_alphaFromParam(y);
  endfunction
  function automatic logic reads_scales();
    return int'(`ACT_DRAIN_mode(y)) == DRAINMODE_F32 || int'(`ACT_DRAIN_mode(y)) == DRAINMODE_BLOCK;
  endfunction

  function automatic logic flying(input int p, input int b, input int n);
    for (int i = 0; i < n; i++)
      if (mem.sb_flight[WRITER][p][b+i] != 0) return 1;
    return 0;
  endfunction

  // Whether an older drain in flight writes something that this one reads.
  function automatic logic hazard();
    int bytes, b, p;
    if (reads_scales() && (mem.xr_flight[WRITER][`ACT_DRAIN_xrA(y)] != 0 ||
                            mem.xr_flight[WRITER][`ACT_DRAIN_xrS(y)] != 0))
      return 1;
    if (has_record()) begin
      if (`ACT_DRAIN_paramAlongSteps(y)) begin
        if (flying(int'(`ACT_DRAIN_paramPart(y)), int'(`ACT_DRAIN_paramOffset(y)), 16 * steps_of()))
          return 1;
      end else
        for (int c = 0; c < int'(`ACT_DRAIN_cols(y)); c++)
          if (flying(int'(`ACT_DRAIN_paramPart(y)) + c, int'(`ACT_DRAIN_paramOffset(y)), 16))
            return 1;
    end
    if (!`ACT_DRAIN_resMode(y)) return 0;
    bytes = stored_bytes(int'(`ACT_DRAIN_resType(y)), int'(`ACT_DRAIN_resMantissa(y)));
    for (int c = 0; c < int'(`ACT_DRAIN_cols(y)); c++)
      for (int s = 0; s < steps_of(); s++) begin
        if (!exists(c, s)) continue;
        b = residual_at(c, s);
        p = residual_part(c);
        if (flying(p, b, bytes)) return 1;
        if (int'(`ACT_DRAIN_resType(y)) == ELEMTYPE_BFP &&
            mem.xm_flight[WRITER][mem.cell_row(p)][b] != 0)
          return 1;
      end
    return 0;
  endfunction

  always @(posedge check)
    if (ctl.head_valid[Q] && !ctl.start[Q] && !ctl.head_waits[Q]) begin
      y = ctl.words[Q];
      ctl.blocked[Q] = hazard();
      ctl.issue[Q] = lane_cycles();
      ctl.checked[Q] = ctl.index[Q];
    end

  //--- Issue ------------------------------------------------------------------

  // Marks what the drain writes, or takes the marks away.
  function automatic void mark(input byte unsigned step);
    int bytes, b, p;
    bytes = stored_bytes(int'(`ACT_DRAIN_dstType(y)), int'(`ACT_DRAIN_dstMantissa(y)));
    for (int c = 0; c < int'(`ACT_DRAIN_cols(y)); c++)
      for (int s = 0; s < steps_of(); s++) begin
        if (!exists(c, s)) continue;
        b = result_at(c, s);
        p = result_part(c);
        for (int i = 0; i < bytes; i++) mem.sb_flight[WRITER][p][b+i] += step;
        if (int'(`ACT_DRAIN_dstType(y)) == ELEMTYPE_BFP)
          mem.xm_flight[WRITER][mem.cell_row(p)][mem.cell_offset(
              p, b, bytes, int'(`ACT_DRAIN_dstOrientation(y)))] += step;
      end
    if (encodes() && !`ACT_DRAIN_cellFromXr(y)) mem.xr_flight[WRITER][`ACT_DRAIN_dstXr(y)] += step;
  endfunction

  function automatic logic encodes();
    return int'(`ACT_DRAIN_dstType(y)) == ELEMTYPE_BFP &&
        (int'(`ACT_DRAIN_mode(y)) != DRAINMODE_RAW64 || `ACT_DRAIN_typed(y));
  endfunction

  function automatic void take(input int c, input int s);
    int entry;
    if (!exists(c, s)) return;
    entry = int'(`ACT_DRAIN_psum(x)) +
        s / int'(`ACT_DRAIN_n2(x)) / int'(`ACT_DRAIN_n1(x)) * int'(`ACT_DRAIN_psumStride0(x)) +
        s / int'(`ACT_DRAIN_n2(x)) % int'(`ACT_DRAIN_n1(x)) * int'(`ACT_DRAIN_psumStride1(x)) +
        s % int'(`ACT_DRAIN_n2(x)) * int'(`ACT_DRAIN_psumStride2(x));
    former.taken[c][s] = mem.psum[c][entry];
    trace::rtl_drain(instr, s, c, entry, mem.psum[c][entry], int'(ctl.cycle));
  endfunction

  // What the lanes take in cycle `at`.
  function automatic void lanes();
    int unsigned n, period, lane_steps, unit;
    int s, c;
    n = ctl.act_lanes;
    if (int'(`ACT_DRAIN_order(x)) == DRAINORDER_PARTITION) begin
      lane_steps = entries * cost;
      period = lane_steps > n ? lane_steps : n;
      for (c = 0; c < int'(`ACT_DRAIN_cols(x)); c++) begin
        s = int'(at) - c / int'(n) * int'(period) - c % int'(n);
        if (s >= 0 && s < int'(lane_steps) && s % int'(cost) == 0)
          take(c, s / int'(cost));
      end
      return;
    end
    unit = at / cost;
    if (at % cost != 0 || unit >= entries * tiles) return;
    for (int i = 0; i < int'(n); i++) begin
      c = int'(unit % tiles) * int'(n) + i;
      if (c < int'(`ACT_DRAIN_cols(x))) take(c, int'(unit / tiles));
    end
  endfunction

  function automatic void begin_drain();
    x = ctl.words[Q];
    y = x;
    instr = ctl.index[Q];
    mark(1);
    at = 0;
    entries = steps_of();
    tiles = ceil_div(int'(`ACT_DRAIN_cols(x)), int'(ctl.act_lanes));
    cost = cost_of(int'(`ACT_DRAIN_function(x)));
    lanes_end = lane_cycles();
    read_left = read_bytes();
    // Where the banks of SB take longer, everything comes as much later.
    held = lanes_end;
    if (ctl.psum_read_bytes_per_cycle != 0 &&
        (read_left + 64'(ctl.psum_read_bytes_per_cycle) - 1) /
        64'(ctl.psum_read_bytes_per_cycle) > 64'(held))
      held = 32'((read_left + 64'(ctl.psum_read_bytes_per_cycle) - 1) /
                 64'(ctl.psum_read_bytes_per_cycle));
    held = ctl.port_cycles[Q] > held ? ctl.port_cycles[Q] - held : 0;
    active = 1;
  endfunction

  function automatic void finish();
    int slot;
    slot = flight_tail % FLIGHT;
    active = 0;
    former.y = x;
    former.form(instr);
    flight_x[slot] = x;
    flight_index[slot] = instr;
    flight_due[slot] = ctl.cycle + 1 + ctl.act_latency;
    flight_scale[slot] = former.scale;
    for (int c = 0; c < int'(`ACT_DRAIN_cols(x)); c++)
      for (int s = 0; s < int'(entries); s++) begin
        flight_word[slot][c][s] = former.word[c][s];
        flight_cell[slot][c][s] = former.cell_of[c][s];
      end
    flight_tail++;
  endfunction

  always @(posedge work) begin
    if (ctl.start[Q]) begin_drain();
    if (active && held > 0) held--;
    else if (active) begin
      y = x;
      if (at < lanes_end) lanes();
      at++;
      read_left = read_left > 64'(ctl.psum_read_bytes_per_cycle)
          ? read_left - 64'(ctl.psum_read_bytes_per_cycle) : 0;
      if (at >= lanes_end && read_left == 0) finish();
    end
    ctl.start[Q] = 0;
  end

  epilogue #(.C(C), .STEPS(STEPS)) former (.mem);

  //--- Completion -------------------------------------------------------------

  function automatic void land(input int slot);
    int bytes, b, p;
    shortint signed old;
    y = flight_x[slot];
    mark(8'hff);
    bytes = stored_bytes(int'(`ACT_DRAIN_dstType(y)), int'(`ACT_DRAIN_dstMantissa(y)));
    for (int c = 0; c < int'(`ACT_DRAIN_cols(y)); c++)
      for (int s = 0; s < steps_of(); s++) begin
        if (!exists(c, s)) continue;
        b = result_at(c, s);
        p = result_part(c);
        mem.store_sb(p, b, bytes, flight_word[slot][c][s]);
        if (int'(`ACT_DRAIN_dstType(y)) == ELEMTYPE_BFP)
          mem.xm[mem.cell_row(p)][mem.cell_offset(
              p, b, bytes, int'(`ACT_DRAIN_dstOrientation(y)))] = flight_cell[slot][c][s];
      end
    if (encodes() && !`ACT_DRAIN_cellFromXr(y)) begin
      old = `ACT_DRAIN_dstXrClear(y) ? CLEARED : mem.xr[`ACT_DRAIN_dstXr(y)];
      mem.xr[`ACT_DRAIN_dstXr(y)] = flight_scale[slot] > old ? flight_scale[slot] : old;
    end
    trace::rtl_complete(flight_index[slot], int'(ctl.cycle));
    ctl.completed[Q]++;
  endfunction

  always @(posedge commit) begin
    if (ctl.busy[Q] && !active) begin
      ctl.busy[Q] = 0;
      trace::rtl_issued(instr, int'(ctl.cycle));
    end
    while (flight_head < flight_tail &&
           flight_due[flight_head%FLIGHT] <= ctl.cycle) begin
      land(flight_head % FLIGHT);
      flight_head++;
    end
  end

  always @(posedge reset) begin
    active = 0;
    flight_head = 0;
    flight_tail = 0;
    ctl.checked[Q] = -1;
    ctl.busy[Q] = 0;
    ctl.completed[Q] = 0;
  end
endmodule
