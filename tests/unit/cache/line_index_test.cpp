// SPDX-License-Identifier: Apache-2.0
#include "cache/line_index.hpp"

#include <gmock/gmock.h>

namespace cudnn_tune::cache {
namespace {

std::vector<std::int64_t> offsets_of(const LineIndex& index, const Digest& digest) {
    std::vector<std::int64_t> offsets;
    for (const std::int32_t i : index.find(digest)) {
        offsets.push_back(index.entry(i).offset);
    }
    return offsets;
}

TEST(LineIndex, FindsNothingWhenEmpty) { EXPECT_TRUE(LineIndex().find({1, 2}).empty()); }

TEST(LineIndex, OrdersByRevisionAndThenByPlaceInTheFile) {
    LineIndex index;
    index.add({1, 2}, 1, 10, 5);
    index.add({1, 2}, 3, 20, 5);
    index.add({1, 2}, 2, 30, 5);
    index.add({1, 2}, 3, 40, 5);
    index.add({9, 2}, 7, 50, 5);  // same bucket, other digest
    EXPECT_THAT(offsets_of(index, {1, 2}), testing::ElementsAre(20, 40, 30, 10));
    EXPECT_EQ(index.last().offset, 50);
}

TEST(LineIndex, LeavesOutDamagedLines) {
    LineIndex index;
    index.add({1, 2}, 1, 10, 5);
    index.add({1, 2}, 2, 20, 5);
    index.mark_damaged(1);
    EXPECT_THAT(offsets_of(index, {1, 2}), testing::ElementsAre(10));
}

TEST(LineIndex, FindsEveryLineOfMany) {
    LineIndex index;
    for (std::int64_t i = 0; i < 20000; ++i) {
        index.add(digest_of(std::to_string(i)), 1, i, 1);
    }
    EXPECT_EQ(index.size(), 20000u);
    for (std::int64_t i = 0; i < 20000; ++i) {
        EXPECT_THAT(offsets_of(index, digest_of(std::to_string(i))), testing::ElementsAre(i));
    }
    index.clear();
    EXPECT_TRUE(index.find(digest_of("7")).empty());
    EXPECT_TRUE(index.empty());
}

}  // namespace
}  // namespace cudnn_tune::cache
