// SPDX-License-Identifier: Apache-2.0
#include "cache/own_file_name.hpp"

#include <unistd.h>

#include <array>
#include <atomic>

#include "util/digest.hpp"

namespace cudnn_tune::cache {
namespace {

std::string host_name() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) {
        return "";
    }
    return host.data();
}

}  // namespace

// Machines differ by name, their processes by number, users of one number by time, calls of a process by count.
std::string unique_digits(Clock& clock) {
    static constinit std::atomic<unsigned> count{0};
    return to_hex(checksum_of(host_name() + ":" + std::to_string(::getpid()) + ":" +
                              std::to_string(clock.monotonic_ns()) + ":" + std::to_string(clock.wall_s()) + ":" +
                              std::to_string(++count)));
}

std::string plain_host_name() {
    std::string name;
    for (const char c : host_name()) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        name += is_plain ? c : '_';
    }
    return name;
}

std::string own_file_name(Clock& clock, std::string_view suffix) {
    return plain_host_name() + "-" + std::to_string(::getpid()) + "-" + unique_digits(clock) + std::string(suffix);
}

}  // namespace cudnn_tune::cache
