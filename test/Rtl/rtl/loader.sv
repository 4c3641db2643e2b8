// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stationary sets and the way into them. The bus brings
// `load_rows_per_cycle` rows at a time, a byte of each element per cycle. A row
// enters at the left with the skew of the moving operand, r cycles late, and
// goes one column to the right per cycle.
//
// N:M weights: when the bus has brought the last of M rows, each column keeps
// the words that are not zero with their places, and these take the first rows
// of cells that are still empty.

module loader #(
    int R = 8,
    int C = 4
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

  localparam int Q = 4;
  localparam int WAVES = R + C + 1;

  // The cells: value and exponent of a number, or the stored word; of N:M
  // weights the place among M rows.
  longint signed mantissa[2][R][C];
  logic [7:0] up[2][R][C];
  longint signed word[2][R][C];
  logic [3:0] place[2][R][C];
  int bits[2];  // Width of a stationary element, without the sign of a mantissa.

  // Rows on their way, each with the column that it reaches next; negative
  // while it waits for its skew.
  longint signed wave_mantissa[R][WAVES][C];
  logic [7:0] wave_up[R][WAVES][C];
  longint signed wave_word[R][WAVES][C];
  logic [3:0] wave_place[R][WAVES][C];
  logic wave_valid[R][WAVES];
  logic wave_set[R][WAVES];
  int wave_column[R][WAVES];
  int wave_next[R];

  logic [63:0] x[MAX_WORDS];
  logic active;
  int instr;
  int unsigned done, lasts, bytes, held;
  int scale;
  logic second;
  int seen[C];  // Cells of a column that are not zero, so far.

  // The element that the bus brings.
  longint signed cell_mantissa, cell_word;
  logic [7:0] cell_up;

  // Rows that the bus brings at a time.
  function automatic int rate_of(input logic pattern);
    return int'(pattern ? ctl.pe_pattern_rows_per_cycle : ctl.pe_load_rows_per_cycle);
  endfunction

  function automatic int unsigned cycles_of(input int rows, input int size,
                                            input logic pattern);
    return ceil_div(rows, rate_of(pattern)) * size;
  endfunction

  // Reads one element.
  function automatic void take(input int r, input int c);
    int p, at;
    longint unsigned raw;
    aligned_t a;
    byte signed cell_x;
    p = int'(`PE_LOAD_part(x)) + r;
    at = int'(`PE_LOAD_offset(x)) + c * int'(`PE_LOAD_colStride(x));
    raw = mem.sb_element(p, at, int'(bytes));
    cell_x = mem.xm[mem.cell_row(p)][mem.cell_offset(
        p, at, int'(bytes), int'(`PE_LOAD_orientation(x)))];
    cell_mantissa = 0;
    cell_up = 0;
    cell_word = 0;
    case (int'(`PE_LOAD_mode(x)))
      OPERANDMODE_BFP: begin
        a = align(fetch_mantissa(raw, int'(`PE_LOAD_mantissa(x))), int'(cell_x), scale,
                  int'(`PE_LOAD_mantissa(x)), int'(`PE_LOAD_range(x)));
        cell_mantissa = longint'(a.m);
        cell_up = a.up;
      end
      OPERANDMODE_INT:
      cell_mantissa =
          (is_unsigned(int'(`PE_LOAD_type(x))) ? longint'(raw)
           : sign_extend(raw, 8 * int'(bytes))) - longint'(`PE_LOAD_zero(x));
      OPERANDMODE_SELECT: begin
        cell_word = raw;
        if (int'(`PE_LOAD_type(x)) == ELEMTYPE_BFP)
          cell_word = raw | (64'(unsigned'(cell_x)) << 16);
      end
      default: trace::rtl_fail("mode float", instr, int'(ctl.cycle));
    endcase
    // With `terms` only the first cells of a column that are not zero count.
    if (int'(`PE_LOAD_terms(x)) != 0 && cell_mantissa != 0) begin
      if (seen[c] >= int'(`PE_LOAD_terms(x))) cell_mantissa = 0;
      seen[c]++;
    end
  endfunction

  // Puts the element into column c of the last wave of row r.
  function automatic void put(input int r, input int c, input int at);
    int slot;
    slot = (wave_next[r] + WAVES - 1) % WAVES;
    wave_mantissa[r][slot][c] = cell_mantissa;
    wave_up[r][slot][c] = cell_up;
    wave_word[r][slot][c] = cell_word;
    wave_place[r][slot][c] = 4'(at);
  endfunction

  // A wave of zeros for row r.
  function automatic void send(input int r);
    int slot;
    slot = wave_next[r] % WAVES;
    wave_next[r]++;
    if (wave_valid[r][slot])
      trace::rtl_fail("a row overtakes another", instr, int'(ctl.cycle));
    wave_valid[r][slot] = 1;
    wave_set[r][slot] = second;
    wave_column[r][slot] = -r;
    for (int c = 0; c < C; c++) begin
      wave_mantissa[r][slot][c] = 0;
      wave_up[r][slot][c] = 0;
      wave_word[r][slot][c] = 0;
      wave_place[r][slot][c] = 0;
    end
  endfunction

  function automatic void capture(input int r);
    send(r);
    for (int c = 0; c < int'(`PE_LOAD_cols(x)); c++) begin
      take(r, c);
      put(r, c, 0);
    end
  endfunction

  // N:M weights: rows of cells that hold words, one after the other.
  function automatic int word_rows();
    int groups, rest;
    groups = int'(`PE_LOAD_rows(x)) / int'(ctl.pe_pattern_group);
    rest = int'(`PE_LOAD_rows(x)) % int'(ctl.pe_pattern_group);
    return groups * int'(ctl.pe_pattern_kept) +
        (rest < int'(ctl.pe_pattern_kept) ? rest : int'(ctl.pe_pattern_kept));
  endfunction

  // The M rows from row `first` on.
  function automatic void capture_group(input int first);
    int row, n, last;
    row = first / int'(ctl.pe_pattern_group) * int'(ctl.pe_pattern_kept);
    last = first + int'(ctl.pe_pattern_group);
    if (last > int'(`PE_LOAD_rows(x))) last = int'(`PE_LOAD_rows(x));
    for (int i = 0; i < int'(ctl.pe_pattern_kept); i++)
      if (row + i < word_rows()) send(row + i);
    for (int c = 0; c < int'(`PE_LOAD_cols(x)); c++) begin
      n = 0;
      for (int r = first; r < last; r++) begin
        take(r, c);
        if (cell_mantissa == 0) continue;
        if (n == int'(ctl.pe_pattern_kept))
          trace::rtl_fail("a column without the pattern", instr, int'(ctl.cycle));
        else put(row + n, c, r - first);
        n++;
      end
    end
  endfunction

  function automatic void begin_load();
    x = ctl.words[Q];
    instr = ctl.index[Q];
    bytes = stored_bytes(int'(`PE_LOAD_type(x)), int'(`PE_LOAD_mantissa(x)));
    lasts = cycles_of(int'(`PE_LOAD_rows(x)), int'(bytes), `PE_LOAD_pattern(x));
    second = ctl.pe_shadow_set != 0 ? ~ctl.active_set : 1'b0;
    scale = scale_of(mem.xr[`PE_LOAD_xr(x)], int'(`PE_LOAD_mantissa(x)));
    done = 0;
    // Words that banks bring later than the bus would take them.
    held = ctl.port_cycles[Q] > lasts ? ctl.port_cycles[Q] - lasts : 0;
    active = 1;
    for (int c = 0; c < C; c++) seen[c] = 0;
    case (int'(`PE_LOAD_mode(x)))
      OPERANDMODE_SELECT: bits[second] = 1;
      OPERANDMODE_BFP: bits[second] = int'(`PE_LOAD_mantissa(x)) - 1;
      default: bits[second] = 8 * int'(bytes);
    endcase
  endfunction

  // Whether the bus has brought row r whole at the end of this cycle.
  function automatic logic arrives(input int r);
    return (r / rate_of(`PE_LOAD_pattern(x)) + 1) * int'(bytes) - 1 == int'(done);
  endfunction

  // Cells of rows that the load omits become zero first.
  function automatic void bus();
    int used, last;
    used = `PE_LOAD_pattern(x) ? word_rows() : int'(`PE_LOAD_rows(x));
    for (int r = used; r < R; r++) if (done == 0) send(r);
    if (`PE_LOAD_pattern(x))
      for (int r = 0; r < int'(`PE_LOAD_rows(x)); r += int'(ctl.pe_pattern_group)) begin
        last = r + int'(ctl.pe_pattern_group);
        if (last > int'(`PE_LOAD_rows(x))) last = int'(`PE_LOAD_rows(x));
        if (arrives(last - 1)) capture_group(r);
      end
    else
      for (int r = 0; r < int'(`PE_LOAD_rows(x)); r++) if (arrives(r)) capture(r);
    done++;
    if (done == lasts) active = 0;
  endfunction

  function automatic void shift();
    int c;
    for (int r = 0; r < R; r++)
      for (int w = 0; w < WAVES; w++)
        if (wave_valid[r][w]) begin
          c = wave_column[r][w];
          if (c >= 0) begin
            mantissa[wave_set[r][w]][r][c] = wave_mantissa[r][w][c];
            up[wave_set[r][w]][r][c] = wave_up[r][w][c];
            word[wave_set[r][w]][r][c] = wave_word[r][w][c];
            place[wave_set[r][w]][r][c] = wave_place[r][w][c];
          end
          wave_column[r][w] = c + 1;
          if (c + 1 == C) wave_valid[r][w] = 0;
        end
  endfunction

  always @(posedge check)
    if (ctl.head_valid[Q] && !ctl.start[Q] && !ctl.head_waits[Q]) begin
      ctl.blocked[Q] = 0;
      ctl.issue[Q] = cycles_of(
          int'(`PE_LOAD_rows(ctl.words[Q])),
          stored_bytes(int'(`PE_LOAD_type(ctl.words[Q])),
                       int'(`PE_LOAD_mantissa(ctl.words[Q]))),
          `PE_LOAD_pattern(ctl.words[Q]));
      ctl.checked[Q] = ctl.index[Q];
    end

  always @(posedge work) begin
    if (ctl.start[Q]) begin_load();
    if (active && held > 0) held--;
    else if (active) bus();
    shift();
    ctl.start[Q] = 0;
  end

  always @(posedge commit)
    if (ctl.busy[Q] && !active) begin
      ctl.busy[Q] = 0;
      ctl.completed[Q]++;
      trace::rtl_issued(instr, int'(ctl.cycle));
      trace::rtl_complete(instr, int'(ctl.cycle));
    end

  always @(posedge reset) begin
    active = 0;
    bits[0] = 8;
    bits[1] = 8;
    for (int r = 0; r < R; r++) begin
      wave_next[r] = 0;
      for (int w = 0; w < WAVES; w++) wave_valid[r][w] = 0;
      for (int c = 0; c < C; c++)
        for (int s = 0; s < 2; s++) begin
          mantissa[s][r][c] = 0;
          up[s][r][c] = 0;
          word[s][r][c] = 0;
          place[s][r][c] = 0;
        end
    end
    ctl.checked[Q] = -1;
    ctl.busy[Q] = 0;
    ctl.completed[Q] = 0;
  end
endmodule
