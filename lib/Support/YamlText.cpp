// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's stream parser is used directly: it throws nothing and knows the line
// of every node.

#include "ashlar/Support/YamlText.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"

namespace yaml = llvm::yaml;

namespace ashlar::support {

/// Such files are a page or two.
static constexpr size_t mostBytes = 1 << 20;

YamlText::YamlText(llvm::StringRef text, llvm::StringRef name,
                   llvm::StringRef what, size_t mostBrackets)
    : text(text), name(name), what(what), mostBrackets(mostBrackets) {
  // The parser would print to stderr; keep the first message instead.
  buffers.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *context) {
        YamlText &self = *static_cast<YamlText *>(context);
        if (self.syntaxError.empty())
          self.syntaxError =
              fmt::format("{}:{}: {}", self.name.str(), diagnostic.getLineNo(),
                          diagnostic.getMessage().str());
      },
      this);
}

unsigned YamlText::lineOf(Node *node) const {
  const char *at = node ? node->getSourceRange().Start.getPointer() : nullptr;
  const bool inside = at && at >= text.begin() && at <= text.end();
  return inside ? 1 + text.take_front(at - text.begin()).count('\n') : 1;
}

llvm::Error YamlText::check() const {
  if (text.size() > mostBytes)
    return makeError(ErrorClass::Malformed,
                     "{}: {} bytes, expected {} of at most {}", name.str(),
                     text.size(), what.str(), mostBytes);
  if (text.contains('\0'))
    return makeError(ErrorClass::Malformed,
                     "{}: contains a zero byte, expected YAML text",
                     name.str());
  if (text.count('[') + text.count('{') > mostBrackets)
    return makeError(ErrorClass::Malformed,
                     "{}: more than {} brackets, expected a plain mapping",
                     name.str(), mostBrackets);
  return llvm::Error::success();
}

llvm::Error YamlText::document(llvm::function_ref<llvm::Error(Node *)> visit) {
  if (llvm::Error failure = check())
    return failure;
  yaml::Stream stream(text, buffers, /*ShowColors=*/false);
  yaml::document_iterator document = stream.begin();
  if (document == stream.end())
    return makeError(ErrorClass::Malformed, "{}: empty, expected a mapping",
                     name.str());
  if (llvm::Error failure = visit(document->getRoot()))
    return failure;
  if (stream.failed() || !syntaxError.empty())
    return error(1, "{}", "invalid YAML");
  if (++document != stream.end())
    return makeError(ErrorClass::Malformed,
                     "{}: several documents, expected one", name.str());
  return llvm::Error::success();
}

llvm::Expected<std::string> YamlText::scalar(Node *node, llvm::StringRef of) {
  auto *value = llvm::dyn_cast_or_null<yaml::ScalarNode>(node);
  if (!value)
    return error(node, "{} is not a plain value, expected one", of.str());
  llvm::SmallString<64> storage;
  return value->getValue(storage).str();
}

llvm::Error YamlText::mapping(Node *node, const std::string &of, Visit visit,
                              Node *at) {
  auto *map = llvm::dyn_cast_or_null<yaml::MappingNode>(node);
  if (!map)
    return error(node ? node : at, "{} is not a mapping, expected one", of);
  llvm::StringSet<> seen;
  for (yaml::KeyValueNode &pair : *map) {
    Node *key = pair.getKey();
    llvm::Expected<std::string> field = scalar(key, "a field name");
    if (!field)
      return field.takeError();
    if (!seen.insert(*field).second)
      return error(key, "field '{}' appears twice", *field);
    if (llvm::Error failure = visit(*field, key, pair.getValue()))
      return failure;
  }
  return syntaxError.empty() ? llvm::Error::success() : error(1, "{}", "");
}

} // namespace ashlar::support
