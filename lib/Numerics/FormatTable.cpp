// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON of format tables. The text comes from a user's file: unknown keys and
// wrong types are errors that name them.

#include "ashlar/Numerics/FormatTable.h"
#include "ashlar/Support/Json.h"

#include "ashlar/Support/Error.h"

#include <fmt/format.h>

using namespace llvm;

namespace ashlar::numerics {

using support::ErrorClass;
using support::makeError;

namespace {

Error readFormat(const json::Value &value, const std::string &where,
                 BlockFormat &format) {
  std::optional<StringRef> text = value.getAsString();
  if (!text)
    return makeError(ErrorClass::Malformed,
                     "{} is not a string, expected a format such as \"bfp8\"",
                     where);
  Expected<BlockFormat> parsed = parseFormat(*text);
  if (!parsed)
    return makeError(ErrorClass::Malformed, "{}: {}", where,
                     llvm::toString(parsed.takeError()));
  format = *parsed;
  return Error::success();
}

/// Feature maps share exponents along one axis only.
Error refuseRows(const BlockFormat &format, const std::string &where) {
  return format.rows == 1
             ? Error::success()
             : makeError(ErrorClass::Malformed,
                         "{}: rows= is of weights, feature maps share "
                         "exponents along one axis: leave it out",
                         where);
}

Error readScale(const json::Value &value, const std::string &where,
                ScalePolicy &scale) {
  std::optional<StringRef> text = value.getAsString();
  if (!text)
    return makeError(ErrorClass::Malformed,
                     "{} is not a string, expected a policy such as \"runmax\"",
                     where);
  Expected<ScalePolicy> parsed = parseScalePolicy(*text);
  if (!parsed)
    return makeError(ErrorClass::Malformed, "{}: {}", where,
                     llvm::toString(parsed.takeError()));
  scale = *parsed;
  return Error::success();
}

/// Reads the keys "activations", "weights" and "scale" of `object` into
/// `formats`; others go to `other`.
template <typename Formats, typename Other>
Error readFormats(const json::Object &object, const std::string &where,
                  Formats &formats, Other other) {
  for (const auto &[key, value] : object) {
    std::string name = where + ": '" + StringRef(key).str() + "'";
    Error error = Error::success();
    if (key == "activations" || key == "weights") {
      BlockFormat format;
      error = joinErrors(std::move(error), readFormat(value, name, format));
      if (key == "activations" && !error)
        error = refuseRows(format, name);
      (key == "activations" ? formats.activations : formats.weights) = format;
    } else if (key == "scale") {
      ScalePolicy scale;
      error = joinErrors(std::move(error), readScale(value, name, scale));
      formats.scale = scale;
    } else {
      error = joinErrors(std::move(error), other(key, value, name));
    }
    if (error)
      return error;
  }
  return Error::success();
}

Error unknownKey(const std::string &where, StringRef expected) {
  return makeError(ErrorClass::Malformed, "{} is not a known key, expected {}",
                   where, expected.str());
}

Error readNodes(const json::Value &value, const std::string &where,
                FormatTable &table) {
  const json::Object *nodes = value.getAsObject();
  if (!nodes)
    return makeError(ErrorClass::Malformed, "{} is not an object", where);
  for (const auto &[name, entry] : *nodes) {
    std::string node = where + ": '" + StringRef(name).str() + "'";
    const json::Object *formats = entry.getAsObject();
    if (!formats)
      return makeError(ErrorClass::Malformed, "{} is not an object", node);
    NodeFormats &own = table.nodes[StringRef(name).str()];
    if (Error error = readFormats(
            *formats, node, own,
            [](const auto &, const auto &, const std::string &unknown) {
              return unknownKey(unknown, "activations, weights or scale");
            }))
      return error;
  }
  return Error::success();
}

json::Object toJson(const NodeFormats &formats) {
  json::Object object;
  if (formats.activations)
    object["activations"] = toString(*formats.activations);
  if (formats.weights)
    object["weights"] = toString(*formats.weights);
  if (formats.scale)
    object["scale"] = toString(*formats.scale);
  return object;
}

} // namespace

FormatTable FormatTable::uniform(const BlockFormat &format) {
  FormatTable table;
  table.activations = format.withoutRows();
  table.weights = format;
  return table;
}

BlockFormat FormatTable::activationsOf(StringRef name) const {
  auto node = nodes.find(name.str());
  return node == nodes.end() ? activations
                             : node->second.activations.value_or(activations);
}

BlockFormat FormatTable::weightsOf(StringRef name) const {
  auto node = nodes.find(name.str());
  return node == nodes.end() ? weights : node->second.weights.value_or(weights);
}

ScalePolicy FormatTable::scaleOf(StringRef name) const {
  auto node = nodes.find(name.str());
  return node == nodes.end() ? scale : node->second.scale.value_or(scale);
}

Expected<FormatTable> parseFormatTable(StringRef text, StringRef source) {
  Expected<json::Value> value = support::parseJson(text);
  if (!value)
    return withContext(value.takeError(), source.str());
  const json::Object *object = value->getAsObject();
  if (!object)
    return makeError(ErrorClass::Malformed,
                     "{} holds no object, expected a table of formats",
                     source.str());
  FormatTable table;
  if (Error error = readFormats(
          *object, source.str(), table,
          [&](StringRef key, const json::Value &entry,
              const std::string &name) {
            return key == "nodes"
                       ? readNodes(entry, name, table)
                       : unknownKey(name,
                                    "activations, weights, scale or nodes");
          }))
    return error;
  return table;
}

json::Value toJson(const FormatTable &table) {
  json::Object nodes;
  for (const auto &[name, formats] : table.nodes)
    nodes[name] = toJson(formats);
  json::Object object{{"activations", toString(table.activations)},
                      {"weights", toString(table.weights)},
                      {"nodes", std::move(nodes)}};
  if (table.scale != ScalePolicy())
    object["scale"] = toString(table.scale);
  return object;
}

std::string toString(const FormatTable &table) {
  std::string text = toString(table.activations);
  if (!(table.weights == table.activations))
    text = "activations " + text + ", weights " + toString(table.weights);
  if (table.scale != ScalePolicy())
    text += ", scale " + toString(table.scale);
  if (!table.nodes.empty())
    text += fmt::format(", {} nodes of their own", table.nodes.size());
  return text;
}

} // namespace ashlar::numerics
