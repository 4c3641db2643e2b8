// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zip archives of .npy members. Sizes are taken from the central directory,
// which makes data descriptors uninteresting, and are believed only as far as
// the bytes of the file allow.

#include "ashlar/Support/Npz.h"
#include "ByteReader.h"
#include "Malformed.h"
#include "ashlar/Support/CheckedMath.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <zlib.h>

using namespace ashlar;
using namespace ashlar::support;

namespace {

constexpr uint32_t localSignature = 0x04034b50;
constexpr uint32_t centralSignature = 0x02014b50;
constexpr uint32_t endSignature = 0x06054b50;
constexpr uint32_t end64Signature = 0x06064b50;
constexpr uint32_t locator64Signature = 0x07064b50;
constexpr uint64_t endSize = 22;
constexpr uint16_t date1980 = 0x0021;

/// Deflate expands at most 1032 to 1.
constexpr uint64_t maxRatio = 1032;

struct Member {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0;
  uint64_t size = 0;
  uint64_t offset = 0;
};

struct Directory {
  uint64_t offset = 0;
  uint64_t entries = 0;
};

/// Finds the last end record whose comment reaches the end of the file.
llvm::Expected<Directory> findDirectory(llvm::ArrayRef<uint8_t> bytes,
                                        llvm::StringRef what) {
  if (bytes.size() < endSize)
    return malformed(what, "{} bytes are not a zip archive", bytes.size());
  const uint64_t last = bytes.size() - endSize;
  const uint64_t first = last > 65535 ? last - 65535 : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    ByteReader reader(bytes, at);
    if (reader.u32() != endSignature)
      continue;
    reader.skip(6);
    Directory directory;
    directory.entries = reader.u16();
    reader.u32();
    directory.offset = reader.u32();
    if (reader.u16() != reader.left())
      continue;
    // Zip64: a locator just before points to the wide record.
    if (at >= 20) {
      ByteReader locator(bytes, at - 20);
      if (locator.u32() == locator64Signature) {
        locator.u32();
        ByteReader wide(bytes, locator.u64());
        if (wide.u32() != end64Signature)
          return malformed(what, "{}", "bad zip64 end record");
        wide.skip(28);
        directory.entries = wide.u64();
        wide.u64();
        directory.offset = wide.u64();
        if (!wide.ok())
          return malformed(what, "{}", "zip64 end record is cut off");
      }
    }
    return directory;
  }
  return malformed(what, "{}",
                   llvm::toStringRef(bytes).starts_with("\x93NUMPY")
                       ? "one array (.npy), expected an .npz archive "
                         "of arrays by name"
                       : "no zip end record, expected an .npz archive");
}

/// Replaces the fields that the zip64 extra record widens.
bool applyZip64(llvm::ArrayRef<uint8_t> extra, Member &member) {
  ByteReader reader(extra, 0);
  while (reader.left() >= 4) {
    const uint16_t tag = reader.u16();
    llvm::ArrayRef<uint8_t> body = reader.take(reader.u16());
    if (!reader.ok())
      return false;
    if (tag != 1)
      continue;
    ByteReader wide(body, 0);
    for (uint64_t *field : {&member.size, &member.packed, &member.offset})
      if (*field == 0xffffffff)
        *field = wide.u64();
    return wide.ok();
  }
  return true;
}

llvm::Expected<Member> readMember(ByteReader &reader, llvm::StringRef what,
                                  uint64_t index) {
  Member member;
  if (reader.u32() != centralSignature)
    return malformed(what, "bad zip directory entry {}", index);
  reader.skip(4);
  member.flags = reader.u16();
  member.method = reader.u16();
  reader.u32();
  member.crc = reader.u32();
  member.packed = reader.u32();
  member.size = reader.u32();
  const uint16_t nameLength = reader.u16();
  const uint16_t extraLength = reader.u16();
  const uint16_t commentLength = reader.u16();
  reader.skip(8);
  member.offset = reader.u32();
  llvm::ArrayRef<uint8_t> name = reader.take(nameLength);
  llvm::ArrayRef<uint8_t> extra = reader.take(extraLength);
  reader.skip(commentLength);
  if (!reader.ok() || !applyZip64(extra, member))
    return malformed(what, "zip directory entry {} is cut off", index);
  member.name.assign(name.begin(), name.end());
  return member;
}

llvm::Expected<std::vector<uint8_t>>
inflateMember(llvm::ArrayRef<uint8_t> packed, uint64_t size,
              const std::string &where) {
  std::vector<uint8_t> result(size);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return makeError(ErrorClass::Capacity, "{}: no memory to inflate", where);
  constexpr uint64_t chunk = uint64_t(1) << 30; // zlib counts in 32 bits
  uint64_t in = 0, out = 0;
  int status = Z_OK;
  // One spare byte shows a stream that is longer than it claims.
  uint8_t spare = 0;
  while (status == Z_OK) {
    const uint64_t give = std::min(chunk, packed.size() - in);
    const uint64_t room = std::min(chunk, size - out);
    stream.next_in = const_cast<Bytef *>(packed.data() + in);
    stream.avail_in = static_cast<uInt>(give);
    stream.next_out = room ? result.data() + out : &spare;
    stream.avail_out = static_cast<uInt>(room ? room : 1);
    status = inflate(&stream, Z_NO_FLUSH);
    in += give - stream.avail_in;
    const uint64_t made = (room ? room : 1) - stream.avail_out;
    if (room == 0 && made != 0)
      break;
    out += made;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || out != size)
    return makeError(ErrorClass::Malformed,
                     "{}: corrupt deflate stream, got {} bytes, expected {}",
                     where, out, size);
  return result;
}

llvm::Expected<HostTensor> extract(llvm::ArrayRef<uint8_t> bytes,
                                   const Member &member, llvm::StringRef what) {
  const std::string where = what.str() + ": member '" + member.name + "'";
  if (member.flags & 1)
    return makeError(ErrorClass::Unsupported, "{} is encrypted", where);
  if (member.method != 0 && member.method != 8)
    return makeError(ErrorClass::Unsupported,
                     "{} has compression method {}, expected stored (0) or "
                     "deflated (8)",
                     where, member.method);
  ByteReader reader(bytes, member.offset);
  if (reader.u32() != localSignature)
    return makeError(ErrorClass::Malformed, "{} has a bad local header", where);
  reader.skip(22);
  const uint64_t names = uint64_t(reader.u16()) + reader.u16();
  reader.skip(names);
  llvm::ArrayRef<uint8_t> packed = reader.take(member.packed);
  if (!reader.ok())
    return makeError(ErrorClass::Malformed, "{} is cut off", where);
  std::vector<uint8_t> inflated;
  llvm::ArrayRef<uint8_t> content = packed;
  if (member.method == 8) {
    auto result = inflateMember(packed, member.size, where);
    if (!result)
      return result.takeError();
    inflated = std::move(*result);
    content = inflated;
  }
  if (crc32_z(0, content.data(), content.size()) != member.crc)
    return makeError(ErrorClass::Malformed, "{} has a wrong checksum", where);
  return parseNpy(content, where);
}

/// Checks what a directory claims before anything is allocated for it.
llvm::Error checkClaim(const Member &member, uint64_t fileSize,
                       uint64_t &packed, uint64_t &total, uint64_t maxBytes,
                       llvm::StringRef what) {
  const bool stored = member.method == 0;
  const std::optional<uint64_t> limit = checkedMulAdd<uint64_t>(
      member.packed, stored ? 1 : maxRatio, stored ? 0 : 64);
  // Members that share bytes are how small files claim to be huge.
  if (member.packed > fileSize - packed || !limit || member.size > *limit ||
      (stored && member.size != member.packed))
    return malformed(what,
                     "member '{}' claims {} bytes from {} stored ones, more "
                     "than the file can hold",
                     member.name, member.size, member.packed);
  packed += member.packed;
  if (member.size > maxBytes - total)
    return makeError(ErrorClass::Capacity,
                     "{}: member '{}' brings the archive above {} bytes",
                     what.str(), member.name, maxBytes);
  total += member.size;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::vector<NamedTensor>>
support::parseNpz(llvm::ArrayRef<uint8_t> bytes, llvm::StringRef what,
                  uint64_t maxBytes) {
  llvm::Expected<Directory> directory = findDirectory(bytes, what);
  if (!directory)
    return directory.takeError();
  ByteReader reader(bytes, directory->offset);
  std::vector<NamedTensor> result;
  llvm::StringSet<> seen;
  uint64_t packed = 0, total = 0;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    llvm::Expected<Member> member = readMember(reader, what, i);
    if (!member)
      return member.takeError();
    if (llvm::StringRef(member->name).ends_with("/") && member->size == 0)
      continue;
    llvm::StringRef key = member->name;
    if (!key.consume_back(".npy"))
      return malformed(what, "member '{}' is not a .npy file", member->name);
    if (!seen.insert(key).second)
      return malformed(what, "key '{}' appears twice", key.str());
    if (llvm::Error error =
            checkClaim(*member, bytes.size(), packed, total, maxBytes, what))
      return error;
    llvm::Expected<HostTensor> tensor = extract(bytes, *member, what);
    if (!tensor)
      return tensor.takeError();
    result.push_back({key.str(), std::move(*tensor)});
  }
  return result;
}

namespace {

/// Appends little-endian numbers and raw bytes.
class ByteWriter {
public:
  explicit ByteWriter(std::vector<uint8_t> &bytes) : bytes(bytes) {}
  ByteWriter &u16(uint64_t value) { return number(value, 2); }
  ByteWriter &u32(uint64_t value) { return number(value, 4); }
  template <typename Range>
  ByteWriter &raw(const Range &range) {
    bytes.insert(bytes.end(), range.begin(), range.end());
    return *this;
  }

private:
  ByteWriter &number(uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    return *this;
  }
  std::vector<uint8_t> &bytes;
};

/// The fields that the local and the central header share.
void writeCommon(ByteWriter &writer, const Member &member) {
  writer.u16(20).u16(member.flags).u16(0).u16(0).u16(date1980);
  writer.u32(member.crc).u32(member.size).u32(member.size);
  writer.u16(member.name.size()).u16(0);
}

} // namespace

llvm::Expected<std::vector<uint8_t>>
support::formatNpz(llvm::ArrayRef<NamedTensor> tensors) {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> central;
  ByteWriter writer(bytes), directory(central);
  llvm::StringSet<> seen;
  for (const NamedTensor &entry : tensors) {
    if (!seen.insert(entry.name).second)
      return makeError(ErrorClass::Malformed,
                       "npz key '{}' appears twice, expected one array of each "
                       "name",
                       entry.name);
    Member member;
    member.name = entry.name + ".npy";
    // Bit 11: the name is UTF-8.
    const bool ascii =
        llvm::all_of(member.name, [](char c) { return llvm::isASCII(c); });
    member.flags = ascii ? 0 : 0x800;
    const std::vector<uint8_t> content = formatNpy(entry.tensor);
    member.crc =
        static_cast<uint32_t>(crc32_z(0, content.data(), content.size()));
    member.size = content.size();
    member.offset = bytes.size();
    if (member.name.size() > 65535)
      return makeError(ErrorClass::Capacity,
                       "npz key of {} bytes, expected at most 65531",
                       entry.name.size());
    if (bytes.size() + content.size() > 0xfff00000)
      return makeError(ErrorClass::Capacity,
                       "npz archive above 4 GiB at key '{}'", entry.name);
    writer.u32(localSignature);
    writeCommon(writer, member);
    writer.raw(member.name).raw(content);
    directory.u32(centralSignature).u16(20);
    writeCommon(directory, member);
    directory.u16(0).u16(0).u16(0).u32(0).u32(member.offset).raw(member.name);
  }
  if (tensors.size() > 65534)
    return makeError(ErrorClass::Capacity,
                     "npz archive of {} keys, expected at most 65534",
                     tensors.size());
  const uint64_t start = bytes.size();
  writer.raw(central).u32(endSignature).u16(0).u16(0);
  writer.u16(tensors.size()).u16(tensors.size()).u32(central.size());
  writer.u32(start).u16(0);
  return bytes;
}

llvm::Expected<std::vector<NamedTensor>>
support::readNpz(llvm::StringRef path) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  return parseNpz(contents(**buffer), path);
}

llvm::Error support::writeNpz(llvm::StringRef path,
                              llvm::ArrayRef<NamedTensor> tensors) {
  llvm::Expected<std::vector<uint8_t>> bytes = formatNpz(tensors);
  if (!bytes)
    return withContext(bytes.takeError(), path.str());
  return writeFileAtomically(path, *bytes);
}
