// Recognises handwritten digits by the class that tfc makes of a model.

#include <cstring>
#include <iostream>

#include "digits.h"  // generated

namespace {

// Images of 8×8 pixels, from white (.) to black (g, the 16th).
const char* const kImages[] = {
    "..5d91.."
    "..dfaf5."
    ".3f2.b8."
    ".4c..88."
    ".58..98."
    ".4b.1c7."
    ".2e5ac.."
    "..6da...",

    "...cd5.."
    "...bg9.."
    "..3fg6.."
    ".7fgg2.."
    "..1gg3.."
    "..1gg6.."
    "..1gg6.."
    "...bga..",

    "...4fc.."
    "..3gfe.."
    "..8d8g.."
    "..16fb.."
    ".18df1.."
    ".9gg5..."
    ".3dggb5."
    "...3bg9.",

    "..7fd1.."
    ".8d6f4.."
    ".21dd..."
    "..2fb1.."
    "...1cc1."
    "....1a8."
    "..845e9."
    "..7dd9..",

    "...1b..."
    "...78..."
    "..1d622."
    "..7f.98."
    ".5ga.g6."
    ".4fgdg1."
    "...3fa.."
    "...2g4..",

    "..78dgf1"
    "..774bc."
    "....8d1."
    ".488ff6."
    ".2bff4.."
    "...g5..."
    "..9f1..."
    "..d5....",
};

float Brightness(char pixel) {
  const char* const levels = ".123456789abcdefg";
  return static_cast<float>(std::strchr(levels, pixel) - levels) / 16.0f;
}

}  // namespace

int main() {
  demo::Digits digits;
  for (const char* image : kImages) {
    for (std::size_t i = 0; i < 64; ++i) {
      digits.arg_pixels(0, i) = Brightness(image[i]);
    }
    if (!digits.Run()) {
      std::cerr << "Failed: " << digits.error_msg() << std::endl;
      return 1;
    }
    std::cout << digits.result1(0) << " ";
  }
  std::cout << std::endl;
  return 0;
}
