"""What a class hands its entry point beside arrays: threads and a clock, if it takes them.

prepare:  Served served = {arena_, parallel_for_, pool_, &clock, nullptr, 0};
call:     ::entry(args_, results_, &served)
finish:   CountTimes();
"""

from string import Template

from tfc.aot.signature import Signature
from tfc.backends.interfaces import Constants

_ALONE = """
  // The object file was made for one thread (kThreads): Run() computes in the thread that calls it.
  // Any pool may be given, and none is used.
  template <class Pool>
  void set_thread_pool(const Pool*) {}
  void set_thread_pool(std::nullptr_t) {}
"""

_THREADS = """
  // Part of the work of a kernel: task(i) does part i, in any thread.
  class Task {
   public:
    typedef void Function(void* frame, std::int64_t part);
    Task(Function* run, void* frame) : run_(run), frame_(frame) {}
    void operator()(std::size_t part) const { run_(frame_, static_cast<std::int64_t>(part)); }

   private:
    Function* run_;
    void* frame_;
  };

  // Lets threads share the work of Run() from now on; results are the same bits for any number of
  // them. The pool stays the caller's, and may serve several objects at the same time. It is
  //   - an object that is called as (*pool)(n, task), which calls task(i) for each i from 0 to
  //     n - 1, in any threads and any order, and returns when all of these calls have returned; or
  //   - one with Schedule(std::function<void()>), such as Eigen::ThreadPool, or with getPool() that
  //     gives the address of one, such as Eigen::ThreadPoolDevice.
  template <class Pool>
  void set_thread_pool(Pool* pool) {
    pool_ = const_cast<void*>(static_cast<const void*>(pool));
    parallel_for_ = pool == nullptr ? nullptr : &Share<Pool>;
  }
  void set_thread_pool(std::nullptr_t) {
    pool_ = nullptr;
    parallel_for_ = nullptr;
  }
"""

_PRIVATE_THREADS = """
  // Which way of sharing work is tried first.
  struct Third {};
  struct Second : Third {};
  struct First : Second {};

  template <class Pool>
  static void Share(Task::Function* run, void* frame, std::int64_t parts, void* pool) {
    RunTasks(*static_cast<Pool*>(pool), static_cast<std::size_t>(parts), Task(run, frame), First());
  }
  template <class Pool>
  static auto RunTasks(Pool& pool, std::size_t n, const Task& task, First)
      -> decltype(pool(n, task), void()) {
    pool(n, task);
  }
  template <class Pool>
  static auto RunTasks(Pool& pool, std::size_t n, const Task& task, Second)
      -> decltype(pool.Schedule(std::function<void()>()), void()) {
    Spread(pool, n, task);
  }
  template <class Pool>
  static auto RunTasks(Pool& pool, std::size_t n, const Task& task, Third)
      -> decltype(pool.getPool()->Schedule(std::function<void()>()), void()) {
    Spread(*pool.getPool(), n, task);
  }

  // The calls of one task, which threads take one after the other. Who comes when all are taken,
  // also after Run() has returned, finds nothing to do.
  struct Calls {
    Calls(std::size_t n, const Task& task) : count(n), work(task), next(0), done(0) {}
    void Take() {
      for (std::size_t part = next++; part < count; part = next++) {
        work(part);
        ++done;
      }
    }
    const std::size_t count;
    const Task work;
    std::atomic<std::size_t> next, done;
  };
  template <class Pool>
  static void Spread(Pool& pool, std::size_t n, const Task& task) {
    const std::shared_ptr<Calls> calls = std::make_shared<Calls>(n, task);
    for (std::size_t thread = 1; thread < n && thread < kThreads; ++thread) {
      pool.Schedule(std::function<void()>([calls]() { calls->Take(); }));
    }
    calls->Take();
    while (calls->done < n) {
      std::this_thread::yield();
    }
  }
"""

_NO_TIMES = """
  // The class was made without counters of what takes how long (xla_hlo_profile).
  static bool hlo_profiling_enabled() { return false; }
  const std::int64_t* profile_counters() const { return nullptr; }
"""

_TIMES = Template("""
  // The nanoseconds that each kernel took in the last Run(), in the order of profile_names().
  static constexpr bool hlo_profiling_enabled() { return true; }
  static std::size_t num_profile_counters() { return $count; }
  static const char* const* profile_names() {
    static constexpr const char* texts[] = {$names};
    return texts;
  }
  const std::int64_t* profile_counters() const { return counters_; }

  // Writes them as text, with their share of the sum.
  void PrintHloProfile(std::FILE* file = stdout) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < num_profile_counters(); ++i) {
      sum += counters_[i];
    }
    std::fprintf(file, "Execution profile for $program: (%.3f us)\\n%12.3f us  100.0%%  [total]\\n",
                 static_cast<double>(sum) * 1e-3, static_cast<double>(sum) * 1e-3);
    for (std::size_t i = 0; i < num_profile_counters(); ++i) {
      const double time = static_cast<double>(counters_[i]);
      std::fprintf(file, "%12.3f us  %5.1f%%  %s\\n", time * 1e-3,
                   sum > 0 ? 100.0 * time / static_cast<double>(sum) : 0.0, profile_names()[i]);
    }
  }
""")

_PRIVATE_TIMES = Template("""
  struct Times {
    std::int64_t count, time;
  };
  struct Clock {
    std::int32_t (*get_time)(std::int32_t, void*);
    std::int64_t number, most_events, event_count;
    void* events;
    Times* totals;
  };
  static std::int32_t Now(std::int32_t, void* time) {
    const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count();
    std::int64_t* const parts = static_cast<std::int64_t*>(time);
    parts[0] = now / 1000000000;
    parts[1] = now % 1000000000;
    return 0;
  }
  // Takes off what timing itself takes, which entry 0 tells.
  void CountTimes(const Times* totals) {
    const std::int64_t empty = totals[0].count > 0 ? totals[0].time / totals[0].count : 0;
    const std::size_t count = num_profile_counters();
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t time = totals[i + 1].time - totals[i + 1].count * empty;
      counters_[i] = time > 0 ? time : 0;
    }
  }
""")


def service_terms(signature: Signature) -> dict[str, str]:
    """The parts of the header about threads and time."""
    is_shared, sites = signature.threads > 1, signature.sites
    terms = {
        "services": (_THREADS if is_shared else _ALONE) + _NO_TIMES,
        "private_services": _PRIVATE_THREADS if is_shared else "",
        "prepare": "", "finish": "", "fields": "", "swap": "",
        "memory": "served" if signature.is_served else "arena",
    }  # fmt: skip
    if not signature.is_served:
        return terms
    terms["private_services"] += _served(sites is not None)
    if is_shared:
        terms["fields"] = "\n  Sharing* parallel_for_ = nullptr;\n  void* pool_ = nullptr;"
        terms["swap"] = (
            "\n    std::swap(parallel_for_, other.parallel_for_);"
            "\n    std::swap(pool_, other.pool_);"
        )
    pool = "parallel_for_, pool_" if is_shared else "nullptr, nullptr"
    clock = "nullptr"
    if sites is not None:
        count = len(sites)
        names = ",\n        ".join(_text(site) for site in sites) or '""'
        terms["services"] = (_THREADS if is_shared else _ALONE) + _TIMES.substitute(
            count=count, names=names, program=str(signature.cpp_class)
        )
        terms["private_services"] = (
            _PRIVATE_TIMES.substitute(count=count) + terms["private_services"]
        )
        terms["fields"] += f"\n  std::int64_t counters_[{max(count, 1)}] = {{}};"
        terms["swap"] += "\n    std::swap(counters_, other.counters_);"
        terms["prepare"] = (
            f"\n    Times totals[{count + 1}] = {{}};"
            "\n    Clock clock = {&Now, 0, 0, 0, nullptr, totals};"
        )
        terms["finish"] = "\n    CountTimes(totals);"
        clock = "&clock"
    constants = "weights_.data" if signature.constants is Constants.GIVEN else "nullptr"
    terms["prepare"] += f"\n    Served served = {{arena_, {pool}, {clock}, {constants}, 0}};"
    return terms


def _served(is_timed: bool) -> str:
    clock = "Clock" if is_timed else "void"
    return f"""
  typedef void Sharing(void (*run)(void* frame, std::int64_t part), void* frame,
                       std::int64_t parts, void* pool);
  struct Served {{
    void* arena;
    Sharing* parallel_for;
    void* pool;
    {clock}* clock;
    const void* constants;
    std::size_t program;
  }};
"""


def _text(said: str) -> str:
    """A string of C++."""
    return '"' + said.replace("\\", "\\\\").replace('"', '\\"') + '"'
