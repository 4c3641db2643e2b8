// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Protobuf's wire format, as far as it takes to leave out the raw data of
// initialisers: model -> graph -> initializer -> raw_data. All other fields are
// copied as they are.

#include "TensorFiles.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::frontend;

namespace {

/// Numbers of fields in onnx.proto.
constexpr uint64_t kGraph = 7, kInitializer = 5, kRawData = 9;
/// Raw data of fewer bytes stays in the message.
constexpr uint64_t kLeast = 4096;

enum Wire : uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

/// A range of the file, through a buffer.
class Bytes {
public:
  explicit Bytes(const support::StableFile &file) : file(file) {}

  uint64_t at = 0;

  bool next(uint8_t &byte) {
    if (at < first || at - first >= buffer.size()) {
      first = at;
      buffer.resize(std::min<uint64_t>(kWindow, file.size() - at));
      if (buffer.empty() || !file.read(first, buffer))
        return false;
    }
    byte = static_cast<uint8_t>(buffer[at++ - first]);
    return true;
  }

  /// Appends `count` bytes to `out`; they exist.
  bool copy(uint64_t count, std::string &out) {
    const size_t before = out.size();
    out.resize(before + count);
    if (!file.read(at, {out.data() + before, count}))
      return false;
    at += count;
    return true;
  }

private:
  static constexpr uint64_t kWindow = 1 << 16;

  const support::StableFile &file;
  uint64_t first = 0;
  std::vector<char> buffer;
};

void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class Skimmer {
public:
  explicit Skimmer(const support::StableFile &file)
      : size(file.size()), bytes(file) {}

  bool model() {
    return message(size, result.message, [&](Field field, std::string &out) {
      return field.number == kGraph ? nested(field, out, &Skimmer::graph)
                                    : copy(field, out);
    });
  }

  SkimmedModel result;

private:
  struct Field {
    uint64_t tag, number, wire, length;
  };

  bool graph(uint64_t end, std::string &out) {
    return message(end, out, [&](Field field, std::string &to) {
      if (field.number != kInitializer)
        return copy(field, to);
      const bool done = nested(field, to, &Skimmer::tensor);
      if (large.bytes > 0)
        result.large.push_back({initializers, large.offset, large.bytes});
      ++initializers;
      return done;
    });
  }

  bool tensor(uint64_t end, std::string &out) {
    large = {};
    return message(end, out, [&](Field field, std::string &to) {
      if (field.number != kRawData)
        return copy(field, to);
      // The last one counts, as in any message.
      large = {};
      if (field.wire != kLength || field.length < kLeast)
        return copy(field, to);
      large = {0, bytes.at, field.length};
      bytes.at += field.length;
      return true;
    });
  }

  /// Calls `take` for every field up to `end`; fields of a length fit.
  template <typename Take>
  bool message(uint64_t end, std::string &out, Take &&take) {
    while (bytes.at < end) {
      Field field{};
      if (!varint(end, field.tag))
        return false;
      field.number = field.tag >> 3;
      field.wire = field.tag & 7;
      if (field.wire == kLength &&
          (!varint(end, field.length) || field.length > end - bytes.at))
        return false;
      if (!take(field, out) || bytes.at > end)
        return false;
    }
    return true;
  }

  bool nested(Field field, std::string &out,
              bool (Skimmer::*skim)(uint64_t, std::string &)) {
    if (field.wire != kLength)
      return false;
    std::string inner;
    if (!(this->*skim)(bytes.at + field.length, inner))
      return false;
    appendVarint(out, field.tag);
    appendVarint(out, inner.size());
    out += inner;
    return true;
  }

  bool copy(Field field, std::string &out) {
    appendVarint(out, field.tag);
    switch (field.wire) {
    case kVarint: {
      uint64_t value = 0;
      if (!varint(size, value))
        return false;
      appendVarint(out, value);
      return true;
    }
    case kFixed64:
    case kFixed32: {
      const uint64_t width = field.wire == kFixed64 ? 8 : 4;
      return width <= size - bytes.at && bytes.copy(width, out);
    }
    case kLength:
      appendVarint(out, field.length);
      return bytes.copy(field.length, out);
    default:
      return false;
    }
  }

  bool varint(uint64_t end, uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      uint8_t byte = 0;
      if (bytes.at >= end || !bytes.next(byte))
        return false;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return true;
    }
    return false;
  }

  const uint64_t size;
  Bytes bytes;
  size_t initializers = 0;
  SkimmedModel::Large large; ///< Of the tensor being read.
};

} // namespace

std::optional<SkimmedModel>
ashlar::frontend::skimModel(const support::StableFile &file) {
  Skimmer skimmer(file);
  if (!skimmer.model())
    return std::nullopt;
  return std::move(skimmer.result);
}
