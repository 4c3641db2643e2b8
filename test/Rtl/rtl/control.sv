// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the front end and the engines tell each other, and the parameters of the
// machine that are no sizes of memories: straps of the chip.

interface control;
  import ashlar_isa::*;

  localparam int QUEUES = 8;  // dma0 to dma3, peload, pe, act, vec
  localparam int BANKS = 16;  // Of SB, at most.

  int unsigned cycle;

  // The instruction at the head of each queue, shown until it starts.
  logic head_valid[QUEUES];
  logic head_waits[QUEUES];  // It is none for an engine: a semaphore's, a swap.
  logic [63:0] words[QUEUES][MAX_WORDS];
  int index[QUEUES];  // Its number in the program.

  // What the engine says of it in the phase `check`.
  int checked[QUEUES];        // The number it speaks of.
  logic blocked[QUEUES];      // Reads results of its own queue in flight.
  int unsigned issue[QUEUES]; // Cycles until the queue is free again.

  logic start[QUEUES];     // The head starts in this cycle.
  logic busy[QUEUES];      // The last operation is still being issued.
  int completed[QUEUES];   // Operations that are complete, in order.

  // pe.swap, which takes no time; which set streams enter with.
  logic active_set;

  // Time of the DRAM server that the head of a copy queue needs.
  int unsigned dram_cycles[QUEUES];

  // Passes over the moving operand that the head of the array needs.
  int unsigned passes;

  // What the instruction that starts takes of the banks of SB: accesses, and
  // for how many cycles the busiest one works.
  logic granted[QUEUES];
  int unsigned accesses[QUEUES][BANKS];
  int unsigned port_cycles[QUEUES];

  // Straps.
  int unsigned dram_bytes_per_cycle, dram_latency, dram_burst_bytes;
  int unsigned dma_onchip_bytes_per_cycle, dma_setup_cycles, dma_onchip_latency;
  int unsigned dma_runs_per_cycle;
  int unsigned sb_banks, sb_ports, sb_port_bytes;
  int unsigned pe_cell_digit_bits, pe_load_rows_per_cycle, pe_shadow_set;
  int unsigned pe_groups_wait;
  int unsigned pe_pattern_group, pe_pattern_kept, pe_pattern_rows_per_cycle;
  int unsigned pe_narrow_bits;
  int unsigned psum_write_ports, psum_read_bytes_per_cycle;
  int unsigned act_lanes, act_latency;
  int unsigned act_cost_cheap, act_cost_medium, act_cost_expensive;
  int unsigned act_cost_very_expensive;
endinterface
