// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text form and validation of block floating point formats.

#include "ashlar/Numerics/Format.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

using namespace llvm;

namespace ashlar::numerics {

using support::ErrorClass;
using support::makeError;

/// The longest blocks that have a length of their own.
static constexpr int kLongestBlock = 64;

static Error validateRows(const BlockFormat &format) {
  if (format.rows != BlockFormat::kQuadrant &&
      (format.rows < 1 || format.rows > BlockFormat::kMostRows))
    return makeError(ErrorClass::Usage,
                     "rows is {}, expected 1 to {} or quadrant", format.rows,
                     BlockFormat::kMostRows);
  if (format.rows != 1 && format.block == BlockFormat::kTensor)
    return makeError(ErrorClass::Usage,
                     "rows of weights share exponents with block=tensor, which "
                     "has one exponent for all rows: leave one of them out");
  return Error::success();
}

Error validate(const BlockFormat &format) {
  if (Error error = validateRows(format))
    return error;
  if (format.mantissa < 3 || format.mantissa > 16)
    return makeError(ErrorClass::Usage,
                     "mantissa width is {}, expected 3 to 16", format.mantissa);
  if (format.dropsSigns && format.mantissa > 8)
    return makeError(ErrorClass::Usage,
                     "unsigned=auto with a mantissa width of {}, expected at "
                     "most 8: a wider mantissa has room for its sign",
                     format.mantissa);
  switch (format.block) {
  case 8:
  case 16:
  case 32:
  case 64:
  case BlockFormat::kAxis:
  case BlockFormat::kTensor:
    break;
  default:
    return makeError(ErrorClass::Usage,
                     "block length is {}, expected 8, 16, 32, 64, axis or "
                     "tensor",
                     format.block);
  }
  switch (format.range) {
  case 0:
  case 1:
  case 3:
  case 7:
  case 15:
    return Error::success();
  default:
    return makeError(ErrorClass::Usage,
                     "exponent range is {}, expected 0, 1, 3, 7 or 15",
                     format.range);
  }
}

static Error parseNumber(StringRef key, StringRef text, int &value) {
  // Four digits cover every legal value and keep the parse away from limits.
  if (text.empty() || text.size() > 4 || text.getAsInteger(10, value) ||
      value < 0)
    return makeError(ErrorClass::Usage,
                     "value of '{}' is '{}', expected a "
                     "number",
                     key.str(), text.str());
  return Error::success();
}

/// Names of other number formats have a number of bits: int8, fp16.
static std::string suggestion(StringRef item) {
  const StringRef digits =
      item.drop_until([](char c) { return isDigit(c); }).take_while(isDigit);
  BlockFormat format;
  if (digits.size() > 3 || digits.getAsInteger(10, format.mantissa))
    return "";
  if (Error error = validate(format)) {
    consumeError(std::move(error));
    return "";
  }
  return fmt::format(", did you mean 'bfp{}'", format.mantissa);
}

/// The narrowest formats that hold every value of formats of others, which
/// test/Unit/Numerics/NamedFormatTest.cpp enumerates.
struct Named {
  StringRef name;
  int mantissa, block;
};
static constexpr Named namedFormats[] = {
    {"mxint8", 8, 32},        {"mxfp4", 5, 32},         {"mxfp6-e2m3", 7, 32},
    {"mxfp6-e3m2", 10, 32},   {"nvfp4", 9, 16},         {"amd-bfp16", 8, 8},
    {"tt-bfp8", 8, 16},       {"tt-bfp4", 4, 16},       {"intel-fp11", 7, 16},
    {"intel-fp12agx", 8, 16}, {"intel-fp13agx", 9, 16}, {"intel-fp16", 12, 16}};

static std::optional<BlockFormat> findNamed(StringRef text) {
  for (const Named &known : namedFormats)
    if (text == known.name) {
      BlockFormat format;
      format.mantissa = known.mantissa;
      format.block = known.block;
      return format;
    }
  return std::nullopt;
}

/// The error of a name that no format has.
static Error refuseName(StringRef name) {
  SmallVector<StringRef> names;
  std::string list;
  for (const Named &known : namedFormats) {
    names.push_back(known.name);
    list += ", " + known.name.str();
  }
  // Names of plain types say bits; others may misspell a name.
  const bool plain =
      any_of(ArrayRef<StringRef>{"int", "uint", "fp", "float"},
             [&](StringRef type) { return name.starts_with(type); });
  std::string meant = plain ? "" : support::didYouMean(name, names);
  return makeError(ErrorClass::Usage,
                   "no format is called '{}', expected bfp3 to bfp16{} or a "
                   "long form such as w=8,block=16,range=7{}",
                   name.str(), list, meant.empty() ? suggestion(name) : meant);
}

static Error parseRows(StringRef value, BlockFormat &format) {
  if (value == "quadrant") {
    format.rows = BlockFormat::kQuadrant;
    return Error::success();
  }
  if (Error error = parseNumber("rows", value, format.rows))
    return error;
  // The sentinel has its own word; the number 0 is not a count.
  if (format.rows == 0)
    return makeError(ErrorClass::Usage,
                     "rows is 0, expected 1 to {} or quadrant",
                     BlockFormat::kMostRows);
  return Error::success();
}

static Error parseItem(StringRef item, BlockFormat &format) {
  auto [key, value] = item.split('=');
  if (!item.contains('='))
    return refuseName(item);
  if (key == "w")
    return parseNumber(key, value, format.mantissa);
  if (key == "range")
    return parseNumber(key, value, format.range);
  if (key == "rows")
    return parseRows(value, format);
  if (key == "unsigned") {
    if (value != "auto" && value != "off")
      return makeError(ErrorClass::Usage,
                       "value of 'unsigned' is '{}', expected auto or off",
                       value.str());
    format.dropsSigns = value == "auto";
    return Error::success();
  }
  if (key != "block")
    return makeError(ErrorClass::Usage,
                     "format item is '{}', expected w=, block=, range=, "
                     "unsigned= or rows=",
                     item.str());
  if (value == "axis" || value == "tensor") {
    format.block = value == "axis" ? BlockFormat::kAxis : BlockFormat::kTensor;
    return Error::success();
  }
  if (Error error = parseNumber(key, value, format.block))
    return error;
  // The sentinels have their own words; the number 0 is not a length.
  if (format.block == 0)
    return makeError(ErrorClass::Usage, "block length is 0, expected 8, 16, "
                                        "32, 64, axis or tensor");
  return Error::success();
}

/// Formats of others that no block holds, and the bits that it would take.
static Error refuseUnheld(StringRef name) {
  struct Unheld {
    StringRef name;
    int mantissa;
  };
  static constexpr Unheld unheld[] = {
      {"mxfp8", 19}, {"mxfp8-e4m3", 19}, {"mxfp8-e5m2", 33}};
  for (const Unheld &known : unheld)
    if (name == known.name)
      return makeError(ErrorClass::Usage,
                       "no block holds the values of {}: its elements reach so "
                       "far down that a mantissa would need {} bits, and has "
                       "at most 16; w=16,block=32 keeps those above 2^-11 of "
                       "the block's largest",
                       name.str(), known.mantissa);
  return Error::success();
}

Expected<BlockFormat> parseFormat(StringRef text) {
  BlockFormat format;
  SmallVector<StringRef, 4> items;
  text.split(items, ',');
  if (Error error = refuseUnheld(items.front()))
    return error;
  for (auto [index, item] : enumerate(items)) {
    StringRef rest = item;
    if (std::optional<BlockFormat> named =
            index == 0 ? findNamed(item) : std::nullopt) {
      format = *named;
      continue;
    }
    Error error = index == 0 && rest.consume_front("bfp")
                      ? parseNumber("bfp", rest, format.mantissa)
                      : parseItem(item, format);
    if (error)
      return error;
  }
  if (Error error = validate(format))
    return error;
  return format;
}

std::string toString(const BlockFormat &format) {
  std::string block = format.block == BlockFormat::kAxis ? "axis"
                      : format.block == BlockFormat::kTensor
                          ? "tensor"
                          : std::to_string(format.block);
  std::string rows = format.rows == BlockFormat::kQuadrant ? ",rows=quadrant"
                     : format.rows != 1 ? fmt::format(",rows={}", format.rows)
                                        : "";
  return fmt::format("w={},block={},range={}{}{}", format.mantissa, block,
                     format.range, format.dropsSigns ? ",unsigned=auto" : "",
                     rows);
}

BlockFormat BlockFormat::ofWeights(int64_t outputs, int64_t length) const {
  BlockFormat format = *this;
  if (rows != kQuadrant) {
    format.rows = static_cast<int>(std::clamp<int64_t>(outputs, 1, rows));
    return format;
  }
  // A quadrant of one row has no other row to share with.
  format.rows = static_cast<int>(
      std::clamp<int64_t>(outputs / 2 + outputs % 2, 1, kMostRows));
  format.block = 8;
  while (format.block < kLongestBlock && 2 * format.block < length)
    format.block *= 2;
  return format;
}

int accumulatorBits(int mantissaA, int rangeA, int mantissaW, int rangeW,
                    uint64_t k) {
  int logK = k <= 1 ? 0 : std::bit_width(k - 1);
  return (mantissaA - 1) + (mantissaW - 1) + rangeA + rangeW + logK + 1;
}

} // namespace ashlar::numerics
