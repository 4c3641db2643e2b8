// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants whose bytes are made each time they are read: weights that stay in
// the model's files, and weights that are others with a factor or in another
// order. A large model is then never in memory as a whole
// (docs/decisions/frontend/2026-11-23-large-models.md).

#ifndef ASHLAR_DIALECTS_NN_NNDEFERRED_H
#define ASHLAR_DIALECTS_NN_NNDEFERRED_H

#include "dialects/NN/NNElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/RWMutex.h"

#include <functional>
#include <memory>
#include <vector>

namespace ashlar::nn {

/// Writes the bytes of a constant from `first` on, as many as `to` has; false
/// where they cannot be read. Called from any thread, and more than once.
using ElementsSource =
    std::function<bool(size_t first, llvm::MutableArrayRef<char> to)>;

/// The deferred constants of a context; the `nn` dialect owns it.
class DeferredElements : public mlir::DialectInterface::Base<DeferredElements> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DeferredElements)

  /// Constants of fewer bytes are made at once.
  static constexpr size_t kLeastBytes = size_t(1) << 16;

  explicit DeferredElements(mlir::Dialect *dialect) : Base(dialect) {}

  /// That of \p context, where the `nn` dialect is loaded.
  static DeferredElements &of(mlir::MLIRContext *context);

  /// Whether constants are deferred from now on, or made at once: a module with
  /// deferred ones cannot be printed with its elements.
  void setEnabled(bool value) { enabled = value; }
  bool isEnabled() const { return enabled; }

  void add(const void *resource, ElementsSource source);
  /// The source of a resource, if it is deferred.
  std::shared_ptr<const ElementsSource> find(const void *resource) const;

  /// What `find` says of a deferred resource, asked until it says something.
  std::optional<ElementFacts>
  factsOf(const void *resource,
          llvm::function_ref<std::optional<ElementFacts>()> find);

  /// What is asked after a compilation: whether files that sources read have
  /// stayed as they were.
  void addCheck(std::function<llvm::Error()> check);
  llvm::Error runChecks() const;

private:
  bool enabled = false;
  mutable llvm::sys::RWMutex mutex;
  llvm::DenseMap<const void *, std::shared_ptr<const ElementsSource>> sources;
  llvm::DenseMap<const void *, ElementFacts> facts;
  std::vector<std::function<llvm::Error()>> checks;
};

/// What makes the bytes of a constant that is deferred; null for others.
std::shared_ptr<const ElementsSource>
deferredSource(mlir::ElementsAttr elements);

/// A constant of `type` with the bytes that `source` writes: made now, or, if
/// it is large and its context defers constants, whenever it is read. Null if
/// the source fails now. The element type must be plain.
mlir::ElementsAttr deferElements(mlir::RankedTensorType type,
                                 ElementsSource source, llvm::StringRef hint);

/// Floats of at most 32 bits times factors, as binary32: element i times
/// factors[i / run % number of factors], rounded once from binary64. Null where
/// `elements` has no bytes.
mlir::ElementsAttr scaledElements(mlir::ElementsAttr elements,
                                  std::vector<double> factors, int64_t run,
                                  llvm::StringRef hint);

} // namespace ashlar::nn

#endif // ASHLAR_DIALECTS_NN_NNDEFERRED_H
