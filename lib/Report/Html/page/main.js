// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page, from top to bottom.

decodeTimeline();
overview();
engineBars();
timeline();
roofline();
layerTable();
comparison();
memory();
graph();
decisions();
