// A small pool of threads for the classes that tfc generates; C++11, and nothing but the standard
// library.
//
//   tfc::ThreadPool pool(4);        // the thread that calls Run() and three more
//   model.set_thread_pool(&pool);   // of a class made with --threads; the pool must live as long
//
// Any number of threads may call one pool at the same time: each takes part in its own work, and
// the pool's threads help whoever has some left.
#ifndef TFC_THREAD_POOL_H_
#define TFC_THREAD_POOL_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace tfc {

class ThreadPool {
 public:
  // So many threads with the one that calls.
  explicit ThreadPool(std::size_t threads) : stop_(false) {
    for (std::size_t i = 1; i < threads; ++i) {
      workers_.push_back(std::thread([this]() { Work(); }));
    }
  }

  // No call may be going on.
  ~ThreadPool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls task(i) for each i from 0 to n - 1, in any of the threads and in any order, and returns
  // when all of these calls have returned.
  template <class Task>
  void operator()(std::size_t n, const Task& task) {
    Job job(n, &Call<Task>, &task);
    if (n > 1 && !workers_.empty()) {
      std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(&job);
      wake_.notify_all();
    }
    job.Take();
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
    done_.wait(lock, [&job]() { return job.helpers == 0; });
  }

 private:
  struct Job {
    Job(std::size_t n, void (*function)(const void*, std::size_t), const void* argument)
        : count(n), call(function), task(argument), next(0), helpers(0) {}
    void Take() {
      for (std::size_t i = next++; i < count; i = next++) {
        call(task, i);
      }
    }
    const std::size_t count;
    void (*const call)(const void*, std::size_t);
    const void* const task;
    std::atomic<std::size_t> next;
    std::size_t helpers;  // of the pool's threads; under the mutex
  };

  template <class Task>
  static void Call(const void* task, std::size_t i) {
    (*static_cast<const Task*>(task))(i);
  }

  // Helps with one job after the other until the pool ends.
  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this]() { return stop_ || !jobs_.empty(); });
      if (jobs_.empty()) {
        return;
      }
      Job* const job = jobs_.front();
      ++job->helpers;
      lock.unlock();
      job->Take();
      lock.lock();
      // Nothing is left to take: others need not look at it.
      jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
      if (--job->helpers == 0) {
        done_.notify_all();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<Job*> jobs_;  // those that may have parts left; they lie with who called
  bool stop_;
  std::vector<std::thread> workers_;
};

}  // namespace tfc

#endif  // TFC_THREAD_POOL_H_
