// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which results a drain has, and where they and their residuals lie in SB
// (docs/Isa.md, act.drain). Part of `drain` and of `epilogue`, which both name
// the words of the instruction y.

  // Columns of one result: all, or those of a group.
  function automatic int width();
    return `ACT_DRAIN_groupLanes(y) != 0 ? int'(`ACT_DRAIN_groupLanes(y))
                                         : int'(`ACT_DRAIN_cols(y));
  endfunction
  // Index of a result in dimension 1.
  function automatic int row_of(input int c, input int step);
    return step / int'(`ACT_DRAIN_n2(y)) % int'(`ACT_DRAIN_n1(y)) *
        (int'(`ACT_DRAIN_cols(y)) / width()) + c / width();
  endfunction
  function automatic logic exists(input int c, input int step);
    return `ACT_DRAIN_groupLanes(y) == 0 || row_of(c, step) < int'(`ACT_DRAIN_validN1(y));
  endfunction

  function automatic int offset_of(input int base, input int s0, input int s1,
                                   input int s2, input int c, input int step);
    return base + step / int'(`ACT_DRAIN_n2(y)) / int'(`ACT_DRAIN_n1(y)) * s0 +
        row_of(c, step) * s1 + step % int'(`ACT_DRAIN_n2(y)) * s2;
  endfunction

  function automatic int result_at(input int c, input int step);
    return offset_of(int'(`ACT_DRAIN_dstOffset(y)), int'(`ACT_DRAIN_dstStride0(y)),
                     int'(`ACT_DRAIN_dstStride1(y)), int'(`ACT_DRAIN_dstStride2(y)), c, step);
  endfunction
  function automatic int residual_at(input int c, input int step);
    return offset_of(int'(`ACT_DRAIN_resOffset(y)), int'(`ACT_DRAIN_resStride0(y)),
                     int'(`ACT_DRAIN_resStride1(y)), int'(`ACT_DRAIN_resStride2(y)), c, step);
  endfunction

  function automatic int result_part(input int c);
    return int'(`ACT_DRAIN_dstPart(y)) + c % width();
  endfunction

  function automatic int residual_part(input int c);
    return int'(`ACT_DRAIN_resPart(y)) + c % width();
  endfunction
