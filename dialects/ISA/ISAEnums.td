// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enums of the instruction set. The numbers are part of the binary format.

#ifndef ASHLAR_ISA_ENUMS
#define ASHLAR_ISA_ENUMS

include "dialects/Functions.td"
include "dialects/ISA/ISAEncoding.td"

def ISA_Version : ISA_VersionBase<3, 9>;

def ISA_ElemType : ISA_Enum<"ElemType", 5, "Element type of stored data.", [
  ISA_EnumCase<"f32", 0, "IEEE binary32">,
  ISA_EnumCase<"f16", 1, "IEEE binary16">,
  ISA_EnumCase<"bf16", 2, "bfloat16">,
  ISA_EnumCase<"i8", 3, "signed 8 bits">,
  ISA_EnumCase<"u8", 4, "unsigned 8 bits">,
  ISA_EnumCase<"i16", 5, "signed 16 bits">,
  ISA_EnumCase<"u16", 6, "unsigned 16 bits">,
  ISA_EnumCase<"i32", 7, "signed 32 bits">,
  ISA_EnumCase<"u32", 8, "unsigned 32 bits">,
  ISA_EnumCase<"i64", 9, "signed 64 bits">,
  ISA_EnumCase<"u64", 10, "unsigned 64 bits">,
  ISA_EnumCase<"bool", 11, "one byte, 0 or 1">,
  ISA_EnumCase<"f64", 12, "IEEE binary64">,
  ISA_EnumCase<"bfp", 13, "block floating point: mantissa in SB, block exponent in XM">,
  ISA_EnumCase<"ubfp", 14, "the same without signs: of mantissas of W bits the W - 1 below the sign, W from 4 to 9">
]>;

def ISA_Queue : ISA_Enum<"Queue", 4, "In-order instruction queues.", [
  ISA_EnumCase<"dma0", 0, "DMA queue 0">,
  ISA_EnumCase<"dma1", 1, "DMA queue 1">,
  ISA_EnumCase<"dma2", 2, "DMA queue 2">,
  ISA_EnumCase<"dma3", 3, "DMA queue 3">,
  ISA_EnumCase<"peload", 4, "loads of stationary operands">,
  ISA_EnumCase<"pe", 5, "PE array">,
  ISA_EnumCase<"act", 6, "ACT, the drain of PSUM">,
  ISA_EnumCase<"vec", 7, "vector unit">,
  ISA_EnumCase<"tcc", 8, "sparse cluster">,
  ISA_EnumCase<"host", 9, "host CPU">
]>;

def ISA_Memory : ISA_Enum<"Memory", 3, "Memories with a linear address.", [
  ISA_EnumCase<"dram", 0, "DRAM">,
  ISA_EnumCase<"sb", 1, "state buffer: partition * bytesPerPartition + offset">,
  ISA_EnumCase<"xm", 2, "exponent memory: (partition div xmGroup) * bytesPerPartition + offset">,
  ISA_EnumCase<"fmu", 3, "feature-map memories of the sparse cluster">,
  ISA_EnumCase<"wm", 4, "weight memory of the sparse cluster">,
  ISA_EnumCase<"xr", 5, "scale-exponent registers: 2 * register">
]>;

def ISA_MapForm : ISA_Enum<"MapForm", 2, "Form of a compressed plane (docs/SparseTiles.md 4).", [
  ISA_EnumCase<"dense", 0, "all values">,
  ISA_EnumCase<"bitmap", 1, "a bit per position, then the values">,
  ISA_EnumCase<"coo", 2, "row, column and value of each non-zero">,
  ISA_EnumCase<"quadtree", 3, "bits of cells level by level, bits of the leaves, values">
]>;

def ISA_CodeForm : ISA_Enum<"CodeForm", 2, "What a stream of weights stores (docs/Machine.md 3).", [
  ISA_EnumCase<"dense", 0, "all">,
  ISA_EnumCase<"bitmap", 1, "a flag per unit of codes, then the codes of the flagged units">,
  ISA_EnumCase<"runs", 2, "before each stored code the number of codes left out">,
  ISA_EnumCase<"exponents", 3, "exponent cells of XM, as distances from the largest (since 3.8)">
]>;

def ISA_Orientation : ISA_Enum<"Orientation", 1, "Direction of a block.", [
  ISA_EnumCase<"p", 0, "blocks run across partitions">,
  ISA_EnumCase<"f", 1, "blocks run along the free axis">
]>;

def ISA_OperandMode : ISA_Enum<"OperandMode", 2, "What an array cell reads.", [
  ISA_EnumCase<"bfp", 0, "mantissas aligned to the scale exponent at fetch">,
  ISA_EnumCase<"int", 1, "integers as stored">,
  ISA_EnumCase<"select", 2, "raw stored words passed where the moving element is not zero">,
  ISA_EnumCase<"float", 3, "floating-point elements, products and sums in binary32">
]>;

def ISA_Window : ISA_Enum<"Window", 1, "What the moving operand promises to be.", [
  ISA_EnumCase<"free", 0, "anything">,
  ISA_EnumCase<"identity", 1, "row i of step t is not zero if and only if i = t">
]>;

def ISA_DrainMode : ISA_Enum<"DrainMode", 2, "What ACT makes of a PSUM entry.", [
  ISA_EnumCase<"f32", 0, "value acc * 2^exponent rounded once to binary32, then the epilogue">,
  ISA_EnumCase<"int", 1, "the integer plus the bias, saturated or wrapped to the destination type">,
  ISA_EnumCase<"raw64", 2, "the 64 stored bits, cut to the size of the destination type">,
  ISA_EnumCase<"block", 3, "value acc * 2^exponent, exact, encoded with one rounding">
]>;

def ISA_DrainOrder : ISA_Enum<"DrainOrder", 2, "When ACT takes the entries of a stream.", [
  ISA_EnumCase<"block", 0, "all of them after the stream">,
  ISA_EnumCase<"row", 1, "an entry of all columns as soon as it is complete">,
  ISA_EnumCase<"partition", 2, "a column as soon as it is complete">
]>;

def ISA_Cut : ISA_Enum<"Cut", 2, "How a layer is cut into tiles (docs/SparseTiles.md 1).", [
  ISA_EnumCase<"uniform", 0, "near-equal grid">,
  ISA_EnumCase<"p1", 1, "rows and columns handed to neighbours">,
  ISA_EnumCase<"p2", 2, "row cuts, then column cuts of each band">,
  ISA_EnumCase<"rows", 3, "bands of full width">
]>;

def ISA_CutMetric : ISA_Enum<"CutMetric", 2, "What tiles are to have equal.", [
  ISA_EnumCase<"nnz", 0, "non-zeros over the map's values per tile">,
  ISA_EnumCase<"density", 1, "non-zeros over the tile's own values">,
  ISA_EnumCase<"zeros", 2, "zeros over the map's values per tile">,
  ISA_EnumCase<"cycles", 3, "cycles of the multipliers over their mean">
]>;

def ISA_Overflow : ISA_Enum<"Overflow", 1, "What becomes of values beyond the limits of a type.", [
  ISA_EnumCase<"saturate", 0, "the nearest limit">,
  ISA_EnumCase<"wrap", 1, "modulo 2^width">
]>;

def ISA_Lead : ISA_Enum<"Lead", 1, "Rounding of the logarithm of a range.", [
  ISA_EnumCase<"floor", 0, "down">,
  ISA_EnumCase<"ceil", 1, "up: one bit less precision, but headroom to round up">
]>;

def ISA_SelectRule : ISA_Enum<"SelectRule", 2, "What decides the range of sampled values.", [
  ISA_EnumCase<"stats", 0, "mean plus k deviations of the magnitudes">,
  ISA_EnumCase<"maximum", 1, "the largest magnitude">,
  ISA_EnumCase<"error", 2, "the errors that the former exponent would cause">
]>;

def ISA_BMode : ISA_Enum<"BMode", 2, "Second operand of vec.map.", [
  ISA_EnumCase<"none", 0, "there is no second operand">,
  ISA_EnumCase<"tensor", 1, "the tensor B">,
  ISA_EnumCase<"immediate", 2, "the field beta">
]>;

def ISA_PoolKind : ISA_Enum<"PoolKind", 2, "Window reduction.", [
  ISA_EnumCase<"max", 0, "maximum of the valid positions">,
  ISA_EnumCase<"avg", 1, "sum divided by the number of counted positions">,
  ISA_EnumCase<"sum", 2, "sum of the valid positions">
]>;

def ISA_ReduceKind : ISA_Enum<"ReduceKind", 4, "Reduction.", [
  ISA_EnumCase<"sum", 0, "sum">,
  ISA_EnumCase<"mean", 1, "sum divided by the count">,
  ISA_EnumCase<"max", 2, "maximum">,
  ISA_EnumCase<"min", 3, "minimum">,
  ISA_EnumCase<"prod", 4, "product">,
  ISA_EnumCase<"sumSquare", 5, "sum of squares">,
  ISA_EnumCase<"l1", 6, "sum of absolute values">,
  ISA_EnumCase<"argmax", 7, "index of the maximum">,
  ISA_EnumCase<"argmin", 8, "index of the minimum">
]>;

// Unary functions stay below 64, so that the six bits of act.drain.function
// cannot name a binary one.
def ISA_Function : ISA_Enum<"Function", 8, "Elementwise functions (docs/Numerics.md).", !listconcat(
  !foreach(f, AshlarUnaryFunctions,
           ISA_EnumCase<f.name, f.number, f.formula>),
  !foreach(f, AshlarBinaryFunctions,
           ISA_EnumCase<f.name, !add(AshlarFirstBinaryFunction, f.number), f.formula>), [
  ISA_EnumCase<"blockAdd", 81, "a + b of encoded operands, exact, encoded once">,
  ISA_EnumCase<"blockSub", 82, "a - b of encoded operands, exact, encoded once">,
  ISA_EnumCase<"blockMul", 83, "a * b of encoded operands, exact, encoded once">,
  ISA_EnumCase<"blockDiv", 84, "a / b of encoded operands, exact, encoded once">
])>;

#endif // ASHLAR_ISA_ENUMS
