// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder of accesses: what an instruction streams through the ports of the
// state buffer (docs/Machine.md 3.2). It walks the operands run by run, cuts
// runs where a bank or a partition ends, and counts by partition and bank.

module ports #(
    int R = 8,
    int P = 8,
    int BYTES = 1024
) (
    control ctl
);
  import ashlar_isa::*;
  import numerics::*;

  localparam int BANKS = ctl.BANKS;
  localparam int DIMS = 5;

  logic [63:0] w[MAX_WORDS];

  // Accesses of the partitions. The sides of a copy are counted apart, as they
  // lie in different partitions; engines with lanes have one side.
  int unsigned count[2][P][BANKS];
  // Of the busiest partition, both sides together.
  int unsigned accesses[BANKS];

  // The operand that is walked: loops, outermost first, and a side.
  int bytes;
  longint base;
  longint unsigned n[DIMS];
  longint stride[DIMS];
  int side;

  // Runs: bytes of one, and the loops outside of it.
  longint unsigned run;
  int outside;

  function automatic int bank_bytes();
    int share;
    share = ceil_div(BYTES, int'(ctl.sb_banks));
    return ceil_div(share, int'(ctl.sb_port_bytes)) * int'(ctl.sb_port_bytes);
  endfunction

  // `length` neighbouring bytes of a partition.
  function automatic void touch(input int p, input int at, input int length);
    int b, here, size;
    size = bank_bytes();
    while (length > 0) begin
      b = at / size;
      here = size - at % size;
      if (b >= int'(ctl.sb_banks) - 1) begin
        b = int'(ctl.sb_banks) - 1;
        here = length;
      end
      if (here > length) here = length;
      count[side][p][b] += ceil_div(here, int'(ctl.sb_port_bytes));
      at += here;
      length -= here;
    end
  endfunction

  // The same from a linear address on, over the ends of partitions.
  function automatic void touch_linear(input longint at,
                                       input longint unsigned length);
    longint unsigned here;
    while (length > 0) begin
      here = 64'(BYTES) - at % BYTES;
      if (here > length) here = length;
      touch(int'(at / BYTES), int'(at % BYTES), int'(here));
      at += longint'(here);
      length -= here;
    end
  endfunction

  // Innermost loops that stay in place cost nothing, then loops join while each
  // continues where the run so far ends; whole partitions (`rows`) never do.
  function automatic void join_loops(input logic rows);
    logic inner;
    run = 64'(bytes);
    outside = DIMS;
    inner = 1;
    for (int d = DIMS - 1; d >= 0; d--) begin
      if (outside != d + 1) break;
      if (n[d] == 1 || (inner && stride[d] == 0)) outside = d;
      else begin
        inner = 0;
        if (stride[d] == longint'(run) && !(rows && run % 64'(BYTES) == 0)) begin
          run = run * n[d];
          outside = d;
        end
      end
    end
  endfunction

  // Walks the operand: by linear addresses, or in partitions [first, last) at
  // once.
  function automatic void walk(input logic linear, input int first,
                               input int last);
    longint unsigned at[DIMS];
    longint a;
    int d;
    for (int i = 0; i < DIMS; i++) begin
      at[i] = 0;
      if (n[i] == 0) return;
    end
    join_loops(linear);
    forever begin
      a = base;
      for (int i = 0; i < outside; i++) a = a + longint'(at[i]) * stride[i];
      if (linear) touch_linear(a, run);
      else for (int p = first; p < last; p++) touch(p, int'(a), int'(run));
      d = outside - 1;
      while (d >= 0) begin
        at[d]++;
        if (at[d] < n[d]) break;
        at[d] = 0;
        d--;
      end
      if (d < 0) break;
    end
  endfunction

  function automatic void loops(input longint unsigned a, input longint sa,
                                input longint unsigned b, input longint sb,
                                input longint unsigned c, input longint sc);
    n[0] = 1;
    n[1] = 1;
    n[2] = a;
    n[3] = b;
    n[4] = c;
    stride[2] = sa;
    stride[3] = sb;
    stride[4] = sc;
  endfunction

  //--- Instructions -----------------------------------------------------------

  // One side of a copy.
  descriptor #(.BYTES(BYTES)) copy (.ctl);
  function automatic void walk_copy(input logic destination);
    side = destination ? 1 : 0;
    bytes = copy.bytes;
    base = destination ? copy.dst_base : copy.src_base;
    for (int d = 0; d < DIMS; d++) begin
      n[d] = 64'(copy.counts[d]);
      stride[d] = destination ? copy.dst_stride[d] : copy.src_stride[d];
    end
    walk(1, 0, 0);
  endfunction

  function automatic void scan_copy();
    copy.w = w;
    copy.decode();
    if (copy.has_source && !copy.packed_source && copy.src_mem == MEMORY_SB)
      walk_copy(0);
    if (copy.dst_mem == MEMORY_SB) walk_copy(1);
  endfunction

  function automatic void scan_load();
    bytes = stored_bytes(int'(`PE_LOAD_type(w)), int'(`PE_LOAD_mantissa(w)));
    base = longint'(`PE_LOAD_offset(w));
    loops(1, 0, 1, 0, 64'(`PE_LOAD_cols(w)), longint'(`PE_LOAD_colStride(w)));
    walk(0, int'(`PE_LOAD_part(w)), int'(`PE_LOAD_part(w)) + int'(`PE_LOAD_rows(w)));
  endfunction

  function automatic int low(input int lo);
    return lo > 0 ? lo : 0;
  endfunction
  function automatic int extent(input int lo, input int hi, input int count_of);
    int last;
    last = hi < count_of ? hi : count_of;
    return last > low(lo) ? last - low(lo) : 0;
  endfunction

  // One pass of the moving operand, without what the window omits. Of row
  // groups each lane of partitions has every so many pixels of a row, and
  // results that leave pixels out reach some of these.
  function automatic void scan_matmul();
    int groups, pitch, first, second, many, w_at, pixel;
    longint outer;
    bytes = stored_bytes(int'(`PE_MATMUL_type(w)), int'(`PE_MATMUL_mantissa(w)));
    groups = int'(`PE_MATMUL_groups(w));
    pitch = R / groups;
    loops(64'(extent(int'(`PE_MATMUL_lo0(w)), int'(`PE_MATMUL_hi0(w)), int'(`PE_MATMUL_n0(w)))),
          longint'(`PE_MATMUL_stride0(w)),
          64'(extent(int'(`PE_MATMUL_lo1(w)), int'(`PE_MATMUL_hi1(w)), int'(`PE_MATMUL_n1(w)))),
          longint'(`PE_MATMUL_stride1(w)),
          64'(extent(int'(`PE_MATMUL_lo2(w)), int'(`PE_MATMUL_hi2(w)), int'(`PE_MATMUL_n2(w)))),
          longint'(`PE_MATMUL_stride2(w)));
    outer = longint'(`PE_MATMUL_offset(w)) +
        longint'(low(int'(`PE_MATMUL_lo0(w)))) * longint'(`PE_MATMUL_stride0(w)) +
        longint'(low(int'(`PE_MATMUL_lo1(w)))) * longint'(`PE_MATMUL_stride1(w));
    if (groups == 1) begin
      base = outer +
          longint'(low(int'(`PE_MATMUL_lo2(w)))) * longint'(`PE_MATMUL_stride2(w));
      walk(0, int'(`PE_MATMUL_part(w)), int'(`PE_MATMUL_part(w)) + int'(`PE_MATMUL_rows(w)));
      return;
    end
    for (int lane = 0; lane < groups; lane++) begin
      first = 0;
      second = 0;
      many = 0;
      for (w_at = 0; w_at < int'(`PE_MATMUL_validW(w)); w_at++) begin
        pixel = w_at * (1 + int'(`PE_MATMUL_skip(w))) + int'(`PE_MATMUL_shift(w));
        if (pixel >= int'(`PE_MATMUL_lo2(w)) && pixel < int'(`PE_MATMUL_hi2(w)) &&
            pixel % groups == lane) begin
          if (many == 0) first = pixel / groups;
          if (many == 1) second = pixel / groups;
          many++;
        end
      end
      n[4] = 64'(many);
      stride[4] = longint'(second - first) * longint'(`PE_MATMUL_stride2(w));
      base = outer + longint'(first) * longint'(`PE_MATMUL_stride2(w));
      walk(0, int'(`PE_MATMUL_part(w)) + lane * pitch,
           int'(`PE_MATMUL_part(w)) + lane * pitch + int'(`PE_MATMUL_rows(w)));
    end
  endfunction

  // The parameter records, the residual and the results.
  function automatic void scan_drain();
    int columns, lanes;
    longint unsigned rows;
    columns = int'(`ACT_DRAIN_cols(w));
    // Columns may hold several results, each in the partitions of the first.
    lanes = int'(`ACT_DRAIN_groupLanes(w));
    rows = lanes == 0 ? 64'(`ACT_DRAIN_n1(w)) : 64'(`ACT_DRAIN_validN1(w));
    if (lanes == 0) lanes = columns;
    if (`ACT_DRAIN_hasScale(w) | `ACT_DRAIN_hasBias(w) | `ACT_DRAIN_hasExp(w) |
        `ACT_DRAIN_alphaFromParam(w)) begin
      bytes = 16;
      base = longint'(`ACT_DRAIN_paramOffset(w));
      loops(1, 0, 1, 0, `ACT_DRAIN_paramAlongSteps(w)
                ? 64'(`ACT_DRAIN_n0(w)) * 64'(`ACT_DRAIN_n1(w)) * 64'(`ACT_DRAIN_n2(w)) : 1, 16);
      walk(0, int'(`ACT_DRAIN_paramPart(w)), int'(`ACT_DRAIN_paramPart(w)) +
           (`ACT_DRAIN_paramAlongSteps(w) ? 1 : columns));
    end
    if (`ACT_DRAIN_resMode(w)) begin
      bytes = stored_bytes(int'(`ACT_DRAIN_resType(w)), int'(`ACT_DRAIN_resMantissa(w)));
      base = longint'(`ACT_DRAIN_resOffset(w));
      loops(64'(`ACT_DRAIN_n0(w)), longint'(`ACT_DRAIN_resStride0(w)),
            rows, longint'(`ACT_DRAIN_resStride1(w)),
            64'(`ACT_DRAIN_n2(w)), longint'(`ACT_DRAIN_resStride2(w)));
      walk(0, int'(`ACT_DRAIN_resPart(w)), int'(`ACT_DRAIN_resPart(w)) + lanes);
    end
    bytes = stored_bytes(int'(`ACT_DRAIN_dstType(w)), int'(`ACT_DRAIN_dstMantissa(w)));
    base = longint'(`ACT_DRAIN_dstOffset(w));
    loops(64'(`ACT_DRAIN_n0(w)), longint'(`ACT_DRAIN_dstStride0(w)),
          rows, longint'(`ACT_DRAIN_dstStride1(w)),
          64'(`ACT_DRAIN_n2(w)), longint'(`ACT_DRAIN_dstStride2(w)));
    walk(0, int'(`ACT_DRAIN_dstPart(w)), int'(`ACT_DRAIN_dstPart(w)) + lanes);
  endfunction

  // Reads the words `w`.
  function automatic void scan();
    int unsigned most;
    for (int b = 0; b < BANKS; b++) begin
      accesses[b] = 0;
      for (int s = 0; s < 2; s++) for (int p = 0; p < P; p++) count[s][p][b] = 0;
    end
    if (ctl.sb_banks == 0) return;
    side = 0;
    case (`ISA_OPCODE(w))
      OP_DMA_COPY, OP_DMA_FILL, OP_DMA_UNPACK: scan_copy();
      OP_PE_LOAD: scan_load();
      OP_PE_MATMUL: scan_matmul();
      OP_ACT_DRAIN: scan_drain();
      default: ;
    endcase
    for (int b = 0; b < BANKS; b++)
      for (int s = 0; s < 2; s++) begin
        most = 0;
        for (int p = 0; p < P; p++) if (count[s][p][b] > most) most = count[s][p][b];
        accesses[b] += most;
      end
  endfunction
endmodule
