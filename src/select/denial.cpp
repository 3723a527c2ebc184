// SPDX-License-Identifier: Apache-2.0
#include "select/denial.hpp"

#include <algorithm>

#include "select/heuristic_order.hpp"

namespace cudnn_tune::select {

std::shared_ptr<const cache::Record> without_denied(std::shared_ptr<const cache::Record> record) {
    const auto is_denied = [&](const cache::Candidate& candidate) { return record->denies(candidate.choice); };
    if (record == nullptr || std::ranges::none_of(record->candidates, is_denied)) {
        return record;
    }
    auto reduced = std::make_shared<cache::Record>(*record);
    std::erase_if(reduced->candidates, is_denied);
    reduced->heuristic = heuristic_first(reduced->candidates);
    return reduced;
}

}  // namespace cudnn_tune::select
