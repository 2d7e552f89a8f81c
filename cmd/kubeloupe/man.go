package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
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
			if err := writePages(root, args[0]); err != nil {
				return fmt.Errorf("write man pages: %w", err)
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
}

// writePages writes the pages of a command and of those below it.
func writePages(c *cobra.Command, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, manName(c)+".1"), manPage(c), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writePages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}
