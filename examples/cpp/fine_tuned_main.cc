// Prints the digit in each image of a file: 64 floats an image, one after the other.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "digits.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  demo::Digits digits;
  float image[64];
  while (file.read(reinterpret_cast<char*>(image), sizeof image)) {
    std::copy(image, image + 64, digits.arg0_data());
    if (!digits.Run()) return 1;
    std::printf("%d\n", static_cast<int>(digits.result0(0)));
  }
  return 0;
}
