// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One directive line of a program text: `.name key=value ...`, where a value is
// a word, a quoted string, or a list of these in brackets.

#ifndef ASHLAR_LIB_CONTAINER_DIRECTIVE_H
#define ASHLAR_LIB_CONTAINER_DIRECTIVE_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace ashlar::container {

/// A string as written in program text, quotes and escapes included.
std::string quoted(llvm::StringRef text);

/// A parsed line. The get functions look a key up and convert its value; the
/// first thing that is wrong is kept and handed out by finish().
class Directive {
public:
  /// \p where is "file:line".
  static llvm::Expected<Directive> parse(llvm::StringRef line,
                                         llvm::StringRef where);

  llvm::StringRef name() const { return directiveName; }
  bool has(llvm::StringRef key) const;

  /// Required values.
  void get(llvm::StringRef key, std::string &value);
  void get(llvm::StringRef key, std::vector<std::string> &value);
  template <typename T>
  void getNumber(llvm::StringRef key, T &value) {
    if (const Argument *argument = find(key, /*list=*/false))
      convert(*argument, argument->items[0], value);
  }
  template <typename T>
  void getNumbers(llvm::StringRef key, std::vector<T> &value) {
    if (const Argument *argument = find(key, /*list=*/true))
      for (const std::string &item : argument->items)
        convert(*argument, item, value.emplace_back());
  }

  /// Optional values: untouched if the key is absent.
  template <typename T>
  void getOptional(llvm::StringRef key, T &value) {
    if (has(key))
      getNumber(key, value);
  }
  void getOptional(llvm::StringRef key, std::string &value) {
    if (has(key))
      get(key, value);
  }
  void getOptional(llvm::StringRef key, std::vector<std::string> &value) {
    if (has(key))
      get(key, value);
  }

  /// Records an error at the value of \p key.
  void fail(llvm::StringRef key, std::string message);
  /// The first error; also a key that was never read.
  llvm::Error finish();

private:
  friend class DirectiveScanner;
  struct Argument {
    std::string key;
    size_t column = 0;
    bool list = false, used = false;
    std::vector<std::string> items;
  };

  Argument *find(llvm::StringRef key, bool list);
  void failAt(size_t column, std::string message);
  template <typename T>
  void convert(const Argument &argument, const std::string &item, T &value) {
    bool hex = llvm::StringRef(item).starts_with("0x");
    // "0x-1" is not a number.
    bool bad = llvm::StringRef(item).contains("x-") ||
               llvm::StringRef(item)
                   .drop_front(hex ? 2 : 0)
                   .getAsInteger(hex ? 16 : 10, value);
    if (bad)
      failAt(argument.column,
             fmt::format("'{}' is '{}', expected an integer of {} bits",
                         argument.key, item, sizeof(T) * 8));
  }

  std::string directiveName, where, firstError;
  std::vector<Argument> arguments;
};

} // namespace ashlar::container

#endif // ASHLAR_LIB_CONTAINER_DIRECTIVE_H
