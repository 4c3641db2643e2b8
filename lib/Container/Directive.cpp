// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scanner of directive lines.

#include "Directive.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace ashlar::container {

std::string quoted(llvm::StringRef text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (c < 0x20 || c >= 0x7f)
      result += fmt::format("\\x{:02x}", c);
    else
      result += static_cast<char>(c);
  }
  return result + '"';
}

/// Reads a line from left to right.
class DirectiveScanner {
public:
  DirectiveScanner(llvm::StringRef line, llvm::StringRef where)
      : line(line), where(where) {}

  llvm::Expected<Directive> parse() {
    Directive directive;
    directive.where = where.str();
    skipBlanks();
    directive.directiveName = word().str();
    for (skipBlanks(); !atEnd(); skipBlanks())
      if (llvm::Error error = parseArgument(directive))
        return error;
    return directive;
  }

private:
  bool atEnd() const {
    return position >= line.size() || line[position] == ';';
  }
  bool consume(char c) {
    if (position >= line.size() || line[position] != c)
      return false;
    ++position;
    return true;
  }
  void skipBlanks() {
    while (position < line.size() && llvm::isSpace(line[position]))
      ++position;
  }
  llvm::StringRef word() {
    size_t start = position;
    while (position < line.size() && !llvm::isSpace(line[position]) &&
           !llvm::StringRef("=[],;\"").contains(line[position]))
      ++position;
    return line.slice(start, position);
  }
  llvm::Error error(const std::string &message) const {
    return makeError(ErrorClass::Malformed, "{}:{}: {}", where.str(),
                     position + 1, message);
  }

  llvm::Error parseArgument(Directive &directive) {
    Directive::Argument argument;
    argument.column = position + 1;
    argument.key = word().str();
    if (argument.key.empty() || !consume('='))
      return error("expected key=value");
    for (const Directive::Argument &other : directive.arguments)
      if (other.key == argument.key)
        return error(fmt::format("'{}' is given twice", argument.key));
    if (consume('[')) {
      argument.list = true;
      if (llvm::Error failed = parseList(argument.items))
        return failed;
    } else if (llvm::Error failed = parseItem(argument.items)) {
      return failed;
    }
    directive.arguments.push_back(std::move(argument));
    return llvm::Error::success();
  }

  llvm::Error parseList(std::vector<std::string> &items) {
    skipBlanks();
    if (consume(']'))
      return llvm::Error::success();
    do {
      skipBlanks();
      if (llvm::Error failed = parseItem(items))
        return failed;
      skipBlanks();
    } while (consume(','));
    if (!consume(']'))
      return error("expected ',' or ']'");
    return llvm::Error::success();
  }

  llvm::Error parseItem(std::vector<std::string> &items) {
    if (consume('"'))
      return parseString(items.emplace_back());
    llvm::StringRef text = word();
    if (text.empty())
      return error("expected a value");
    items.push_back(text.str());
    return llvm::Error::success();
  }

  /// The rest of a string whose opening quote has been read.
  llvm::Error parseString(std::string &text) {
    while (position < line.size() && line[position] != '"') {
      char c = line[position++];
      if (c != '\\') {
        text += c;
        continue;
      }
      llvm::StringRef rest = line.substr(position);
      uint8_t byte;
      if (rest.consume_front("n"))
        text += '\n';
      else if (rest.starts_with("\"") || rest.starts_with("\\"))
        text += rest.front(), rest = rest.drop_front();
      else if (rest.consume_front("x") && rest.size() >= 2 &&
               !rest.take_front(2).getAsInteger(16, byte))
        text += static_cast<char>(byte), rest = rest.drop_front(2);
      else
        return error("unknown escape, expected \\n, \\\", \\\\ or \\xHH");
      position = line.size() - rest.size();
    }
    if (!consume('"'))
      return error("string without end");
    return llvm::Error::success();
  }

  llvm::StringRef line, where;
  size_t position = 0;
};

llvm::Expected<Directive> Directive::parse(llvm::StringRef line,
                                           llvm::StringRef where) {
  return DirectiveScanner(line, where).parse();
}

bool Directive::has(llvm::StringRef key) const {
  return llvm::any_of(
      arguments, [&](const Argument &argument) { return argument.key == key; });
}

Directive::Argument *Directive::find(llvm::StringRef key, bool list) {
  for (Argument &argument : arguments) {
    if (argument.key != key)
      continue;
    argument.used = true;
    if (argument.list == list)
      return &argument;
    failAt(argument.column, fmt::format("'{}' must be {}", key.str(),
                                        list ? "a list" : "one value"));
    return nullptr;
  }
  failAt(1, fmt::format("{} needs '{}'", directiveName, key.str()));
  return nullptr;
}

void Directive::get(llvm::StringRef key, std::string &value) {
  if (const Argument *argument = find(key, /*list=*/false))
    value = argument->items[0];
}

void Directive::get(llvm::StringRef key, std::vector<std::string> &value) {
  if (const Argument *argument = find(key, /*list=*/true))
    value = argument->items;
}

void Directive::fail(llvm::StringRef key, std::string message) {
  size_t column = 1;
  for (const Argument &argument : arguments)
    if (argument.key == key)
      column = argument.column;
  failAt(column, std::move(message));
}

void Directive::failAt(size_t column, std::string message) {
  if (firstError.empty())
    firstError = fmt::format("{}:{}: {}", where, column, message);
}

llvm::Error Directive::finish() {
  for (const Argument &argument : arguments)
    if (!argument.used)
      failAt(argument.column,
             fmt::format("{} has no '{}'", directiveName, argument.key));
  if (firstError.empty())
    return llvm::Error::success();
  return support::makeErrorFromText(ErrorClass::Malformed,
                                    std::move(firstError));
}

} // namespace ashlar::container
