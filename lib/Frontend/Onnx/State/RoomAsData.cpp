// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the number of rows of a cache, which a model reads with Shape,
// through integer arithmetic. As the extent of a tensor it is right: the cache
// has its room. As a position it is wrong: exporters mean the filled rows.

#include "States.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;

namespace {

/// A value that holds the number of rows of a cache.
struct Rows {
  const CacheShape *cache = nullptr;
  int64_t at = -1; ///< Its only place in a list; -1: anywhere.
};

enum class Use {
  Compute, ///< The result holds the number, or what is made of it.
  Extent,  ///< The result has it as an extent.
  Other
};

int64_t attributeOf(const FlatNode &node, StringRef name, int64_t otherwise) {
  for (const onnx::AttributeProto *attribute : node.attributes)
    if (attribute->name() == name)
      return attribute->i();
  return otherwise;
}

bool castsToInteger(const FlatNode &node) {
  const int64_t to = attributeOf(node, "to", 0);
  return to == onnx::TensorProto::INT64 || to == onnx::TensorProto::INT32;
}

/// What a node does with operand number \p index.
Use useOf(const FlatNode &node, size_t index) {
  if (!node.domain.empty())
    return Use::Other;
  if (node.op == "Cast")
    return castsToInteger(node) ? Use::Compute : Use::Other;
  // The end of a slice from a fixed start says how much is left, not where.
  if (node.op == "Slice")
    return index == 0 ? Use::Compute : index == 2 ? Use::Extent : Use::Other;
  if (node.op == "Reshape" || node.op == "Expand" || node.op == "Tile")
    return index == 0 ? Use::Compute : Use::Extent;
  return llvm::StringSwitch<Use>(node.op)
      .Cases({"Add", "Sub", "Mul", "Div", "Neg", "Min", "Max"}, Use::Compute)
      .Cases({"Concat", "Squeeze", "Unsqueeze", "Identity", "Flatten"},
             Use::Compute)
      .Cases({"Equal", "Where", "ReduceProd"}, Use::Compute)
      .Case("Gather", index == 0 ? Use::Compute : Use::Other)
      .Case("Split", index == 1 ? Use::Extent : Use::Compute)
      .Cases({"ConstantOfShape", "Shape", "Size"}, Use::Extent)
      .Default(Use::Other);
}

class Finder {
public:
  Finder(llvm::ArrayRef<CacheShape> caches, ReadIntegers integers)
      : integers(integers) {
    for (const CacheShape &cache : caches)
      for (const std::string &name : {cache.past, cache.joined})
        shapes[name] = &cache;
  }

  Error run(const Model &model) {
    for (const FlatNode &node : model.nodes)
      if (node.live)
        if (Error error = visit(node))
          return error;
    for (const onnx::ValueInfoProto &output : model.proto.graph().output())
      if (auto found = rows.find(output.name()); found != rows.end())
        return refuse("output '" + printable(output.name()) + "'",
                      *found->second.cache);
    return Error::success();
  }

private:
  Error refuse(llvm::Twine what, const CacheShape &cache) const {
    return makeError(
        ErrorClass::Unsupported,
        "{} computes with the number of rows of '{}': --state gives this cache "
        "a capacity of {} rows, not the number of filled ones; export the "
        "model with "
        "positions as an input (position_ids), or leave out --state",
        what.str(), printable(cache.past), cache.room);
  }
  Error visit(const FlatNode &node);
  void readShape(const FlatNode &node, const CacheShape &cache);
  llvm::Expected<bool> takesRows(const FlatNode &node, const Rows &operand);

  ReadIntegers integers;
  llvm::StringMap<const CacheShape *> shapes;
  llvm::StringMap<Rows> rows;
};

} // namespace

void Finder::readShape(const FlatNode &node, const CacheShape &cache) {
  const int64_t rank = cache.rank;
  auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamped(attributeOf(node, "start", 0));
  const int64_t end = clamped(attributeOf(node, "end", rank));
  if (node.op == "Size" || (start <= cache.axis && cache.axis < end))
    rows[node.outputs[0]] = {&cache,
                             node.op == "Size" ? -1 : cache.axis - start};
}

/// Whether the elements that a Gather takes of a list are those with the rows.
llvm::Expected<bool> Finder::takesRows(const FlatNode &node,
                                       const Rows &operand) {
  if (node.op != "Gather" || operand.at < 0 || node.inputs.size() < 2)
    return true;
  auto indices = integers(node.inputs[1]);
  if (!indices)
    return indices.takeError();
  if (!*indices)
    return true;
  const CacheShape &cache = *operand.cache;
  return llvm::any_of(**indices, [&](int64_t index) {
    return index == operand.at || index + cache.rank == operand.at;
  });
}

Error Finder::visit(const FlatNode &node) {
  if ((node.op == "Shape" || node.op == "Size") && node.domain.empty() &&
      !node.inputs.empty() && !node.outputs.empty())
    if (auto found = shapes.find(node.inputs[0]); found != shapes.end()) {
      readShape(node, *found->second);
      return Error::success();
    }
  for (const std::string &name : node.captured)
    if (auto found = rows.find(name); found != rows.end())
      return refuse("node '" + printable(node.name) + "' (" + node.op + ")",
                    *found->second.cache);
  for (auto [index, name] : llvm::enumerate(node.inputs)) {
    auto found = rows.find(name);
    if (found == rows.end())
      continue;
    const Rows operand = found->second;
    const Use use = useOf(node, index);
    if (use == Use::Other)
      return refuse("node '" + printable(node.name) + "' (" + node.op + ")",
                    *operand.cache);
    if (use == Use::Extent)
      continue;
    llvm::Expected<bool> takes = takesRows(node, operand);
    if (!takes)
      return takes.takeError();
    if (*takes)
      for (const std::string &output : node.outputs)
        rows[output] = {operand.cache, -1};
  }
  return Error::success();
}

Error ashlar::frontend::refuseRoomAsData(const Model &model,
                                         llvm::ArrayRef<CacheShape> caches,
                                         ReadIntegers integers) {
  return Finder(caches, integers).run(model);
}
