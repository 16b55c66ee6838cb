// --- The driver ----------------------------------------------------------------------------------

using Status = int;                     // CUresult
using Address = unsigned long long;     // CUdeviceptr
constexpr int kMajor = 75, kMinor = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
constexpr int kMostShared = 8;          // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr unsigned kUsualShared = 48 << 10; // bytes that a launch may give without asking
constexpr Address kAlignment = 16; // bytes, which kernels read at once
constexpr int kFetchedBytes = 2;   // CU_TENSOR_MAP_L2_PROMOTION_L2_128B
constexpr std::size_t kDescriptorBytes = 128;  // of a CUtensorMap, at a multiple of 64

// The functions of the CUDA driver API that are called; the library is loaded by the first Run().
struct Driver {
  const char* problem;
  Status (*Init)(unsigned);
  Status (*GetErrorString)(Status, const char**);
  Status (*DeviceGetCount)(int*);
  Status (*DeviceGet)(int*, int);
  Status (*DeviceGetAttribute)(int*, int, int);
  Status (*PrimaryCtxRetain)(void**, int);
  Status (*PrimaryCtxRelease)(int);
  Status (*CtxPush)(void*);
  Status (*CtxPop)(void**);
  Status (*StreamCreate)(void**, unsigned);
  Status (*StreamDestroy)(void*);
  Status (*StreamSynchronize)(void*);
  Status (*ModuleLoadData)(void**, const void*);
  Status (*ModuleUnload)(void*);
  Status (*ModuleGetFunction)(void**, void*, const char*);
  Status (*FuncSetAttribute)(void*, int, int);
  Status (*MemAlloc)(Address*, std::size_t);
  Status (*MemFree)(Address);
  Status (*CopyToDevice)(Address, const void*, std::size_t, void*);
  Status (*CopyToHost)(void*, Address, std::size_t, void*);
  Status (*CopyOnDevice)(Address, Address, std::size_t, void*);
  Status (*LaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
  // Null where the driver is too old for it; few programs need it.
  Status (*TensorMapEncodeTiled)(void*, int, unsigned, void*, const std::uint64_t*,
                                 const std::uint64_t*, const unsigned*, const unsigned*, int, int,
                                 int, int);
  Status (*TensorMapEncodeIm2col)(void*, int, unsigned, void*, const std::uint64_t*,
                                  const std::uint64_t*, const int*, const int*, unsigned, unsigned,
                                  const unsigned*, int, int, int, int);
};

#if defined(_WIN32)
void* OpenLibrary() { return reinterpret_cast<void*>(LoadLibraryA("nvcuda.dll")); }
void* Symbol(void* library, const char* name) {
  void* found = nullptr;
  const auto symbol = GetProcAddress(static_cast<HMODULE>(library), name);
  std::memcpy(&found, &symbol, sizeof found);
  return found;
}
#else
void* OpenLibrary() { return dlopen("libcuda.so.1", RTLD_NOW); }
void* Symbol(void* library, const char* name) { return dlsym(library, name); }
#endif

template <class Function>
void Find(void* library, const char* name, Function* found, Driver* driver) {
  void* const symbol = Symbol(library, name);
  static_assert(sizeof symbol == sizeof *found, "functions are found as addresses");
  std::memcpy(found, &symbol, sizeof symbol);
  if (symbol == nullptr) {
    driver->problem = "NVIDIA's driver is too old: it lacks a function that is needed";
  }
}

Driver Loaded() {
  Driver d = Driver();
  void* const library = OpenLibrary();
  if (library == nullptr) {
    d.problem = "NVIDIA's driver cannot be loaded: there is no libcuda on this machine";
    return d;
  }
  Find(library, "cuInit", &d.Init, &d);
  Find(library, "cuGetErrorString", &d.GetErrorString, &d);
  Find(library, "cuDeviceGetCount", &d.DeviceGetCount, &d);
  Find(library, "cuDeviceGet", &d.DeviceGet, &d);
  Find(library, "cuDeviceGetAttribute", &d.DeviceGetAttribute, &d);
  Find(library, "cuDevicePrimaryCtxRetain", &d.PrimaryCtxRetain, &d);
  Find(library, "cuDevicePrimaryCtxRelease_v2", &d.PrimaryCtxRelease, &d);
  Find(library, "cuCtxPushCurrent_v2", &d.CtxPush, &d);
  Find(library, "cuCtxPopCurrent_v2", &d.CtxPop, &d);
  Find(library, "cuStreamCreate", &d.StreamCreate, &d);
  Find(library, "cuStreamDestroy_v2", &d.StreamDestroy, &d);
  Find(library, "cuStreamSynchronize", &d.StreamSynchronize, &d);
  Find(library, "cuModuleLoadData", &d.ModuleLoadData, &d);
  Find(library, "cuModuleUnload", &d.ModuleUnload, &d);
  Find(library, "cuModuleGetFunction", &d.ModuleGetFunction, &d);
  Find(library, "cuFuncSetAttribute", &d.FuncSetAttribute, &d);
  Find(library, "cuMemAlloc_v2", &d.MemAlloc, &d);
  Find(library, "cuMemFree_v2", &d.MemFree, &d);
  Find(library, "cuMemcpyHtoDAsync_v2", &d.CopyToDevice, &d);
  Find(library, "cuMemcpyDtoHAsync_v2", &d.CopyToHost, &d);
  Find(library, "cuMemcpyDtoDAsync_v2", &d.CopyOnDevice, &d);
  Find(library, "cuLaunchKernel", &d.LaunchKernel, &d);
  const char* const problem = d.problem;
  Find(library, "cuTensorMapEncodeTiled", &d.TensorMapEncodeTiled, &d);
  Find(library, "cuTensorMapEncodeIm2col", &d.TensorMapEncodeIm2col, &d);
  d.problem = problem;
  return d;
}

const Driver& TheDriver() {
  static const Driver driver = Loaded();
  return driver;
}

// --- A program on a GPU --------------------------------------------------------------------------

// What a caller gives for one run.
struct Call {
  void* stream;  // null for one of the program's own
  void* const* args;
  void* const* results;
  const std::uint64_t* arg_addresses;  // 0 for what lies on the host
  const std::uint64_t* result_addresses;
};

class Program {
 public:
  Program() {}
  ~Program() {
    if (context_ != nullptr && TheDriver().CtxPush(context_) == 0) {
      Close();
      void* popped = nullptr;
      TheDriver().CtxPop(&popped);
    }
    Release();
  }

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const char* message() const { return message_; }

  bool Run(int device, const Call& call) {
    message_[0] = '\0';
    if (TheDriver().problem != nullptr) {
      return Fail(TheDriver().problem);
    }
    if (context_ == nullptr && !Retain(device)) {
      Release();
      return false;
    }
    if (!Done(TheDriver().CtxPush(context_), "cuCtxPushCurrent")) {
      return false;
    }
    bool done = is_open_ || Open();
    if (!done) {
      Close();
    }
    done = done && RunInside(call);
    void* popped = nullptr;
    TheDriver().CtxPop(&popped);
    return done;
  }

 private:
  bool Fail(const char* text) {
    std::snprintf(message_, sizeof message_, "%s", text);
    return false;
  }

  // True if a function of the driver has succeeded.
  bool Done(Status status, const char* function) {
    if (status == 0) {
      return true;
    }
    const char* said = nullptr;
    if (TheDriver().GetErrorString(status, &said) != 0 || said == nullptr) {
      said = "an error that it has no words for";
    }
    std::snprintf(message_, sizeof message_, "%s of the CUDA driver failed: %s", function, said);
    return false;
  }

  bool Retain(int number) {
    const Driver& d = TheDriver();
    int count = 0;
    if (!Done(d.Init(0), "cuInit") || !Done(d.DeviceGetCount(&count), "cuDeviceGetCount")) {
      return false;
    }
    if (number < 0 || number >= count) {
      std::snprintf(message_, sizeof message_, "there is no GPU %d: the driver finds %d", number,
                    count);
      return false;
    }
    return Done(d.DeviceGet(&device_, number), "cuDeviceGet") &&
           Done(d.DeviceGetAttribute(&major_, kMajor, device_), "cuDeviceGetAttribute") &&
           Done(d.DeviceGetAttribute(&minor_, kMinor, device_), "cuDeviceGetAttribute") &&
           Done(d.PrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  }

  void Release() {
    if (context_ != nullptr) {
      TheDriver().PrimaryCtxRelease(device_);
      context_ = nullptr;
    }
  }

  // Loads the code and takes memory.
  bool Open() {
    const Driver& d = TheDriver();
    if (!Load() || !Done(d.StreamCreate(&own_stream_, 1), "cuStreamCreate")) {
      return false;
    }
    for (std::size_t n = 0; n < version_->function_count; ++n) {
      const Function& f = version_->functions[n];
      if (!Done(d.ModuleGetFunction(&functions_[n], module_, f.name), "cuModuleGetFunction")) {
        return false;
      }
      if (f.shared > kUsualShared &&
          !Done(d.FuncSetAttribute(functions_[n], kMostShared, static_cast<int>(f.shared)),
                "cuFuncSetAttribute")) {
        return false;
      }
    }
    if (!Take(version_->arena, &arena_) || !Take(version_->constant_bytes, &constants_)) {
      return false;
    }
    if (version_->constant_bytes != 0 &&
        !Done(d.CopyToDevice(constants_, version_->constants, version_->constant_bytes,
                             own_stream_), "cuMemcpyHtoDAsync")) {
      return false;
    }
    // A stream of the caller's knows nothing of what this one does.
    is_open_ = Done(d.StreamSynchronize(own_stream_), "cuStreamSynchronize");
    return is_open_;
  }

  // The best code that the driver takes: the versions are in that order.
  bool Load() {
    for (std::size_t n = 0; n < kCodes; ++n) {
      const Code& code = codes[n];
      const bool is_same = code.major == major_ && code.minor == minor_;
      const bool is_later = code.major < major_ || (code.major == major_ && code.minor <= minor_);
      const bool runs = code.is_exact ? is_same : is_later && (code.is_ptx || code.major == major_);
      if (runs && Done(TheDriver().ModuleLoadData(&module_, code.data), "cuModuleLoadData")) {
        version_ = &versions[code.version];
        message_[0] = '\0';
        return true;
      }
    }
    if (message_[0] == '\0') {
      std::snprintf(message_, sizeof message_,
                    "there is no code for a GPU of compute capability %d.%d", major_, minor_);
    }
    return false;
  }

  void Close() {
    const Driver& d = TheDriver();
    Address* const held[] = {&arena_, &constants_};
    for (Address* address : held) {
      Give(address);
    }
    for (std::size_t n = 0; n < kArgs; ++n) {
      Give(&args_[n]);
    }
    for (std::size_t n = 0; n < kResults; ++n) {
      Give(&results_[n]);
    }
    if (own_stream_ != nullptr) {
      d.StreamDestroy(own_stream_);
      own_stream_ = nullptr;
    }
    if (module_ != nullptr) {
      d.ModuleUnload(module_);
      module_ = nullptr;
    }
    is_open_ = false;
  }

  // Memory of so many bytes, unless it was taken before.
  bool Take(std::size_t size, Address* address) {
    return *address != 0 ||
           Done(TheDriver().MemAlloc(address, size == 0 ? 1 : size), "cuMemAlloc");
  }

  static void Give(Address* address) {
    if (*address != 0) {
      TheDriver().MemFree(*address);
      *address = 0;
    }
  }

  bool RunInside(const Call& call) {
    const Driver& d = TheDriver();
    stream_ = call.stream == nullptr ? own_stream_ : call.stream;
    bool waits = false;
    for (std::size_t n = 0; n < kArgs; ++n) {
      bases_[0][n] = call.arg_addresses[n];
      if (bases_[0][n] % kAlignment != 0) {
        return Fail("an argument on the GPU must begin at a multiple of 16 bytes");
      }
      if (call.arg_addresses[n] == 0) {
        if (!Take(arg_bytes[n], &args_[n])) {
          return false;
        }
        bases_[0][n] = args_[n];
        waits = true;
        if (arg_bytes[n] != 0 &&
            !Done(d.CopyToDevice(args_[n], call.args[n], arg_bytes[n], stream_),
                  "cuMemcpyHtoDAsync")) {
          return false;
        }
      }
    }
    for (std::size_t n = 0; n < kResults; ++n) {
      bases_[1][n] = call.result_addresses[n];
      if (bases_[1][n] % kAlignment != 0) {
        return Fail("a result on the GPU must begin at a multiple of 16 bytes");
      }
      if (result_aliases[n] >= 0) {
        bases_[1][n] = bases_[0][result_aliases[n]];
      } else if (bases_[1][n] == 0) {
        if (!Take(result_bytes[n], &results_[n])) {
          return false;
        }
        bases_[1][n] = results_[n];
      }
    }
    bases_[2][0] = arena_;
    bases_[3][0] = constants_;
    if (!RunSteps()) {
      return false;
    }
    for (std::size_t n = 0; n < kResults; ++n) {
      const bool is_there = result_aliases[n] >= 0 ? call.arg_addresses[result_aliases[n]] != 0
                                                   : call.result_addresses[n] != 0;
      if (is_there) {
        continue;
      }
      waits = true;
      if (result_bytes[n] != 0 &&
          !Done(d.CopyToHost(call.results[n], bases_[1][n], result_bytes[n], stream_),
                "cuMemcpyDtoHAsync")) {
        return false;
      }
    }
    return !waits || Done(d.StreamSynchronize(stream_), "cuStreamSynchronize");
  }

  Address At(const Place& place) const { return bases_[place.space][place.index] + place.offset; }

  bool RunSteps() {
    const Version& v = *version_;
    std::size_t number = 0;
    std::memset(turns_, 0, sizeof turns_);
    while (number < v.step_count) {
      const Step& step = v.steps[number];
      ++number;
      switch (step.kind) {
        case kLaunch:
          if (!Launch(step)) {
            return false;
          }
          break;
        case kCopy:
          if (!Done(TheDriver().CopyOnDevice(At(v.places[step.places + 1]),
                                             At(v.places[step.places]), step.size, stream_),
                    "cuMemcpyDtoDAsync")) {
            return false;
          }
          break;
        case kJump:
          number = static_cast<std::size_t>(v.numbers[step.numbers]);
          break;
        case kRepeat:  // back to where the turn began, unless it was the last
          if (++turns_[step.function] < v.numbers[step.numbers + 1]) {
            number = static_cast<std::size_t>(v.numbers[step.numbers]);
          } else {
            turns_[step.function] = 0;
          }
          break;
        default: {  // kChoose: the places to go on, of which the selector tells one
          std::int32_t chosen = 0;
          if (!Choose(step, &chosen)) {
            return false;
          }
          const bool is_known =
              chosen >= 0 && static_cast<std::size_t>(chosen) < step.number_count;
          const std::size_t last = step.number_count - 1;
          number = static_cast<std::size_t>(
              v.numbers[step.numbers + (is_known ? static_cast<std::size_t>(chosen) : last)]);
        }
      }
    }
    return true;
  }

  // Which place to go on at: for a pred the first if it is true, else the second.
  bool Choose(const Step& step, std::int32_t* chosen) {
    unsigned char pred = 0;
    void* const target = step.size == 1 ? static_cast<void*>(&pred) : static_cast<void*>(chosen);
    const Address source = At(version_->places[step.places]);
    if (!Done(TheDriver().CopyToHost(target, source, step.size, stream_), "cuMemcpyDtoHAsync") ||
        !Done(TheDriver().StreamSynchronize(stream_), "cuStreamSynchronize")) {
      return false;
    }
    if (step.size == 1) {
      *chosen = pred != 0 ? 0 : 1;
    }
    return true;
  }

  // Writes the descriptor of boxes of the array at an address.
  bool Describe(const Boxes& boxes, Address address, void* descriptor) {
    const Driver& driver = TheDriver();
    if (driver.TensorMapEncodeTiled == nullptr || driver.TensorMapEncodeIm2col == nullptr) {
      return Fail("NVIDIA's driver is too old: it has no descriptors of tensors");
    }
    void* const array = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
    if (boxes.has_pixels) {
      return Done(driver.TensorMapEncodeIm2col(
                      descriptor, boxes.type, boxes.rank, array, boxes.dims, boxes.strides,
                      boxes.lower, boxes.upper, boxes.box[0], boxes.box[1], boxes.steps, 0,
                      boxes.swizzle, kFetchedBytes, 0),
                  "cuTensorMapEncodeIm2col");
    }
    return Done(driver.TensorMapEncodeTiled(descriptor, boxes.type, boxes.rank, array, boxes.dims,
                                            boxes.strides, boxes.box, boxes.steps, 0,
                                            boxes.swizzle, kFetchedBytes, 0),
                "cuTensorMapEncodeTiled");
  }

  bool Launch(const Step& step) {
    const Version& v = *version_;
    for (std::size_t n = 0; n < step.place_count; ++n) {
      values_[n] = At(v.places[step.places + n]);
    }
    for (std::size_t n = 0; n < step.number_count; ++n) {
      values_[step.place_count + n] = v.numbers[step.numbers + n];
    }
    for (std::size_t n = 0; n < step.place_count + step.number_count; ++n) {
      pointers_[n] = &values_[n];
    }
    alignas(64) unsigned char described[kMostBoxes + 1][kDescriptorBytes];
    for (std::size_t n = 0; n < step.box_count; ++n) {
      const Boxes& boxes = v.boxes[step.boxes + n];
      if (!Describe(boxes, values_[boxes.buffer], described[n])) {
        return false;
      }
      pointers_[step.place_count + step.number_count + n] = described[n];
    }
    const unsigned* const b = step.blocks;
    const unsigned* const t = step.threads;
    return Done(TheDriver().LaunchKernel(functions_[step.function], b[0], b[1], b[2], t[0], t[1],
                                         t[2], step.shared, stream_, pointers_, nullptr),
                "cuLaunchKernel");
  }

  int device_ = 0, major_ = 0, minor_ = 0;
  bool is_open_ = false;
  void* context_ = nullptr;
  void* own_stream_ = nullptr;
  void* stream_ = nullptr;
  void* module_ = nullptr;
  const Version* version_ = nullptr;
  Address arena_ = 0, constants_ = 0;
  Address args_[kArgs + 1] = {};
  Address results_[kResults + 1] = {};
  Address bases_[4][(kArgs > kResults ? kArgs : kResults) + 1] = {};
  void* functions_[kMostFunctions + 1] = {};
  std::uint64_t turns_[kMostRepeats + 1] = {};
  std::uint64_t values_[kMostValues + 1] = {};
  void* pointers_[kMostValues + kMostBoxes + 1] = {};
  char message_[256] = "";
};
