"""Weights that lie in a file of their own: what the header has to find them.

NAME.weights   the constants as they are read, a multiple of 64 bytes, with nothing before them
NAME.h         maps the file, or takes an address, and compares size and checksum
"""

from string import Template

import numpy as np

from tfc.aot.signature import ALIGNMENT, Signature
from tfc.backends.interfaces import Constants

_STEP, _FACTOR = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
_CHUNK = 1 << 20  # words at a time

# In C, which C++ reads too: both have the functions of one implementation.
_COMMON = Template("""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#elif (defined(__unix__) || defined(__APPLE__)) && !defined(__wasm__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#elif __STDC_HOSTED__
#include <stdio.h>
#include <stdlib.h>
#endif

// Where the weights are that lie outside of the object file.
typedef struct {
  const void* data;
  void* owned;  // what is to be given back; null for weights that are the caller's
} ${entry}_weights;

// What the weights add up to: every word, mixed with its place.
static inline uint64_t ${entry}_weights_sum(const void* data) {
  const unsigned char* const bytes = (const unsigned char*)data;
  uint64_t sum = 0, place = 0, word;
  size_t i;
  for (i = 0; i < (size_t)${size}u; i += 8) {
    memcpy(&word, bytes + i, 8);
    word += place;
    word = (word ^ (word >> 32)) * UINT64_C($factor);
    sum += word ^ (word >> 29);
    place += UINT64_C($step);
  }
  return sum;
}

static inline void ${entry}_release_weights(${entry}_weights* self) {
  if (self->owned) {
#if defined(_WIN32)
    UnmapViewOfFile(self->owned);
#elif (defined(__unix__) || defined(__APPLE__)) && !defined(__wasm__)
    munmap(self->owned, (size_t)${size}u);
#elif __STDC_HOSTED__
    free(self->owned);
#endif
  }
  self->data = self->owned = 0;
}

// Takes weights that lie in memory. Why it does not; empty if it does. So for all of these.
static inline const char* ${entry}_set_weights(${entry}_weights* self, const void* data,
                                               size_t size, int is_checked) {
  if (size != (size_t)${size}u) {
    return "the weights are not of the size that the object file was made with: $size bytes";
  }
  if (!data || (uintptr_t)data % $alignment != 0) {
    return "the weights must lie at a multiple of $alignment bytes";
  }
  if (is_checked && ${entry}_weights_sum(data) != UINT64_C($sum)) {
    return "the weights are not those that the object file was made with, or are damaged";
  }
  if (data != self->data) {
    ${entry}_release_weights(self);
    self->data = data;
  }
  return "";
}

#if defined(_WIN32) || __STDC_HOSTED__
// Maps a file of weights into memory; where there is no such thing, reads it.
static inline const char* ${entry}_load_weights(${entry}_weights* self, const char* path,
                                                int is_checked) {
  ${entry}_weights made = {0, 0};
#if defined(_WIN32)
  LARGE_INTEGER size;
  HANDLE view;
  const HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING,
                                  FILE_ATTRIBUTE_NORMAL, NULL);
  if (file == INVALID_HANDLE_VALUE) {
    return "the file of weights cannot be opened";
  }
  if (!GetFileSizeEx(file, &size) || size.QuadPart != (LONGLONG)${size}u) {
    CloseHandle(file);
    return "the file of weights is not of the size that the object file was made with";
  }
  view = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
  CloseHandle(file);
  if (view) {
    made.owned = MapViewOfFile(view, FILE_MAP_READ, 0, 0, 0);
    CloseHandle(view);
  }
  made.data = made.owned;
#elif (defined(__unix__) || defined(__APPLE__)) && !defined(__wasm__)
  struct stat status;
  const int file = open(path, O_RDONLY);
  if (file < 0) {
    return "the file of weights cannot be opened";
  }
  if (fstat(file, &status) != 0 || status.st_size < 0 ||
      (uint64_t)status.st_size != (uint64_t)${size}u) {
    close(file);
    return "the file of weights is not of the size that the object file was made with";
  }
  made.owned = mmap(0, (size_t)${size}u, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (made.owned == MAP_FAILED) {
    made.owned = 0;
  }
  made.data = made.owned;
#else
  unsigned char* bytes;
  size_t count;
  FILE* const file = fopen(path, "rb");
  if (!file) {
    return "the file of weights cannot be opened";
  }
  made.owned = malloc((size_t)${size}u + $alignment);
  if (made.owned) {
    bytes = (unsigned char*)made.owned;
    bytes += ($alignment - (uintptr_t)bytes % $alignment) % $alignment;
    count = fread(bytes, 1, (size_t)${size}u, file);
    made.data = bytes;
    if (count != (size_t)${size}u || fgetc(file) != EOF) {
      fclose(file);
      free(made.owned);
      return "the file of weights is not of the size that the object file was made with";
    }
  }
  fclose(file);
#endif
  if (!made.owned) {
    return "the file of weights cannot be mapped into memory";
  }
  if (is_checked && ${entry}_weights_sum(made.data) != UINT64_C($sum)) {
    ${entry}_release_weights(&made);
    return "the weights are not those that the object file was made with, or are damaged";
  }
  ${entry}_release_weights(self);
  *self = made;
  return "";
}
#endif
""")

_METHODS = Template("""
  // The weights lie in a file of their own, which must be given before Run(). Their size is
  // compared with that of the object file, and so is their checksum, for which all of them are
  // read, unless it is left out. On failure error_msg() says why, and nothing changes.
  static std::size_t weights_size() { return ${size}u; }
  const void* weights() const { return weights_.data; }
#if defined(_WIN32) || __STDC_HOSTED__
  // Maps the file into memory, which processes and objects share that map it.
  bool LoadWeights(const char* path, bool is_checked = true) {
    return Succeeds(${entry}_load_weights(&weights_, path, is_checked));
  }
#endif
  // Takes weights in memory that stays the caller's, such as a ROM or those of another object; they
  // begin at a multiple of kAlignment bytes, and must stay while they are used.
  bool set_weights(const void* data, std::size_t size, bool is_checked = true) {
    return Succeeds(${entry}_set_weights(&weights_, data, size, is_checked));
  }
""")

_PRIVATE = """
  bool Succeeds(const char* problem) {
    error_msg_ = problem;
    return problem[0] == '\\0';
  }
"""

_CHECK = """
    if (weights_.data == nullptr) {
      return "there are no weights: call LoadWeights() or set_weights() first";
    }"""

_IN_C = Template("""
// The weights, which must be given before the first run; see the class. False if they do not fit.
#if defined(_WIN32) || __STDC_HOSTED__
static inline bool ${prefix}_load_weights(${prefix}_object* self, const char* path) {
  self->error_msg = ${entry}_load_weights(&self->weights, path, 1);
  return self->error_msg[0] == '\\0';
}
#endif
static inline bool ${prefix}_set_weights(${prefix}_object* self, const void* data, size_t size) {
  self->error_msg = ${entry}_set_weights(&self->weights, data, size, 1);
  return self->error_msg[0] == '\\0';
}
""")

_CHECK_IN_C = """
  if (self->weights.data == NULL) {
    self->error_msg = "there are no weights: load or set them first";
    return false;
  }"""


def checksum(weights: bytes) -> int:
    """What the header compares weights by; their size is a multiple of 8 bytes."""
    words = np.frombuffer(weights, "<u8")
    total = np.uint64(0)
    with np.errstate(over="ignore"):
        for first in range(0, len(words), _CHUNK):
            part = words[first : first + _CHUNK]
            places = np.arange(first, first + len(part), dtype=np.uint64) * np.uint64(_STEP)
            mixed = part + places
            mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(_FACTOR)
            total += (mixed ^ (mixed >> np.uint64(29))).sum(dtype=np.uint64)
    return int(total)


def weights_terms(signature: Signature) -> dict[str, str]:
    """The parts of the class, and what lies before it for C and C++."""
    names = ("common", "methods", "private", "check", "field", "swap", "release")
    found = dict.fromkeys((f"weights_{name}" for name in names), "")
    if signature.constants is not Constants.GIVEN:
        return found
    terms, entry = _terms(signature), signature.entry_point
    return found | {
        "weights_common": _COMMON.substitute(terms),
        "weights_methods": _METHODS.substitute(terms),
        "weights_private": _PRIVATE,
        "weights_check": _CHECK,
        "weights_field": f"\n  ::{entry}_weights weights_ = {{nullptr, nullptr}};",
        "weights_swap": "\n    std::swap(weights_, other.weights_);",
        "weights_release": f"\n    ::{entry}_release_weights(&weights_);",
    }


def weights_in_c(signature: Signature, prefix: str) -> dict[str, str]:
    """The parts of the functions in C."""
    if signature.constants is not Constants.GIVEN:
        names = ("field", "release", "check", "functions")
        return dict.fromkeys((f"weights_{name}" for name in names), "")
    entry = signature.entry_point
    return {
        "weights_field": f"\n  {entry}_weights weights;",
        "weights_release": f"\n  {entry}_release_weights(&self->weights);",
        "weights_check": _CHECK_IN_C,
        "weights_functions": _IN_C.substitute(_terms(signature), prefix=prefix),
    }


def _terms(signature: Signature) -> dict[str, object]:
    return {
        "entry": signature.entry_point,
        "size": signature.constant_size,
        "sum": hex(signature.constant_sum),
        "alignment": ALIGNMENT,
        "step": hex(_STEP),
        "factor": hex(_FACTOR),
    }
