// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The witness: front end, copy queues, PE array and ACT around the memories.
//
// A cycle has four phases, each a clock of its own: `commit` (what the last
// cycle has produced is written, operations complete), `check` and `issue`
// (repeated until no queue moves), `work` (engines read and compute). The
// harness drives them in this order.

module chip #(
    int R = 8,
    int C = 4,
    int P = 8,
    int BYTES = 1024,
    int GROUP = 4,
    int GRANULARITY = 2,
    int MULTIPLEX = 8,
    int ENTRIES = 128,
    int DRAM = 65536,
    int SCALES = 64
) (
    input logic reset,
    input logic load,
    input logic [63:0] load_word,
    input logic commit,
    input logic check,
    input logic issue,
    input logic work,
    input logic dump,
    input int unsigned cycle,
    output logic moved,
    output logic idle,
    input int unsigned dram_bytes_per_cycle,
    input int unsigned dram_latency,
    input int unsigned dram_burst_bytes,
    input int unsigned dma_onchip_bytes_per_cycle,
    input int unsigned dma_setup_cycles,
    input int unsigned dma_onchip_latency,
    input int unsigned dma_runs_per_cycle,
    input int unsigned sb_banks,
    input int unsigned sb_ports,
    input int unsigned sb_port_bytes,
    input int unsigned pe_cell_digit_bits,
    input int unsigned pe_load_rows_per_cycle,
    input int unsigned pe_shadow_set,
    input int unsigned pe_groups_wait,
    input int unsigned pe_pattern_group,
    input int unsigned pe_pattern_kept,
    input int unsigned pe_pattern_rows_per_cycle,
    input int unsigned pe_narrow_bits,
    input int unsigned psum_write_ports,
    input int unsigned psum_read_bytes_per_cycle,
    input int unsigned act_lanes,
    input int unsigned act_latency,
    input int unsigned act_cost_cheap,
    input int unsigned act_cost_medium,
    input int unsigned act_cost_expensive,
    input int unsigned act_cost_very_expensive
);
  import ashlar_isa::*;
  import numerics::*;

  control ctl ();
  memories #(
      .R(R), .C(C), .P(P), .BYTES(BYTES), .GROUP(GROUP), .ENTRIES(ENTRIES),
      .DRAM(DRAM), .SCALES(SCALES)
  ) mem ();

  assign ctl.cycle = cycle;
  assign ctl.dram_bytes_per_cycle = dram_bytes_per_cycle;
  assign ctl.dram_latency = dram_latency;
  assign ctl.dram_burst_bytes = dram_burst_bytes;
  assign ctl.dma_onchip_bytes_per_cycle = dma_onchip_bytes_per_cycle;
  assign ctl.dma_setup_cycles = dma_setup_cycles;
  assign ctl.dma_onchip_latency = dma_onchip_latency;
  assign ctl.dma_runs_per_cycle = dma_runs_per_cycle;
  assign ctl.sb_banks = sb_banks;
  assign ctl.sb_ports = sb_ports;
  assign ctl.sb_port_bytes = sb_port_bytes;
  assign ctl.pe_cell_digit_bits = pe_cell_digit_bits;
  assign ctl.pe_load_rows_per_cycle = pe_load_rows_per_cycle;
  assign ctl.pe_shadow_set = pe_shadow_set;
  assign ctl.pe_groups_wait = pe_groups_wait;
  assign ctl.pe_pattern_group = pe_pattern_group;
  assign ctl.pe_pattern_kept = pe_pattern_kept;
  assign ctl.pe_pattern_rows_per_cycle = pe_pattern_rows_per_cycle;
  assign ctl.pe_narrow_bits = pe_narrow_bits;
  assign ctl.psum_write_ports = psum_write_ports;
  assign ctl.psum_read_bytes_per_cycle = psum_read_bytes_per_cycle;
  assign ctl.act_lanes = act_lanes;
  assign ctl.act_latency = act_latency;
  assign ctl.act_cost_cheap = act_cost_cheap;
  assign ctl.act_cost_medium = act_cost_medium;
  assign ctl.act_cost_expensive = act_cost_expensive;
  assign ctl.act_cost_very_expensive = act_cost_very_expensive;

  front #(.ROWS(R), .P(P), .BYTES(BYTES)) frontend (
      .reset, .load, .load_word, .issue, .work, .moved, .idle, .ctl
  );
  banks state_buffer (.reset, .work, .ctl);
  dma #(.BYTES(BYTES)) copies (.reset, .commit, .check, .work, .ctl, .mem);
  array #(
      .R(R), .C(C), .GRANULARITY(GRANULARITY), .MULTIPLEX(MULTIPLEX)
  ) cells (
      .reset, .commit, .check, .work, .ctl, .mem
  );
  drain #(.C(C)) act (.reset, .commit, .check, .work, .ctl, .mem);
  registers vec (.reset, .commit, .check, .work, .ctl, .mem);

  // On-chip memories start as zeros, scale registers cleared; DRAM has the
  // image of the program.
  function automatic void clear();
    for (int p = 0; p < P; p++)
      for (int b = 0; b < BYTES; b++) begin
        mem.sb[p][b] = 0;
        for (int w = 0; w < mem.WRITERS; w++) mem.sb_flight[w][p][b] = 0;
      end
    for (int p = 0; p < mem.CELLS; p++)
      for (int b = 0; b < BYTES; b++) begin
        mem.xm[p][b] = 0;
        for (int w = 0; w < mem.WRITERS; w++) mem.xm_flight[w][p][b] = 0;
      end
    for (int c = 0; c < C; c++)
      for (int e = 0; e < ENTRIES; e++) mem.psum[c][e] = 0;
    for (int i = 0; i < SCALES; i++) begin
      mem.xr[i] = CLEARED;
      for (int w = 0; w < mem.WRITERS; w++) mem.xr_flight[w][i] = 0;
    end
    for (int i = 0; i < DRAM; i++) begin
      mem.dram[i] = trace::rtl_dram_image(i);
      for (int w = 0; w < mem.WRITERS; w++) mem.dram_flight[w][i] = 0;
    end
  endfunction
  always @(posedge reset) clear();

  localparam int PSUM_MEMORY = 6;
  function automatic void dump_all();
    for (int i = 0; i < DRAM; i++)
      trace::rtl_dump(MEMORY_DRAM, longint'(i), longint'(mem.dram[i]));
    for (int p = 0; p < P; p++)
      for (int b = 0; b < BYTES; b++)
        trace::rtl_dump(MEMORY_SB, longint'(p * BYTES + b),
                        longint'(mem.sb[p][b]));
    for (int p = 0; p < mem.CELLS; p++)
      for (int b = 0; b < BYTES; b++)
        trace::rtl_dump(MEMORY_XM, longint'(p * BYTES + b),
                        longint'(mem.xm[p][b]));
    for (int i = 0; i < SCALES; i++)
      trace::rtl_dump(MEMORY_XR, longint'(i), longint'(mem.xr[i]));
    for (int c = 0; c < C; c++)
      for (int e = 0; e < ENTRIES; e++)
        trace::rtl_dump(PSUM_MEMORY, longint'(c * ENTRIES + e), mem.psum[c][e]);
  endfunction
  always @(posedge dump) dump_all();
endmodule
