// SPDX-License-Identifier: Apache-2.0
#include "cli/redis_store.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace cudnn_tune::cli {
namespace {

// Of one answer: 64 of the longest lines would be more, but no record comes near that length.
constexpr std::size_t k_most_answer_bytes = std::size_t{128} << 20;
constexpr std::int64_t k_loading_pause_ns = 100'000'000;

std::string field_of(const cache::LinePrefix& id) { return to_hex(id.digest) + ":" + std::to_string(id.revision); }

std::vector<std::string> fields_of(const std::vector<cache::LinePrefix>& ids) {
    std::vector<std::string> fields;
    fields.reserve(ids.size());
    std::ranges::transform(ids, std::back_inserter(fields), field_of);
    return fields;
}

std::optional<cache::LinePrefix> parse_field(std::string_view field) {
    const auto digest = parse_digest(field.substr(0, 32));
    if (!digest || field.size() < 34 || field[32] != ':') {
        return std::nullopt;
    }
    cache::LinePrefix id{*digest, 0};
    const char* const end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data() + 33, end, id.revision);
    return error == std::errc() && stop == end && field_of(id) == field ? std::optional(id) : std::nullopt;
}

timeval timeval_of(std::int64_t ns) {
    return {static_cast<time_t>(ns / 1'000'000'000), static_cast<suseconds_t>(ns % 1'000'000'000 / 1000)};
}

std::string_view text_of(const redisReply& reply) {
    const bool is_text =
        reply.type == REDIS_REPLY_STRING || reply.type == REDIS_REPLY_STATUS || reply.type == REDIS_REPLY_ERROR;
    return is_text ? std::string_view(reply.str, static_cast<std::size_t>(reply.len)) : std::string_view();
}

}  // namespace

void RedisStore::ReplyDeleter::operator()(redisReply* reply) const { ::freeReplyObject(reply); }

RedisStore::~RedisStore() {
    if (m_context != nullptr) {
        ::redisFree(m_context);
    }
}

Error RedisStore::trouble(const std::string& what) const { return {ErrorCategory::io, m_url.text() + ": " + what}; }

Result<std::unique_ptr<RedisStore>> RedisStore::connect(const RemoteUrl& url, Clock& clock, std::int64_t deadline_ns) {
    std::unique_ptr<RedisStore> store(new RedisStore(url, clock, deadline_ns));
    while (true) {
        const Status opened = store->open();
        if (opened.ok()) {
            return store;
        }
        // A server that has just been started reads its file first.
        const bool is_loading = opened.error().message.find("LOADING") != std::string::npos;
        if (!is_loading || clock.monotonic_ns() + k_loading_pause_ns >= deadline_ns) {
            return opened.error();
        }
        clock.sleep_ns(k_loading_pause_ns);
    }
}

Status RedisStore::open() {
    if (m_context != nullptr) {
        ::redisFree(m_context);
    }
    m_context =
        ::redisConnectWithTimeout(m_url.host.c_str(), m_url.port,
                                  timeval_of(std::max<std::int64_t>(m_deadline_ns - m_clock.monotonic_ns(), 1000)));
    if (m_context == nullptr || m_context->err != 0) {
        return trouble(m_context == nullptr ? "out of memory" : m_context->errstr);
    }
    if (!m_url.password.empty()) {
        std::vector<std::string_view> words{"AUTH"};
        if (!m_url.user.empty()) {
            words.emplace_back(m_url.user);
        }
        words.emplace_back(m_url.password);
        if (const auto reply = command(words); !reply) {
            return reply.error();
        }
    }
    const std::string database = std::to_string(m_url.database);
    const auto reply = command({"SELECT", database});
    return reply ? ok_status() : Status(reply.error());
}

bool RedisStore::set_timeout() {
    const std::int64_t left_ns = m_deadline_ns - m_clock.monotonic_ns();
    return left_ns > 0 && ::redisSetTimeout(m_context, timeval_of(std::max<std::int64_t>(left_ns, 1000))) == REDIS_OK;
}

Status RedisStore::send(const std::vector<std::string_view>& words) {
    std::vector<const char*> arguments;
    std::vector<std::size_t> lengths;
    for (const std::string_view word : words) {
        arguments.push_back(word.data());
        lengths.push_back(word.size());
    }
    if (::redisAppendCommandArgv(m_context, static_cast<int>(words.size()), arguments.data(), lengths.data()) !=
        REDIS_OK) {
        return trouble(m_context->errstr);
    }
    return ok_status();
}

// hiredis' own loop has a timeout for each read: a server that sends a byte now and then would hold it for ever.
Result<RedisStore::Reply> RedisStore::receive() {
    int sent = 0;
    while (sent == 0) {
        if (!set_timeout()) {
            return trouble("it does not answer in time");
        }
        if (::redisBufferWrite(m_context, &sent) != REDIS_OK) {
            return trouble(m_context->errstr);
        }
    }
    while (true) {
        void* reply = nullptr;
        if (::redisReaderGetReply(m_context->reader, &reply) != REDIS_OK) {
            return trouble(std::string("its answer makes no sense: ") + m_context->reader->errstr);
        }
        if (reply != nullptr) {
            Reply owned(static_cast<redisReply*>(reply));
            if (owned->type == REDIS_REPLY_ERROR) {
                return trouble("it says " + std::string(text_of(*owned)));
            }
            return owned;
        }
        if (m_context->reader->len > k_most_answer_bytes) {
            return trouble("its answer is too long");
        }
        if (!set_timeout()) {
            return trouble("it does not answer in time");
        }
        if (::redisBufferRead(m_context) != REDIS_OK) {
            const bool is_late = m_clock.monotonic_ns() >= m_deadline_ns - 1'000'000;
            return trouble(is_late ? "it does not answer in time" : m_context->errstr);
        }
    }
}

Result<RedisStore::Reply> RedisStore::command(const std::vector<std::string_view>& words) {
    if (const Status sent = send(words); !sent) {
        return sent.error();
    }
    return receive();
}

Result<std::vector<cache::LinePrefix>> RedisStore::list() {
    const auto reply = command({"HKEYS", m_hash});
    if (!reply) {
        return reply.error();
    }
    std::vector<cache::LinePrefix> ids;
    for (std::size_t i = 0; (*reply)->type == REDIS_REPLY_ARRAY && i < (*reply)->elements; ++i) {
        if (const auto id = parse_field(text_of(*(*reply)->element[i]))) {
            ids.push_back(*id);
        }
    }
    return ids;
}

Result<std::vector<std::optional<std::string>>> RedisStore::get(const std::vector<cache::LinePrefix>& ids) {
    const std::vector<std::string> fields = fields_of(ids);
    std::vector<std::string_view> words{"HMGET", m_hash};
    words.insert(words.end(), fields.begin(), fields.end());
    const auto reply = command(words);
    if (!reply) {
        return reply.error();
    }
    if ((*reply)->type != REDIS_REPLY_ARRAY || (*reply)->elements != ids.size()) {
        return trouble("its answer makes no sense");
    }
    std::vector<std::optional<std::string>> lines(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const redisReply& element = *(*reply)->element[i];
        if (element.type == REDIS_REPLY_STRING) {
            lines[i] = text_of(element);
        }
    }
    return lines;
}

Result<std::int64_t> RedisStore::add(const std::vector<std::pair<cache::LinePrefix, std::string>>& lines) {
    for (const auto& [id, line] : lines) {
        const std::string field = field_of(id);
        if (const Status sent = send({"HSETNX", m_hash, field, line}); !sent) {
            return sent.error();
        }
    }
    std::int64_t added = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto reply = receive();
        if (!reply) {
            return reply.error();
        }
        added += (*reply)->type == REDIS_REPLY_INTEGER && (*reply)->integer == 1 ? 1 : 0;
    }
    return added;
}

Status RedisStore::remove(const std::vector<cache::LinePrefix>& ids) {
    if (ids.empty()) {
        return ok_status();
    }
    const std::vector<std::string> fields = fields_of(ids);
    std::vector<std::string_view> words{"HDEL", m_hash};
    words.insert(words.end(), fields.begin(), fields.end());
    const auto reply = command(words);
    return reply ? ok_status() : Status(reply.error());
}

}  // namespace cudnn_tune::cli
