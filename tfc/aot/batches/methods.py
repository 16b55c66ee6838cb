"""The parts of a generated class, and of its functions in C, about sizes of batch."""

from string import Template

from tfc.aot.interface import Batch
from tfc.aot.signature import Leaf, Signature

_NONE = """
  // The class was made for arrays of fixed sizes: it has no batch.
  static std::size_t num_batch_sizes() { return 0; }
  static const std::size_t* batch_sizes() { return nullptr; }
  static std::size_t max_batch_size() { return 0; }
  std::size_t batch_size() const { return 0; }
  bool set_batch_size(std::size_t) {
    error_msg_ = "the class was made without sizes of batch";
    return false;
  }
"""

_METHODS = Template("""
  // How many rows the next Run() computes: $rule.
  // Arrays that have them hold as many along their first dimension, of which the rest is neither
  // read nor written; shapes and sizes in this file are those of the largest batch, which is also
  // what it is at first. False, and nothing changes, if there is no code for so many rows.
  bool set_batch_size(std::size_t rows) {
    if (!($served)) {
      error_msg_ = "the sizes of batch of this class are $sizes";
      return false;
    }
    batch_size_ = rows;
    return true;
  }
  std::size_t batch_size() const { return batch_size_; }
  static std::size_t max_batch_size() { return $most; }
  // The sizes that there is code for, the least first.
  static std::size_t num_batch_sizes() { return $count; }
  static const std::size_t* batch_sizes() {
    static constexpr std::size_t sizes[] = {$listed};
    return sizes;
  }
""")

_EXACT = Template("""
  // Runs the program for the size of the batch.
  std::int32_t RunBatch(Served* served) {
    for (std::size_t number = 0; number < num_batch_sizes(); ++number) {
      if (batch_sizes()[number] == batch_size_) {
        served->program = number;
      }
    }
    return ::$entry(args_, results_, served);
  }
""")

_PARTS = Template("""
  // Runs programs for parts of the batch, whose rows are independent. Where no rest fits, some rows
  // are computed again.
  std::int32_t RunBatch(Served* served) {
    std::int32_t status = 0;
    for (std::size_t row = 0; row < batch_size_ && status == 0;) {
      const std::size_t left = batch_size_ - row;
      std::size_t number = 0;
      while (number + 1 < num_batch_sizes() && batch_sizes()[number] < left) {
        ++number;
      }
      std::size_t size = batch_sizes()[number];
      if (size > left && number > 0 && (size > batch_size_ || size > 2 * left)) {
        size = batch_sizes()[--number];
      } else if (size > left) {
        row = batch_size_ - size;
      }
      static constexpr std::size_t arg_bytes[] = {$arguments};
      static constexpr std::size_t result_bytes[] = {$results};
      void* args[$args_length];
      void* results[$results_length];
      for (std::size_t i = 0; i < kNumArgs; ++i) {
        args[i] = static_cast<unsigned char*>(args_[i]) + row * arg_bytes[i];
      }
      for (std::size_t i = 0; i < kNumResults; ++i) {
        results[i] = static_cast<unsigned char*>(results_[i]) + row * result_bytes[i];
      }
      served->program = number;
      status = ::$entry(args, results, served);
      row += size;
    }
    return status;
  }
""")

_IN_C = Template("""
// How many rows the next run computes: $rule. It is $most at first.
static inline bool ${prefix}_set_batch_size(${prefix}_object* self, size_t rows) {
  if (!($served)) {
    self->error_msg = "the sizes of batch of this class are $sizes";
    return false;
  }
  self->batch_size = rows;
  return true;
}
""")

_EXACT_IN_C = Template("""
static inline int32_t ${prefix}_run_batch(${prefix}_object* self, ${prefix}_served* served) {
  static const size_t sizes[] = {$listed};
  size_t number;
  for (number = 0; number < $count; ++number) {
    if (sizes[number] == self->batch_size) {
      served->program = number;
    }
  }
  return $entry(self->args, self->results, served);
}
""")

_PARTS_IN_C = Template("""
static inline int32_t ${prefix}_run_batch(${prefix}_object* self, ${prefix}_served* served) {
  static const size_t sizes[] = {$listed};
  static const size_t arg_bytes[] = {$arguments};
  static const size_t result_bytes[] = {$results};
  void* args[$args_length];
  void* results[$results_length];
  size_t row = 0, number, size, left, i;
  int32_t status = 0;
  while (row < self->batch_size && status == 0) {
    left = self->batch_size - row;
    number = 0;
    while (number + 1 < $count && sizes[number] < left) {
      ++number;
    }
    size = sizes[number];
    if (size > left && number > 0 && (size > self->batch_size || size > 2 * left)) {
      size = sizes[--number];
    } else if (size > left) {
      row = self->batch_size - size;
    }
    for (i = 0; i < ${prefix}_NUM_ARGS; ++i) {
      args[i] = (unsigned char*)self->args[i] + row * arg_bytes[i];
    }
    for (i = 0; i < ${prefix}_NUM_RESULTS; ++i) {
      results[i] = (unsigned char*)self->results[i] + row * result_bytes[i];
    }
    served->program = number;
    status = $entry(args, results, served);
    row += size;
  }
  return status;
}
""")


def batch_terms(signature: Signature) -> dict[str, str]:
    """The parts of the class: methods, what they call, how Run() calls, and fields."""
    batch, passed = signature.batch, "&served" if signature.is_served else "arena_"
    if batch is None:
        call = f"::{signature.entry_point}(args_, results_, {passed})"
        return {"batch": _NONE, "run_batch": "", "call": call, "batch_field": "", "batch_swap": ""}
    terms = _terms(signature, batch)
    run = ""
    call = f"::{signature.entry_point}(args_, results_, {passed})"
    if len(batch.sizes) > 1:
        run, call = (_PARTS if batch.takes_any else _EXACT).substitute(terms), "RunBatch(&served)"
    return {
        "batch": _METHODS.substitute(terms, served=_served(batch, "rows")),
        "run_batch": run,
        "call": call,
        "batch_field": f"\n  std::size_t batch_size_ = {terms['most']};",
        "batch_swap": "\n    std::swap(batch_size_, other.batch_size_);",
    }


def batch_in_c(signature: Signature, prefix: str) -> dict[str, str]:
    """The parts of the functions in C: a field, its first value, functions, and the call."""
    batch, passed = signature.batch, "&served" if signature.is_served else "self->arena"
    if batch is None:
        call = f"{signature.entry_point}(self->args, self->results, {passed})"
        return {"batch_field": "", "batch_start": "", "batch": "", "call": call}
    terms = {**_terms(signature, batch), "prefix": prefix}
    run, call = "", f"{signature.entry_point}(self->args, self->results, {passed})"
    if len(batch.sizes) > 1:
        run = (_PARTS_IN_C if batch.takes_any else _EXACT_IN_C).substitute(terms)
        call = f"{prefix}_run_batch(self, &served)"
    return {
        "batch_field": "\n  size_t batch_size;  // rows of the next run",
        "batch_start": f"\n  self->batch_size = {terms['most']};",
        "batch": _IN_C.substitute(terms, served=_served(batch, "rows")) + run,
        "call": call,
    }


def _terms(signature: Signature, batch: Batch) -> dict[str, object]:
    several = len(batch.sizes) > 1
    listed = ", ".join(map(str, batch.sizes))
    least, most = batch.sizes[0], batch.sizes[-1]
    sizes = f"{least} to {most}" if batch.takes_any and several else listed
    return {
        "entry": signature.entry_point,
        "rule": f"any number from {least} to {most}" if batch.takes_any else f"one of {listed}",
        "sizes": sizes,
        "listed": listed,
        "count": len(batch.sizes),
        "most": most,
        "args_length": max(1, len(signature.arguments)),
        "results_length": max(1, len(signature.results)),
        "arguments": _bytes(batch.arguments, signature.arguments, most),
        "results": _bytes(batch.results, signature.results, most),
    }


def _served(batch: Batch, rows: str) -> str:
    """The condition that so many rows can be computed."""
    if batch.takes_any and len(batch.sizes) > 1:
        return f"{rows} >= {batch.sizes[0]} && {rows} <= {batch.sizes[-1]}"
    return " || ".join(f"{rows} == {size}" for size in batch.sizes)


def _bytes(counts: tuple[int, ...], found: tuple[Leaf, ...], most: int) -> str:
    """How many bytes a row has in each array."""
    sizes = [leaf.shape.byte_size // most if count else 0 for count, leaf in zip(counts, found)]
    return ", ".join(map(str, sizes)) or "0"
