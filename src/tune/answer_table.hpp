// SPDX-License-Identifier: Apache-2.0
// What this process has answered, by plain-old-data key: the hit path. Readers take no lock and allocate nothing;
// entries are never removed or changed, so a process keeps what it first served for its life. A writer may put a newer
// answer in front of an older one (see put()).
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

namespace cudnn_tune::tune {

template <typename Key, typename Answer>
requires(std::has_unique_object_representations_v<Key>) class AnswerTable {
  public:
    [[nodiscard]] const Answer* find(const Key& key) const {
        const std::uint64_t hash = hash_of(key);
        return find_from(bucket(hash).load(std::memory_order_acquire), key, hash);
    }

    // The answer that readers get from now on. With `keep_first`, an answer that is there already wins: two threads
    // that chose at the same time then serve the same one. Lock-free, so that a fork in the middle of it leaves the
    // child nothing to wait for.
    const Answer* put(const Key& key, std::unique_ptr<const Answer> answer, bool keep_first) {
        const std::uint64_t hash = hash_of(key);
        std::atomic<const Node*>& head = bucket(hash);
        auto node = std::make_unique<Node>(Node{key, hash, std::move(answer), head.load(std::memory_order_acquire)});
        do {
            if (keep_first) {
                if (const Answer* known = find_from(node->next, key, hash)) {
                    return known;
                }
            }
        } while (!head.compare_exchange_weak(node->next, node.get(), std::memory_order_acq_rel));
        // Superseded nodes stay: a reader may be using them.
        return node.release()->answer.get();
    }

  private:
    struct Node {
        Key key;
        std::uint64_t hash;
        std::unique_ptr<const Answer> answer;
        const Node* next;
    };

    static const Answer* find_from(const Node* node, const Key& key, std::uint64_t hash) {
        for (; node != nullptr; node = node->next) {
            if (node->hash == hash && std::memcmp(&node->key, &key, sizeof key) == 0) {
                return node->answer.get();
            }
        }
        return nullptr;
    }
    static std::uint64_t hash_of(const Key& key) { return XXH3_64bits(&key, sizeof key); }
    [[nodiscard]] const std::atomic<const Node*>& bucket(std::uint64_t hash) const {
        return m_buckets[hash % m_buckets.size()];
    }
    std::atomic<const Node*>& bucket(std::uint64_t hash) { return m_buckets[hash % m_buckets.size()]; }

    // 32 KB; a program with thousands of shapes walks a node or two more.
    std::array<std::atomic<const Node*>, 4096> m_buckets{};
};

}  // namespace cudnn_tune::tune
