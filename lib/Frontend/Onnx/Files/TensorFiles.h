// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of tensors lie that the parsed model does not hold: in
// external files, and in the model's own file, whose large tensors are left
// there.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_FILES_TENSORFILES_H
#define ASHLAR_LIB_FRONTEND_ONNX_FILES_TENSORFILES_H

#include "../Proto.h"
#include "ashlar/Support/StableFile.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::frontend {

/// Bytes of a file.
struct FileRange {
  std::shared_ptr<const support::StableFile> file;
  uint64_t offset = 0, bytes = 0;

  /// Bytes of the range from \p first on.
  bool read(llvm::MutableArrayRef<char> to, uint64_t first = 0) const {
    return file->read(offset + first, to);
  }
};

/// The files of one model. Each is opened once.
class TensorFiles {
public:
  /// \p folder is that of the model.
  explicit TensorFiles(llvm::StringRef folder = ".") : folder(folder.str()) {}

  /// The range of external data of `size` bytes, which exists. Malformed: the
  /// file lies outside the folder, is too short or no file.
  llvm::Expected<FileRange> external(const onnx::TensorProto &tensor,
                                     uint64_t size, llvm::StringRef what);
  /// The raw data of \p tensor, if it was left in the model's file.
  std::optional<FileRange> left(const onnx::TensorProto &tensor) const;
  void setLeft(const onnx::TensorProto &tensor, FileRange range);
  /// From now on \p tensor has its data itself.
  void take(const onnx::TensorProto &tensor) { inModel.erase(&tensor); }

private:
  llvm::Expected<std::shared_ptr<const support::StableFile>>
  open(llvm::StringRef location, llvm::StringRef what);

  std::string folder;
  llvm::StringMap<std::shared_ptr<const support::StableFile>> files;
  llvm::DenseMap<const onnx::TensorProto *, FileRange> inModel;
};

/// The model without the raw data of its large initialisers.
struct SkimmedModel {
  struct Large {
    size_t initializer = 0; ///< In the order of the file.
    uint64_t offset = 0, bytes = 0;
  };

  std::string message; ///< The protobuf message without them.
  std::vector<Large> large;
};

/// Reads \p file, but for the raw data of large initialisers. Nothing for files
/// that are not protobuf messages of that form; whoever parses all of it will
/// say why.
std::optional<SkimmedModel> skimModel(const support::StableFile &file);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_FILES_TENSORFILES_H
