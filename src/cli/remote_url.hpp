// SPDX-License-Identifier: Apache-2.0
// redis://[[user]:password@]host[:port][/database][?prefix=TEXT]
#pragma once

#include <string>
#include <string_view>

#include "util/result.hpp"

namespace cudnn_tune::cli {

struct RemoteUrl {
    std::string host;
    int port = 6379;
    int database = 0;
    std::string user;
    std::string password;  // empty: none
    std::string prefix = "cudnn-tune:";

    // Without the password, for messages.
    [[nodiscard]] std::string text() const;
};

// User, password and prefix may have %XX escapes; a host with colons (IPv6) stands in brackets.
[[nodiscard]] Result<RemoteUrl> parse_remote_url(std::string_view);

}  // namespace cudnn_tune::cli
