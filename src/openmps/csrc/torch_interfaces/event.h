// Points in time on the device's one stream. A backing device with events of its own (CUDA) does
// the waiting and timing; on the CPU, where work is done when its call returns, an event is a
// reading of the clock.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"

namespace openmps {

class Event {
 public:
  explicit Event(bool timing) : timing_(timing) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record();
  void wait() const;         // the stream waits
  void synchronize() const;  // the calling thread waits
  bool recorded() const { return order_ != 0; }
  bool finished() const;  // everything before the record is done; true if never recorded
  bool timing() const { return timing_; }
  bool recorded_after(const Event& other) const { return order_ > other.order_; }
  double milliseconds_since(const Event& start) const;

 private:
  bool timing_;
  uint64_t order_ = 0;                  // 0: never recorded; else when, among all events
  std::unique_ptr<EngineEvent> event_;  // made at the first record
};

// The numbered events behind torch.mps.Event. Numbers start at 1; the last one freed is reused
// first.
class EventPool {
 public:
  static EventPool& instance();

  uint32_t acquire(bool timing);
  void release(uint32_t id);
  std::shared_ptr<Event> find(uint32_t id);  // throws for an unknown id

 private:
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<Event>> live_;
  std::vector<uint32_t> free_;
  uint32_t last_ = 0;
};

double elapsed_milliseconds(uint32_t start_id, uint32_t end_id);

}  // namespace openmps
