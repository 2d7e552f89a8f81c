package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manName is the name of a command's page, without its section.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage writes the page of a command in the language of man(7). Its texts are those of the help. It has no date, so that equal programs
// have equal pages.
func manPage(c *cobra.Command) []byte {
	c.InitDefaultHelpCmd()
	c.InitDefaultHelpFlag()
	var p page
	p.line(`.TH "%s" "1" "" "%s" "%s"`, roff(strings.ToUpper(manName(c))), roff(nameOwn+" "+versionText()), nameOwn)
	p.line(".nh\n.ad l") // neither hyphens nor spaces that are not in the text
	p.line(".SH NAME\n%s \\- %s", roff(manName(c)), roff(c.Short))
	p.line(".SH SYNOPSIS\n\\fB%s\\fP", roff(c.UseLine()))
	long := c.Long
	if long == "" {
		long = c.Short
	}
	p.line(".SH DESCRIPTION")
	p.text(long)
	p.flags("OPTIONS", c.NonInheritedFlags())
	p.flags("OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		p.line(".SH EXAMPLE")
		p.verbatim(strings.Split(strings.Trim(c.Example, "\n"), "\n"))
	}
	p.related(c)
	return []byte(p.String())
}

// page is a man page that is being written.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format+"\n", args...) // a Builder does not fail
}

// text writes paragraphs. Lines that are indented stay as they are.
func (p *page) text(text string) {
	for i, part := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		lines := strings.Split(part, "\n")
		for len(lines) > 0 {
			n := 1
			for n < len(lines) && indented(lines[n]) == indented(lines[0]) {
				n++
			}
			if indented(lines[0]) {
				p.verbatim(lines[:n])
			} else {
				p.line("%s", roff(strings.Join(lines[:n], "\n")))
			}
			lines = lines[n:]
		}
	}
}

func indented(line string) bool {
	return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
}

func (p *page) verbatim(lines []string) { p.line(".EX\n%s\n.EE", roff(strings.Join(lines, "\n"))) }

// flags writes a section of flags; nothing if there are none.
func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.line(".SH %s", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		names := `\fB` + roff("--"+f.Name) + `\fP`
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			names = `\fB` + roff("-"+f.Shorthand) + `\fP, ` + names
		}
		if value != "" {
			names += ` \fI` + roff(value) + `\fP`
		}
		switch f.DefValue {
		case "", "false", "[]", "0", "0s": // nothing that is said twice
		default:
			usage += " (default " + f.DefValue + ")"
		}
		p.line(".TP\n%s\n%s", names, roff(usage))
	})
}

// related names the pages of the command above and of those below.
func (p *page) related(c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, manName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			names = append(names, manName(sub))
		}
	}
	for i, name := range names {
		names[i] = `\fB` + roff(name) + `\fP(1)`
	}
	if len(names) > 0 {
		p.line(".SH SEE ALSO\n%s", strings.Join(names, ",\n"))
	}
}

// roff escapes a text: its characters mean nothing, not even a point or a quote at the beginning of a line.
func roff(text string) string {
	text = escapes.Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// escapes are for [roff]. A point or a quote is a request only at the beginning of a line.
var escapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'", `"`, `\(dq`)
