// SPDX-License-Identifier: Apache-2.0
// Records in one hash of a Redis or Valkey server: `<prefix>records`, field "<digest>:<revision>", value the line of
// the cache file. The first value of a field stays, as the first line of a revision does in a file. Everything ends at
// a deadline, whatever the server does, and memory is bounded by what one answer may hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record_codec.hpp"
#include "cli/remote_url.hpp"
#include "util/clock.hpp"
#include "util/result.hpp"

struct redisContext;
struct redisReply;

namespace cudnn_tune::cli {

class RedisStore {
  public:
    // `deadline_ns` (Clock::monotonic_ns) is that of all that follows, too.
    [[nodiscard]] static Result<std::unique_ptr<RedisStore>> connect(const RemoteUrl&, Clock&,
                                                                     std::int64_t deadline_ns);
    ~RedisStore();
    RedisStore(const RedisStore&) = delete;
    RedisStore& operator=(const RedisStore&) = delete;

    // What is there. Fields of any other form are left alone.
    [[nodiscard]] Result<std::vector<cache::LinePrefix>> list();
    // The lines in the order of `ids`; nothing for those that are gone.
    [[nodiscard]] Result<std::vector<std::optional<std::string>>> get(const std::vector<cache::LinePrefix>& ids);
    // How many of them were new.
    [[nodiscard]] Result<std::int64_t> add(const std::vector<std::pair<cache::LinePrefix, std::string>>& lines);
    [[nodiscard]] Status remove(const std::vector<cache::LinePrefix>& ids);

  private:
    struct ReplyDeleter {
        void operator()(redisReply*) const;
    };
    using Reply = std::unique_ptr<redisReply, ReplyDeleter>;

    RedisStore(const RemoteUrl& url, Clock& clock, std::int64_t deadline_ns)
        : m_url(url), m_clock(clock), m_deadline_ns(deadline_ns), m_hash(url.prefix + "records") {}
    [[nodiscard]] Status open();
    [[nodiscard]] Result<Reply> command(const std::vector<std::string_view>& words);
    [[nodiscard]] Status send(const std::vector<std::string_view>& words);
    [[nodiscard]] Result<Reply> receive();
    [[nodiscard]] bool set_timeout();
    [[nodiscard]] Error trouble(const std::string& what) const;

    const RemoteUrl& m_url;
    Clock& m_clock;
    std::int64_t m_deadline_ns;
    std::string m_hash;
    redisContext* m_context = nullptr;
};

}  // namespace cudnn_tune::cli
