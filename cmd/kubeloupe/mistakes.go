package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// argsError says what a command wants, where cobra counts arguments.
func argsError(c *cobra.Command, args []string, err error) error {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "accepts "):
		return fmt.Errorf("usage: kubeloupe %s (got %d arguments)", c.Use, len(args))
	case !strings.HasPrefix(text, "unknown command "):
		return err
	case c.HasParent():
		return fmt.Errorf("%s takes no arguments: remove %q", c.Name(), args[0])
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("unknown command %q%s", args[0], meant(args[0], names, "", "kubeloupe --help lists all commands"))
}

// flagError says which flag may have been meant.
func flagError(c *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("%w%s", err, meant(name, names, "--", c.CommandPath()+" --help lists all flags"))
}

// meant is the name most like a wrong one, or where they are listed.
func meant(wrong string, names []string, prefix, listed string) string {
	if near := human.Nearest(wrong, names); near != "" {
		return ": did you mean " + prefix + near + "?"
	}
	return ": " + listed
}
