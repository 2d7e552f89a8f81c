package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// newMan writes man pages of all commands, of the same texts as their help.
func newMan(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write man pages of all commands",
		Long: `Write a man page of each command to a directory, which is created if it does not exist. Pages are named as the commands:
kubeloupe-why.1. Called as "kubectl loupe", the command writes pages with that name.`,
		Example: `  kubeloupe man /usr/local/share/man/man1
  kubeloupe man pages && man -l pages/kubeloupe-why.1`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return userError{err}
			}
			root := newRoot(s)
			callCommands(root, c.Root().DisplayName())
			asMarkdown(root)
			header := &doc.GenManHeader{Section: "1", Source: nameOwn + " " + versionText(), Manual: "kubeloupe"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write man pages: %w", err)
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
}

// asMarkdown makes help texts markdown, which is what the generator reads: indented lines are examples, all else is plain text.
func asMarkdown(c *cobra.Command) {
	c.DisableAutoGenTag = true // it has the date, and differs each time
	c.Long = plainText(c.Long)
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = marks.Replace(f.Usage) })
	for _, sub := range c.Commands() {
		asMarkdown(sub)
	}
}

func plainText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "    " + line
			continue
		}
		lines[i] = marks.Replace(line)
	}
	return strings.Join(lines, "\n")
}

// marks are the characters that mean something in markdown. Backquotes stay: in the usage of a flag they name its value.
var marks = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, `<`, `\<`, `[`, `\[`, `#`, `\#`)
