// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stationary sets and the way into them. The bus brings
// `load_rows_per_cycle` rows at a time, a byte of each element per cycle. A row
// enters at the left with the skew of the moving operand, r cycles late, and
// goes one column to the right per cycle.

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

  // The cells: value and exponent of a number, or the stored word.
  longint signed mantissa[2][R][C];
  logic [7:0] up[2][R][C];
  longint signed word[2][R][C];
  int bits[2];  // Width of a stationary element.

  // Rows on their way, each with the column that it reaches next; negative
  // while it waits for its skew.
  longint signed wave_mantissa[R][WAVES][C];
  logic [7:0] wave_up[R][WAVES][C];
  longint signed wave_word[R][WAVES][C];
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

  function automatic int unsigned cycles_of(input int rows, input int size);
    return ceil_div(rows, int'(ctl.pe_load_rows_per_cycle)) * size;
  endfunction

  // Reads one element into the wave.
  function automatic void take(input int r, input int c, input int slot);
    int p, at;
    longint unsigned raw;
    aligned_t a;
    byte signed cell_x;
    p = int'(`PE_LOAD_part(x)) + r;
    at = int'(`PE_LOAD_offset(x)) + c * int'(`PE_LOAD_colStride(x));
    raw = mem.sb_element(p, at, int'(bytes));
    cell_x = mem.xm[mem.cell_row(p)][mem.cell_offset(
        p, at, int'(bytes), int'(`PE_LOAD_orientation(x)))];
    case (int'(`PE_LOAD_mode(x)))
      OPERANDMODE_BFP: begin
        a = align(fetch_mantissa(raw, int'(`PE_LOAD_mantissa(x))), int'(cell_x), scale,
                  int'(`PE_LOAD_mantissa(x)), int'(`PE_LOAD_range(x)));
        wave_mantissa[r][slot][c] = longint'(a.m);
        wave_up[r][slot][c] = a.up;
      end
      OPERANDMODE_INT:
      wave_mantissa[r][slot][c] =
          (is_unsigned(int'(`PE_LOAD_type(x))) ? longint'(raw)
           : sign_extend(raw, 8 * int'(bytes))) - longint'(`PE_LOAD_zero(x));
      OPERANDMODE_SELECT: begin
        wave_word[r][slot][c] = raw;
        if (int'(`PE_LOAD_type(x)) == ELEMTYPE_BFP)
          wave_word[r][slot][c] = raw | (64'(unsigned'(cell_x)) << 16);
      end
      default: trace::rtl_fail("mode float", instr, int'(ctl.cycle));
    endcase
    // With `terms` only the first cells of a column that are not zero count.
    if (int'(`PE_LOAD_terms(x)) != 0 && wave_mantissa[r][slot][c] != 0) begin
      if (seen[c] >= int'(`PE_LOAD_terms(x))) wave_mantissa[r][slot][c] = 0;
      seen[c]++;
    end
  endfunction

  function automatic void capture(input int r);
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
      if (r < int'(`PE_LOAD_rows(x)) && c < int'(`PE_LOAD_cols(x))) take(r, c, slot);
    end
  endfunction

  function automatic void begin_load();
    x = ctl.words[Q];
    instr = ctl.index[Q];
    bytes = stored_bytes(int'(`PE_LOAD_type(x)), int'(`PE_LOAD_mantissa(x)));
    lasts = cycles_of(int'(`PE_LOAD_rows(x)), int'(bytes));
    second = ctl.pe_shadow_set != 0 ? ~ctl.active_set : 1'b0;
    scale = scale_of(mem.xr[`PE_LOAD_xr(x)], int'(`PE_LOAD_mantissa(x)));
    done = 0;
    // Words that banks bring later than the bus would take them.
    held = ctl.port_cycles[Q] > lasts ? ctl.port_cycles[Q] - lasts : 0;
    active = 1;
    for (int c = 0; c < C; c++) seen[c] = 0;
    case (int'(`PE_LOAD_mode(x)))
      OPERANDMODE_SELECT: bits[second] = 1;
      OPERANDMODE_BFP: bits[second] = int'(`PE_LOAD_mantissa(x));
      default: bits[second] = 8 * int'(bytes);
    endcase
  endfunction

  // Rows that the bus has brought whole at the end of this cycle; those that the
  // load omits become zero first.
  function automatic void bus();
    for (int r = 0; r < R; r++)
      if (r >= int'(`PE_LOAD_rows(x))) begin
        if (done == 0) capture(r);
      end else if ((r / int'(ctl.pe_load_rows_per_cycle) + 1) * int'(bytes) - 1
                   == int'(done))
        capture(r);
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
                       int'(`PE_LOAD_mantissa(ctl.words[Q]))));
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
        end
    end
    ctl.checked[Q] = -1;
    ctl.busy[Q] = 0;
    ctl.completed[Q] = 0;
  end
endmodule
