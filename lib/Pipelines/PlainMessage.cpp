// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of operations end at the quote after them, types at the bracket that
// closes them.

#include "PlainMessage.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>

namespace ashlar::pipelines {
namespace {

/// What an operation is, for readers: "'npu.pe.conv'" is given without quotes.
std::string describeOperation(llvm::StringRef name) {
  llvm::StringRef engine = llvm::StringSwitch<llvm::StringRef>(name)
                               .StartsWith("npu.pe.", " on the array")
                               .StartsWith("npu.tcu.", " on the sparse cluster")
                               .StartsWith("npu.vec.", " on the vector unit")
                               .StartsWith("npu.dma.", " by DMA")
                               .Default("");
  std::string kind = name.rsplit('.').second.str();
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return "the " + kind + engine.str();
}

/// Length of an operation's name in quotes at the front of `text`, or 0.
size_t quotedOperation(llvm::StringRef text) {
  llvm::StringRef rest = text;
  if (!rest.consume_front("'"))
    return 0;
  llvm::StringRef name = rest.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '.' || c == '_'; });
  llvm::StringRef dialect = name.split('.').first;
  const bool known = llvm::StringSwitch<bool>(dialect)
                         .Cases({"nn", "bfp", "npu", "isa", "func"}, true)
                         .Default(false);
  return known && name.contains('.') && !name.ends_with(".") &&
                 rest.drop_front(name.size()).starts_with("'")
             ? name.size() + 2
             : 0;
}

/// Length of a type that begins with `opening` at the front of `text`, or 0.
size_t bracketed(llvm::StringRef text, llvm::StringRef opening) {
  if (!text.starts_with(opening))
    return 0;
  size_t depth = 1;
  for (size_t i = opening.size(); i < text.size(); ++i) {
    depth += text[i] == '<';
    depth -= text[i] == '>';
    if (depth == 0)
      return i + 1;
  }
  return 0;
}

} // namespace

std::string plainMessage(llvm::StringRef text) {
  std::string plain;
  while (!text.empty()) {
    if (size_t length = quotedOperation(text)) {
      llvm::StringRef after = text.drop_front(length);
      const std::string name = describeOperation(text.substr(1, length - 2));
      const bool prefix = after.consume_front(" op ");
      text = after;
      plain += prefix ? name + " " : name;
    } else if (size_t tensor = bracketed(text, "tensor<")) {
      plain += plainMessage(text.slice(7, tensor - 1));
      text = text.drop_front(tensor);
    } else if (size_t block = bracketed(text, "!bfp.block<")) {
      plain += "block floating point";
      text = text.drop_front(block);
    } else {
      plain += text.front();
      text = text.drop_front();
    }
  }
  return plain;
}

llvm::Error inPlainWords(llvm::Error error) {
  return llvm::handleErrors(std::move(error), [](const AshlarError &found) {
    return support::makeErrorFromText(found.errorClass(),
                                      plainMessage(found.getText()));
  });
}

} // namespace ashlar::pipelines
