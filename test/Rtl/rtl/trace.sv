// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the harness gets to see. Functions of the harness, called when the thing
// happens.

package trace;
  import "DPI-C" function void rtl_start(input int instr, input int cycle);
  import "DPI-C" function void rtl_issued(input int instr, input int cycle);
  import "DPI-C" function void rtl_complete(input int instr, input int cycle);
  // A cycle in which an instruction waits for nothing but a bank of SB.
  import "DPI-C" function void rtl_sb_busy(input int instr);
  // A moving column enters; PSUM[column][entry] holds its last sum at the end
  // of the cycle; ACT takes an entry in the cycle.
  import "DPI-C" function void rtl_enter(input int instr, input int step,
                                         input int cycle);
  import "DPI-C" function void rtl_write(input int instr, input int step,
                                         input int column, input int entry,
                                         input longint value, input int cycle);
  import "DPI-C" function void rtl_drain(input int instr, input int step,
                                         input int column, input int entry,
                                         input longint value, input int cycle);
  import "DPI-C" function void rtl_fail(input string what, input int instr,
                                        input int cycle);
  // A multiplier that two streams wanted in one cycle.
  import "DPI-C" function void rtl_collision(input int cells);
  // Contents of the memories, before and after a run.
  import "DPI-C" function byte unsigned rtl_dram_image(input int at);
  import "DPI-C" function void rtl_dump(input int memory, input longint at,
                                        input longint value);
endpackage
