// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The banks of the state buffer at work. A bank takes `sb_ports` accesses of
// every partition per cycle, of one instruction until that has no more; the
// front end grants them in the order of the program. Here each instruction's
// accesses count down; two at one bank in one cycle would be an arbiter's fault.

module banks (
    input logic reset,
    input logic work,
    control ctl
);
  localparam int QUEUES = ctl.QUEUES;
  localparam int BANKS = ctl.BANKS;

  int unsigned left[QUEUES][BANKS];
  int unsigned setup[QUEUES];

  function automatic int unsigned less(input int unsigned n, input int unsigned k);
    return n > k ? n - k : 0;
  endfunction

  function automatic void serve(input int b);
    int users;
    users = 0;
    for (int q = 0; q < QUEUES; q++)
      if (setup[q] == 0 && left[q][b] != 0) begin
        users++;
        left[q][b] = less(left[q][b], ctl.sb_ports);
      end
    if (users > 1)
      trace::rtl_fail("two instructions at one bank", b, int'(ctl.cycle));
  endfunction

  always @(posedge work) begin
    for (int q = 0; q < QUEUES; q++)
      if (ctl.granted[q]) begin
        ctl.granted[q] = 0;
        setup[q] = q < 4 ? ctl.dma_setup_cycles : 0;
        for (int b = 0; b < BANKS; b++) left[q][b] = ctl.accesses[q][b];
      end
    for (int b = 0; b < BANKS; b++) serve(b);
    for (int q = 0; q < QUEUES; q++) setup[q] = less(setup[q], 1);
  end

  always @(posedge reset)
    for (int q = 0; q < QUEUES; q++) begin
      setup[q] = 0;
      for (int b = 0; b < BANKS; b++) left[q][b] = 0;
    end
endmodule
