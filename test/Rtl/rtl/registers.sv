// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the vector unit that works on scale-exponent registers: xr.set,
// xr.merge and xr.pick, one cycle each.

module registers #(
    int Q = 7
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

  logic active;
  logic [63:0] words[MAX_WORDS];
  int instr;

  function automatic void execute();
    shortint signed a, b;
    case (`ISA_OPCODE(words))
      OP_XR_SET: mem.xr[`XR_SET_xr(words)] = `XR_SET_value(words);
      OP_XR_MERGE: begin
        a = `XR_MERGE_clear(words) ? CLEARED : mem.xr[`XR_MERGE_dst(words)];
        b = mem.xr[`XR_MERGE_src(words)];
        mem.xr[`XR_MERGE_dst(words)] = a > b ? a : b;
      end
      OP_XR_PICK: begin
        a = mem.xr[`XR_PICK_preferred(words)];
        b = mem.xr[`XR_PICK_fallback(words)];
        mem.xr[`XR_PICK_dst(words)] = a == CLEARED ? b : a;
      end
      default: trace::rtl_fail("not an instruction of registers", instr, 0);
    endcase
  endfunction

  always @(posedge check)
    if (ctl.head_valid[Q] && !ctl.start[Q] && !ctl.head_waits[Q]) begin
      ctl.blocked[Q] = 0;
      ctl.issue[Q] = 1;
      ctl.checked[Q] = ctl.index[Q];
    end

  always @(posedge work) begin
    if (ctl.start[Q]) begin
      words = ctl.words[Q];
      instr = ctl.index[Q];
      active = 1;
    end
    ctl.start[Q] = 0;
  end

  always @(posedge commit)
    if (active) begin
      execute();
      active = 0;
      ctl.busy[Q] = 0;
      ctl.completed[Q]++;
      trace::rtl_issued(instr, int'(ctl.cycle));
      trace::rtl_complete(instr, int'(ctl.cycle));
    end

  always @(posedge reset) begin
    active = 0;
    ctl.checked[Q] = -1;
    ctl.busy[Q] = 0;
    ctl.completed[Q] = 0;
  end
endmodule
