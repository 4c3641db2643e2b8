// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decision while a pass writes it.

#ifndef ASHLAR_DIALECTS_ASHLAR_DECISION_H
#define ASHLAR_DIALECTS_ASHLAR_DECISION_H

#include "dialects/Ashlar/AshlarDialect.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Twine.h"

#include <optional>

namespace ashlar::records {

/// Entries by name, each of which replaces one of the same name: a dictionary
/// of facts.
class Facts {
public:
  explicit Facts(mlir::MLIRContext *context) : context(context) {}
  /// Those of a dictionary, to be changed.
  explicit Facts(mlir::DictionaryAttr known)
      : context(known.getContext()), entries(known) {}

  Facts &set(llvm::StringRef name, mlir::Attribute value);
  /// A number; cycles unless the name says otherwise.
  Facts &set(llvm::StringRef name, int64_t value);
  Facts &set(llvm::StringRef name, double value);
  Facts &set(llvm::StringRef name, const llvm::Twine &text);
  Facts &erase(llvm::StringRef name);

  template <typename T>
  T getAs(llvm::StringRef name) const {
    return mlir::dyn_cast_or_null<T>(entries.get(name));
  }
  mlir::MLIRContext *getContext() const { return context; }
  bool empty() const { return entries.empty(); }
  mlir::DictionaryAttr get() const { return entries.getDictionary(context); }

private:
  friend class Decision;
  mlir::MLIRContext *context;
  mlir::NamedAttrList entries;
};

/// The parts of a #ashlar.decision. Its choice and its reason have to be set
/// before it is recorded.
class Decision {
public:
  explicit Decision(mlir::MLIRContext *context)
      : facts(context), cycles(context) {}
  Decision(mlir::MLIRContext *context, const llvm::Twine &choice,
           const llvm::Twine &reason);
  /// One that is to be changed.
  explicit Decision(DecisionAttr attr);

  Decision &choose(const llvm::Twine &name);
  Decision &because(const llvm::Twine &text);
  /// Cycles of a choice that there was.
  Decision &alternative(llvm::StringRef name, int64_t cycles);

  /// Cycles of an alternative, if it has any.
  std::optional<int64_t> cyclesOf(llvm::StringRef alternative) const;

  DecisionAttr get() const;
  /// Sets attribute `name` of `op`.
  void record(mlir::Operation *op, llvm::StringRef name) const;

  Facts facts; ///< What else a report shows.

private:
  Facts cycles;
  mlir::StringAttr choice, reason;
};

} // namespace ashlar::records

#endif // ASHLAR_DIALECTS_ASHLAR_DECISION_H
