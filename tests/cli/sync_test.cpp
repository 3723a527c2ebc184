// SPDX-License-Identifier: Apache-2.0
// cudnn-tune sync and run --remote against a real server: served, down, slow, restarting, with wrong data.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "cache/cache_table.hpp"
#include "cache/record_codec.hpp"
#include "cli/remote_url.hpp"
#include "redis_server.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string id_of(const cache::Record& record) {
    return to_hex(cache::digest_of_key(record.key)) + ":" + std::to_string(record.revision);
}

cache::Record revised(cache::Record record, int revision, const std::string& author) {
    record.revision = revision;
    record.by = author;
    return record;
}

class Sync : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!RedisServer::is_installed()) {
            GTEST_SKIP() << "there is no redis-server";
        }
    }
    static ChildResult sync(const std::string& file, const std::string& url, std::vector<std::string> more = {}) {
        std::vector<std::string> words{"sync", "--cache", file, url};
        words.insert(words.end(), more.begin(), more.end());
        return run_tool(words);
    }
    // By whom the record of the batch size is; nothing if there is none.
    static std::string author(const std::string& path, int batch) {
        cache::CacheOptions options;
        options.path = path;
        options.read_only = true;
        const auto record =
            (*cache::Cache::open(options))->find(sample_record(batch).key, sample_record(batch).key.digest());
        return record != nullptr ? record->by : "";
    }

    Folder m_folder;
    std::string m_a = m_folder.path("a.jsonl");
    std::string m_b = m_folder.path("b.jsonl");
};

TEST_F(Sync, BringsWhatOneFileHasToAnotherByteForByte) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1), sample_record(2)});
    const ChildResult first = sync(m_a, server.url());
    EXPECT_EQ(first.exit_code, 0) << describe(first);
    EXPECT_EQ(first.out, "pulled 0, pushed 2\n");
    EXPECT_EQ(sync(m_b, server.url()).out, "pulled 2, pushed 0\n");
    EXPECT_EQ(sync(m_a, server.url()).out, "pulled 0, pushed 0\n");
    EXPECT_EQ(run_tool({"sync", server.url(), "--cache", m_a, "--json"}).out,
              "{\n  \"pulled\": 0,\n  \"pushed\": 0,\n  \"left_out\": 0\n}\n");
    EXPECT_EQ(sync(m_b, server.url()).out, "pulled 0, pushed 0\n");
    EXPECT_EQ(author(m_b, 1), sample_record(1).by);
    EXPECT_EQ(contents_of(m_a).size(), contents_of(m_b).size());
}

TEST_F(Sync, MovesHigherRevisionsEitherWayAndRemovesTheOldOnes) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1), sample_record(2)});
    sync(m_a, server.url());
    write_cache(m_b, {sample_record(1), revised(sample_record(1), 2, "b")});
    EXPECT_EQ(sync(m_b, server.url()).out, "pulled 1, pushed 1\n");
    EXPECT_EQ(sync(m_a, server.url()).out, "pulled 1, pushed 0\n");
    EXPECT_EQ(author(m_a, 1), "b");
    EXPECT_EQ(server.command({"hlen", "cudnn-tune:records"}), "2\n");
}

TEST_F(Sync, KeepsItsOwnOfEqualRevisionsAndNeverMovesWantedOnes) {
    const RedisServer server;
    cache::Record wanted = sample_record(3);
    wanted.status = cache::RecordStatus::wanted;
    write_cache(m_a, {revised(sample_record(1), 1, "a"), wanted});
    write_cache(m_b, {revised(sample_record(1), 1, "b")});
    EXPECT_EQ(sync(m_a, server.url()).out, "pulled 0, pushed 1\n");
    EXPECT_EQ(sync(m_b, server.url()).out, "pulled 0, pushed 0\n");
    EXPECT_EQ(author(m_b, 1), "b");
}

TEST_F(Sync, GoesOneWayIfAskedTo) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1)});
    write_cache(m_b, {sample_record(2)});
    EXPECT_EQ(sync(m_a, server.url(), {"--push"}).out, "pulled 0, pushed 1\n");
    EXPECT_EQ(sync(m_b, server.url(), {"--pull"}).out, "pulled 1, pushed 0\n");
    EXPECT_EQ(sync(m_a, server.url(), {"--push", "--pull"}).exit_code, 2);
    EXPECT_EQ(server.command({"hlen", "cudnn-tune:records"}), "1\n");
}

TEST_F(Sync, KeepsPrefixesAndDatabasesApart) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1)});
    EXPECT_EQ(sync(m_a, server.url("/0?prefix=one:")).out, "pulled 0, pushed 1\n");
    EXPECT_EQ(sync(m_b, server.url("/0?prefix=two:")).out, "pulled 0, pushed 0\n");
    EXPECT_EQ(sync(m_b, server.url("/1?prefix=one:")).out, "pulled 0, pushed 0\n");
    EXPECT_EQ(sync(m_b, server.url("?prefix=one%3A")).out, "pulled 1, pushed 0\n");
}

TEST_F(Sync, NeedsTheRightPassword) {
    const RedisServer server("pass word");
    write_cache(m_a, {sample_record(1)});
    const std::string address = "127.0.0.1:" + std::to_string(server.port());
    const ChildResult without = sync(m_a, "redis://" + address);
    EXPECT_EQ(without.exit_code, 1);
    EXPECT_THAT(without.err, HasSubstr("NOAUTH"));
    const ChildResult wrong = sync(m_a, "redis://:secret@" + address);
    EXPECT_EQ(wrong.exit_code, 1);
    EXPECT_THAT(wrong.err, HasSubstr("WRONGPASS"));
    EXPECT_THAT(wrong.err, ::testing::Not(HasSubstr("secret")));
    EXPECT_EQ(sync(m_a, "redis://:pass%20word@" + address).out, "pulled 0, pushed 1\n");
    ChildOptions options;
    options.environment["REDISCLI_AUTH"] = "pass word";
    EXPECT_EQ(run_tool({"sync", "--cache", m_b, "redis://default@" + address}, options).exit_code, 1)
        << "a name without a colon is a password";
    EXPECT_EQ(run_tool({"sync", "--cache", m_b, "redis://" + address}, options).out, "pulled 1, pushed 0\n");
}

// What is no whole record of its field is left out, and everything else comes.
TEST_F(Sync, ChecksWhatComesBackLikeALineOfAFile) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1), sample_record(2), sample_record(3)});
    sync(m_a, server.url());
    std::string damaged = *cache::encode_record(sample_record(2));
    damaged[damaged.find("\"rank\"") + 8] ^= 1;
    const std::string hash = "cudnn-tune:records";
    server.command({"hset", hash, id_of(sample_record(2)), damaged});
    server.command({"hset", hash, id_of(sample_record(3)), *cache::encode_record(sample_record(1))});
    server.command(
        {"hset", hash, id_of(revised(sample_record(4), 1, "")), "\n" + *cache::encode_record(sample_record(4)) + "\n"});
    server.command({"hset", hash, std::string(32, 'f') + ":1", "garbage"});
    server.command({"hset", hash, "a field of somebody else", "garbage"});
    server.command({"hset", hash, std::string(32, 'e') + ":99999999999", "garbage"});
    const ChildResult result = sync(m_b, server.url());
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(result.out, "pulled 1, pushed 0\n");
    EXPECT_THAT(result.err, HasSubstr("4 values"));
    EXPECT_EQ(author(m_b, 1), sample_record(1).by);
    EXPECT_EQ(author(m_b, 2), "");
    EXPECT_EQ(author(m_b, 3), "");
}

TEST_F(Sync, SaysWhatIsWrongWithTheServersData) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1)});
    server.command({"set", "cudnn-tune:records", "a string"});
    const ChildResult result = sync(m_a, server.url());
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("WRONGTYPE"));
    EXPECT_EQ(server.command({"get", "cudnn-tune:records"}), "a string\n");
}

TEST_F(Sync, FailsAtOnceWhenTheServerIsDownAndWorksWhenItIsBack) {
    RedisServer server;
    write_cache(m_a, {sample_record(1)});
    server.stop();
    const ChildResult down = sync(m_a, server.url());
    EXPECT_EQ(down.exit_code, 1);
    EXPECT_THAT(down.err, StartsWith("cudnn-tune: error: redis://127.0.0.1:"));
    server.start();
    EXPECT_EQ(sync(m_a, server.url()).out, "pulled 0, pushed 1\n");
}

TEST_F(Sync, GivesUpInTimeWhenTheServerHangs) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1)});
    server.suspend();
    const ChildResult slow = sync(m_a, server.url(), {"--timeout", "0.5"});
    EXPECT_EQ(slow.exit_code, 1);
    EXPECT_THAT(slow.err, HasSubstr("does not answer in time"));
    server.resume();
    EXPECT_EQ(sync(m_a, server.url()).out, "pulled 0, pushed 1\n");
}

TEST_F(Sync, LeavesFilesAloneThatAreNoCacheFiles) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1)});
    sync(m_a, server.url());
    write_text(m_b, "my notes\n");
    EXPECT_EQ(sync(m_b, server.url()).exit_code, 1);
    EXPECT_EQ(contents_of(m_b), "my notes\n");
    EXPECT_EQ(sync(m_folder.path("missing/c.jsonl"), server.url()).exit_code, 1);
}

TEST_F(Sync, LosesNothingOfSixteenClientsAtOnce) {
    constexpr int clients = 16;
    const RedisServer server;
    std::vector<std::string> paths;
    for (int client = 0; client < clients; ++client) {
        paths.push_back(m_folder.path(std::to_string(client) + ".jsonl"));
        // One record is everybody's, in a revision of its own; five are its own.
        std::vector<cache::Record> records{revised(sample_record(1), 1 + client, std::to_string(client))};
        for (int i = 0; i < 5; ++i) {
            records.push_back(sample_record(100 + client * 5 + i));
        }
        write_cache(paths.back(), records);
    }
    for (int round = 0; round < 2; ++round) {
        std::vector<std::thread> threads;
        for (const std::string& path : paths) {
            threads.emplace_back([&server, path] {
                const ChildResult result = sync(path, server.url());
                EXPECT_EQ(result.exit_code, 0) << describe(result);
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    EXPECT_EQ(server.command({"hget", "cudnn-tune:records", id_of(revised(sample_record(1), clients, ""))}),
              *cache::encode_record(revised(sample_record(1), clients, "15")) + "\n");
    for (const std::string& path : paths) {
        EXPECT_EQ(author(path, 1), "15");
        for (int i = 0; i < clients * 5; ++i) {
            EXPECT_NE(author(path, 100 + i), "") << path << " " << i;
        }
    }
}

// Answers whatever it is asked with fixed bytes, one at a time if that is wanted.
class StrangeServer {
  public:
    StrangeServer(std::string bytes, int pause_us) : m_bytes(std::move(bytes)) {
        m_listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        (void)::bind(m_listener, reinterpret_cast<sockaddr*>(&address), size);
        (void)::getsockname(m_listener, reinterpret_cast<sockaddr*>(&address), &size);
        m_port = ntohs(address.sin_port);
        (void)::listen(m_listener, 1);
        m_thread = std::thread([this, pause_us] {
            const int client = ::accept(m_listener, nullptr, nullptr);
            const std::size_t step = pause_us > 0 ? 1 : m_bytes.size();
            for (std::size_t at = 0; at < m_bytes.size(); at += step) {
                if (::send(client, m_bytes.data() + at, step, MSG_NOSIGNAL) <= 0) {
                    break;
                }
                ::usleep(static_cast<useconds_t>(pause_us));
            }
            ::shutdown(client, SHUT_WR);
            char ignored[4096];
            while (::read(client, ignored, sizeof ignored) > 0) {
            }
            ::close(client);
        });
    }
    ~StrangeServer() {
        m_thread.join();
        ::close(m_listener);
    }
    StrangeServer(const StrangeServer&) = delete;
    StrangeServer& operator=(const StrangeServer&) = delete;
    [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(m_port); }

  private:
    std::string m_bytes;
    int m_listener = -1;
    int m_port = 0;
    std::thread m_thread;
};

TEST(SyncWithAStrangeServer, EndsInOneSentence) {
    const Folder folder;
    const std::string path = folder.path("a.jsonl");
    write_cache(path, {sample_record(1)});
    for (const std::string& answer : {
             std::string("HTTP/1.1 400 Bad Request\r\n\r\n"),
             std::string("+OK\r\n:7\r\n:7\r\n"),
             std::string("+OK\r\n*2147483647\r\n"),
             std::string("+OK\r\n*1\r\n$9999999999999\r\n"),
             std::string("+OK\r\n*1\r\n$-7\r\n"),
             std::string("+OK\r\n") + std::string(1000, '*'),
             std::string("+OK\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
             std::string("\0\0\0\0", 4),
         }) {
        const StrangeServer server(answer, 0);
        const ChildResult result = run_tool({"sync", "--cache", path, "--timeout", "5", server.url()});
        EXPECT_LE(result.exit_code, 1) << describe(result);
        EXPECT_EQ(result.signal, 0);
        EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

// Each byte comes in time, but they never end.
TEST(SyncWithAStrangeServer, EndsInTimeThoughItsAnswerNeverDoes) {
    const Folder folder;
    const std::string path = folder.path("a.jsonl");
    write_cache(path, {sample_record(1)});
    const StrangeServer server("+OK\r\n*1\r\n$100000\r\n" + std::string(100'000, 'x'), 10'000);
    const ChildResult result = run_tool({"sync", "--cache", path, "--timeout", "1", server.url()});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("does not answer in time"));
}

class RunWithRemote : public Sync {
  protected:
    static ChildResult run(const std::string& file, const std::string& url, std::vector<std::string> program,
                           std::vector<std::string> more = {}) {
        std::vector<std::string> words{"run", "--cache", file, "--remote", url};
        words.insert(words.end(), more.begin(), more.end());
        words.emplace_back("--");
        words.insert(words.end(), program.begin(), program.end());
        return run_tool(words);
    }
};

TEST_F(RunWithRemote, PullsBeforeAndPushesAfterTheProgram) {
    const RedisServer server;
    write_cache(m_a, {sample_record(1)});
    sync(m_a, server.url());
    // The program copies what it finds, and leaves a record of its own.
    write_cache(m_folder.path("own.jsonl"), {sample_record(2)});
    const ChildResult result = run(m_b, server.url(),
                                   {"sh", "-c",
                                    "cp " + m_b + " " + m_folder.path("seen") + "; tail -n 1 " +
                                        m_folder.path("own.jsonl") + " >> " + m_b + "; exit 7"});
    EXPECT_EQ(result.exit_code, 7) << describe(result);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(author(m_folder.path("seen"), 1), sample_record(1).by);
    EXPECT_EQ(sync(m_a, server.url()).out, "pulled 1, pushed 0\n");
}

TEST_F(RunWithRemote, ExchangesWhileTheProgramRunsAlsoAfterTheServerWasAway) {
    RedisServer server;
    write_cache(m_a, {sample_record(1)});
    const std::string script = "for i in $(seq 600); do grep -q '\"rev\"' " + m_b + " 2>/dev/null && exit 0; touch " +
                               m_folder.path("started") + "; sleep 0.05; done; exit 9";
    std::thread other([&] {
        while (::access(m_folder.path("started").c_str(), F_OK) != 0) {
            ::usleep(10'000);
        }
        server.stop();
        ::usleep(300'000);
        server.start();
        EXPECT_EQ(sync(m_a, server.url()).out, "pulled 0, pushed 1\n");
    });
    const ChildResult result = run(m_b, server.url(), {"sh", "-c", script}, {"--remote-interval", "0.1"});
    other.join();
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << "trouble is said once: " << result.err;
    EXPECT_EQ(author(m_b, 1), sample_record(1).by);
}

TEST_F(RunWithRemote, RunsTheProgramThoughTheServerIsDown) {
    RedisServer server;
    server.stop();
    const ChildResult result = run(m_a, server.url(), {"sh", "-c", "echo ran; kill -TERM $$"});
    EXPECT_EQ(result.out, "ran\n");
    EXPECT_EQ(result.signal, SIGTERM);
    EXPECT_THAT(result.err, HasSubstr("no exchange with redis://127.0.0.1:"));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST_F(RunWithRemote, PassesSignalsOnAndReportsMissingPrograms) {
    const RedisServer server;
    const ChildResult asked =
        run(m_a, server.url(), {"sh", "-c", "trap 'exit 5' USR1; kill -USR1 $PPID; sleep 20 & wait"});
    EXPECT_EQ(asked.exit_code, 5) << describe(asked);
    EXPECT_EQ(run(m_a, server.url(), {"/no/such/program"}).exit_code, 127);
    EXPECT_EQ(run(m_a, "http://somewhere", {"true"}).exit_code, 2);
}

TEST(RemoteUrl, HasAllItsParts) {
    const auto url = cli::parse_remote_url("redis://me:a%40b@[::1]:7000/3?prefix=team%2Fx:");
    ASSERT_TRUE(url.ok());
    EXPECT_EQ(url->host, "::1");
    EXPECT_EQ(url->port, 7000);
    EXPECT_EQ(url->database, 3);
    EXPECT_EQ(url->user, "me");
    EXPECT_EQ(url->password, "a@b");
    EXPECT_EQ(url->prefix, "team/x:");
    EXPECT_EQ(url->text(), "redis://[::1]:7000/3");
    const auto plain = cli::parse_remote_url("redis://cache");
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(plain->text(), "redis://cache:6379/0");
    EXPECT_EQ(plain->prefix, "cudnn-tune:");
}

TEST(RemoteUrl, IsRefusedIfItIsNone) {
    for (const char* const text :
         {"", "redis:", "redis://", "redis://:6379", "rediss://host", "http://host", "redis://host:", "redis://host:x",
          "redis://host:70000", "redis://host/x", "redis://host/-1", "redis://host/0/1", "redis://[::1", "redis://[]",
          "redis://host?other=1", "redis://host?prefix=%4", "redis://a%zz@host", "redis://host:1:2"}) {
        EXPECT_FALSE(cli::parse_remote_url(text).ok()) << text;
    }
}

}  // namespace
}  // namespace cudnn_tune::testing
