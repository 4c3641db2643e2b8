#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts what a picture of ashlar-tiles holds."""

import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
rects = list(root.iter(SVG + "rect"))
tiles = [r for r in rects if r.get("fill") == "none"]
bars = [r for r in rects if r.get("fill") == "#2b8a3e"]
title = root.find(SVG + "text").text
print(f"{len(tiles)} tiles, {len(bars)} bars, title {title}")
