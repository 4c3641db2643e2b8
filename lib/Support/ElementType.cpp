// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and sizes of element types, one row per type.

#include "ashlar/Support/ElementType.h"

using namespace ashlar::support;

namespace {

struct Row {
  const char *name;
  const char *descr;
  uint8_t bytes;
  char kind; // 'f' float, 'i' signed, 'u' unsigned, 'b' bool
};

// Indexed by the enumerator.
constexpr Row rows[numElementTypes] = {
    {"f32", "<f4", 4, 'f'}, {"f16", "<f2", 2, 'f'}, {"bf16", "<u2", 2, 'f'},
    {"i8", "|i1", 1, 'i'},  {"u8", "|u1", 1, 'u'},  {"i16", "<i2", 2, 'i'},
    {"u16", "<u2", 2, 'u'}, {"i32", "<i4", 4, 'i'}, {"u32", "<u4", 4, 'u'},
    {"i64", "<i8", 8, 'i'}, {"u64", "<u8", 8, 'u'}, {"bool", "|b1", 1, 'b'},
    {"f64", "<f8", 8, 'f'},
};

const Row &row(ElementType type) {
  const unsigned index = static_cast<unsigned>(type);
  return rows[index < numElementTypes ? index : 0];
}

} // namespace

unsigned ashlar::support::byteSize(ElementType type) { return row(type).bytes; }

llvm::StringRef ashlar::support::name(ElementType type) {
  return row(type).name;
}

std::optional<ElementType>
ashlar::support::parseElementType(llvm::StringRef text) {
  for (unsigned i = 0; i < numElementTypes; ++i)
    if (text == rows[i].name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

llvm::StringRef ashlar::support::numpyDescr(ElementType type) {
  return row(type).descr;
}

unsigned ashlar::support::significandBits(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return 11;
  case ElementType::BF16:
    return 8;
  case ElementType::F32:
    return 24;
  case ElementType::F64:
    return 53;
  default:
    return 0;
  }
}

bool ashlar::support::isFloat(ElementType type) {
  return row(type).kind == 'f';
}

bool ashlar::support::isInteger(ElementType type) {
  return row(type).kind == 'i' || row(type).kind == 'u';
}

bool ashlar::support::isSignedInteger(ElementType type) {
  return row(type).kind == 'i';
}
