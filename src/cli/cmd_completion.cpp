// SPDX-License-Identifier: Apache-2.0
// cudnn-tune completion, and the hidden cudnn-tune manual, from which the build makes the manual page.
#include <memory>

#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/manual_page.hpp"

namespace cudnn_tune::cli {

void add_completion(CLI::App& app) {
    const auto shell = std::make_shared<std::string>();
    CLI::App* const command = app.add_subcommand("completion", "Print a completion script for a shell");
    command->footer(
        "Packages install these scripts. For one's own account:\n"
        "Examples: cudnn-tune completion bash > ~/.local/share/bash-completion/completions/cudnn-tune\n"
        "          cudnn-tune completion zsh > \"${fpath[1]}/_cudnn-tune\"\n"
        "          cudnn-tune completion fish > ~/.config/fish/completions/cudnn-tune.fish");
    command->add_option("SHELL", *shell, "The shell")
        ->required()
        ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
    command->callback([shell, &app] {
        const CommandFacts tool = command_tree(app);
        print(*shell == "bash"  ? bash_completion(tool)
              : *shell == "zsh" ? zsh_completion(tool)
                                : fish_completion(tool));
    });
    app.add_subcommand("manual", "Print the manual page in the language of man(7)")->group("")->callback([&app] {
        print(manual_page(command_tree(app)));
    });
}

}  // namespace cudnn_tune::cli
