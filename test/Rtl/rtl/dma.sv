// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy queues: dma.copy, dma.fill and dma.unpack. A descriptor is set up,
// then four things continue side by side until all have ended: DRAM transfers
// whole bursts, the byte network forms runs, the queue moves bytes, the banks of
// SB take accesses (docs/Machine.md 3). Elements are read while the descriptor is issued, a share
// of them in each cycle; they are in memory when it is complete.

module dma #(
    int BYTES = 1024,  // Of a partition.
    int FLIGHT = 256,
    int BUFFER = 65536
) (
    input logic reset,
    input logic commit,
    input logic check,
    input logic work,
    control ctl,
    memories mem
);
  import ashlar_isa::*;

  localparam int QUEUES = 4;
  localparam int DIMS = 5;

  descriptor #(.BYTES(BYTES)) now (.ctl);

  // The descriptor that each queue issues.
  logic [63:0] words[QUEUES][MAX_WORDS];
  logic active[QUEUES];
  int instr[QUEUES];
  int unsigned begun[QUEUES];
  longint unsigned setup_left[QUEUES], dram_left[QUEUES];
  longint unsigned runs_left[QUEUES], bytes_left[QUEUES];
  longint unsigned ports_left[QUEUES];
  int unsigned lasts[QUEUES];
  longint unsigned done[QUEUES];
  int unsigned at[QUEUES][DIMS];

  // Descriptors in flight, oldest first, and their elements.
  logic [63:0] flight_words[QUEUES][FLIGHT][MAX_WORDS];
  int flight_index[QUEUES][FLIGHT];
  int unsigned flight_due[QUEUES][FLIGHT];
  int flight_first[QUEUES][FLIGHT];
  int flight_head[QUEUES];
  int flight_tail[QUEUES];
  longint unsigned elements[QUEUES][BUFFER];
  int fill_at[QUEUES];

  // A place in the loops, for walks that end where they begin.
  int unsigned walk[DIMS];

  function automatic void next();
    for (int d = DIMS - 1; d >= 0; d--) begin
      walk[d]++;
      if (walk[d] < now.counts[d]) break;
      walk[d] = 0;
    end
  endfunction

  function automatic longint place(input logic destination);
    longint a;
    a = destination ? now.dst_base : now.src_base;
    for (int d = 0; d < DIMS; d++)
      a = a + longint'(walk[d]) *
          (destination ? now.dst_stride[d] : now.src_stride[d]);
    return a;
  endfunction

  function automatic void rewind();
    for (int d = 0; d < DIMS; d++) walk[d] = 0;
  endfunction

  //--- Before the start -------------------------------------------------------

  // Whether an older descriptor in flight writes something that this one reads.
  logic hazard;
  function automatic void look_for_hazard(input int q);
    longint a;
    longint unsigned n;
    hazard = 0;
    if (now.has_source) begin
      rewind();
      n = now.packed_source ? (now.size * 64'(now.bits) + 7) / 8 : now.size;
      for (longint unsigned i = 0; i < n; i++) begin
        a = now.packed_source ? now.src_base + i : place(0);
        for (int b = 0; b < (now.packed_source ? 1 : now.bytes); b++)
          if (mem.in_flight(q, now.src_mem, a + longint'(b)) != 0) hazard = 1;
        next();
      end
    end
  endfunction

  always @(posedge check)
    for (int q = 0; q < QUEUES; q++)
      if (ctl.head_valid[q] && !ctl.start[q] && !ctl.head_waits[q]) begin
        now.w = ctl.words[q];
        now.decode();
        look_for_hazard(q);
        ctl.blocked[q] = hazard;
        ctl.issue[q] = now.cycles;
        ctl.dram_cycles[q] = now.dram_cycles;
        ctl.checked[q] = ctl.index[q];
      end

  //--- Issue ------------------------------------------------------------------

  // Element k, at the place of the walk.
  function automatic longint unsigned fetch(input longint unsigned k);
    longint unsigned v;
    longint a;
    byte unsigned from;
    if (!now.has_source) return now.value;
    v = 0;
    if (now.packed_source) begin
      for (int i = 0; i < now.bits; i++) begin
        a = longint'(k) * longint'(now.bits) + longint'(i);
        from = mem.dram[now.src_base+a/8];
        v = v | (64'(from[3'(a)]) << i);
      end
      return numerics::sign_extend(v, now.bits);
    end
    a = place(0);
    for (int b = 0; b < now.bytes; b++)
      v = v | (64'(mem.load_byte(now.src_mem, a + longint'(b))) << (8 * b));
    return v;
  endfunction

  // Marks what the descriptor writes as being in flight.
  function automatic void mark(input int q);
    longint a;
    rewind();
    for (longint unsigned i = 0; i < now.size; i++) begin
      a = place(1);
      for (int b = 0; b < now.bytes; b++)
        mem.mark(q, now.dst_mem, a + longint'(b), 1);
      next();
    end
  endfunction

  function automatic void begin_descriptor(input int q);
    instr[q] = ctl.index[q];
    active[q] = 1;
    begun[q] = ctl.cycle;
    done[q] = 0;
    setup_left[q] = 64'(ctl.dma_setup_cycles);
    dram_left[q] = now.bursts;
    bytes_left[q] = now.size * 64'(now.bytes);
    runs_left[q] = ctl.dma_runs_per_cycle == 0 ? 0 : now.chip_runs;
    ports_left[q] = 64'(ctl.port_cycles[q]);
    lasts[q] = now.cycles;
    if (ctl.dma_setup_cycles + ctl.port_cycles[q] > lasts[q])
      lasts[q] = ctl.dma_setup_cycles + ctl.port_cycles[q];
    flight_words[q][flight_tail[q]%FLIGHT] = words[q];
    flight_first[q][flight_tail[q]%FLIGHT] = fill_at[q];
    for (int d = 0; d < DIMS; d++) at[q][d] = 0;
    mark(q);
  endfunction

  function automatic longint unsigned less(input longint unsigned left,
                                           input int unsigned rate);
    // verilator no_inline_task
    return left > 64'(rate) ? left - 64'(rate) : 0;
  endfunction

  // This cycle's share of the elements.
  function automatic void read_share(input int q);
    longint unsigned upto;
    upto = now.size * 64'(ctl.cycle - begun[q] + 1) / 64'(lasts[q]);
    for (int d = 0; d < DIMS; d++) walk[d] = at[q][d];
    while (done[q] < upto) begin
      elements[q][fill_at[q]%BUFFER] = fetch(done[q]);
      fill_at[q]++;
      done[q]++;
      next();
    end
    for (int d = 0; d < DIMS; d++) at[q][d] = walk[d];
  endfunction

  function automatic void step(input int q);
    if (setup_left[q] > 0) setup_left[q]--;
    else begin
      dram_left[q] = less(dram_left[q], ctl.dram_bytes_per_cycle);
      bytes_left[q] = less(bytes_left[q], ctl.dma_onchip_bytes_per_cycle);
      runs_left[q] = less(runs_left[q], ctl.dma_runs_per_cycle);
      ports_left[q] = less(ports_left[q], 1);
    end
    if (setup_left[q] == 0 && dram_left[q] == 0 && bytes_left[q] == 0 &&
        runs_left[q] == 0 && ports_left[q] == 0) begin
      active[q] = 0;
      if (done[q] != now.size)
        trace::rtl_fail("elements left", instr[q], int'(ctl.cycle));
      flight_index[q][flight_tail[q]%FLIGHT] = instr[q];
      flight_due[q][flight_tail[q]%FLIGHT] = ctl.cycle + 1 + now.latency;
      flight_tail[q]++;
    end
  endfunction

  always @(posedge work)
    for (int q = 0; q < QUEUES; q++) begin
      if (ctl.start[q]) words[q] = ctl.words[q];
      if (ctl.start[q] || active[q]) begin
        now.w = words[q];
        now.decode();
        if (ctl.start[q]) begin_descriptor(q);
        read_share(q);
        step(q);
      end
      ctl.start[q] = 0;
    end

  //--- Completion -------------------------------------------------------------

  // Writes the oldest descriptor in flight.
  function automatic void land(input int q);
    longint a;
    int slot;
    slot = flight_head[q] % FLIGHT;
    now.w = flight_words[q][slot];
    now.decode();
    rewind();
    for (int i = 0; i < int'(now.size); i++) begin
      a = place(1);
      for (int b = 0; b < now.bytes; b++) begin
        mem.mark(q, now.dst_mem, a + longint'(b), 8'hff);
        mem.store_byte(now.dst_mem, a + longint'(b),
                       8'(elements[q][(flight_first[q][slot]+i)%BUFFER] >> (8 * b)));
      end
      next();
    end
    trace::rtl_complete(flight_index[q][slot], int'(ctl.cycle));
    ctl.completed[q]++;
    flight_head[q]++;
  endfunction

  always @(posedge commit)
    for (int q = 0; q < QUEUES; q++) begin
      if (ctl.busy[q] && !active[q]) begin
        ctl.busy[q] = 0;
        trace::rtl_issued(instr[q], int'(ctl.cycle));
      end
      while (flight_head[q] < flight_tail[q] &&
             flight_due[q][flight_head[q]%FLIGHT] <= ctl.cycle)
        land(q);
    end

  always @(posedge reset)
    for (int q = 0; q < QUEUES; q++) begin
      active[q] = 0;
      flight_head[q] = 0;
      flight_tail[q] = 0;
      fill_at[q] = 0;
      ctl.checked[q] = -1;
      ctl.busy[q] = 0;
      ctl.completed[q] = 0;
    end
endmodule
