package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubeloupe/kubeloupe/trace/human"
)

// argsError says what a command wants, where cobra counts arguments.
func argsError(c *cobra.Command, args []string, err error) error {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "accepts "):
		return fmt.Errorf("usage: %s (got %d arguments)", strings.TrimSuffix(c.UseLine(), " [flags]"), len(args))
	case !strings.HasPrefix(text, "unknown command "):
		return err
	case !c.HasAvailableSubCommands():
		return fmt.Errorf("%s takes no arguments: remove %q", c.Name(), args[0])
	}
	return unknownCommand(c, args[0])
}

// unknownCommand says which command may have been meant.
func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return fmt.Errorf("unknown command %q%s", name, meant(name, names, "", c.CommandPath()+" --help lists all commands"))
}

// checkNames makes cobra's own commands refuse names that do not exist.
func checkNames(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(c *cobra.Command, args []string) error {
				if found, rest, err := c.Root().Find(args); err != nil || len(rest) > 0 {
					return userError{unknownCommand(found, args[len(args)-max(len(rest), 1)])}
				}
				return nil
			}
		case "completion":
			c.RunE = func(c *cobra.Command, _ []string) error {
				return userError{fmt.Errorf("usage: %s bash|zsh|fish|powershell", c.CommandPath())}
			}
		}
	}
}

// flagError says which flag may have been meant, or what a flag's value must be.
func flagError(c *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s %q: %s", bad.GetFlag().Name, bad.GetValue(), valueError(bad))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	listed := c.CommandPath() + " --help lists all flags"
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("%w: %s", err, listed)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return fmt.Errorf("%w%s", err, meant(unknown.GetSpecifiedName(), names, "--", listed))
}

// valueError says what a value must be, also where the error is Go's own.
func valueError(bad *pflag.InvalidValueError) string {
	number, ok := errors.AsType[*strconv.NumError](bad)
	switch kind := bad.GetFlag().Value.Type(); {
	case kind == "duration":
		return "must be a duration, such as 5s, 2m or 3h"
	case ok && kind == "bool":
		return "must be true or false"
	case ok && errors.Is(number, strconv.ErrRange):
		return "the number is too large"
	case ok:
		return "must be a whole number"
	}
	return bad.Unwrap().Error()
}

// meant is the name most like a wrong one, or where they are listed.
func meant(wrong string, names []string, prefix, listed string) string {
	if near := human.Nearest(wrong, names); near != "" {
		return ": did you mean " + prefix + near + "?"
	}
	return ": " + listed
}
