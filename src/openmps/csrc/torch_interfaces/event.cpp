#include "torch_interfaces/event.h"

#include <atomic>

#include "engine/engine.h"
#include "engine/reports.h"

namespace openmps {
namespace {

std::atomic<uint64_t> g_records{0};

c10::Stream backing_stream() { return backing_guard().getStream(backing().device); }

}  // namespace

Event::~Event() {
  if (backing_event_ != nullptr) {
    backing_guard().destroyEvent(backing_event_, backing().device.index());
  }
}

void Event::record() {
  if (backing().is_cpu()) {
    time_ = std::chrono::steady_clock::now();
  } else {
    ensure_backing_started();
    backing_guard().record(
        &backing_event_, backing_stream(), backing().device.index(),
        timing_ ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT);
  }
  order_ = ++g_records;
}

void Event::wait() const {
  if (backing_event_ != nullptr) backing_guard().block(backing_event_, backing_stream());
}

void Event::synchronize() const {
  if (backing_event_ != nullptr) backing_guard().synchronizeEvent(backing_event_);
}

bool Event::finished() const {
  return backing_event_ == nullptr || backing_guard().queryEvent(backing_event_);
}

double Event::milliseconds_since(const Event& start) const {
  finish();  // natively this waits for the whole stream; an event's synchronize() does not
  if (backing().is_cpu()) {
    return std::chrono::duration<double, std::milli>(time_ - start.time_).count();
  }
  return backing_guard().elapsedTime(start.backing_event_, backing_event_,
                                     backing().device.index());
}

EventPool& EventPool::instance() {
  static auto* pool = new EventPool();  // outlives every Python event
  return *pool;
}

uint32_t EventPool::acquire(bool timing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint32_t id = 0;
  if (free_.empty()) {
    id = ++last_;
  } else {
    id = free_.back();
    free_.pop_back();
  }
  live_[id] = std::make_shared<Event>(timing);
  return id;
}

void EventPool::release(uint32_t id) {
  find(id);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (live_.erase(id) != 0) free_.push_back(id);
}

std::shared_ptr<Event> EventPool::find(uint32_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = live_.find(id);
  TORCH_CHECK(found != live_.end(), "Invalid Event ID: ", id);
  return found->second;
}

double elapsed_milliseconds(uint32_t start_id, uint32_t end_id) {
  const auto start = EventPool::instance().find(start_id);
  const auto end = EventPool::instance().find(end_id);
  TORCH_CHECK(start->timing() && end->timing(),
              "Events were not created with argument 'enable_timing=True'");
  TORCH_CHECK(start->recorded() && end->recorded_after(*start), "End event ", end_id,
              " was not recorded after start event ", start_id);
  return end->milliseconds_since(*start);
}

}  // namespace openmps
