// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes that describe the binary form of an instruction: enums, fields with
// an explicit place, reserved bits, the encoding itself. This file needs no
// MLIR, so that tests of ashlar-tblgen can use it alone.
//
// Word 0 of every instruction is the header: bits 0-7 opcode, 8-11 queue,
// 12-55 zero, 56-63 length in 64-bit words, header included. Fields may only be
// placed in words 1 and up, except the queue field of an instruction that may
// go to several queues.

#ifndef ASHLAR_ISA_ENCODING
#define ASHLAR_ISA_ENCODING

include "dialects/ISA/ISAOperands.td"

/// Version of the instruction set. `minor` grows when an instruction or a field
/// is added, `major` when an existing encoding changes.
class ISA_VersionBase<int major_, int minor_> {
  int major = major_;
  int minor = minor_;
}

class ISA_EnumCase<string name_, int value_, string description_> {
  string name = name_;
  int value = value_;
  string description = description_;
}

/// A named set of field values: emitted as `enum class cppName`.
class ISA_Enum<string cppName_, int width_, string description_,
               list<ISA_EnumCase> cases_> {
  string cppName = cppName_;
  int width = width_;
  string description = description_;
  list<ISA_EnumCase> cases = cases_;
}

/// A field at bits [lsb, lsb + width) of word `word`. `kind` is one of
/// unsigned, signed, bits (64 raw bits), float (binary32), flag, enum.
/// Values outside [minimum, maximum], or not in a non-empty `allowed`, are
/// refused by the encoder, the decoder and the op verifier alike.
class ISA_Field<string name_, string kind_, int width_, int word_, int lsb_,
                string unit_, string description_> {
  string name = name_;
  string kind = kind_;
  int width = width_;
  int word = word_;
  int lsb = lsb_;
  string unit = unit_;
  string description = description_;
  int minimum = 0;
  int maximum = 0;
  list<int> allowed = [];
  int defaultValue = 0;
  ISA_Enum enumType = ?;
  /// First minor version of the instruction set that has this field.
  int since = 0;
}

class U<string name, int width, int word, int lsb, string unit,
        string description>
    : ISA_Field<name, "unsigned", width, word, lsb, unit, description> {
  let maximum = !sub(!shl(1, width), 1);
}

class S<string name, int width, int word, int lsb, string unit,
        string description>
    : ISA_Field<name, "signed", width, word, lsb, unit, description> {
  let minimum = !sub(0, !shl(1, !sub(width, 1)));
  let maximum = !sub(!shl(1, !sub(width, 1)), 1);
}

/// An unsigned field of at least 1, which is also what text may omit.
class Count<string name, int width, int word, int lsb, string unit,
            string description> : U<name, width, word, lsb, unit, description> {
  let minimum = 1;
  let defaultValue = 1;
}

/// A count with an upper limit below what its width could hold.
class CountTo<string name, int width, int max, int word, int lsb, string unit,
              string description>
    : Count<name, width, word, lsb, unit, description> {
  let maximum = max;
}

/// An unsigned field with an upper limit below what its width could hold.
class Limited<string name, int width, int max, int word, int lsb, string unit,
              string description>
    : U<name, width, word, lsb, unit, description> {
  let maximum = max;
}

/// An unsigned field with a list of legal values.
class OneOf<string name, int width, list<int> values, int word, int lsb,
            string unit, string description>
    : U<name, width, word, lsb, unit, description> {
  let allowed = values;
  let defaultValue = !head(values);
}

class Bits64<string name, int word, string description>
    : ISA_Field<name, "bits", 64, word, 0, "raw bits", description>;

class F32<string name, int word, int lsb, string description>
    : ISA_Field<name, "float", 32, word, lsb, "binary32", description>;

class Flag<string name, int word, int lsb, string description>
    : ISA_Field<name, "flag", 1, word, lsb, "flag", description> {
  let maximum = 1;
}

class E<string name, int width, ISA_Enum type, int word, int lsb,
        string description>
    : ISA_Field<name, "enum", width, word, lsb, "enum", description> {
  let enumType = type;
  let maximum = !sub(!shl(1, width), 1);
}

/// Fields that a later minor version has added.
class FlagSince<int version, string name, int word, int lsb, string description>
    : Flag<name, word, lsb, description> {
  let since = version;
}
class USince<int version, string name, int width, int word, int lsb,
             string unit, string description>
    : U<name, width, word, lsb, unit, description> {
  let since = version;
}
class ESince<int version, string name, int width, ISA_Enum type, int word,
             int lsb, string description>
    : E<name, width, type, word, lsb, description> {
  let since = version;
}
class SSince<int version, string name, int width, int word, int lsb,
             string unit, string description>
    : S<name, width, word, lsb, unit, description> {
  let since = version;
}

/// Bits [lsb, lsb + width) of a word that must be zero.
class Reserved<int word_, int lsb_, int width_> {
  int word = word_;
  int lsb = lsb_;
  int width = width_;
}

/// The binary form of one instruction. `queues` lists where it may be issued;
/// with more than one entry the fields must include `queue` in the header.
class ISA_Encoding<string mnemonic_, int opcode_, list<string> queues_> {
  string isaMnemonic = mnemonic_;
  int isaOpcode = opcode_;
  list<string> isaQueues = queues_;
  /// Length in 64-bit words, header included.
  int isaWords = 1;
  list<ISA_Field> isaFields = [];
  list<Reserved> isaReserved = [];
  /// What the instruction reads and writes, in the order in which footprints
  /// and operand lists name it.
  list<ISA_Operand> isaOperands = [];
  /// First minor version of the instruction set that has this instruction.
  int isaSince = 0;
  string summary = "";
  string description = "";
}

#endif // ASHLAR_ISA_ENCODING
