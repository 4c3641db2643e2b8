// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and their maps from dumped tensors. Every field of the files is
// checked before it is used.

#include "ashlar/Report/Tiles.h"
#include "ashlar/Support/FileIO.h"
#include "ashlar/Support/Npy.h"

#include "ashlar/Support/Json.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Path.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::report;
namespace json = llvm::json;

namespace {

using Numbers = std::vector<int64_t>;

class Reader {
public:
  Reader(llvm::StringRef folder, llvm::StringRef constants)
      : folder(folder), constants(constants) {}

  llvm::Expected<std::vector<MapLayer>> read();

private:
  static std::string joined(llvm::StringRef folder, llvm::StringRef name) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }
  llvm::Error bad(llvm::StringRef what) const {
    return makeError(ErrorClass::Malformed, "{}: {}",
                     joined(folder, "plan.json"), what.str());
  }
  static llvm::Expected<json::Value> parse(const std::string &path) {
    auto file = support::readFile(path);
    if (!file)
      return file.takeError();
    llvm::Expected<json::Value> value =
        support::parseJson((*file)->getBuffer());
    if (!value) {
      llvm::consumeError(value.takeError());
      return makeError(ErrorClass::Malformed, "{}: not JSON", path);
    }
    return value;
  }
  /// Integers of an array within [least, 2^20], `count` of them.
  static bool numbers(const json::Object *object, llvm::StringRef key,
                      size_t count, int64_t least, Numbers &out) {
    const json::Array *array = object ? object->getArray(key) : nullptr;
    if (!array || array->size() != count)
      return false;
    out.clear();
    for (const json::Value &value : *array) {
      std::optional<int64_t> number = value.getAsInteger();
      if (!number || *number < least || *number > (1 << 20))
        return false;
      out.push_back(*number);
    }
    return true;
  }

  llvm::Error layer(const json::Object &op);
  llvm::Error geometry(const json::Object &op, llvm::StringRef x,
                       llvm::StringRef w, MapLayer &layer);
  llvm::Error mantissas(llvm::StringRef tensor, MapLayer &layer);
  llvm::Error weights(llvm::StringRef tensor, MapLayer &layer);

  llvm::StringRef folder, constants;
  llvm::StringMap<const json::Object *> tensors;
  std::optional<json::Value> index;
  std::vector<MapLayer> layers;
};

} // namespace

llvm::Error Reader::geometry(const json::Object &op, llvm::StringRef x,
                             llvm::StringRef w, MapLayer &layer) {
  Numbers in, out, kernel, strides, pads, dilations;
  const json::Object *attrs = op.getObject("attrs");
  auto shape = [&](llvm::StringRef tensor, Numbers &numbers4) {
    auto found = tensors.find(tensor);
    return found != tensors.end() &&
           numbers(found->second, "shape", 4, 1, numbers4);
  };
  std::optional<llvm::StringRef> result = op.getString("output");
  std::optional<int64_t> group = attrs ? attrs->getInteger("group") : 0;
  if (!result || !shape(x, in) || !shape(w, kernel) || !shape(*result, out) ||
      !numbers(attrs, "strides", 2, 1, strides) ||
      !numbers(attrs, "pads", 4, 0, pads) ||
      !numbers(attrs, "dilations", 2, 1, dilations) || !group || *group < 1 ||
      in[1] % *group || kernel[0] % *group || kernel[1] != in[1] / *group)
    return bad("convolution '" + layer.name + "' has bad shapes or attributes");
  layer.geometry.y = {in[2],      out[2],       kernel[2],
                      strides[0], dilations[0], pads[0]};
  layer.geometry.x = {in[3],      out[3],       kernel[3],
                      strides[1], dilations[1], pads[1]};
  layer.channels = in[1];
  layer.results = kernel[0];
  layer.groups = *group;
  return llvm::Error::success();
}

llvm::Error Reader::mantissas(llvm::StringRef tensor, MapLayer &layer) {
  const json::Object *all = index->getAsObject()
                                ? index->getAsObject()->getObject("tensors")
                                : nullptr;
  const json::Object *entry = all ? all->getObject(tensor) : nullptr;
  std::optional<llvm::StringRef> file =
      entry ? entry->getString("mantissas") : std::nullopt;
  if (!file)
    return bad("no mantissas of tensor '" + tensor.str() + "' in index.json");
  llvm::Expected<HostTensor> array = support::readNpy(joined(folder, *file));
  if (!array)
    return array.takeError();
  const int64_t size =
      layer.channels * layer.geometry.y.in * layer.geometry.x.in;
  if (array->numElements() < uint64_t(size) ||
      (array->type != support::ElementType::I8 &&
       array->type != support::ElementType::I16))
    return bad("mantissas of tensor '" + tensor.str() +
               "' have another size or type");
  for (int64_t i = 0; i < size; ++i)
    layer.mantissas.push_back(int16_t(array->asDouble(uint64_t(i))));
  return llvm::Error::success();
}

llvm::Error Reader::weights(llvm::StringRef tensor, MapLayer &layer) {
  const int64_t taps = layer.geometry.y.kernel * layer.geometry.x.kernel;
  const int64_t slices = layer.results * (layer.channels / layer.groups);
  layer.weights.assign(slices, uint32_t(taps));
  if (constants.empty())
    return llvm::Error::success();
  std::optional<llvm::StringRef> file =
      tensors.lookup(tensor)->getString("file");
  if (!file)
    return llvm::Error::success(); // an operand made at run time
  llvm::Expected<HostTensor> array = support::readNpy(joined(constants, *file));
  if (!array)
    return array.takeError();
  if (array->numElements() != uint64_t(slices * taps))
    return bad("weights '" + tensor.str() + "' have another size");
  for (int64_t s = 0; s < slices; ++s)
    for (int64_t t = 0; t < taps; ++t)
      layer.weights[s] -= array->asDouble(uint64_t(s * taps + t)) == 0;
  return llvm::Error::success();
}

llvm::Error Reader::layer(const json::Object &op) {
  const json::Object *inputs = op.getObject("inputs");
  std::optional<llvm::StringRef> x, w, name = op.getString("name");
  if (inputs) {
    x = inputs->getString("x");
    w = inputs->getString("w");
  }
  if (!x || !w || !name || !tensors.count(*x) || !tensors.count(*w))
    return bad("a convolution without name, map or weights");
  // Maps of rank 3 and 5 and maps in other formats are not cut.
  const json::Object *map = tensors.lookup(*x);
  const json::Array *shape = map->getArray("shape");
  if (map->getString("type") != llvm::StringRef("bfp") || !shape ||
      shape->size() != 4)
    return llvm::Error::success();
  MapLayer found;
  found.name = name->str();
  if (llvm::Error error = geometry(op, *x, *w, found))
    return error;
  if (llvm::Error error = mantissas(*x, found))
    return error;
  if (llvm::Error error = weights(*w, found))
    return error;
  layers.push_back(std::move(found));
  return llvm::Error::success();
}

llvm::Expected<std::vector<MapLayer>> Reader::read() {
  llvm::Expected<json::Value> plan = parse(joined(folder, "plan.json"));
  if (!plan)
    return plan.takeError();
  llvm::Expected<json::Value> files = parse(joined(folder, "index.json"));
  if (!files)
    return files.takeError();
  index = std::move(*files);
  const json::Object *root = plan->getAsObject();
  const json::Array *all = root ? root->getArray("tensors") : nullptr;
  const json::Array *ops = root ? root->getArray("ops") : nullptr;
  if (!all || !ops)
    return bad("no tensors or no ops");
  for (const json::Value &value : *all)
    if (const json::Object *tensor = value.getAsObject())
      if (std::optional<llvm::StringRef> name = tensor->getString("name"))
        tensors[*name] = tensor;
  for (const json::Value &value : *ops) {
    const json::Object *op = value.getAsObject();
    if (op && op->getString("op") == llvm::StringRef("conv"))
      if (llvm::Error error = layer(*op))
        return error;
  }
  return std::move(layers);
}

llvm::Expected<std::vector<MapLayer>>
report::readMapLayers(llvm::StringRef folder, llvm::StringRef constants) {
  return Reader(folder, constants).read();
}
