// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// External data: where it may lie, and that it is there.

#include "TensorFiles.h"

#include "../Model.h"
#include "ashlar/Support/CheckedMath.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Expected;
using llvm::StringRef;

namespace {

struct ExternalPlace {
  std::string location;
  uint64_t offset = 0, length = 0;
  bool hasLength = false;
};

Expected<ExternalPlace> readPlace(const onnx::TensorProto &tensor,
                                  StringRef what) {
  ExternalPlace place;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef value = entry.value();
    bool bad = false;
    if (entry.key() == "location")
      place.location = value.str();
    else if (entry.key() == "offset")
      bad = value.getAsInteger(10, place.offset);
    else if (entry.key() == "length") {
      bad = value.getAsInteger(10, place.length);
      place.hasLength = true;
    }
    if (bad)
      return makeError(ErrorClass::Malformed,
                       "{}: external data has the {} '{}', expected a number",
                       what.str(), printable(entry.key()), printable(value));
  }
  if (place.location.empty())
    return makeError(ErrorClass::Malformed, "{}: external data has no location",
                     what.str());
  return place;
}

/// The file of external data, which must lie below the model's folder even
/// after symbolic links are followed.
Expected<std::string> resolvePlace(StringRef location, StringRef folder,
                                   StringRef what) {
  namespace path = llvm::sys::path;
  bool inside =
      !path::is_absolute(location) && location.find('\0') == StringRef::npos;
  for (StringRef part :
       llvm::make_range(path::begin(location), path::end(location)))
    inside = inside && part != "..";
  llvm::SmallString<256> root, file(folder), real;
  path::append(file, location);
  if (!inside)
    return makeError(ErrorClass::Malformed,
                     "{}: external data '{}' lies outside the model's folder",
                     what.str(), printable(location));
  if (llvm::sys::fs::real_path(folder, root) ||
      llvm::sys::fs::real_path(file, real))
    return makeError(ErrorClass::Malformed,
                     "{}: cannot find the external data '{}'", what.str(),
                     printable(location));
  if (!StringRef(root).ends_with("/"))
    root += "/";
  if (!StringRef(real).starts_with(root))
    return makeError(ErrorClass::Malformed,
                     "{}: external data '{}' lies outside the model's folder",
                     what.str(), printable(location));
  return real.str().str();
}

} // namespace

Expected<std::shared_ptr<const support::StableFile>>
TensorFiles::open(StringRef location, StringRef what) {
  std::shared_ptr<const support::StableFile> &known = files[location];
  if (known)
    return known;
  Expected<std::string> path = resolvePlace(location, folder, what);
  if (!path)
    return path.takeError();
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(*path, status) ||
      !llvm::sys::fs::is_regular_file(status))
    return makeError(ErrorClass::Malformed,
                     "{}: the external data '{}' is not a regular file",
                     what.str(), printable(location));
  auto file = support::StableFile::open(*path);
  if (!file)
    return withContext(file.takeError(), what.str());
  known = *file;
  return known;
}

Expected<FileRange> TensorFiles::external(const onnx::TensorProto &tensor,
                                          uint64_t size, StringRef what) {
  Expected<ExternalPlace> place = readPlace(tensor, what);
  if (!place)
    return place.takeError();
  if (place->hasLength && place->length != size)
    return makeError(ErrorClass::Malformed,
                     "{} holds {} bytes of external data, expected {}",
                     what.str(), place->length, size);
  auto file = open(place->location, what);
  if (!file)
    return file.takeError();
  std::optional<uint64_t> end =
      support::checkedAdd<uint64_t>(place->offset, size);
  if (!end || *end > (*file)->size())
    return makeError(ErrorClass::Malformed,
                     "{}: external data '{}' has {} bytes, expected {} from "
                     "offset {}",
                     what.str(), printable(place->location), (*file)->size(),
                     size, place->offset);
  return FileRange{*file, place->offset, size};
}

std::optional<FileRange>
TensorFiles::left(const onnx::TensorProto &tensor) const {
  auto found = inModel.find(&tensor);
  return found == inModel.end() ? std::nullopt
                                : std::optional<FileRange>(found->second);
}

void TensorFiles::setLeft(const onnx::TensorProto &tensor, FileRange range) {
  inModel[&tensor] = std::move(range);
}
