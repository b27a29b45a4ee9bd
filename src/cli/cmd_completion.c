/* completion - what a shell needs to complete our words, written from the descriptors. */
#include "base/count.h"
#include "cli/completion.h"

#include <string.h>

static int run(int argc, char **argv, struct err *err)
{
    static const struct {
        const char *shell;
        void (*put)(void);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    int operands = options_parse(command_no_options, argc, argv, true, err);

    if (operands < 0)
        return -1;
    if (operands != 1)
        return err_code(err, EXIT_USAGE, "name one shell: bash, zsh or fish");
    for (int i = 0; i < COUNT(shells); i++) {
        if (strcmp(shells[i].shell, argv[1]) == 0) {
            shells[i].put();
            return EXIT_OK;
        }
    }
    return err_code(err, EXIT_USAGE, "'%s' is not a known shell: bash, zsh or fish", argv[1]);
}

static const struct command_exit exits[] = {
    {"0", "the script was printed"},
    {"1", "it could not be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "Print a script that completes tidemark's commands and options in a shell",
    .description =
        "Prints the script with which a shell completes the commands, options and values of "
        "tidemark. `make install` installs all three.",
    .examples = "source <(tidemark completion bash)\n    complete in this shell\n"
                "tidemark completion zsh > ~/.zfunc/_tidemark\n    complete in every zsh that has "
                "~/.zfunc in its fpath\n"
                "tidemark completion fish > ~/.config/fish/completions/tidemark.fish\n    the same "
                "for fish\n",
    .options = command_no_options,
    .exits = exits,
    .run = run,
};
