// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the number of rows of a cache, which a model reads with Shape,
// through integer arithmetic. As the extent of a tensor it is right: the cache
// has its capacity. As a position it is wrong: exporters mean the filled rows.
//
// Between positions it is right again: new rows come after the capacity as they
// come after the filled rows, so a comparison of places in the joined cache
// gives what one of positions gives for every row that is filled. Causal masks
// compare in this way.
//
// Any other arithmetic of numbers, as that of sliding windows, needs positions:
// it gets an operand that the importer computes from the place and the number
// of filled rows (PlaceUses). The tensors keep their places, so what a position
// selects must not be one of their rows.

#include "States.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;

namespace {

/// A tensor with the rows of a cache along an axis, and others after them.
struct RowsAlong {
  const CacheShape *cache = nullptr;
  int64_t axis = 0, rank = 0;
};

/// A value that holds the number of rows of a cache.
struct Rows {
  const CacheShape *cache = nullptr;
  int64_t at = -1;       ///< Its only place in a list; -1: anywhere.
  bool exact = true;     ///< That number plus or minus others.
  bool places = false;   ///< Places of rows in the joined cache, from Range.
  bool position = false; ///< Computed from true positions.
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

/// Whether what a node makes of the number of rows is that number plus or minus
/// numbers of its own.
bool staysExact(const FlatNode &node, size_t index) {
  return llvm::StringSwitch<bool>(node.op)
      .Cases({"Add", "Cast", "Gather", "Slice", "Concat", "Squeeze"}, true)
      .Cases({"Unsqueeze", "Identity", "Reshape", "Flatten", "Split"}, true)
      .Case("Sub", index == 0)
      .Default(false);
}

/// Whether a node only moves the places of rows.
bool movesPlaces(const FlatNode &node, size_t index) {
  if (node.op == "Cast")
    return castsToInteger(node);
  return index == 0 && llvm::StringSwitch<bool>(node.op)
                           .Cases({"Reshape", "Expand", "Unsqueeze"}, true)
                           .Cases({"Squeeze", "Identity", "Transpose"}, true)
                           .Default(false);
}

bool compares(const FlatNode &node) {
  return llvm::StringSwitch<bool>(node.op)
      .Cases({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"},
             true)
      .Default(false);
}

/// Whether a node computes with the numbers of its operands one by one.
bool isArithmetic(const FlatNode &node) {
  return node.domain.empty() &&
         (compares(node) ||
          llvm::StringSwitch<bool>(node.op)
              .Cases({"Add", "Sub", "Mul", "Div", "Mod", "Neg"}, true)
              .Cases({"Abs", "Min", "Max", "Sum", "Pow", "Floor"}, true)
              .Cases({"Ceil", "Cast", "Where", "BitShift"}, true)
              .Default(false));
}

/// Whether a node hands the elements of an operand on.
bool movesElements(const FlatNode &node, size_t index) {
  return node.domain.empty() &&
         (node.op == "Concat" ||
          (index == 0 && llvm::StringSwitch<bool>(node.op)
                             .Cases({"Reshape", "Expand", "Unsqueeze"}, true)
                             .Cases({"Squeeze", "Identity", "Transpose"}, true)
                             .Cases({"Slice", "Gather", "Tile"}, true)
                             .Cases({"Flatten", "Split"}, true)
                             .Default(false)));
}

/// Whether an operand says which elements of a tensor a node takes, or how
/// many.
bool selects(const FlatNode &node, size_t index) {
  if (!node.domain.empty())
    return false;
  if (llvm::StringSwitch<bool>(node.op)
          .Cases({"Range", "ConstantOfShape", "If", "Loop", "Scan"}, true)
          .Default(false))
    return true;
  return index > 0 &&
         llvm::StringSwitch<bool>(node.op)
             .Cases({"Gather", "GatherElements", "GatherND", "Slice"}, true)
             .Cases({"ScatterND", "ScatterElements", "Pad", "Tile"}, true)
             .Cases({"Reshape", "Expand", "Split", "TopK", "Trilu"}, true)
             .Cases({"OneHot", "Resize", "TensorScatter"}, true)
             .Default(false);
}

/// Whether the name of a dimension is a sum of which \p symbol is a term.
bool hasTerm(StringRef sum, StringRef symbol) {
  SmallVector<StringRef> terms;
  sum.split(terms, '+');
  return llvm::any_of(terms,
                      [&](StringRef term) { return term.trim() == symbol; });
}

class Finder {
public:
  Finder(llvm::ArrayRef<CacheShape> caches, ReadIntegers integers,
         PlaceUses &uses)
      : integers(integers), uses(uses) {
    for (const CacheShape &cache : caches)
      for (const std::string &name : {cache.past, cache.joined})
        shapes[name] = {&cache, cache.axis, cache.rank};
  }

  Error run(const Model &model) {
    addDeclared(model.proto.graph());
    for (const onnx::TensorProto &tensor : model.proto.graph().initializer())
      tables.insert(tensor.name());
    for (const FlatNode &node : model.nodes)
      if (node.live)
        if (Error error = visit(node))
          return error;
    for (const onnx::ValueInfoProto &output : model.proto.graph().output())
      if (auto found = rows.find(output.name());
          found != rows.end() && !found->second.position)
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
        what.str(), printable(cache.past), cache.capacity);
  }
  /// Inputs that are declared as long as a cache with its new rows.
  void addDeclared(const onnx::GraphProto &graph);
  Error visit(const FlatNode &node);
  Error visitOperand(const FlatNode &node, size_t index, const Rows &operand);
  /// A use that means the position: remembered if it can have that.
  Error usePosition(const FlatNode &node, size_t index, const Rows &operand);
  Error visitPosition(const FlatNode &node, size_t index, const Rows &operand);
  /// The extents of a list of places: one for each new row, or all rows.
  Error visitExtents(const FlatNode &node, const Rows &operand);
  Error refuseNode(const FlatNode &node, const Rows &operand) const {
    return refuse("node '" + printable(node.name) + "' (" + node.op + ")",
                  *operand.cache);
  }
  void readShape(const FlatNode &node, const RowsAlong &tensor);
  llvm::Expected<bool> takesRows(const FlatNode &node, const Rows &operand);
  /// Whether every number of a value is at least `least`.
  llvm::Expected<bool> atLeast(const std::string &name, int64_t least);
  /// Places of rows by Range; comparisons of places, and triangles.
  llvm::Expected<bool> takesPlaces(const FlatNode &node);
  llvm::Expected<bool> makesPlaces(const FlatNode &node);
  llvm::Expected<bool> comparesPlaces(const FlatNode &node);
  llvm::Expected<bool> cutsTriangle(const FlatNode &node);

  ReadIntegers integers;
  PlaceUses &uses;
  llvm::StringSet<> tables; ///< Tensors of the file.
  llvm::StringMap<RowsAlong> shapes;
  llvm::StringMap<Rows> rows;
};

} // namespace

void Finder::addDeclared(const onnx::GraphProto &graph) {
  auto dimensions = [&](StringRef name) {
    auto found = llvm::find_if(
        graph.input(), [&](const auto &input) { return input.name() == name; });
    return found == graph.input().end() ? onnx::TensorShapeProto()
                                        : found->type().tensor_type().shape();
  };
  llvm::StringMap<RowsAlong> found;
  for (const auto &known : shapes) {
    const RowsAlong &cache = known.second;
    const onnx::TensorShapeProto own = dimensions(known.first());
    if (cache.axis >= own.dim_size() || own.dim(cache.axis).dim_param().empty())
      continue;
    for (const onnx::ValueInfoProto &input : graph.input()) {
      const onnx::TensorShapeProto &shape = input.type().tensor_type().shape();
      for (int d = 0; d < shape.dim_size() && !shapes.contains(input.name());
           ++d)
        if (hasTerm(shape.dim(d).dim_param(), own.dim(cache.axis).dim_param()))
          found[input.name()] = {cache.cache, d, shape.dim_size()};
    }
  }
  for (const auto &entry : found)
    shapes[entry.first()] = entry.second;
}

void Finder::readShape(const FlatNode &node, const RowsAlong &tensor) {
  const int64_t rank = tensor.rank;
  auto clamped = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamped(attributeOf(node, "start", 0));
  const int64_t end = clamped(attributeOf(node, "end", rank));
  const bool size = node.op == "Size";
  if (size || (start <= tensor.axis && tensor.axis < end))
    rows[node.outputs[0]] = {tensor.cache, size ? -1 : tensor.axis - start,
                             !size};
}

llvm::Expected<bool> Finder::atLeast(const std::string &name, int64_t least) {
  auto numbers = integers(name);
  if (!numbers)
    return numbers.takeError();
  return numbers->has_value() && llvm::all_of(**numbers, [&](int64_t number) {
           return number >= least;
         });
}

/// From the end of the capacity on, or from a place that is known; to the end
/// of the new rows, one by one.
llvm::Expected<bool> Finder::makesPlaces(const FlatNode &node) {
  if (node.inputs.size() != 3 || rows.contains(node.inputs[2]))
    return false;
  const CacheShape *cache = nullptr;
  bool fits = true;
  for (size_t i : {0, 1}) {
    auto found = rows.find(node.inputs[i]);
    const bool tracked = found != rows.end();
    if (tracked) {
      cache = found->second.cache;
      fits &= found->second.exact && !found->second.places;
    }
    llvm::Expected<bool> large =
        atLeast(node.inputs[i], tracked ? cache->capacity : 0);
    if (!large)
      return large.takeError();
    fits &= *large;
  }
  auto step = integers(node.inputs[2]);
  if (!step)
    return step.takeError();
  if (!fits || !cache || !*step || **step != std::vector<int64_t>{1})
    return false;
  rows[node.outputs[0]] = {cache, -1, true, true};
  return true;
}

llvm::Expected<bool> Finder::comparesPlaces(const FlatNode &node) {
  for (const std::string &name : node.inputs) {
    auto found = rows.find(name);
    if (found == rows.end() || found->second.position)
      return false;
    if (found->second.places)
      continue;
    llvm::Expected<bool> large = atLeast(name, found->second.cache->capacity);
    if (!large || !*large || !found->second.exact)
      return large ? llvm::Expected<bool>(false) : std::move(large);
  }
  return true;
}

/// Row i of a mask is a new row, at place capacity + i: its diagonal lies
/// there.
llvm::Expected<bool> Finder::cutsTriangle(const FlatNode &node) {
  if (node.inputs.size() != 2 || rows.contains(node.inputs[0]))
    return false;
  const Rows &diagonal = rows.find(node.inputs[1])->second;
  if (!diagonal.exact || diagonal.places)
    return false;
  return atLeast(node.inputs[1], diagonal.cache->capacity);
}

llvm::Expected<bool> Finder::takesPlaces(const FlatNode &node) {
  if (!node.domain.empty())
    return false;
  if (node.op == "Range")
    return makesPlaces(node);
  if (compares(node))
    return comparesPlaces(node);
  return node.op == "Trilu" ? cutsTriangle(node) : false;
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

Error Finder::visitPosition(const FlatNode &node, size_t index,
                            const Rows &operand) {
  const bool gathers = node.op == "Gather" && index == 1;
  if (selects(node, index) && !(gathers && tables.contains(node.inputs[0])))
    return refuseNode(node, operand);
  // A comparison gives one answer for each place.
  if ((isArithmetic(node) && !compares(node)) || movesElements(node, index))
    for (const std::string &output : node.outputs)
      rows[output] = {operand.cache, -1, false, false, true};
  return Error::success();
}

Error Finder::visitExtents(const FlatNode &node, const Rows &operand) {
  auto extents = integers(node.outputs[0]);
  if (!extents)
    return extents.takeError();
  if (!*extents || llvm::any_of(**extents, [&](int64_t extent) {
        return extent >= operand.cache->capacity;
      }))
    rows[node.outputs[0]] = {operand.cache, -1, false};
  return Error::success();
}

Error Finder::usePosition(const FlatNode &node, size_t index,
                          const Rows &operand) {
  const bool table = node.domain.empty() && node.op == "Gather" && index == 1 &&
                     tables.contains(node.inputs[0]);
  if (!operand.exact || (!isArithmetic(node) && !table))
    return refuseNode(node, operand);
  // Places begin at 0; a number alone must lie after the capacity.
  const int64_t least = operand.places ? 0 : operand.cache->capacity;
  llvm::Expected<bool> known = atLeast(node.inputs[index], least);
  if (!known)
    return known.takeError();
  if (!*known)
    return refuseNode(node, operand);
  uses[{node.name, index}] = operand.cache->capacity;
  return visitPosition(node, index, operand);
}

Error Finder::visitOperand(const FlatNode &node, size_t index,
                           const Rows &operand) {
  if (operand.position)
    return visitPosition(node, index, operand);
  if (operand.places && node.op == "Shape" && node.domain.empty())
    return visitExtents(node, operand);
  if (operand.places) {
    if (!node.domain.empty() || !movesPlaces(node, index))
      return usePosition(node, index, operand);
    for (const std::string &output : node.outputs)
      rows[output] = operand;
    return Error::success();
  }
  const Use use = useOf(node, index);
  if (use == Use::Other)
    return usePosition(node, index, operand);
  if (use == Use::Extent)
    return Error::success();
  llvm::Expected<bool> takes = takesRows(node, operand);
  if (!takes)
    return takes.takeError();
  if (!*takes)
    return Error::success();
  // Twice the number is not the number any more.
  const bool again = llvm::any_of(node.outputs, [&](const std::string &name) {
    return rows.contains(name);
  });
  const bool exact = operand.exact && staysExact(node, index) &&
                     (!again || node.op == "Concat");
  for (const std::string &output : node.outputs)
    rows[output] = {operand.cache, -1, exact};
  return Error::success();
}

Error Finder::visit(const FlatNode &node) {
  if ((node.op == "Shape" || node.op == "Size") && node.domain.empty() &&
      !node.inputs.empty() && !node.outputs.empty())
    if (auto found = shapes.find(node.inputs[0]); found != shapes.end()) {
      readShape(node, found->second);
      return Error::success();
    }
  // What a cache is joined with is as long as its capacity and the new rows.
  if (node.op == "Concat" && !node.outputs.empty())
    for (const std::string &name : node.inputs)
      if (auto found = shapes.find(name); found != shapes.end())
        shapes[node.outputs[0]] = RowsAlong(found->second);
  for (const CapturedValue &value : node.captured)
    if (auto found = rows.find(value.flat); found != rows.end())
      return refuse("node '" + printable(node.name) + "' (" + node.op + ")",
                    *found->second.cache);
  if (llvm::none_of(node.inputs, [&](const std::string &name) {
        return rows.contains(name);
      }))
    return Error::success();
  llvm::Expected<bool> places = takesPlaces(node);
  if (!places)
    return places.takeError();
  if (*places)
    return Error::success();
  // What is computed with a position or a place needs positions throughout.
  const bool positions =
      isArithmetic(node) && node.op != "Cast" &&
      llvm::any_of(node.inputs, [&](const std::string &name) {
        auto found = rows.find(name);
        return found != rows.end() &&
               (found->second.places || found->second.position);
      });
  for (auto [index, name] : llvm::enumerate(node.inputs)) {
    auto found = rows.find(name);
    if (found == rows.end())
      continue;
    const Rows operand = found->second;
    if (Error error = positions && !operand.position
                          ? usePosition(node, index, operand)
                          : visitOperand(node, index, operand))
      return error;
  }
  return Error::success();
}

Error ashlar::frontend::refuseCapacityAsData(const Model &model,
                                             llvm::ArrayRef<CacheShape> caches,
                                             ReadIntegers integers,
                                             PlaceUses &uses) {
  return Finder(caches, integers, uses).run(model);
}
