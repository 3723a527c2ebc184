// SPDX-License-Identifier: Apache-2.0
#include "cli/command_tree.hpp"

namespace cudnn_tune::cli {
namespace {

// CLI11 writes a list of accepted values behind the type: "TEXT:{tune,read}".
std::vector<std::string> values_in(const std::string& type) {
    std::vector<std::string> values;
    const std::size_t open = type.find('{');
    const std::size_t close = type.find('}');
    if (open == std::string::npos || close == std::string::npos) {
        return values;
    }
    for (std::size_t at = open + 1; at < close;) {
        const std::size_t end = std::min(type.find(',', at), close);
        values.push_back(type.substr(at, end - at));
        at = end + 1;
    }
    return values;
}

OptionFacts option_facts(const CLI::Option& option) {
    OptionFacts facts;
    facts.is_positional = option.get_positional();
    if (facts.is_positional) {
        facts.names.push_back(option.get_name(true));
        facts.value_name = facts.names.front();
    }
    for (const std::string& name : option.get_snames()) {
        facts.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        facts.names.push_back("--" + name);
    }
    const std::string type = option.get_type_name();
    facts.values = values_in(type);
    if (!facts.is_positional && option.get_items_expected_max() > 0) {
        facts.value_name = type.substr(0, type.find_first_of(":{ "));
        if (facts.value_name.empty() || !facts.values.empty() || facts.value_name == "TEXT") {
            facts.value_name = facts.values.empty() ? "TEXT" : "WORD";
        }
    }
    facts.description = option.get_description();
    return facts;
}

}  // namespace

CommandFacts command_tree(CLI::App& app) {
    CommandFacts facts;
    facts.name = app.get_name();
    facts.description = app.get_description();
    facts.footer = app.get_footer();
    facts.takes_program = app.get_prefix_command();
    for (const CLI::Option* const option : app.get_options()) {
        if (!option->get_group().empty()) {
            facts.options.push_back(option_facts(*option));
        }
    }
    for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (!command->get_group().empty() && !command->get_name().empty()) {
            facts.commands.push_back(command_tree(*command));
        }
    }
    return facts;
}

}  // namespace cudnn_tune::cli
