// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes that describe what an instruction reads and writes, in terms of its
// fields: operands, access patterns, registers. ashlar-tblgen makes from them
// the operand lists that footprints, ports, checks, energy and the tensors of
// the emulator come from, and the tables of docs/Isa.md. This file includes
// nothing.
//
// An expression is C++ in which `$name` stands for the field of that name.

#ifndef ASHLAR_ISA_OPERANDS
#define ASHLAR_ISA_OPERANDS

/// The loops of an access pattern, outermost first: an expression for each
/// count, and where the stride is: of an operand with text prefix p the field
/// pStride # suffix. `strides` gives expressions instead.
class ISA_Loops<list<string> counts_, list<string> suffixes_,
                list<string> strides_ = []> {
  list<string> counts = counts_;
  list<string> suffixes = suffixes_;
  list<string> strides = strides_;
}
def NoLoops : ISA_Loops<[], []>;
def Loops3 : ISA_Loops<["$n0", "$n1", "$n2"], ["0", "1", "2"]>;
def Loops5 : ISA_Loops<["$n0", "$n1", "$n2", "$n3", "$n4"],
                       ["0", "1", "2", "3", "4"]>;
class StridedBy<list<string> counts, list<string> strides>
    : ISA_Loops<counts, [], strides>;

/// A part of an operand: member of the C++ description and the expression that
/// gives it. Without an expression it is the field named prefix # Role; if that
/// does not exist the member keeps its default, or it is an error if required.
class ISA_Role<string member_, string value_, bit required_ = 0> {
  string member = member_;
  string value = value_;
  bit required = required_;
}

/// What an instruction does with an operand.
class ISA_Effect<string cppName_> {
  string cppName = cppName_;
}
def Read : ISA_Effect<"Read">;
def Write : ISA_Effect<"Write">;

/// One operand. `name` is the prefix of its fields: the field of a role is named
/// prefix # Role, or just the role without a prefix. `kind` is the method of the
/// operand visitor (include/ashlar/Isa/Operands.h) and `cppType` what it takes;
/// `via` replaces the method where fields alone do not say what is touched.
/// Only where `when` holds is it an operand.
class ISA_Operand<string kind_, string cppType_, string name_,
                  ISA_Effect effect_, string what_, ISA_Loops loops_,
                  string when_, list<ISA_Role> roles_, string via_ = "",
                  string prefix_ = ""> {
  string kind = kind_;
  string cppType = cppType_;
  string name = name_;
  string prefix = !if(!empty(prefix_), name_, prefix_);
  ISA_Effect effect = effect_;
  string what = what_;
  ISA_Loops loops = loops_;
  string when = when_;
  string via = via_;
  list<ISA_Role> roles = roles_;
}

/// A tensor in SB whose channels run over partitions and then over tiles.
/// `axisCount` steps of `axisStride`: an axis of which data choose the element.
class Tensor<string name, ISA_Effect effect, string what, ISA_Loops loops,
             string when = "", string type = "", string mantissa = "",
             string part = "", string offset = "", string channels = "",
             string axisCount = "", string axisStride = "", string cells = "",
             string via = "">
    : ISA_Operand<"tensor", "TensorOperand", name, effect, what, loops, when, [
        ISA_Role<"type", type, 1>, ISA_Role<"mantissa", mantissa>,
        ISA_Role<"block", "">, ISA_Role<"part", part, 1>,
        ISA_Role<"offset", offset, 1>,
        ISA_Role<"channels", !if(!empty(channels), "$channels", channels), 1>,
        ISA_Role<"broadcastPart", "">, ISA_Role<"tileStride", "">,
        ISA_Role<"orientation", "">, ISA_Role<"axis.count", axisCount>,
        ISA_Role<"axis.stride", axisStride>, ISA_Role<"cells", cells>
      ], via>;

/// The same pattern in `rows` partitions of SB, in step.
class Rows<string name, ISA_Effect effect, string what, ISA_Loops loops,
           string when = "", string rows = "$rows", string bytes = "",
           string via = "">
    : ISA_Operand<"rows", "RowsOperand", name, effect, what, loops, when, [
        ISA_Role<"type", "">, ISA_Role<"mantissa", "">,
        ISA_Role<"bytes", bytes>, ISA_Role<"part", "", 1>,
        ISA_Role<"rows", rows, 1>, ISA_Role<"offset", "", 1>,
        ISA_Role<"orientation", "">
      ], via>;

/// Elements of a memory by linear address.
class Linear<string name, ISA_Effect effect, string what, ISA_Loops loops,
             string memory = "", string bytes = "$elemBytes",
             string axisCount = "", string axisStride = "", string via = "">
    : ISA_Operand<"linear", "LinearOperand", name, effect, what, loops, "", [
        ISA_Role<"mem", memory, 1>, ISA_Role<"base", "", 1>,
        ISA_Role<"bytes", bytes, 1>, ISA_Role<"axis.count", axisCount>,
        ISA_Role<"axis.stride", axisStride>
      ], via>;

/// A stream of codes of `codeBits` bits in DRAM, one for each index, of which
/// all or some are stored.
class Codes<string name, string what, ISA_Loops loops,
            string codeBits>
    : ISA_Operand<"codes", "CodesOperand", name, Read, what, loops, "", [
        ISA_Role<"base", "", 1>, ISA_Role<"bits", codeBits, 1>,
        ISA_Role<"form", "$form">, ISA_Role<"unit", "$unit">,
        ISA_Role<"stored", "$stored">
      ]>;

/// Entries of PSUM in `columns` columns.
class Psum<ISA_Effect effect, ISA_Loops loops, string when = "">
    : ISA_Operand<"psum", "PsumOperand", "psum", effect, "entries", loops, when,
                  [
        ISA_Role<"base", "$psum", 1>, ISA_Role<"columns", "$cols", 1>
      ]>;

/// `count` registers of a space. A write for which `merge` holds joins the old
/// value, in any order.
class Registers<string space, ISA_Effect effect, string index, string when,
                string merge, string count>
    : ISA_Operand<"registers", "RegisterOperand", "", effect, "", NoLoops, when,
                  [
        ISA_Role<"space", "Space::" # space, 1>, ISA_Role<"index", index, 1>,
        ISA_Role<"count", count>, ISA_Role<"merge", merge>
      ]>;
class Xr<ISA_Effect effect, string index, string when = "", string merge = "",
         string count = ""> : Registers<"Xr", effect, index, when, merge, count>;
class Sr<ISA_Effect effect, string index, string merge = "">
    : Registers<"Sr", effect, index, "", merge, "">;

/// The scale exponent of a result, if that is encoded: merged, or taken.
class Scale<string name, string when = "", string given = "",
            string keepOwn = "">
    : ISA_Operand<"scale", "ScaleOperand", name, Write, "", NoLoops, when, [
        ISA_Role<"type", "", 1>, ISA_Role<"xr", "", 1>,
        ISA_Role<"xrClear", "", 1>, ISA_Role<"given", given>,
        ISA_Role<"keepOwn", keepOwn>
      ]>;

/// A set of the array as a whole.
class Whole<string space, ISA_Effect effect>
    : ISA_Operand<"whole", "WholeOperand", "", effect, "", NoLoops, "", [
        ISA_Role<"space", "Space::" # space, 1>
      ]>;

/// `run` consecutive units of a memory of the sparse cluster for each index.
class Cluster<string space, ISA_Effect effect, string base, string run,
              ISA_Loops loops = NoLoops, string when = "", string merge = "",
              string name = "", string prefix = "">
    : ISA_Operand<"cluster", "ClusterOperand", name, effect, "", loops, when, [
        ISA_Role<"space", "Space::" # space, 1>, ISA_Role<"base", base, 1>,
        ISA_Role<"run", run, 1>, ISA_Role<"merge", merge>
      ], "", prefix>;
class TileTable<ISA_Effect effect, string when = "">
    : Cluster<"Tiles", effect, "$table", "1", NoLoops, when>;

/// What the fields alone do not say: a method `via` of the operand visitor.
class Computed<ISA_Effect effect, string what, string via, string when = "">
    : ISA_Operand<"", "", "", effect, what, NoLoops, when, [], via>;

#endif // ASHLAR_ISA_OPERANDS
