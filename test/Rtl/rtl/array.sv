// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The PE array: R x C cells, each with two stationary words and their exponent
// cells. Moving elements enter at the left, row r r cycles after row 0, and go
// one column to the right per cycle; sums go one row down per cycle. So the sum
// of step t leaves column c at the end of cycle t + c + R - 1 (docs/Machine.md 4).
//
// Stationary words take the same way: the word of (r, c) is in its cell r + c
// cycles after the bus has brought it. So a load that begins with the last
// element of a stream after it never meets that stream, and a stream that
// begins when a load has ended never overtakes it.
//
// Row groups are rows that take part in the skew of the first group: all groups
// multiply a column in the same cycles, with the stationary words of the first.
// Their sums leave early and wait until the R-th row would have summed. Streams
// of different numbers of groups have pipelines (`planes`) of their own here.
//
// With N:M weights the copies of the operand are row groups too. Their cells get
// the M moving elements of their words and pick one.

module array #(
    int R = 8,
    int C = 4,
    int GRANULARITY = 2,
    int MULTIPLEX = 8,  // Inputs of a cell's multiplexer; 1: it has none.
    int STREAMS = 256
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

  localparam int Q = 5;
  localparam int GROUPS = MULTIPLEX > 1 ? R : R / GRANULARITY;
  localparam int PLANES = $clog2(GROUPS) + 1;
  localparam int RING = 4 * R;

  // What goes with a moving element.
  typedef struct packed {
    logic valid;
    logic select;
    logic second;          // Which set it meets.
    logic top;          // The stationary digit is the highest one.
    logic pattern;      // The word picks from the multiplexer.
    logic [5:0] low;    // Its lowest bit.
    logic [7:0] shift;  // Of the product, without the stationary exponent.
    logic [7:0] stream;
    logic [7:0] pass;
    logic [19:0] step;
  } tag_t;

  // What a multiplexer picks from: a digit, and the exponent of its element.
  typedef struct packed {
    int signed digit;
    logic [7:0] up;
  } choice_t;
  typedef choice_t [MULTIPLEX-1:0] choices_t;

  // The pipelines.
  int moving[PLANES][R][C];
  tag_t tag[PLANES][R][C];
  longint signed sum[PLANES][R][C];
  int entering[PLANES][R][RING];      // Elements on their way to column 0.
  choices_t choices[PLANES][R][C];    // The same for N:M weights.
  choices_t entering_choices[PLANES][R][RING];
  tag_t entering_tag[PLANES][R][RING];
  longint signed leaving[C][GROUPS][RING];  // Sums on their way to PSUM.
  tag_t leaving_tag[C][GROUPS][RING];
  int unsigned empty_at[PLANES];

  // Streams, in order.
  logic stream_accumulates[STREAMS];
  int stream_psum[STREAMS];     // First entry and its strides.
  int stream_stride[STREAMS][3];
  int stream_n1[STREAMS];
  int stream_n2[STREAMS];
  int stream_columns[STREAMS];
  int stream_groups[STREAMS];
  int stream_copies[STREAMS];   // Of N:M weights.
  int stream_in_turn[STREAMS];  // Groups that get their elements in one cycle.
  int stream_width[STREAMS];    // Results of a row.
  int stream_index[STREAMS];
  int unsigned stream_passes[STREAMS];
  int unsigned stream_steps[STREAMS];
  logic stream_done[STREAMS];
  int stream_head;
  int stream_tail;

  // The stream that is entering.
  logic [63:0] x[MAX_WORDS];
  logic active;
  int current;
  int unsigned steps, passes, hold, done, left_digits, right_digits, held;
  int unsigned row_free_at[R];  // When the last stream has entered a row.
  int scale;
  logic second;
  int plane, pitch, lane_pitch, copies;

  function automatic int operand_bits(input int mode, input int elem,
                                      input int mantissa);
    case (mode)
      OPERANDMODE_SELECT: return 1;
      OPERANDMODE_BFP: return mantissa;
      default: return 8 * stored_bytes(elem, mantissa);
    endcase
  endfunction

  function automatic int digits(input int bits);
    return ceil_div(bits, int'(ctl.pe_cell_digit_bits));
  endfunction
  function automatic int unsigned gcd(input int unsigned a, input int unsigned b);
    int unsigned x, y, rest;
    x = a;
    y = b;
    while (y != 0) begin
      rest = x % y;
      x = y;
      y = rest;
    end
    return x;
  endfunction
  // Neighbours of a row that a step takes at once: as many as the array has
  // copies of N:M weights.
  function automatic int copies_of(input logic pattern);
    return pattern ? int'(ctl.pe_pattern_group / ctl.pe_pattern_kept) : 1;
  endfunction
  // Cycles that a step takes per pass: a column takes so many sums at a time,
  // and a partition gives one element at a time to the groups that read it.
  function automatic int unsigned hold_of(input int groups, input int advance);
    int unsigned reads, writes;
    reads = gcd(groups, advance);
    writes = ctl.psum_write_ports == 0 ? 1 : ceil_div(groups, int'(ctl.psum_write_ports));
    return reads > writes ? reads : writes;
  endfunction

  //--- Moving operand ---------------------------------------------------------

  typedef struct packed {
    longint signed m;
    logic [7:0] up;
  } element_t;

  function automatic element_t fetch(input int p, input int at);
    element_t e;
    int bytes;
    longint unsigned word;
    aligned_t a;
    bytes = stored_bytes(int'(`PE_MATMUL_type(x)), int'(`PE_MATMUL_mantissa(x)));
    word = mem.sb_element(p, at, bytes);
    e.up = 0;
    case (int'(`PE_MATMUL_mode(x)))
      OPERANDMODE_BFP: begin
        a = align(fetch_mantissa(word, int'(`PE_MATMUL_mantissa(x))),
                  int'(mem.xm[mem.cell_row(p)][mem.cell_offset(
                      p, at, bytes, int'(`PE_MATMUL_orientation(x)))]),
                  scale, int'(`PE_MATMUL_mantissa(x)), int'(`PE_MATMUL_range(x)));
        e.m = longint'(a.m);
        e.up = a.up;
      end
      OPERANDMODE_INT:
      e.m = (is_unsigned(int'(`PE_MATMUL_type(x))) ? longint'(word)
             : sign_extend(word, 8 * bytes)) - longint'(`PE_MATMUL_zero(x));
      OPERANDMODE_SELECT: e.m = word != 0 ? 1 : 0;
      default: begin
        e.m = 0;
        trace::rtl_fail("mode float", stream_index[current], int'(ctl.cycle));
      end
    endcase
    return e;
  endfunction

  // Digit k of a value of n digits: the highest one has the sign.
  function automatic int digit_of(input longint signed v, input int k,
                                  input int n);
    longint signed d;
    int b;
    b = int'(ctl.pe_cell_digit_bits);
    d = v >>> (b * k);
    if (k < n - 1) d = d & ((64'sd1 <<< b) - 1);
    return int'(d);
  endfunction

  function automatic logic in_range(input int i, input int low, input int high);
    return i >= low && i < high;
  endfunction

  // Element of row i of group g in a step; nothing where padding is.
  function automatic element_t element(input int i, input int g, input int i0,
                                       input int i1, input int i2);
    int w, pixel, at;
    at = int'(`PE_MATMUL_offset(x)) + i0 * int'(`PE_MATMUL_stride0(x)) + i1 * int'(`PE_MATMUL_stride1(x));
    if (!in_range(i0, int'(`PE_MATMUL_lo0(x)), int'(`PE_MATMUL_hi0(x))) ||
        !in_range(i1, int'(`PE_MATMUL_lo1(x)), int'(`PE_MATMUL_hi1(x))) || i >= int'(`PE_MATMUL_rows(x)))
      return '0;
    if (int'(`PE_MATMUL_groups(x)) == 1) begin
      if (!in_range(i2, int'(`PE_MATMUL_lo2(x)), int'(`PE_MATMUL_hi2(x)))) return '0;
      return fetch(int'(`PE_MATMUL_part(x)) + i, at + i2 * int'(`PE_MATMUL_stride2(x)));
    end
    w = i2 * int'(`PE_MATMUL_groups(x)) + g;
    pixel = w * (1 + int'(`PE_MATMUL_skip(x))) + int'(`PE_MATMUL_shift(x));
    if (w >= int'(`PE_MATMUL_validW(x)) ||
        !in_range(pixel, int'(`PE_MATMUL_lo2(x)), int'(`PE_MATMUL_hi2(x)))) return '0;
    // The ingress rotates lanes of partitions to groups.
    return fetch(int'(`PE_MATMUL_part(x)) + pixel % int'(`PE_MATMUL_groups(x)) * lane_pitch + i,
                 at + pixel / int'(`PE_MATMUL_groups(x)) * int'(`PE_MATMUL_stride2(x)));
  endfunction

  // Row of cells `r` in a step: its element, or those of its multiplexer.
  function automatic void feed(input int r, input int slot, input int i0,
                               input int i1, input int i2, input int left,
                               input tag_t t);
    int g, first, at;
    element_t e;
    tag_t own;
    choices_t all;
    own = t;
    if (!t.pattern) begin
      e = element(r % pitch, r / pitch, i0, i1, i2);
      own.shift = t.shift + e.up;
      entering[plane][r][slot] = digit_of(e.m, left, int'(left_digits));
    end else begin
      g = r / pitch;
      first = r % pitch / int'(ctl.pe_pattern_kept) * int'(ctl.pe_pattern_group);
      at = i2 * copies + g / int'(`PE_MATMUL_groups(x));
      all = '0;
      for (int m = 0; m < int'(ctl.pe_pattern_group); m++) begin
        e = at < int'(`PE_MATMUL_n2(x))
            ? element(first + m, g % int'(`PE_MATMUL_groups(x)), i0, i1, at) : '0;
        all[m].digit = digit_of(e.m, left, int'(left_digits));
        all[m].up = e.up;
      end
      entering_choices[plane][r][slot] = all;
    end
    entering_tag[plane][r][slot] = own;
  endfunction

  // Step `done` enters: row r of a group r cycles later.
  function automatic void enter();
    int pass, step, row_steps, i0, i1, i2, left, right;
    tag_t t;
    pass = int'(done / (steps * hold));
    step = int'(done % (steps * hold) / hold);
    if (done % hold != 0) return;
    left = pass / int'(right_digits);
    right = pass % int'(right_digits);
    row_steps = ceil_div(int'(`PE_MATMUL_n2(x)), copies);
    i2 = step % row_steps;
    i1 = step / row_steps % int'(`PE_MATMUL_n1(x));
    i0 = step / row_steps / int'(`PE_MATMUL_n1(x));
    t.valid = 1;
    t.select = int'(`PE_MATMUL_mode(x)) == OPERANDMODE_SELECT;
    t.second = second;
    t.top = right == int'(right_digits) - 1;
    t.pattern = `PE_MATMUL_pattern(x);
    t.shift = 8'((left + right) * int'(ctl.pe_cell_digit_bits));
    t.low = 6'(right * int'(ctl.pe_cell_digit_bits));
    t.stream = 8'(current);
    t.pass = 8'(pass);
    t.step = 20'(step);
    for (int r = 0; r < R; r++)
      feed(r, (int'(ctl.cycle) + r % pitch) % RING, i0, i1, i2, left, t);
    // The array stands still while a column takes the sums of its groups.
    for (int r = 0; r < R; r++)
      row_free_at[r] = ctl.cycle + hold + 32'(r % pitch);
    if (pass == int'(passes) - 1)
      for (int k = i2 * copies; k < (i2 + 1) * copies; k++)
        if (k < int'(`PE_MATMUL_n2(x)))
          trace::rtl_enter(stream_index[current],
                           (i0 * int'(`PE_MATMUL_n1(x)) + i1) * int'(`PE_MATMUL_n2(x)) + k,
                           int'(ctl.cycle));
  endfunction

  function automatic void begin_stream();
    current = stream_tail % STREAMS;
    x = ctl.words[Q];
    second = ctl.active_set;
    copies = copies_of(`PE_MATMUL_pattern(x));
    steps = int'(`PE_MATMUL_n0(x)) * int'(`PE_MATMUL_n1(x)) *
        ceil_div(int'(`PE_MATMUL_n2(x)), copies);
    left_digits = digits(operand_bits(int'(`PE_MATMUL_mode(x)), int'(`PE_MATMUL_type(x)),
                                      int'(`PE_MATMUL_mantissa(x))));
    right_digits = digits(stationary.bits[second]);
    passes = left_digits * right_digits;
    hold = hold_of(int'(`PE_MATMUL_groups(x)) * copies, 1 + int'(`PE_MATMUL_skip(x)));
    lane_pitch = R / int'(`PE_MATMUL_groups(x));
    pitch = lane_pitch / copies;
    plane = $clog2(int'(`PE_MATMUL_groups(x)) * copies);
    scale = scale_of(mem.xr[`PE_MATMUL_xr(x)], int'(`PE_MATMUL_mantissa(x)));
    stream_accumulates[current] = `PE_MATMUL_accumulate(x);
    stream_psum[current] = int'(`PE_MATMUL_psum(x));
    stream_stride[current][0] = int'(`PE_MATMUL_psumStride0(x));
    stream_stride[current][1] = int'(`PE_MATMUL_psumStride1(x));
    stream_stride[current][2] = int'(`PE_MATMUL_psumStride2(x));
    stream_n1[current] = int'(`PE_MATMUL_n1(x));
    stream_n2[current] = int'(`PE_MATMUL_n2(x));
    stream_columns[current] = int'(`PE_MATMUL_cols(x));
    stream_groups[current] = int'(`PE_MATMUL_groups(x));
    stream_copies[current] = copies;
    stream_in_turn[current] = int'(`PE_MATMUL_groups(x)) * copies /
        int'(gcd(int'(`PE_MATMUL_groups(x)) * copies, 1 + int'(`PE_MATMUL_skip(x))));
    stream_width[current] = int'(`PE_MATMUL_groups(x)) > 1
        ? int'(`PE_MATMUL_validW(x)) : int'(`PE_MATMUL_n2(x));
    stream_index[current] = ctl.index[Q];
    stream_passes[current] = passes;
    stream_steps[current] = steps;
    stream_done[current] = 0;
    stream_tail++;
    done = 0;
    // Where the banks of SB take longer, everything comes as much later.
    held = ctl.port_cycles[Q] > steps * passes * hold
        ? ctl.port_cycles[Q] - steps * passes * hold : 0;
    active = 1;
    empty_at[plane] = ctl.cycle + held + steps * passes * hold + R + C + 1;
  endfunction

  //--- Cells ------------------------------------------------------------------

  // Of the cell in row `row` of a group.
  function automatic longint signed product(input int row, input int c,
                                            input int moved, input choices_t all,
                                            input tag_t t);
    longint signed s;
    int m;
    logic [7:0] up;
    m = moved;
    up = t.shift + stationary.up[t.second][row][c];
    if (t.pattern) begin
      m = all[stationary.place[t.second][row][c]].digit;
      up = up + all[stationary.place[t.second][row][c]].up;
    end
    if (!t.valid || m == 0) return 0;
    if (t.select) return stationary.word[t.second][row][c];
    s = stationary.mantissa[t.second][row][c] >>> t.low;
    if (!t.top) s = s & ((64'sd1 <<< ctl.pe_cell_digit_bits) - 1);
    return (longint'(m) * s) <<< up;
  endfunction

  // One cycle of a plane, the last cells first: each takes what its neighbours
  // had.
  function automatic void shift(input int k);
    int slot, p;
    longint signed above;
    slot = int'(ctl.cycle) % RING;
    p = R >> k;
    for (int c = C - 1; c >= 0; c--)
      for (int r = R - 1; r >= 0; r--) begin
        if (c > 0) begin
          moving[k][r][c] = moving[k][r][c-1];
          tag[k][r][c] = tag[k][r][c-1];
          if (tag[k][r][c].pattern) choices[k][r][c] = choices[k][r][c-1];
        end else begin
          moving[k][r][0] = entering[k][r][slot];
          tag[k][r][0] = entering_tag[k][r][slot];
          if (tag[k][r][0].pattern) choices[k][r][0] = entering_choices[k][r][slot];
          entering_tag[k][r][slot] = '0;
        end
        above = r % p == 0 ? 0 : sum[k][r-1][c];
        sum[k][r][c] = above + product(r % p, c, moving[k][r][c], choices[k][r][c],
                                       tag[k][r][c]);
      end
  endfunction

  // Cells that two planes have used in one cycle: an array with one pipeline
  // would have needed a pause there.
  function automatic int collisions();
    int n, users;
    n = 0;
    for (int r = 0; r < R; r++)
      for (int c = 0; c < C; c++) begin
        users = 0;
        for (int k = 0; k < PLANES; k++)
          if (ctl.cycle < empty_at[k] && tag[k][r][c].valid) users++;
        if (users > 1) n++;
      end
    return n;
  endfunction

  // Whether a stream into groups of `p` rows that starts now would need a row
  // which the last one is still to enter.
  function automatic logic meets(input int p);
    for (int r = 0; r < R; r++)
      if (ctl.cycle + 32'(r % p) < row_free_at[r]) return 1;
    return 0;
  endfunction

  int busy_planes;

  always @(posedge work) begin
    if (ctl.start[Q]) begin_stream();
    if (active && held > 0) held--;
    else if (active) begin
      enter();
      done++;
      if (done == steps * passes * hold) active = 0;
    end
    busy_planes = 0;
    for (int k = 0; k < PLANES; k++)
      if (ctl.cycle < empty_at[k]) begin
        shift(k);
        busy_planes++;
      end
    if (busy_planes > 1 && collisions() != 0) begin
      trace::rtl_collision(collisions());
      if (ctl.pe_groups_wait != 0)
        trace::rtl_fail("two streams in one cell", 0, int'(ctl.cycle));
    end
    ctl.start[Q] = 0;
  end

  always @(posedge check)
    if (ctl.head_valid[Q] && !ctl.start[Q] &&
        `ISA_OPCODE(ctl.words[Q]) == OP_PE_MATMUL) begin
      ctl.blocked[Q] = ctl.pe_groups_wait != 0 &&
          meets(R / int'(`PE_MATMUL_groups(ctl.words[Q])) /
                copies_of(`PE_MATMUL_pattern(ctl.words[Q])));
      ctl.passes = digits(operand_bits(int'(`PE_MATMUL_mode(ctl.words[Q])),
                                       int'(`PE_MATMUL_type(ctl.words[Q])),
                                       int'(`PE_MATMUL_mantissa(ctl.words[Q])))) *
          digits(stationary.bits[ctl.active_set]);
      ctl.issue[Q] = int'(`PE_MATMUL_n0(ctl.words[Q])) *
          int'(`PE_MATMUL_n1(ctl.words[Q])) *
          ceil_div(int'(`PE_MATMUL_n2(ctl.words[Q])),
                   copies_of(`PE_MATMUL_pattern(ctl.words[Q]))) *
          hold_of(int'(`PE_MATMUL_groups(ctl.words[Q])) *
                      copies_of(`PE_MATMUL_pattern(ctl.words[Q])),
                  1 + int'(`PE_MATMUL_skip(ctl.words[Q]))) * ctl.passes;
      ctl.checked[Q] = ctl.index[Q];
    end

  //--- Sums -------------------------------------------------------------------

  // Moves the sums that the last cycle has completed towards PSUM.
  function automatic void collect();
    int p, due, row, late;
    for (int k = 0; k < PLANES; k++)
      if (ctl.cycle <= empty_at[k])
        for (int g = 0; g < (1 << k); g++) begin
          p = R >> k;
          row = (g + 1) * p - 1;
          for (int c = 0; c < C; c++)
            if (tag[k][row][c].valid) begin
              // The group's turn at its lane, or at the ports.
              late = g / stream_in_turn[int'(tag[k][row][c].stream)];
              if (ctl.psum_write_ports != 0 && g / int'(ctl.psum_write_ports) > late)
                late = g / int'(ctl.psum_write_ports);
              due = int'(ctl.cycle) + R - p + late;
              leaving[c][g][due%RING] = sum[k][row][c];
              leaving_tag[c][g][due%RING] = tag[k][row][c];
            end
        end
  endfunction

  // Writes one sum, or adds it.
  function automatic void deposit(input int c, input int g, input tag_t t,
                                  input longint signed v);
    int s, i0, i1, i2, w, entry, row_steps;
    s = int'(t.stream);
    row_steps = ceil_div(stream_n2[s], stream_copies[s]);
    i2 = int'(t.step) % row_steps * stream_copies[s] + g / stream_groups[s];
    i1 = int'(t.step) / row_steps % stream_n1[s];
    i0 = int'(t.step) / row_steps / stream_n1[s];
    w = i2 * stream_groups[s] + g % stream_groups[s];
    if (c < stream_columns[s] && w < stream_width[s]) begin
      entry = stream_psum[s] + i0 * stream_stride[s][0] +
          i1 * stream_stride[s][1] + w * stream_stride[s][2];
      if (t.pass == 0 && !stream_accumulates[s]) mem.psum[c][entry] = v;
      else mem.psum[c][entry] = mem.psum[c][entry] + v;
      if (int'(t.pass) == int'(stream_passes[s]) - 1)
        trace::rtl_write(stream_index[s],
                         (i0 * stream_n1[s] + i1) * stream_width[s] + w, c,
                         entry, mem.psum[c][entry], int'(ctl.cycle) - 1);
    end
    if (c == stream_columns[s] - 1 && g == stream_groups[s] * stream_copies[s] - 1 &&
        int'(t.step) == int'(stream_steps[s]) - 1 &&
        int'(t.pass) == int'(stream_passes[s]) - 1)
      stream_done[s] = 1;
  endfunction

  // Entries that a column takes in this cycle.
  function automatic int written(input int c, input int slot);
    int n;
    n = 0;
    for (int g = 0; g < GROUPS; g++)
      if (leaving_tag[c][g][slot].valid) begin
        n++;
        deposit(c, g, leaving_tag[c][g][slot], leaving[c][g][slot]);
        leaving_tag[c][g][slot].valid = 0;
      end
    return n;
  endfunction

  always @(posedge commit) begin
    if (ctl.busy[Q] && !active) begin
      ctl.busy[Q] = 0;
      trace::rtl_issued(stream_index[current], int'(ctl.cycle));
    end
    collect();
    for (int c = 0; c < C; c++)
      if (written(c, int'(ctl.cycle) % RING) > int'(ctl.psum_write_ports) &&
          ctl.psum_write_ports != 0)
        trace::rtl_fail("more entries than write ports", c, int'(ctl.cycle));
    while (stream_head < stream_tail && stream_done[stream_head%STREAMS]) begin
      trace::rtl_complete(stream_index[stream_head%STREAMS], int'(ctl.cycle));
      stream_head++;
      ctl.completed[Q]++;
    end
  end

  always @(posedge reset) begin
    active = 0;
    stream_head = 0;
    stream_tail = 0;
    for (int r = 0; r < R; r++) row_free_at[r] = 0;
    for (int k = 0; k < PLANES; k++) begin
      empty_at[k] = 0;
      for (int r = 0; r < R; r++) begin
        for (int c = 0; c < C; c++) tag[k][r][c] = '0;
        for (int s = 0; s < RING; s++) entering_tag[k][r][s] = '0;
      end
    end
    for (int c = 0; c < C; c++)
      for (int g = 0; g < GROUPS; g++)
        for (int s = 0; s < RING; s++) leaving_tag[c][g][s] = '0;
    ctl.checked[Q] = -1;
    ctl.busy[Q] = 0;
    ctl.completed[Q] = 0;
  end

  loader #(.R(R), .C(C)) stationary (
      .reset, .commit, .check, .work, .ctl, .mem
  );
endmodule
