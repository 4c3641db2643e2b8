// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The front end: takes the instruction stream word by word, hands each
// instruction to its queue, keeps semaphores, and starts the head of a queue
// when the queue is free and nothing holds it (docs/Machine.md 2).
//
// Semaphore instructions and pe.swap take no time, so what they do in one queue
// may let another continue in the same cycle: the phases `check` and `issue` repeat
// until nothing moves.

module front #(
    int DEPTH = 512,
    int ROWS = 8,
    int P = 8,
    int BYTES = 1024
) (
    input logic reset,
    input logic load,
    input logic [63:0] load_word,
    input logic issue,
    input logic work,
    output logic moved,
    output logic idle,
    control ctl
);
  import ashlar_isa::*;
  import numerics::*;

  localparam int QUEUES = ctl.QUEUES;
  localparam int PELOAD = 4;
  localparam int PE = 5;
  localparam int ACT = 6;
  localparam int SEMAPHORES = 256;
  localparam int BANKS = ctl.BANKS;

  // The queues, with what the stream's order says about each instruction.
  logic [63:0] body[QUEUES][DEPTH][MAX_WORDS];
  int number[QUEUES][DEPTH];   // In the program.
  int ordinal[QUEUES][DEPTH];  // Of a wait or signal on its semaphore; of a
                               // copy among those that use DRAM; of a load:
                               // streams before it.
  int head[QUEUES];
  int tail[QUEUES];

  // Assembling the stream.
  logic [63:0] partial[MAX_WORDS];
  int have;
  int count;
  int signals[SEMAPHORES];
  int waits[SEMAPHORES];
  int copies;
  int streams;

  // Signals that have fired, by semaphore and ordinal. `first_row` and
  // `first_column` fire earlier: a stream that a drain may follow.
  logic fired[SEMAPHORES][DEPTH];
  logic first_row[SEMAPHORES][DEPTH];
  logic first_column[SEMAPHORES][DEPTH];

  // Signals that wait for the operations before them.
  int pending_sem[QUEUES][DEPTH];
  int pending_ordinal[QUEUES][DEPTH];
  int pending_after[QUEUES][DEPTH];  // Operations that have to be complete.
  int pending_head[QUEUES];
  int pending_tail[QUEUES];
  int operations[QUEUES];  // Started so far.
  logic after_swap[QUEUES];

  // The DRAM server.
  int dram_next;
  int unsigned dram_free_at;

  // Streams of the array: when the last one is complete, in order, and how many
  // have been issued.
  int unsigned stream_done_at;
  int streams_started;

  // The banks of SB, each granted in the order of the program: accesses of an
  // instruction to each, and its place among those that have any.
  int unsigned accesses[QUEUES][DEPTH][BANKS];
  int bank_turn[QUEUES][DEPTH][BANKS];
  int bank_claims[BANKS];
  int bank_next[BANKS];
  int unsigned bank_free_at[BANKS];
  logic held_by_bank[QUEUES];  // By nothing else, in this cycle.

  // First rows and columns to announce.
  int early_sem[DEPTH];
  int early_ordinal[DEPTH];
  int unsigned early_row_at[DEPTH];
  int unsigned early_column_at[DEPTH];
  int early_head;
  int early_tail;
  int unsigned first_row_at, first_column_at;  // Of the last stream.
  logic stream_pending;  // It is the last operation of the array's queue.

  // Whether an instruction of a copy queue has a side in DRAM.
  logic in_dram[QUEUES][DEPTH];

  ports #(.R(ROWS), .P(P), .BYTES(BYTES)) decoder (.ctl);

  // Puts an assembled instruction into its queue.
  function automatic void append();
    int q, n, s;
    logic uses_dram;
    q = int'(`ISA_QUEUE(partial));
    n = tail[q];
    body[q][n] = partial;
    number[q][n] = count;
    ordinal[q][n] = 0;
    uses_dram = 0;
    case (`ISA_OPCODE(partial))
      OP_SEM_SIGNAL: begin
        s = int'(`SEM_SIGNAL_sem(partial));
        ordinal[q][n] = signals[s];
        signals[s]++;
      end
      OP_SEM_WAIT: begin
        s = int'(`SEM_WAIT_sem(partial));
        ordinal[q][n] = waits[s];
        waits[s]++;
      end
      OP_PE_LOAD: ordinal[q][n] = streams;
      OP_PE_MATMUL: streams++;
      OP_DMA_COPY:
      uses_dram = int'(`DMA_COPY_srcMem(partial)) == MEMORY_DRAM ||
          int'(`DMA_COPY_dstMem(partial)) == MEMORY_DRAM;
      OP_DMA_FILL: uses_dram = int'(`DMA_FILL_dstMem(partial)) == MEMORY_DRAM;
      OP_DMA_UNPACK: uses_dram = 1;
      default: ;
    endcase
    in_dram[q][n] = uses_dram;
    if (uses_dram) begin
      ordinal[q][n] = copies;
      copies++;
    end
    decoder.w = partial;
    decoder.scan();
    for (int b = 0; b < BANKS; b++) begin
      accesses[q][n][b] = decoder.accesses[b];
      bank_turn[q][n][b] = bank_claims[b];
      if (decoder.accesses[b] != 0) bank_claims[b]++;
    end
    tail[q] = n + 1;
    count++;
  endfunction

  always @(posedge load) begin
    if (have == 0) for (int i = 0; i < MAX_WORDS; i++) partial[i] = 0;
    partial[have] = load_word;
    have++;
    if (have == int'(`ISA_LENGTH(partial))) begin
      append();
      have = 0;
    end
  end

  function automatic void clear();
    for (int q = 0; q < QUEUES; q++) begin
      head[q] = 0;
      tail[q] = 0;
      pending_head[q] = 0;
      pending_tail[q] = 0;
      operations[q] = 0;
      after_swap[q] = 0;
      ctl.head_valid[q] = 0;
      ctl.start[q] = 0;
      ctl.granted[q] = 0;
      held_by_bank[q] = 0;
    end
    for (int b = 0; b < BANKS; b++) begin
      bank_claims[b] = 0;
      bank_next[b] = 0;
      bank_free_at[b] = 0;
    end
    stream_pending = 0;
    for (int s = 0; s < SEMAPHORES; s++) begin
      signals[s] = 0;
      waits[s] = 0;
      for (int k = 0; k < DEPTH; k++) begin
        fired[s][k] = 0;
        first_row[s][k] = 0;
        first_column[s][k] = 0;
      end
    end
    have = 0;
    count = 0;
    copies = 0;
    streams = 0;
    dram_next = 0;
    dram_free_at = 0;
    stream_done_at = 0;
    streams_started = 0;
    early_head = 0;
    early_tail = 0;
    ctl.active_set = 0;
  endfunction

  always @(posedge reset) clear();

  // Fires what only waited for operations to complete.
  function automatic void fire_pending();
    for (int q = 0; q < QUEUES; q++)
      while (pending_head[q] < pending_tail[q] &&
             pending_after[q][pending_head[q]] <= ctl.completed[q]) begin
        int s, k;
        s = pending_sem[q][pending_head[q]];
        k = pending_ordinal[q][pending_head[q]];
        fired[s][k] = 1;
        first_row[s][k] = 1;
        first_column[s][k] = 1;
        pending_head[q]++;
        moved = 1;
      end
    for (int i = early_head; i < early_tail; i++) begin
      if (early_row_at[i] <= ctl.cycle)
        first_row[early_sem[i]][early_ordinal[i]] = 1;
      if (early_column_at[i] <= ctl.cycle)
        first_column[early_sem[i]][early_ordinal[i]] = 1;
    end
  endfunction

  // Whether a wait at the head of a queue is satisfied. A wait directly before
  // a drain that follows its stream looks for the first row or column.
  function automatic logic satisfied(input int q, input int n);
    int s, k, order;
    s = int'(`SEM_WAIT_sem(body[q][n]));
    k = ordinal[q][n];
    if (q == ACT && n + 1 < tail[q] &&
        `ISA_OPCODE(body[q][n+1]) == OP_ACT_DRAIN) begin
      order = int'(`ACT_DRAIN_order(body[q][n+1]));
      if (order == DRAINORDER_ROW) return first_row[s][k];
      if (order == DRAINORDER_PARTITION) return first_column[s][k];
    end
    return fired[s][k];
  endfunction

  function automatic void signal(input int q, input int n);
    int s;
    s = int'(`SEM_SIGNAL_sem(body[q][n]));
    if (after_swap[q] || ctl.completed[q] >= operations[q]) begin
      fired[s][ordinal[q][n]] = 1;
      first_row[s][ordinal[q][n]] = 1;
      first_column[s][ordinal[q][n]] = 1;
    end else begin
      if (q == PE && stream_pending) announce(n);
      pending_sem[q][pending_tail[q]] = s;
      pending_ordinal[q][pending_tail[q]] = ordinal[q][n];
      pending_after[q][pending_tail[q]] = operations[q];
      pending_tail[q]++;
    end
  endfunction

  // Announces first rows and columns of the last stream to signal m.
  function automatic void announce(input int m);
    early_sem[early_tail] = int'(`SEM_SIGNAL_sem(body[PE][m]));
    early_ordinal[early_tail] = ordinal[PE][m];
    early_row_at[early_tail] = first_row_at;
    early_column_at[early_tail] = first_column_at;
    early_tail++;
  endfunction

  // The same to the signals directly after stream n, which nothing else holds
  // up: the queue need not reach them. One behind a wait has to be reached.
  function automatic void follow(input int n, input int unsigned complete_at,
                                 input int steps, input int columns);
    first_row_at = complete_at - steps + 1;
    first_column_at = complete_at - columns + 1;
    stream_pending = 1;
    for (int m = n + 1;
         m < tail[PE] && `ISA_OPCODE(body[PE][m]) == OP_SEM_SIGNAL; m++)
      announce(m);
  endfunction

  // Cycles from the start of an instruction to its first byte.
  function automatic int unsigned setup_of(input int q);
    return q < 4 ? ctl.dma_setup_cycles : 0;
  endfunction

  // Whether every bank that the head of a queue needs is free for it: no older
  // instruction of the program is still to come, and the last one has done when
  // this one's first byte comes.
  function automatic logic banks_free(input int q, input int n);
    for (int b = 0; b < BANKS; b++)
      if (accesses[q][n][b] != 0 &&
          (bank_turn[q][n][b] != bank_next[b] ||
           ctl.cycle + setup_of(q) < bank_free_at[b]))
        return 0;
    return 1;
  endfunction

  function automatic void grant_banks(input int q, input int n);
    int unsigned k, cycles;
    ctl.granted[q] = 1;
    ctl.port_cycles[q] = 0;
    for (int b = 0; b < BANKS; b++) begin
      k = accesses[q][n][b] * (q == PE ? ctl.passes : 1);
      ctl.accesses[q][b] = k;
      cycles = (k + ctl.sb_ports - 1) / ctl.sb_ports;
      if (cycles > ctl.port_cycles[q]) ctl.port_cycles[q] = cycles;
      if (k != 0) begin
        bank_next[b]++;
        bank_free_at[b] = ctl.cycle + setup_of(q) + cycles;
      end
    end
  endfunction

  // Neighbours of a row that a step of stream n takes: one for each copy of N:M
  // weights, and of narrow operands two for each.
  function automatic int positions_of(input int q, input int n);
    return (`PE_MATMUL_pattern(body[q][n])
            ? int'(ctl.pe_pattern_group / ctl.pe_pattern_kept) : 1) *
        (`PE_MATMUL_narrow(body[q][n]) ? 2 : 1);
  endfunction

  // Whether the head of a queue may start now.
  function automatic logic ready(input int q, input int n);
    if (!may_start(q, n)) return 0;
    held_by_bank[q] = !banks_free(q, n);
    return !held_by_bank[q];
  endfunction

  // The same without the banks of SB.
  function automatic logic may_start(input int q, input int n);
    if (ctl.checked[q] != number[q][n] || ctl.blocked[q]) return 0;
    if (in_dram[q][n])
      return ordinal[q][n] == dram_next &&
             ctl.cycle + ctl.dma_setup_cycles >= dram_free_at;
    // The only set is free when all streams before the load have left it.
    if (q == PELOAD && ctl.pe_shadow_set == 0)
      return streams_started >= ordinal[q][n] &&
             (streams_started == 0 || streams_started > ordinal[q][n] ||
              !ctl.busy[PE]);
    return 1;
  endfunction

  function automatic void begin_operation(input int q, input int n);
    ctl.start[q] = 1;
    ctl.busy[q] = 1;
    operations[q]++;
    after_swap[q] = 0;
    grant_banks(q, n);
    trace::rtl_start(number[q][n], int'(ctl.cycle));
    if (in_dram[q][n]) begin
      dram_next++;
      dram_free_at = ctl.cycle + ctl.dma_setup_cycles + ctl.dram_cycles[q];
    end
    if (q == PE) begin
      int unsigned done_at;
      int columns;
      columns = int'(`PE_MATMUL_cols(body[q][n]));
      done_at = ctl.cycle + columns - 1 + ROWS - 1 +
          (ctl.issue[q] > ctl.port_cycles[q] ? ctl.issue[q]
           : ctl.port_cycles[q]);
      if (done_at > stream_done_at) stream_done_at = done_at;
      streams_started++;
      follow(n, stream_done_at,
             int'(`PE_MATMUL_n0(body[q][n])) * int'(`PE_MATMUL_n1(body[q][n])) *
             ceil_div(int'(`PE_MATMUL_n2(body[q][n])), positions_of(q, n)),
             columns);
    end
  endfunction

  function automatic void advance(input int q);
    int n;
    n = head[q];
    held_by_bank[q] = 0;
    if (n >= tail[q] || ctl.busy[q]) return;
    case (`ISA_OPCODE(body[q][n]))
      OP_SEM_WAIT: if (!satisfied(q, n)) return;
      OP_SEM_SIGNAL: signal(q, n);
      OP_PE_SWAP: begin
        if (ctl.pe_shadow_set != 0) ctl.active_set = ~ctl.active_set;
        after_swap[q] = 1;
        stream_pending = 0;
        trace::rtl_start(number[q][n], int'(ctl.cycle));
        trace::rtl_issued(number[q][n], int'(ctl.cycle));
        trace::rtl_complete(number[q][n], int'(ctl.cycle));
      end
      default: begin
        if (!ready(q, n)) return;
        begin_operation(q, n);
      end
    endcase
    head[q]++;
    moved = 1;
  endfunction

  // Shows an engine the operation that it would start next.
  function automatic void show(input int q);
    logic valid;
    valid = head[q] < tail[q] && !ctl.busy[q];
    if (valid && (!ctl.head_valid[q] || ctl.index[q] != number[q][head[q]]))
      moved = 1;
    ctl.head_valid[q] = valid;
    ctl.head_waits[q] = valid &&
        (`ISA_OPCODE(body[q][head[q]]) == OP_SEM_WAIT ||
         `ISA_OPCODE(body[q][head[q]]) == OP_SEM_SIGNAL ||
         `ISA_OPCODE(body[q][head[q]]) == OP_PE_SWAP);
    ctl.words[q] = body[q][head[q]];
    ctl.index[q] = number[q][head[q]];
  endfunction

  always @(posedge work)
    for (int q = 0; q < QUEUES; q++)
      if (held_by_bank[q]) trace::rtl_sb_busy(number[q][head[q]]);

  always @(posedge issue) begin
    moved = 0;
    fire_pending();
    for (int q = 0; q < QUEUES; q++) advance(q);
    idle = 1;
    for (int q = 0; q < QUEUES; q++) begin
      // An operation that starts stays shown until its engine has taken it.
      if (!ctl.start[q]) show(q);
      if (head[q] < tail[q] || ctl.completed[q] < operations[q]) idle = 0;
    end
  end
endmodule
