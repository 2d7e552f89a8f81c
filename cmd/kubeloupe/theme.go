package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubeloupe/kubeloupe/tui"
)

// theme is the value of --theme.
type theme string

func (t *theme) add(fs *pflag.FlagSet) {
	*t = "auto"
	fs.Var(t, "theme", "the colors of the UI: "+strings.Join(tui.Themes(), ", ")+"; auto follows the terminal's background")
}

// String implements pflag.Value.
func (t *theme) String() string { return string(*t) }

// Type implements pflag.Value.
func (*theme) Type() string { return "name" }

// Set implements pflag.Value.
func (t *theme) Set(name string) error {
	*t = theme(name)
	return tui.CheckTheme(name)
}
