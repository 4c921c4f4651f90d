#pragma once

#include <string>

#include "master/api/flow_ports.h"
#include "master/master_ports.h"

namespace baton::master {

// Calendars as the web API sees them; the rules of MasterPorts hold.
class CalendarPorts final : public api::CalendarPort {
 public:
  // All outlive this.
  CalendarPorts(dao::Database& database, MasterPorts& master)
      : master_(master), readers_(database) {}

  void apply(api::CalendarApply request, api::Callback<api::CalendarApplied> done) override;
  void applyAll(std::vector<api::CalendarApply> requests,
                api::Callback<api::CalendarsApplied> done) override;
  void remove(std::string name, api::Request request,
              api::Callback<api::CalendarView> done) override;
  Result<api::CalendarView> calendar(const std::string& name) override;
  Result<api::ListOf<api::CalendarView>> calendars(const std::string& after,
                                                   uint32_t limit) override;

 private:
  MasterPorts& master_;
  ReaderPool readers_;
};

}  // namespace baton::master
