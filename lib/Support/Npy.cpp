// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .npy format: a magic, a Python dictionary literal, the elements.

#include "ashlar/Support/Npy.h"
#include "ByteReader.h"
#include "Malformed.h"
#include "ashlar/Support/CheckedMath.h"
#include "ashlar/Support/FileIO.h"

#include <algorithm>
#include <cstring>

using namespace ashlar;
using namespace ashlar::support;

namespace {

constexpr char magic[] = "\x93NUMPY";
constexpr size_t maxRank = 32; // numpy's own limit until version 2
constexpr size_t maxHeader = 1 << 16;

struct Header {
  ElementType type = ElementType::F32;
  bool bigEndian = false;
  bool fortranOrder = false;
  llvm::SmallVector<int64_t> shape;
};

/// Reads the subset of Python literals that numpy writes.
class HeaderParser {
public:
  HeaderParser(llvm::StringRef text, llvm::StringRef what)
      : rest(text), what(what) {}

  llvm::Expected<Header> parse();

private:
  void skipSpace() { rest = rest.ltrim(" \t\r\n"); }
  bool accept(char c) {
    skipSpace();
    return rest.consume_front(llvm::StringRef(&c, 1));
  }
  llvm::Error fail(llvm::StringRef expected) {
    return malformed(what, "bad npy header, expected {} at '{}'",
                     expected.str(), rest.take_front(24).str());
  }
  llvm::Expected<llvm::StringRef> parseString();
  llvm::Error parseEntry(Header &header);
  llvm::Error parseDescr(Header &header);
  llvm::Error parseOrder(Header &header);
  llvm::Error parseShape(Header &header);

  llvm::StringRef rest;
  llvm::StringRef what;
  bool haveDescr = false, haveOrder = false, haveShape = false;
};

} // namespace

llvm::Expected<llvm::StringRef> HeaderParser::parseString() {
  skipSpace();
  const char quote = rest.empty() ? 0 : rest.front();
  if (quote != '\'' && quote != '"')
    return fail("a string");
  const size_t end = rest.find(quote, 1);
  if (end == llvm::StringRef::npos)
    return fail("a closed string");
  llvm::StringRef value = rest.slice(1, end);
  rest = rest.drop_front(end + 1);
  return value;
}

llvm::Error HeaderParser::parseDescr(Header &header) {
  skipSpace();
  if (rest.starts_with("["))
    return makeError(ErrorClass::Unsupported,
                     "{}: structured npy element type, expected a plain one",
                     what.str());
  llvm::Expected<llvm::StringRef> descr = parseString();
  if (!descr)
    return descr.takeError();
  llvm::StringRef kind = *descr;
  header.bigEndian = kind.starts_with(">");
  if (!kind.empty() && llvm::StringRef("<>|=").contains(kind.front()))
    kind = kind.drop_front();
  // How ml_dtypes stores its arrays, and what it calls them.
  if (kind == "V2" || kind == "bfloat16") {
    header.type = ElementType::BF16;
    return llvm::Error::success();
  }
  for (unsigned i = 0; i < numElementTypes; ++i) {
    const ElementType type = static_cast<ElementType>(i);
    if (type == ElementType::BF16 || numpyDescr(type).drop_front() != kind)
      continue;
    header.type = type;
    return llvm::Error::success();
  }
  // numpy's one-letter alias of b1.
  if (kind == "?") {
    header.type = ElementType::Bool;
    return llvm::Error::success();
  }
  return makeError(ErrorClass::Unsupported,
                   "{}: npy element type '{}', expected f2, f4, f8, V2 "
                   "(bfloat16), b1, i1 to i8 or u1 to u8",
                   what.str(), descr->str());
}

llvm::Error HeaderParser::parseOrder(Header &header) {
  skipSpace();
  if (rest.consume_front("True"))
    header.fortranOrder = true;
  else if (!rest.consume_front("False"))
    return fail("True or False");
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseShape(Header &header) {
  if (!accept('('))
    return fail("a shape tuple");
  while (!accept(')')) {
    skipSpace();
    int64_t dim = 0;
    if (rest.consumeInteger(10, dim) || dim < 0)
      return fail("a dimension");
    rest.consume_front("L"); // Python 2's long integers
    if (header.shape.size() == maxRank)
      return malformed(what, "npy shape has more than {} dimensions", maxRank);
    header.shape.push_back(dim);
    if (!accept(',')) {
      if (!accept(')'))
        return fail("',' or ')'");
      break;
    }
  }
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseEntry(Header &header) {
  llvm::Expected<llvm::StringRef> key = parseString();
  if (!key)
    return key.takeError();
  if (!accept(':'))
    return fail("':'");
  bool *have = *key == "descr"           ? &haveDescr
               : *key == "fortran_order" ? &haveOrder
               : *key == "shape"         ? &haveShape
                                         : nullptr;
  if (!have)
    return malformed(what, "unknown npy header key '{}'", key->str());
  if (*have)
    return malformed(what, "npy header key '{}' appears twice", key->str());
  *have = true;
  if (have == &haveDescr)
    return parseDescr(header);
  if (have == &haveOrder)
    return parseOrder(header);
  return parseShape(header);
}

llvm::Expected<Header> HeaderParser::parse() {
  Header header;
  if (!accept('{'))
    return fail("'{'");
  while (!accept('}')) {
    if (llvm::Error error = parseEntry(header))
      return error;
    if (!accept(',')) {
      if (!accept('}'))
        return fail("',' or '}'");
      break;
    }
  }
  skipSpace();
  if (!rest.empty())
    return fail("the end of the header");
  if (!haveDescr || !haveOrder || !haveShape)
    return malformed(what, "{}",
                     "npy header lacks a key, expected descr, fortran_order "
                     "and shape");
  return header;
}

namespace {

void swapBytes(std::vector<uint8_t> &data, unsigned width) {
  for (size_t i = 0; i + width <= data.size(); i += width)
    std::reverse(data.begin() + i, data.begin() + i + width);
}

/// Column-major elements to row-major ones.
std::vector<uint8_t> fromFortran(const std::vector<uint8_t> &source,
                                 llvm::ArrayRef<int64_t> shape,
                                 unsigned width) {
  std::vector<uint8_t> result(source.size());
  llvm::SmallVector<uint64_t> strides;
  uint64_t stride = width;
  for (int64_t dim : shape) {
    strides.push_back(stride);
    stride *= static_cast<uint64_t>(dim);
  }
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  uint64_t from = 0;
  for (size_t to = 0; to < result.size(); to += width) {
    std::memcpy(&result[to], &source[from], width);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      from -= strides[axis] * static_cast<uint64_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return result;
}

} // namespace

llvm::Expected<HostTensor> support::parseNpy(llvm::ArrayRef<uint8_t> bytes,
                                             llvm::StringRef what) {
  ByteReader reader(bytes, 0);
  llvm::ArrayRef<uint8_t> head = reader.take(8);
  if (!reader.ok() || std::memcmp(head.data(), magic, 6) != 0)
    return malformed(what, "{}", "not a .npy file (bad magic)");
  const unsigned major = head[6];
  if (major < 1 || major > 3)
    return makeError(ErrorClass::Unsupported,
                     "{}: npy version {}, expected 1 to 3", what.str(), major);
  const uint64_t length = major == 1 ? reader.u16() : reader.u32();
  if (length > maxHeader)
    return malformed(what, "npy header of {} bytes, expected at most {}",
                     length, maxHeader);
  llvm::ArrayRef<uint8_t> text = reader.take(length);
  if (!reader.ok())
    return malformed(what, "npy header of {} bytes is cut off", length);
  llvm::Expected<Header> header =
      HeaderParser(llvm::StringRef(reinterpret_cast<const char *>(text.data()),
                                   text.size()),
                   what)
          .parse();
  if (!header)
    return header.takeError();

  const unsigned width = byteSize(header->type);
  const std::optional<uint64_t> count = countElements(header->shape);
  const std::optional<uint64_t> size =
      count ? checkedMul<uint64_t>(*count, width) : std::nullopt;
  if (!size || *size != reader.left())
    return malformed(what, "{} needs {} bytes of elements, found {}",
                     describe(header->type, header->shape),
                     size ? std::to_string(*size) : "too many", reader.left());
  HostTensor tensor;
  tensor.type = header->type;
  tensor.shape = header->shape;
  llvm::ArrayRef<uint8_t> elements = reader.take(*size);
  tensor.data.assign(elements.begin(), elements.end());
  if (header->bigEndian && width > 1)
    swapBytes(tensor.data, width);
  if (header->fortranOrder && tensor.shape.size() > 1)
    tensor.data = fromFortran(tensor.data, tensor.shape, width);
  if (tensor.type == ElementType::Bool)
    for (uint8_t &byte : tensor.data)
      byte = byte != 0;
  return tensor;
}

std::vector<uint8_t> support::formatNpy(const HostTensor &tensor) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (",
                  numpyDescr(tensor.type).str());
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    dictionary += fmt::format("{}{}", i == 0 ? "" : ", ", tensor.shape[i]);
  dictionary += tensor.shape.size() == 1 ? ",), }" : "), }";
  // The elements start at a multiple of 64; the header ends with a newline.
  const size_t prefix = 10;
  dictionary.append(63 - (prefix + dictionary.size()) % 64, ' ');
  dictionary += '\n';

  std::vector<uint8_t> bytes;
  bytes.reserve(prefix + dictionary.size() + tensor.data.size());
  bytes.assign(magic, magic + 6);
  bytes.push_back(1); // version 1.0
  bytes.push_back(0);
  bytes.push_back(static_cast<uint8_t>(dictionary.size()));
  bytes.push_back(static_cast<uint8_t>(dictionary.size() >> 8));
  bytes.insert(bytes.end(), dictionary.begin(), dictionary.end());
  bytes.insert(bytes.end(), tensor.data.begin(), tensor.data.end());
  return bytes;
}

llvm::Expected<HostTensor> support::readNpy(llvm::StringRef path) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  return parseNpy(contents(**buffer), path);
}
