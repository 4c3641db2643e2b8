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
//
// With narrow operands a cell gets the elements of two positions, multiplies
// both by its word and has a sum for each.

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
  localparam int HALVES = 2;  // Positions that a cell may take at a time.

  // What goes with a moving element.
  typedef struct packed {
    logic valid;
    logic select;
    logic second;          // Which set it meets.
    logic top;          // The stationary digit is the highest one.
    logic pattern;      // The word picks from the multiplexer.
    logic narrow;       // Both halves of the cell work.
    logic [5:0] low;    // Its lowest bit.
    logic [HALVES-1:0][7:0] shift;  // Of the product, without the stationary exponent.
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
  int moving[HALVES][PLANES][R][C];
  tag_t tag[PLANES][R][C];
  longint signed sum[HALVES][PLANES][R][C];
  int entering[HALVES][PLANES][R][RING];      // Elements on their way to column 0.
  choices_t choices[HALVES][PLANES][R][C];    // The same for N:M weights.
  choices_t entering_choices[HALVES][PLANES][R][RING];
  tag_t entering_tag[PLANES][R][RING];
  // Sums on their way to PSUM, those of second halves after the others.
  longint signed leaving[C][HALVES*GROUPS][RING];
  tag_t leaving_tag[C][HALVES*GROUPS][RING];
  int unsigned empty_at[PLANES];

  // Streams, in order.
  logic stream_accumulates[STREAMS];
  int stream_psum[STREAMS];     // First entry and its strides.
  int stream_stride[STREAMS][3];
  int stream_n1[STREAMS];
  int stream_n2[STREAMS];
  int stream_columns[STREAMS];
  int stream_groups[STREAMS];
  int stream_positions[STREAMS];  // Neighbours of a row in a step.
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
  int plane, pitch, lane_pitch, copies, positions;

  function automatic int operand_bits(input int mode, input int elem,
                                      input int mantissa);
    case (mode)
      OPERANDMODE_SELECT: return 1;
      OPERANDMODE_BFP: return mantissa - 1;  // The highest digit has the sign.
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
  // copies of N:M weights, and as a cell takes.
  function automatic int copies_of(input logic pattern);
    return pattern ? int'(ctl.pe_pattern_group / ctl.pe_pattern_kept) : 1;
  endfunction
  function automatic int positions_of(input logic pattern, input logic narrow);
    return copies_of(pattern) * (narrow ? HALVES : 1);
  endfunction
  // Cycles that a step takes per pass: a column takes so many sums at a time,
  // and a partition gives one element at a time to the groups that read it.
  function automatic int unsigned hold_of(input int groups, input int positions,
                                          input int advance);
    int unsigned reads, writes;
    reads = gcd(groups, advance);
    writes = ctl.psum_write_ports == 0 ? 1
        : ceil_div(groups * positions, int'(ctl.psum_write_ports));
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

  // A cell multiplies digits with a sign.
  function automatic logic is_digit(input longint signed v);
    return v >>> ctl.pe_cell_digit_bits == 0 || v >>> ctl.pe_cell_digit_bits == -1;
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

  // The same past the end of a row, where the last step of it has nothing.
  function automatic element_t next_element(input int i, input int g,
                                            input int i0, input int i1, input int at);
    if (at >= int'(`PE_MATMUL_n2(x))) return '0;
    return element(i, g % int'(`PE_MATMUL_groups(x)), i0, i1, at);
  endfunction

  // Row of cells `r` in a step: its elements, or those of its multiplexers.
  function automatic void feed(input int r, input int slot, input int i0,
                               input int i1, input int i2, input int left,
                               input tag_t t);
    int g, first, at;
    element_t e;
    tag_t own;
    choices_t all;
    own = t;
    g = r / pitch;
    first = r % pitch / int'(ctl.pe_pattern_kept) * int'(ctl.pe_pattern_group);
    for (int h = 0; h < (t.narrow ? HALVES : 1); h++) begin
      at = i2 * positions + h * copies + g / int'(`PE_MATMUL_groups(x));
      if (!t.pattern) begin
        e = next_element(r % pitch, g, i0, i1, at);
        own.shift[h] = t.shift[h] + e.up;
        entering[h][plane][r][slot] = digit_of(e.m, left, int'(left_digits));
      end else begin
        all = '0;
        for (int m = 0; m < int'(ctl.pe_pattern_group); m++) begin
          e = next_element(first + m, g, i0, i1, at);
          all[m].digit = digit_of(e.m, left, int'(left_digits));
          all[m].up = e.up;
        end
        entering_choices[h][plane][r][slot] = all;
      end
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
    row_steps = ceil_div(int'(`PE_MATMUL_n2(x)), positions);
    i2 = step % row_steps;
    i1 = step / row_steps % int'(`PE_MATMUL_n1(x));
    i0 = step / row_steps / int'(`PE_MATMUL_n1(x));
    t.valid = 1;
    t.select = int'(`PE_MATMUL_mode(x)) == OPERANDMODE_SELECT;
    t.second = second;
    t.top = right == int'(right_digits) - 1;
    t.pattern = `PE_MATMUL_pattern(x);
    t.narrow = `PE_MATMUL_narrow(x);
    for (int h = 0; h < HALVES; h++)
      t.shift[h] = 8'((left + right) * int'(ctl.pe_cell_digit_bits));
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
      for (int k = i2 * positions; k < (i2 + 1) * positions; k++)
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
    positions = positions_of(`PE_MATMUL_pattern(x), `PE_MATMUL_narrow(x));
    steps = int'(`PE_MATMUL_n0(x)) * int'(`PE_MATMUL_n1(x)) *
        ceil_div(int'(`PE_MATMUL_n2(x)), positions);
    left_digits = digits(operand_bits(int'(`PE_MATMUL_mode(x)), int'(`PE_MATMUL_type(x)),
                                      int'(`PE_MATMUL_mantissa(x))));
    right_digits = digits(stationary.bits[second]);
    passes = left_digits * right_digits;
    hold = hold_of(int'(`PE_MATMUL_groups(x)), positions, 1 + int'(`PE_MATMUL_skip(x)));
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
    stream_positions[current] = positions;
    stream_in_turn[current] = int'(`PE_MATMUL_groups(x)) /
        int'(gcd(int'(`PE_MATMUL_groups(x)), 1 + int'(`PE_MATMUL_skip(x))));
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

  // An operand that leaves room for another one in a digit.
  function automatic logic is_narrow(input longint signed v);
    return v >>> (ctl.pe_narrow_bits - 1) == 0 || v >>> (ctl.pe_narrow_bits - 1) == -1;
  endfunction

  // Of half `h` of the cell in row `row` of a group.
  function automatic longint signed product(input int h, input int row, input int c,
                                            input int moved, input choices_t all,
                                            input tag_t t);
    longint signed s;
    int m;
    logic [7:0] up;
    m = moved;
    if (h > 0 && !t.narrow) return 0;
    up = t.shift[h] + stationary.up[t.second][row][c];
    if (t.pattern) begin
      m = all[stationary.place[t.second][row][c]].digit;
      up = up + all[stationary.place[t.second][row][c]].up;
    end
    if (!t.valid || m == 0) return 0;
    if (t.select) return stationary.word[t.second][row][c];
    s = stationary.mantissa[t.second][row][c] >>> t.low;
    if (!t.top) s = s & ((64'sd1 <<< ctl.pe_cell_digit_bits) - 1);
    if (!is_digit(longint'(m)) || !is_digit(s))
      trace::rtl_fail("a digit wider than a cell", stream_index[int'(t.stream)],
                      int'(ctl.cycle));
    if (t.narrow && (!is_narrow(longint'(m)) || !is_narrow(s)))
      trace::rtl_fail("an operand wider than half a cell", stream_index[int'(t.stream)],
                      int'(ctl.cycle));
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
        tag[k][r][c] = c > 0 ? tag[k][r][c-1] : entering_tag[k][r][slot];
        if (c == 0) entering_tag[k][r][slot] = '0;
        for (int h = 0; h < (tag[k][r][c].narrow ? HALVES : 1); h++) begin
          moving[h][k][r][c] = c > 0 ? moving[h][k][r][c-1] : entering[h][k][r][slot];
          if (tag[k][r][c].pattern)
            choices[h][k][r][c] = c > 0 ? choices[h][k][r][c-1] : entering_choices[h][k][r][slot];
          above = r % p == 0 ? 0 : sum[h][k][r-1][c];
          sum[h][k][r][c] = above + product(h, r % p, c, moving[h][k][r][c],
                                            choices[h][k][r][c], tag[k][r][c]);
        end
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
                   positions_of(`PE_MATMUL_pattern(ctl.words[Q]),
                                `PE_MATMUL_narrow(ctl.words[Q]))) *
          hold_of(int'(`PE_MATMUL_groups(ctl.words[Q])),
                  positions_of(`PE_MATMUL_pattern(ctl.words[Q]),
                               `PE_MATMUL_narrow(ctl.words[Q])),
                  1 + int'(`PE_MATMUL_skip(ctl.words[Q]))) * ctl.passes;
      ctl.checked[Q] = ctl.index[Q];
    end

  //--- Sums -------------------------------------------------------------------

  // Moves the sums that the last cycle has completed towards PSUM.
  function automatic void collect();
    int p, due, row, late, place, port, per_turn, of_groups;
    for (int k = 0; k < PLANES; k++)
      if (ctl.cycle <= empty_at[k])
        for (int g = 0; g < (1 << k); g++) begin
          p = R >> k;
          row = (g + 1) * p - 1;
          for (int c = 0; c < C; c++)
            for (int h = 0; h < (tag[k][row][c].narrow ? HALVES : 1); h++)
              if (tag[k][row][c].valid) begin
                // The group's turn at its lane, or at the ports.
                place = h * (1 << k) + g;
                of_groups = stream_groups[int'(tag[k][row][c].stream)];
                per_turn = stream_in_turn[int'(tag[k][row][c].stream)];
                late = g % of_groups / per_turn;
                // The results of a turn take the ports before those of the next.
                port = (late * stream_positions[int'(tag[k][row][c].stream)] +
                        place / of_groups) * per_turn + g % of_groups % per_turn;
                if (ctl.psum_write_ports != 0 && port / int'(ctl.psum_write_ports) > late)
                  late = port / int'(ctl.psum_write_ports);
                due = int'(ctl.cycle) + R - p + late;
                leaving[c][place][due%RING] = sum[h][k][row][c];
                leaving_tag[c][place][due%RING] = tag[k][row][c];
              end
        end
  endfunction

  // Writes one sum, or adds it.
  function automatic void deposit(input int c, input int g, input tag_t t,
                                  input longint signed v);
    int s, i0, i1, i2, w, entry, row_steps;
    s = int'(t.stream);
    row_steps = ceil_div(stream_n2[s], stream_positions[s]);
    i2 = int'(t.step) % row_steps * stream_positions[s] + g / stream_groups[s];
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
    if (c == stream_columns[s] - 1 && g == stream_groups[s] * stream_positions[s] - 1 &&
        int'(t.step) == int'(stream_steps[s]) - 1 &&
        int'(t.pass) == int'(stream_passes[s]) - 1)
      stream_done[s] = 1;
  endfunction

  // Entries that a column takes in this cycle.
  function automatic int written(input int c, input int slot);
    int n;
    n = 0;
    for (int g = 0; g < HALVES * GROUPS; g++)
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
      for (int g = 0; g < HALVES * GROUPS; g++)
        for (int s = 0; s < RING; s++) leaving_tag[c][g][s] = '0;
    ctl.checked[Q] = -1;
    ctl.busy[Q] = 0;
    ctl.completed[Q] = 0;
  end

  loader #(.R(R), .C(C)) stationary (
      .reset, .commit, .check, .work, .ctl, .mem
  );
endmodule
