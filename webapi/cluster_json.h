#pragma once

#include "common/base/json.h"
#include "master/api/ports.h"

// How runners, hosts, the cluster and callbacks are shown. Field names are the contract of
// docs/api.md.
namespace baton::webapi {

Json runnerToJson(const master::api::RunnerView& runner);
Json hostToJson(const master::api::HostView& host);
Json hostsToJson(const std::vector<master::api::HostView>& hosts);
Json hostPolicyToJson(const master::api::HostPolicy& policy);
Json clusterToJson(const master::api::ClusterView& cluster);
Json takeoverToJson(const master::api::TakeoverView& takeover);
Json statsToJson(const master::api::StatsView& stats);
Json syncToJson(const master::api::SyncBegun& sync);
Json verifyToJson(const master::api::VerifyView& verify);
// Without payload; the address without user info and query, which may carry secrets.
Json deadCallbackToJson(const OutboxRecord& record);

}  // namespace baton::webapi
