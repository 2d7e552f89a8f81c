package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// The names of this program, by which it can be called.
const (
	nameOwn      = "kubeloupe"
	nameFile     = "kubectl-loupe"          // kubectl runs it as `kubectl loupe`
	nameComplete = "kubectl_complete-loupe" // kubectl asks it for completions of `kubectl loupe`
	namePlugin   = "kubectl loupe"
)

// calledAs returns the name for help and errors, and the arguments of a command line.
func calledAs(argv []string) (name string, args []string) {
	switch args = argv[1:]; strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case nameFile:
		return namePlugin, args
	case nameComplete:
		return namePlugin, append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return nameOwn, args
}

// typedAs returns how a person calls this program: as kubectl's plugin, by a path, or by its name.
func typedAs(name, arg0 string) string {
	if name == nameOwn && strings.ContainsRune(arg0, filepath.Separator) {
		return arg0
	}
	return name
}

// callCommands makes help texts call the commands by the name of the program.
func callCommands(root *cobra.Command, name string) {
	if name == nameOwn {
		return
	}
	calls := callsOf(root)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	var all func(c *cobra.Command)
	all = func(c *cobra.Command) {
		c.Long, c.Example = calls.ReplaceAllString(c.Long, name+" $1"), calls.ReplaceAllString(c.Example, name+" $1")
		for _, sub := range c.Commands() {
			all(sub)
		}
	}
	all(root)
}

// inCalls replaces kubeloupe by the name of the program in front of a command.
func inCalls(root *cobra.Command, name, text string) string {
	if name == nameOwn {
		return text
	}
	return callsOf(root).ReplaceAllString(text, name+" $1")
}

// callsOf matches calls of the commands in texts.
func callsOf(root *cobra.Command) *regexp.Regexp {
	var commands []string
	for _, c := range root.Commands() {
		commands = append(commands, c.Name())
	}
	return regexp.MustCompile(`\b` + nameOwn + ` (--help|NAME\b|(?:` + strings.Join(commands, "|") + `)\b)`)
}
