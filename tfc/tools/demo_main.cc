// Classifies handwritten digits with a model that tfc trained and compiled.
//
//   usage: digits IMAGES
//
// IMAGES holds 64 floats an image, as this machine stores them. The digit seen in each is printed
// on a line of its own, and at the end, on the standard error, how long one took.
//
// The weights are inside the object file: nothing is loaded, and Run() allocates nothing.

#include <chrono>
#include <fstream>
#include <iostream>

#include "classifier.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " IMAGES\n";
    return 2;
  }
  std::ifstream images(argv[1], std::ios::binary);
  if (!images) {
    std::cerr << "error: cannot read " << argv[1] << "\n";
    return 1;
  }

  digits::Classifier classifier;
  char* const pixels = reinterpret_cast<char*>(classifier.arg0_data());
  std::chrono::duration<double, std::micro> elapsed{0};
  int count = 0;
  while (images.read(pixels, 64 * sizeof(float))) {
    const auto start = std::chrono::steady_clock::now();
    if (!classifier.Run()) {
      std::cerr << "error: the classifier failed\n";
      return 1;
    }
    elapsed += std::chrono::steady_clock::now() - start;
    std::cout << classifier.result0() << "\n";
    ++count;
  }
  std::cerr << elapsed.count() / count << " microseconds an image\n";
  return 0;
}
