#pragma once

#include <string>
#include <vector>

#include "master/master_ports.h"

namespace baton::master {

// The parameters of the project as the web API sees them; the rules of MasterPorts hold.
class ParamPorts final : public api::ParamPort {
 public:
  // Both outlive this.
  ParamPorts(dao::Database& database, MasterPorts& master) : master_(master), readers_(database) {}

  void set(api::ParamSet request, api::Callback<api::ParamIsSet> done) override;
  void remove(std::string name, api::Request request, api::Callback<ParamRecord> done) override;
  Result<ParamRecord> param(const std::string& name) override;
  Result<std::vector<ParamRecord>> params() override;

 private:
  MasterPorts& master_;
  ReaderPool readers_;
};

}  // namespace baton::master
