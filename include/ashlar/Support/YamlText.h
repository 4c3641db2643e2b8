// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// YAML files that people write, machines and price tables: LLVM's stream parser
// with bounds against hostile files and errors that name file and line.

#ifndef ASHLAR_SUPPORT_YAMLTEXT_H
#define ASHLAR_SUPPORT_YAMLTEXT_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include <string>

namespace ashlar::support {

/// One YAML text while it is read.
class YamlText {
public:
  using Node = llvm::yaml::Node;
  /// Told a key of a mapping, its node and its value, which may be null.
  using Visit = llvm::function_ref<llvm::Error(llvm::StringRef key, Node *at,
                                               Node *value)>;

  /// \p text of the file \p name, which is to hold \p what ("a description").
  /// More than \p mostBrackets brackets are refused: each would be a level of
  /// recursion when it is skipped.
  YamlText(llvm::StringRef text, llvm::StringRef name, llvm::StringRef what,
           size_t mostBrackets);
  YamlText(const YamlText &) = delete;
  YamlText &operator=(const YamlText &) = delete;

  /// Reads the only document of the text; \p visit is given its root.
  llvm::Error document(llvm::function_ref<llvm::Error(Node *)> visit);

  /// Visits every field of \p node, which errors call \p what; \p at is where
  /// an error is that \p node cannot say itself. Fields may not repeat.
  llvm::Error mapping(Node *node, const std::string &what, Visit visit,
                      Node *at = nullptr);

  /// The text of a plain value.
  llvm::Expected<std::string> scalar(Node *node, llvm::StringRef what);

  /// The line of a node; 1 of one that is missing, or that a syntax error left
  /// outside of the text.
  unsigned lineOf(Node *node) const;

  /// An error at a line; a syntax error before it says more.
  template <typename... Args>
  llvm::Error error(unsigned line, fmt::format_string<Args...> format,
                    Args &&...args) const {
    if (!syntaxError.empty())
      return makeError(ErrorClass::Malformed, "{}", syntaxError);
    return makeError(ErrorClass::Malformed, "{}:{}: {}", name.str(), line,
                     fmt::vformat(format, fmt::make_format_args(args...)));
  }
  template <typename... Args>
  llvm::Error error(Node *node, fmt::format_string<Args...> format,
                    Args &&...args) const {
    return error(lineOf(node), format, std::forward<Args>(args)...);
  }

private:
  llvm::Error check() const;

  llvm::StringRef text, name, what;
  size_t mostBrackets;
  llvm::SourceMgr buffers;
  std::string syntaxError;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_YAMLTEXT_H
