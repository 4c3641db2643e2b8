// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder of a copy descriptor: its sides as loops over bytes, and what they
// cost (docs/Machine.md 3). Pure wires would do; a function fills registers, as
// the words stay the same while a descriptor is looked at.

module descriptor #(
    int BYTES = 1024
) (
    control ctl
);
  import ashlar_isa::*;

  localparam int DIMS = 5;

  logic [63:0] w[MAX_WORDS];

  // The descriptor.
  logic has_source;
  logic packed_source;  // One stream of codes without gaps.
  int src_mem, dst_mem;
  int bytes;  // Of an element.
  int bits;   // Of a code.
  longint unsigned value;
  longint src_base, dst_base;
  int unsigned counts[DIMS];
  longint src_stride[DIMS];
  longint dst_stride[DIMS];
  longint unsigned size;  // Elements.

  // Its price.
  longint unsigned runs, run_bytes;  // Of the side looked at last.
  longint unsigned chip_runs;        // Of the side on chip that has most.
  longint unsigned bursts;           // Bytes of whole bursts.
  int unsigned dram_cycles;
  int unsigned cycles;   // Of issue.
  int unsigned latency;  // From the end of issue to completion.

  function automatic longint unsigned ceiling(input longint unsigned a,
                                              input longint unsigned b);
    // verilator no_inline_task
    return (a + b - 1) / b;
  endfunction

  function automatic void read_copy();
    has_source = 1;
    src_mem = int'(`DMA_COPY_srcMem(w));
    dst_mem = int'(`DMA_COPY_dstMem(w));
    bytes = int'(`DMA_COPY_elemBytes(w));
    src_base = longint'(`DMA_COPY_srcBase(w));
    dst_base = longint'(`DMA_COPY_dstBase(w));
    counts[0] = int'(`DMA_COPY_n0(w));
    counts[1] = int'(`DMA_COPY_n1(w));
    counts[2] = int'(`DMA_COPY_n2(w));
    counts[3] = int'(`DMA_COPY_n3(w));
    counts[4] = int'(`DMA_COPY_n4(w));
    src_stride[0] = longint'(`DMA_COPY_srcStride0(w));
    src_stride[1] = longint'(`DMA_COPY_srcStride1(w));
    src_stride[2] = longint'(`DMA_COPY_srcStride2(w));
    src_stride[3] = longint'(`DMA_COPY_srcStride3(w));
    src_stride[4] = longint'(`DMA_COPY_srcStride4(w));
    dst_stride[0] = longint'(`DMA_COPY_dstStride0(w));
    dst_stride[1] = longint'(`DMA_COPY_dstStride1(w));
    dst_stride[2] = longint'(`DMA_COPY_dstStride2(w));
    dst_stride[3] = longint'(`DMA_COPY_dstStride3(w));
    dst_stride[4] = longint'(`DMA_COPY_dstStride4(w));
  endfunction

  function automatic void read_fill();
    dst_mem = int'(`DMA_FILL_dstMem(w));
    bytes = int'(`DMA_FILL_elemBytes(w));
    value = `DMA_FILL_value(w);
    dst_base = longint'(`DMA_FILL_dstBase(w));
    counts[0] = int'(`DMA_FILL_n0(w));
    counts[1] = int'(`DMA_FILL_n1(w));
    counts[2] = int'(`DMA_FILL_n2(w));
    counts[3] = int'(`DMA_FILL_n3(w));
    counts[4] = int'(`DMA_FILL_n4(w));
    dst_stride[0] = longint'(`DMA_FILL_dstStride0(w));
    dst_stride[1] = longint'(`DMA_FILL_dstStride1(w));
    dst_stride[2] = longint'(`DMA_FILL_dstStride2(w));
    dst_stride[3] = longint'(`DMA_FILL_dstStride3(w));
    dst_stride[4] = longint'(`DMA_FILL_dstStride4(w));
  endfunction

  function automatic void read_unpack();
    has_source = 1;
    packed_source = 1;
    src_mem = MEMORY_DRAM;
    dst_mem = MEMORY_SB;
    bytes = int'(`DMA_UNPACK_elemBytes(w));
    bits = int'(`DMA_UNPACK_mantissa(w));
    src_base = longint'(`DMA_UNPACK_srcBase(w));
    dst_base = longint'(`DMA_UNPACK_dstBase(w));
    counts[0] = int'(`DMA_UNPACK_n0(w));
    counts[1] = int'(`DMA_UNPACK_n1(w));
    counts[2] = int'(`DMA_UNPACK_n2(w));
    counts[3] = int'(`DMA_UNPACK_n3(w));
    counts[4] = int'(`DMA_UNPACK_n4(w));
    dst_stride[0] = longint'(`DMA_UNPACK_dstStride0(w));
    dst_stride[1] = longint'(`DMA_UNPACK_dstStride1(w));
    dst_stride[2] = longint'(`DMA_UNPACK_dstStride2(w));
    dst_stride[3] = longint'(`DMA_UNPACK_dstStride3(w));
    dst_stride[4] = longint'(`DMA_UNPACK_dstStride4(w));
  endfunction

  // Runs of one side: innermost dimensions that stay in place cost nothing, then
  // dimensions join while each continues where the run so far ends. A dimension
  // of one element is none. Whole partitions never continue in the next one, and a
  // run over their ends counts in each.
  function automatic void count_runs(input logic destination, input logic rows);
    logic inner, joins;
    longint stride;
    runs = 1;
    run_bytes = 64'(bytes);
    inner = 1;
    joins = 1;
    for (int d = DIMS - 1; d >= 0; d--) begin
      stride = destination ? dst_stride[d] : src_stride[d];
      if (counts[d] != 1 && !(inner && stride == 0)) begin
        inner = 0;
        if (joins && stride == longint'(run_bytes) &&
            !(rows && run_bytes % 64'(BYTES) == 0))
          run_bytes = run_bytes * 64'(counts[d]);
        else begin
          joins = 0;
          runs = runs * 64'(counts[d]);
        end
      end
    end
    if (!destination && packed_source) begin
      runs = 1;
      run_bytes = (size * 64'(bits) + 7) / 8;
    end
    if (rows) runs = runs * ceiling(run_bytes, 64'(BYTES));
  endfunction

  // Reads the words `w`.
  function automatic void decode();
    longint unsigned n, burst;
    int unsigned sides;
    int memory;
    has_source = 0;
    packed_source = 0;
    value = 0;
    case (`ISA_OPCODE(w))
      OP_DMA_COPY: read_copy();
      OP_DMA_FILL: read_fill();
      default: read_unpack();
    endcase
    size = 1;
    for (int d = 0; d < DIMS; d++) size = size * 64'(counts[d]);
    bursts = 0;
    chip_runs = 0;
    sides = 0;
    burst = 64'(ctl.dram_burst_bytes);
    for (int k = has_source ? 0 : 1; k < 2; k++) begin
      memory = k == 0 ? src_mem : dst_mem;
      count_runs(k == 1, memory == MEMORY_SB || memory == MEMORY_XM);
      if (memory == MEMORY_DRAM) begin
        bursts = bursts + runs * ceiling(run_bytes, burst) * burst;
        sides++;
      end else if (runs > chip_runs) chip_runs = runs;
    end
    latency = sides == 0 ? ctl.dma_onchip_latency : sides * ctl.dram_latency;
    dram_cycles = 32'(ceiling(bursts, 64'(ctl.dram_bytes_per_cycle)));
    n = ceiling(size * 64'(bytes), 64'(ctl.dma_onchip_bytes_per_cycle));
    if (64'(dram_cycles) > n) n = 64'(dram_cycles);
    if (ctl.dma_runs_per_cycle != 0 &&
        ceiling(chip_runs, 64'(ctl.dma_runs_per_cycle)) > n)
      n = ceiling(chip_runs, 64'(ctl.dma_runs_per_cycle));
    cycles = 32'(n) + ctl.dma_setup_cycles;
  endfunction
endmodule
