// The page, from top to bottom.

overview();
engineBars();
timeline();
roofline();
layerTable();
comparison();
memory();
graph();
decisions();
