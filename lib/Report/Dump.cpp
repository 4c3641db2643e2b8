// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planned tensors as files that numpy reads. Tensor names may be anything;
// file names are plain, and index.json leads from one to the other.

#include "JsonText.h"
#include "ashlar/Container/Container.h"
#include "ashlar/Emulator/Result.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace ashlar;
using namespace ashlar::report;
using container::TensorPlacement;
using support::ElementType;
using support::HostTensor;

namespace {

class Dumper {
public:
  Dumper(support::FolderWriter &folder, llvm::json::OStream &index)
      : folder(folder), index(index) {}

  llvm::Error dump(const TensorPlacement &placement,
                   const emulator::TensorDump &data);

private:
  std::string stem(llvm::StringRef name);
  llvm::Error write(const std::string &file, ElementType type,
                    llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<uint8_t> bytes);
  llvm::Error dumpEncoded(const TensorPlacement &placement,
                          const emulator::TensorDump &data,
                          const std::string &base);

  support::FolderWriter &folder;
  llvm::json::OStream &index;
  llvm::StringSet<> used;
};

/// Shape of the exponents: blocks instead of elements along the block axis.
llvm::SmallVector<int64_t> exponentShape(const TensorPlacement &placement) {
  llvm::SmallVector<int64_t> shape(placement.shape.begin(),
                                   placement.shape.end());
  if (placement.block == -1) {
    shape.assign(shape.size(), 1);
    return shape;
  }
  const size_t axis = static_cast<size_t>(placement.blockAxis);
  if (axis < shape.size())
    shape[axis] = placement.block > 0
                      ? (shape[axis] + placement.block - 1) / placement.block
                      : 1;
  return shape;
}

} // namespace

std::string Dumper::stem(llvm::StringRef name) {
  std::string text;
  for (char c : name.take_front(120))
    text += llvm::isAlnum(c) || c == '_' || c == '-' ? c : '_';
  if (text.empty())
    text = "_";
  std::string unique = text;
  for (unsigned i = 2; !used.insert(unique).second; ++i)
    unique = text + "." + std::to_string(i);
  return unique;
}

llvm::Error Dumper::write(const std::string &file, ElementType type,
                          llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<uint8_t> bytes) {
  HostTensor tensor;
  // numpy has no bfloat16; a dump holds its 16 bits.
  tensor.type = type == ElementType::BF16 ? ElementType::U16 : type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.data.assign(bytes.begin(), bytes.end());
  const std::optional<uint64_t> count = support::countElements(shape);
  if (!count || *count * support::byteSize(tensor.type) != bytes.size())
    return makeError(ErrorClass::Internal, "dump of {} has {} bytes for {}",
                     file, bytes.size(), support::describe(tensor));
  return folder.add(file, support::formatNpy(tensor));
}

llvm::Error Dumper::dumpEncoded(const TensorPlacement &placement,
                                const emulator::TensorDump &data,
                                const std::string &base) {
  const std::string mantissas = base + ".mant.npy";
  const std::string exponents = base + ".exp.npy";
  index.attribute("mantissas", mantissas);
  index.attribute("exponents", exponents);
  index.attribute("scaleExponent", data.scaleExponent);
  index.attributeObject("format", [&] {
    index.attribute("mantissa", placement.mantissa);
    index.attribute("block", placement.block);
    index.attribute("range", placement.range);
    index.attribute("axis", placement.blockAxis);
    if (!placement.storesSigns())
      index.attribute("unsigned", true);
  });
  if (llvm::Error error =
          write(mantissas,
                !placement.storesSigns()        ? ElementType::U8
                : placement.elementBytes() == 1 ? ElementType::I8
                                                : ElementType::I16,
                placement.shape, data.data))
    return error;
  const auto *bytes = reinterpret_cast<const uint8_t *>(data.exponents.data());
  return write(exponents, ElementType::I8, exponentShape(placement),
               llvm::ArrayRef(bytes, data.exponents.size()));
}

llvm::Error Dumper::dump(const TensorPlacement &placement,
                         const emulator::TensorDump &data) {
  const std::string base = stem(placement.name);
  llvm::Error error = llvm::Error::success();
  index.attributeObject(jsonText(placement.name), [&] {
    if (placement.encoded) {
      error = llvm::joinErrors(std::move(error),
                               dumpEncoded(placement, data, base));
      return;
    }
    index.attribute("file", base + ".npy");
    index.attribute("type", support::name(placement.type));
    error =
        llvm::joinErrors(std::move(error), write(base + ".npy", placement.type,
                                                 placement.shape, data.data));
  });
  return error;
}

llvm::Error report::dumpTensors(const container::Program &program,
                                const emulator::RunResult &result,
                                llvm::StringRef folder) {
  auto files = support::FolderWriter::create(folder);
  if (!files)
    return files.takeError();
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream index(stream, /*IndentSize=*/1);
  llvm::Error error = llvm::Error::success();
  index.objectBegin();
  index.attributeBegin("tensors");
  index.objectBegin();
  Dumper dumper(*files, index);
  llvm::StringSet<> seen;
  for (const emulator::TensorDump &data : result.dumps) {
    if (error || data.placement >= program.dumps.size())
      continue;
    const TensorPlacement &placement = program.dumps[data.placement];
    // A name twice would make the index ambiguous.
    if (!seen.insert(placement.name).second)
      continue;
    error = dumper.dump(placement, data);
  }
  index.objectEnd();
  index.attributeEnd();
  index.objectEnd();
  if (error)
    return error;
  text += '\n';
  if (llvm::Error failure =
          files->add("plan.json", llvm::StringRef(program.numericPlanJson)))
    return failure;
  // Last: an index says that everything it names is there.
  if (llvm::Error failure = files->add("index.json", llvm::StringRef(text)))
    return failure;
  return files->publish();
}
