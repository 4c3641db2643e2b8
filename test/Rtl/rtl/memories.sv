// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memories of the machine and the ports of the engines on them. Engines
// read in the phase `work` and write in the phase `commit`, so no order of
// engines inside a cycle shows in a result.

interface memories #(
    int R = 8,
    int C = 4,
    int P = 8,
    int BYTES = 1024,
    int GROUP = 4,
    int ENTRIES = 128,
    int DRAM = 65536,
    int SCALES = 64
);
  import ashlar_isa::*;

  localparam int CELLS = (P + GROUP - 1) / GROUP;

  byte unsigned sb[P][BYTES];
  byte signed xm[CELLS][BYTES];
  longint signed psum[C][ENTRIES];
  byte unsigned dram[DRAM];
  shortint signed xr[SCALES];

  // Results of a queue that are in flight, byte by byte: what a later
  // instruction of the queue has to wait for. Queues dma0 to dma3, then act.
  localparam int WRITERS = 5;
  byte unsigned sb_flight[WRITERS][P][BYTES];
  byte unsigned xm_flight[WRITERS][CELLS][BYTES];
  byte unsigned dram_flight[WRITERS][DRAM];
  byte unsigned xr_flight[WRITERS][SCALES];

  function automatic longint unsigned sb_element(input int p, input int at,
                                                 input int bytes);
    longint unsigned v;
    v = 0;
    for (int i = 0; i < bytes; i++) v = v | (64'(sb[p][at+i]) << (8 * i));
    return v;
  endfunction

  function automatic void store_sb(input int p, input int at, input int bytes,
                                   input longint unsigned v);
    for (int i = 0; i < bytes; i++) sb[p][at+i] = 8'(v >> (8 * i));
  endfunction

  // Place of the exponent cell of the SB byte (p, at), docs/Machine.md 9.
  function automatic int cell_row(input int p);
    return p / GROUP;
  endfunction
  function automatic int cell_offset(input int p, input int at, input int bytes,
                                     input int along);
    if (along == ORIENTATION_P) return at;
    return at / (GROUP * bytes) * GROUP * bytes + p % GROUP * bytes;
  endfunction

  // Bytes with a linear address.
  function automatic byte unsigned load_byte(input int memory,
                                             input longint unsigned at);
    case (memory)
      MEMORY_DRAM: return dram[at];
      MEMORY_SB: return sb[int'(at)/BYTES][int'(at)%BYTES];
      MEMORY_XM: return xm[int'(at)/BYTES][int'(at)%BYTES];
      MEMORY_XR: return 8'(xr[at/2] >>> (at[0] ? 8 : 0));
      default: return 0;
    endcase
  endfunction

  function automatic void store_byte(input int memory,
                                     input longint unsigned at,
                                     input byte unsigned v);
    case (memory)
      MEMORY_DRAM: dram[at] = v;
      MEMORY_SB: sb[int'(at)/BYTES][int'(at)%BYTES] = v;
      MEMORY_XM: xm[int'(at)/BYTES][int'(at)%BYTES] = v;
      MEMORY_XR:
      if (at[0]) xr[at/2] = {v, xr[at/2][7:0]};
      else xr[at/2] = {xr[at/2][15:8], v};
      default: ;
    endcase
  endfunction

  function automatic byte unsigned in_flight(input int writer, input int memory,
                                             input longint unsigned at);
    case (memory)
      MEMORY_DRAM: return dram_flight[writer][at];
      MEMORY_SB: return sb_flight[writer][int'(at)/BYTES][int'(at)%BYTES];
      MEMORY_XM: return xm_flight[writer][int'(at)/BYTES][int'(at)%BYTES];
      MEMORY_XR: return xr_flight[writer][at/2];
      default: return 0;
    endcase
  endfunction

  function automatic void mark(input int writer, input int memory,
                               input longint unsigned at,
                               input byte unsigned step);
    case (memory)
      MEMORY_DRAM: dram_flight[writer][at] += step;
      MEMORY_SB: sb_flight[writer][int'(at)/BYTES][int'(at)%BYTES] += step;
      MEMORY_XM: xm_flight[writer][int'(at)/BYTES][int'(at)%BYTES] += step;
      MEMORY_XR: xr_flight[writer][at/2] += step;
      default: ;
    endcase
  endfunction
endinterface
