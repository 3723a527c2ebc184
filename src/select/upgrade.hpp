// SPDX-License-Identifier: Apache-2.0
// Which graph configurations a legacy program gets, and under which algorithm's name. A program can only name an
// algorithm, so a configuration needs a carrier: a legacy algorithm that works for the problem by itself (calls that do
// not fit the plan run it), that is less preferred, that rounds no less, and that is not deterministic where the
// configuration is not. Legacy entries stay in the answer beside the added ones unless those are as good in all that
// programs filter by, so whatever the filter, a program finds at least what it would have found.
#pragma once

#include <optional>
#include <vector>

#include "cache/record.hpp"
#include "select/numerics.hpp"
#include "select/objective.hpp"

namespace cudnn_tune::select {

struct Upgrade {
    cache::LegacyChoice carrier;
    cache::GraphChoice configuration;
    std::int64_t plan_workspace_bytes = 0;  // of the configuration alone
};

struct UpgradedRecord {
    // Without graph candidates; each upgrade is an additional candidate with its carrier's choice, the configuration's
    // time and determinism, and the workspace that is enough for either. In order of preference.
    cache::Record record;
    std::vector<Upgrade> upgrades;  // at most one a carrier
};

// A configuration is used only if no legacy algorithm or better configuration is preferred to it, needs no more
// workspace and is as deterministic.
[[nodiscard]] UpgradedRecord upgraded(const cache::Record&, const key::Problem&, const NumericsRules&,
                                      Objective = Objective::balanced);

// For a call that names its algorithm already: the configuration that is preferred to `algorithm` and may stand in for
// it, deterministic and within the workspace. Nothing if the algorithm itself is preferred, or cannot run: such a call
// fails, and programs go another way then.
[[nodiscard]] std::optional<Upgrade> preferred_to(const cache::LegacyChoice& algorithm, const cache::Record&,
                                                  const key::Problem&, const NumericsRules&,
                                                  std::size_t workspace_bytes, Objective = Objective::balanced);

}  // namespace cudnn_tune::select
